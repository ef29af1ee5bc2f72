#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""check_settings.py PRINTER: usiw(7) describes the settings of util/env.c.

PRINTER prints one setting a line: name, values, default, description,
separated by tabs. In the page a setting is a .TP paragraph: a line '.BR NAME =
VALUES', a line 'Default: DEFAULT.' and a text that begins with the
description.
"""
import os
import re
import subprocess
import sys


def unroff(text):
    """The words of a piece of man page source."""
    text = re.sub(r"\\f[BIRP]|\\&|^\.(BR?|I|IR|RI|RB|BI)\s+", "", text,
                  flags=re.M)
    text = text.replace(r"\-", "-").replace(r"\(aq", "'")
    return re.sub(r"\s+", " ", text.replace('"', "")).strip()


def page_settings(page):
    """Name -> (values, rest of the paragraph) from the page."""
    found = {}
    for paragraph in re.split(r"^\.TP\n", page, flags=re.M)[1:]:
        paragraph = re.split(r"^\.SH", paragraph, flags=re.M)[0]
        head, _, rest = paragraph.partition("\n")
        match = re.match(r"(USIW_\w+)\s*=\s*(.*)", unroff(head))
        if match:
            found[match.group(1)] = (match.group(2), unroff(rest))
    return found


def main():
    root = os.environ["USIW_SOURCE_DIR"]
    with open(os.path.join(root, "man/usiw.7"), encoding="utf-8") as stream:
        page = page_settings(stream.read())
    table = [line.split("\t") for line in subprocess.run(
        [sys.argv[1]], check=True, capture_output=True,
        text=True).stdout.splitlines()]
    found = []
    for name, values, default, what in table:
        if name not in page:
            found.append(f"{name} is not in usiw(7)")
            continue
        page_values, text = page.pop(name)
        if re.sub(r"\s", "", page_values) != re.sub(r"\s", "", values):
            found.append(f"{name}: usiw(7) says {page_values}, "
                         f"the table {values}")
        wanted = f"Default: {default or 'empty'}."
        if wanted not in text:
            found.append(f"{name}: usiw(7) does not say '{wanted}'")
        if re.sub(r"\s+", " ", what).lower() not in text.lower():
            found.append(f"{name}: usiw(7) does not say '{what}'")
    found += [f"{name} is in usiw(7), unknown to the code" for name in page]
    print("\n".join(found))
    print(f"settings: {len(table)} rows, {len(found)} complaints")
    return 1 if found or not table else 0


if __name__ == "__main__":
    sys.exit(main())

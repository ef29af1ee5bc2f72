#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""check_commands.py USIW: usiw(1) describes each command of the tool, and no
other."""
import os
import re
import subprocess
import sys


def main():
    root = os.environ["USIW_SOURCE_DIR"]
    with open(os.path.join(root, "man/usiw.1"), encoding="utf-8") as stream:
        page = re.sub(r"\\f[BIRP]|[\"]", "", stream.read())
    page = page.replace(r"\-", "-")
    text = subprocess.run([sys.argv[1], "--help"], check=True,
                          capture_output=True, text=True).stdout
    known = set()
    if "Commands:" in text:
        section = text.split("Commands:")[1].split("\n\n")[0]
        known = set(re.findall(r"^  ([a-z-]+)  ", section, re.M))
    told = set(re.findall(r"^\.BR? usiw ([a-z]+)\b", page, re.M))
    found = [f"{name} is not in usiw(1)" for name in sorted(known - told)]
    found += [f"{name} is in usiw(1), unknown to the tool"
              for name in sorted(told - known)]
    print("\n".join(found))
    print(f"commands: {len(known)} commands, {len(found)} complaints")
    return 1 if found or not known else 0


if __name__ == "__main__":
    sys.exit(main())

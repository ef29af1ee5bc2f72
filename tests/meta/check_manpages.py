#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""check_manpages.py LIBRARY...: exactly one page of section 3 has the name and
prototype of each function that a public library exports. A page names nothing
else, and every page is well-formed."""
import collections
import glob
import os
import re
import shutil
import subprocess
import sys


def exported(path):
    out = subprocess.run(["nm", "-D", "--defined-only", path], check=True,
                         capture_output=True, text=True).stdout
    return {name.split("@")[0] for kind, name in
            re.findall(r"^[0-9a-f]+ ([A-Z]) (\S+)", out, re.M) if kind != "A"}


def section(text, name):
    match = re.search(rf"^\.SH {name}\n(.*?)(?=^\.SH |\Z)", text,
                      re.M | re.S)
    return match.group(1) if match else ""


def names_of(text):
    head = section(text, "NAME").split("\\-")[0]
    return [n for n in re.split(r"[,\s]+", head) if n]


def plain(text):
    """Text without fonts and quotes."""
    return re.sub(r'^\.[A-Z]+ |"', "", text, flags=re.M)


def check_page(path, text):
    page = os.path.basename(path)
    found = []
    prototypes = plain(section(text, "SYNOPSIS"))
    names = names_of(text)
    if page[:-2] not in names:
        found.append(f"{page}: NAME does not begin with its own")
    found += [f"{page}: SYNOPSIS has no prototype of {n}()" for n in names
              if not re.search(rf"\b{n}\(", prototypes)]
    found += [f"{page}: no section {s}" for s in
              ("DESCRIPTION", "RETURN VALUE", "SEE ALSO")
              if not section(text, s)]
    return found


def check_links(texts):
    """Pages of the project that the text names exist."""
    have = {os.path.basename(p) for p in texts}
    for text in texts.values():
        if text:
            have.update(f"{n}.3" for n in names_of(text))
    found = []
    for path, text in texts.items():
        for name, number in re.findall(
                r'((?:smpa|usiwdv|libsiw)[\w-]*)[" ]*"?\(?(\d)\)', text):
            if f"{name}.{number}" not in have:
                found.append(f"{os.path.basename(path)}: no page "
                             f"{name}({number})")
    return found


def check_groff(paths):
    if not shutil.which("groff"):
        return ["groff is not installed (Debian: groff-base)"]
    found = []
    for path in paths:
        done = subprocess.run(["groff", "-t", "-man", "-ww", "-z", "-Tutf8", path],
                              capture_output=True, text=True)
        found += done.stderr.strip().split("\n") if done.stderr else []
    return found


def main():
    root = os.environ["USIW_SOURCE_DIR"]
    paths = sorted(glob.glob(os.path.join(root, "man", "*.[0-9]")))
    texts = {}
    for path in paths:
        with open(path, encoding="utf-8") as stream:
            texts[path] = stream.read()
    named = collections.Counter()
    found = []
    for path, text in texts.items():
        if path.endswith(".3"):
            named.update(names_of(text))
            found += check_page(path, text)
    public = set().union(*(exported(p) for p in sys.argv[1:]))
    found += [f"{n}() is in no page of section 3" for n in
              sorted(public - set(named))]
    found += [f"{n}() has a page, but is not exported" for n in
              sorted(set(named) - public)]
    found += [f"{n}() is in {c} pages" for n, c in named.items() if c > 1]
    found += check_links(texts) + check_groff(paths)
    print("\n".join(found))
    print(f"manpages: {len(paths)} pages, {len(public)} functions, "
          f"{len(found)} complaints")
    return 1 if found or not public else 0


if __name__ == "__main__":
    sys.exit(main())

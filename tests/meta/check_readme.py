#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""check_readme.py CTEST BUILD_DIR: the tests that README.md names as proof of
what works exist and run, and so do the make targets that it names."""
import fnmatch
import os
import re
import subprocess
import sys


def claims(page):
    """(claim, names of tests) of each row of a table that ends in a column
    'shown by'."""
    width = 0
    for line in page.split("\n"):
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            width = 0
        elif not width:
            width = len(cells) if cells[-1] == "shown by" else -1
        elif len(cells) == width and not set(cells[0]) <= set("- "):
            yield cells[0], re.findall(r"`([^`]+)`", cells[-1])


def main():
    root = os.environ["USIW_SOURCE_DIR"]
    with open(os.path.join(root, "README.md"), encoding="utf-8") as stream:
        page = stream.read()
    with open(os.path.join(root, "Makefile"), encoding="utf-8") as stream:
        targets = set(re.findall(r"^([\w-]+):", stream.read(), re.M))
    tests = set()
    for kind in "apps", "long":  # what `make apps` and `make check-long` add
        listing = subprocess.run(
            [sys.argv[1], "--test-dir", sys.argv[2], "-N", "-C", kind],
            check=True, capture_output=True, text=True).stdout
        tests |= set(re.findall(r"^\s*Test\s+#\d+: (\S+)", listing, re.M))
    rows = list(claims(page))
    found = [f"'{what}' names no test" for what, names in rows if not names]
    found += [f"no test {name} ('{what}')" for what, names in rows
              for name in names if not fnmatch.filter(tests, name)]
    found += [f"no target: make {name}" for name in
              re.findall(r"\bmake ([a-z][\w-]*)(?=[`\s]| +[A-Z#])", page)
              if name not in targets]
    print("\n".join(found))
    print(f"readme: {len(rows)} claims, {len(tests)} tests, "
          f"{len(found)} complaints")
    return 1 if found or not rows else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""check_readme.py CTEST BUILD_DIR: what README.md and the pages that it leads
to promise is so.

Tests that a table names as proof exist and run, and so do make targets. The
table of programs has a row for each test of make apps. README.md is short, and
its figures are those of doc/bench.
"""
import fnmatch
import json
import os
import re
import subprocess
import sys

README = "README.md"
README_OCTETS = 6144
PROGRAMS = "doc/programs.md"
BENCH = "doc/bench/table.md"
PAGES = (README, PROGRAMS, "doc/verbs.md", "doc/install.md", "tests/README.md",
         "CONTRIBUTING.md", "SECURITY.md")
# Pages whose tables show something, so that their last column names tests.
SHOWING = (README, PROGRAMS, "tests/README.md")


def tables(page):
    """(head, rows) of each table; both as lists of cells."""
    found = []
    inside = False
    for line in page.split("\n"):
        cells = [c.strip() for c in
                 re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        if not line.startswith("|"):
            inside = False
        elif not inside:
            found.append((cells, []))
            inside = True
        elif not set("".join(cells)) <= set("-: "):
            found[-1][1].append(cells)
    return found


def claims(page):
    """(claim, names of tests) of each row of a table that ends in a column
    'shown by'."""
    for head, rows in tables(page):
        if head[-1] == "shown by":
            for row in rows:
                yield row[0], re.findall(r"`([^`]+)`", row[-1])


def registered(ctest, build):
    """{name: labels} of all tests; those of make apps and make check-long
    exist only for ctest -C."""
    found = {}
    for kind in "apps", "long":
        listing = subprocess.run(
            [ctest, "--test-dir", build, "--show-only=json-v1", "-C", kind],
            check=True, capture_output=True, text=True).stdout
        for test in json.loads(listing)["tests"]:
            labels = [p["value"] for p in test.get("properties", ())
                      if p["name"] == "LABELS"]
            found[test["name"]] = set(labels[0]) if labels else set()
    return found


def unproved(name, page, tests):
    rows = list(claims(page))
    found = [f"{name}: '{what}' names no test" for what, shown in rows
             if not shown]
    found += [f"{name}: no test {test} ('{what}')" for what, shown in rows
              for test in shown if not fnmatch.filter(tests, test)]
    return found if rows else [f"{name}: no table has a column 'shown by'"]


def programs(page, tests):
    """Each test of make apps has a row in the table of programs, and each row
    of that table is such a test."""
    listed = set()
    for head, rows in tables(page):
        if head[:2] == ["programs", "way"]:
            listed |= {row[-1].strip("`") for row in rows}
    apps = {name for name, labels in tests.items() if "programs" in labels}
    return [f"{PROGRAMS}: no row for {name}: make apps prints it"
            for name in sorted(apps - listed)] + \
           [f"{PROGRAMS}: {name} is no test of make apps"
            for name in sorted(listed - apps)]


def median(cell):
    return cell.partition(" (")[0]


def figures(readme, bench):
    """Rows of README.md with a column 'wire CRC' have the medians of the rows
    of that name in doc/bench."""
    known = {row[0]: dict(zip(head, map(median, row)))
             for head, rows in tables(bench) for row in rows}
    found, count = [], 0
    for head, rows in tables(readme):
        for row in rows if "wire CRC" in head else ():
            for column, figure in list(zip(head, row))[1:]:
                count += 1
                right = known.get(row[0], {}).get(column)
                if figure != right:
                    found.append(f"{README}: '{row[0]}', {column}: {figure}; "
                                 f"{BENCH} has {right}")
    date = re.search(r"^- date: (\S+)$", bench, re.M)
    if not date or date[1] not in readme:
        found.append(f"{README}: the date of the figures is not that of "
                     f"{BENCH}")
    return found if count else [f"{README}: has no figure of {BENCH}"]


def main():
    root = os.environ["USIW_SOURCE_DIR"]

    def read(path):
        with open(os.path.join(root, path), encoding="utf-8") as stream:
            return stream.read()
    tests = registered(*sys.argv[1:3])
    targets = set(re.findall(r"^([\w-]+):", read("Makefile"), re.M))
    found = []
    for name in PAGES:
        page = read(name)
        if name in SHOWING:
            found += unproved(name, page, tests)
        found += [f"{name}: no target: make {target}" for target in re.findall(
            r"(?:^ {4,}|`)make ([a-z][\w-]*)", page, re.M)
            if target not in targets]
    found += programs(read(PROGRAMS), tests)
    found += figures(read(README), read(BENCH))
    octets = len(read(README).encode())
    if octets > README_OCTETS:
        found.append(f"{README}: {octets} octets, more than {README_OCTETS}")
    print("\n".join(found))
    print(f"readme: {len(PAGES)} pages, {len(tests)} tests, "
          f"{len(found)} complaints")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""machines_test.py CMAKE: the supported machines are the same in all places.

CMake refuses a machine of 32 bits with a sentence that doc/install.md and
usiw(7) also have. Every package of debian/control is for the machines of the
table in doc/install.md and no others.
"""
import os
import re
import subprocess
import sys

SOURCE = os.environ["USIW_SOURCE_DIR"]


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as stream:
        return stream.read()


def words(text):
    """The text without line breaks and roff."""
    return re.sub(r"\s+", " ", text.replace("\\-", "-"))


def configure(size):
    """Exit code and output of the check for pointers of this size."""
    done = subprocess.run(
        [sys.argv[1], f"-DCMAKE_SIZEOF_VOID_P={size}", "-P",
         os.path.join(SOURCE, "cmake", "UsiwMachine.cmake")],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, words(done.stdout)


def main():
    faults = []
    code, said = configure(8)
    if code:
        faults.append(f"64 bits are refused: {said}")
    code, said = configure(4)
    found = re.search(r"usiw needs a 64-bit machine:[^.]*\.", said)
    if not code or not found:
        print(f"FAILED: 32 bits are not refused: {said}")
        return 1
    for path in (("doc", "install.md"), ("man", "usiw.7")):
        if found.group(0) not in words(read(*path)):
            faults.append(f"{'/'.join(path)} does not say: {found.group(0)}")
    table = set(re.findall(r"^\| ([a-z0-9]+) \| Debian \d+",
                           read("doc", "install.md"), re.M))
    if not {"amd64", "arm64"} <= table:
        faults.append(f"doc/install.md has a table of machines of {table}")
    lines = re.findall(r"^Architecture: (.*)$", read("debian", "control"),
                       re.M)
    for line in lines:
        if line != "all" and set(line.split()) != table:
            faults.append(f"debian/control: Architecture: {line}; table of "
                          f"doc/install.md: {' '.join(sorted(table))}")
    if not lines:
        faults.append("debian/control names no machine")
    for fault in faults:
        print(f"FAILED: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

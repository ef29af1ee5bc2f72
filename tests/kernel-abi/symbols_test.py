#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The preload library's symbols: unversioned, complete, and libc only.

Each stub's libc function may have more names (LFS, _chk). A name in libc with
the same address as a stub's real function must be a stub too, or be in ALIASES
with its reason.
"""
import re
import subprocess
import sys

# Functions of libc that programs do not call: no stub.
ALIASES = re.compile(
    r"^_(_|IO_)"  # __read, _IO_fopen: internal; the RNIC library uses some
    r"|^(scandir|glob|alphasort)64$")  # stubs of their own where they differ


def run(*command):
    return subprocess.run(command, check=True, capture_output=True,
                          text=True).stdout


def dynsyms(path):
    """name -> (address, version) of every defined dynamic function."""
    found = {}
    for line in run("readelf", "-W", "--dyn-syms", path).splitlines():
        field = line.split()
        if len(field) < 8 or field[3] not in ("FUNC", "IFUNC"):
            continue
        if field[6] == "UND":
            continue
        name, _, version = field[7].partition("@")
        found.setdefault(name, []).append((field[1], version))
    return found


def libc_path():
    for line in run("ldd", sys.executable).splitlines():
        match = re.search(r"libc\.so\.6 => (\S+)", line)
        if match:
            return match.group(1)
    sys.exit("no libc.so.6 behind " + sys.executable)


def main(kabi, stub_list):
    bad = []
    ours = dynsyms(kabi)
    libc = dynsyms(libc_path())
    text = open(stub_list, encoding="utf-8").read()
    listed = set(re.findall(r"\bX\((\w+)\)", text)) - {"X"}

    if "verdef" in run("readelf", "-W", "-V", kabi).lower().replace(
            "version definition", "verdef"):
        bad.append("the library defines symbol versions: stubs under a named "
                   "node are passed by")
    for name, places in ours.items():
        if any(version for _, version in places):
            bad.append(f"{name} has a version")
    for name in sorted(listed - set(ours)):
        bad.append(f"{name} is in the table, but is no stub")
    for name in sorted(set(ours) - listed):
        bad.append(f"{name} is exported, but not in the table")
    for name in sorted(listed - set(libc)):
        bad.append(f"{name} is a stub of nothing in libc")

    address = {}
    for name, places in libc.items():
        for place, _ in places:
            address.setdefault(place, set()).add(name)
    for name in sorted(listed & set(libc)):
        for place, _ in libc[name]:
            for alias in sorted(address[place] - listed):
                if not ALIASES.match(alias):
                    bad.append(f"libc's {alias} is {name}, but no stub")
    # each listed name's 64-bit and _chk variants, in any file
    for name in sorted(listed):
        for partner in (name + "64", "__" + name + "_chk", "__" + name + "_2"):
            if partner in libc and partner not in listed:
                bad.append(f"libc has {partner} beside {name}, but no stub")

    needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-W", "-d", kabi))
    for lib in needed:
        if not re.match(r"lib(c|asan|tsan|ubsan)\.so|ld-linux", lib):
            bad.append(f"needs {lib}")
    for line in bad:
        print(line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""emulate.py MACHINE CPU ROOT PROGRAM ARGUMENT...: runs a test of another
machine.

Runs PROGRAM by qemu-user with the libraries of ROOT, and exits as it does.
limits.txt beside this file lists what qemu-user cannot do. A program that is
listed as a whole is not run and counts as skipped. A program passes if only
listed cases of it fail; these cases are printed as skipped.
"""
import os
import re
import shutil
import subprocess
import sys

SKIPPED = 77
FAILED_CASE = re.compile(r"^\[  FAILED  \] (\w+)$", re.M)
# cmocka prints this
ENDED = re.compile(r"^\[==========\] .*test\(s\) run\.", re.M)


def limits(machine, program):
    """{case: reason} of what cannot run there; "*" is the whole program."""
    path = os.path.join(os.path.dirname(os.path.realpath(__file__)),
                        "limits.txt")
    found = {}
    with open(path, encoding="utf-8") as stream:
        for line in stream:
            if not line.strip() or line.startswith("#"):
                continue
            where, test, case, reason = line.split(None, 3)
            if where in ("all", machine) and test == program:
                found[case] = reason.strip()
    return found


def main():
    machine, cpu, root = sys.argv[1:4]
    words = sys.argv[4:]
    qemu = shutil.which(f"qemu-{cpu}-static") or shutil.which(f"qemu-{cpu}")
    if not qemu:
        print(f"skipped: qemu-{cpu} is missing (Debian: qemu-user-static)")
        return SKIPPED
    known = limits(machine, os.path.basename(words[0]))
    if "*" in known:
        print(f"skipped: qemu-user: {known['*']}")
        return SKIPPED
    command = [qemu, "-L", root, *words]
    if not known:
        os.execv(qemu, command)
    done = subprocess.run(command, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(done.stdout, end="")
    failed = set(FAILED_CASE.findall(done.stdout))
    # Cases that did not fail. Each of them ran to its end: there was no abort.
    if done.returncode == 0 or not ENDED.search(done.stdout) or \
            not failed or not failed <= set(known):
        return done.returncode if done.returncode >= 0 else 1
    for case in sorted(failed):
        print(f"skipped {case}: qemu-user: {known[case]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A program that never uses a device makes the same system calls, in the same
order, as without usiw, after the loader has finished."""
import os
import re
import subprocess
import tempfile

import harness
from harness import USIW, check

COMMAND = ["sh", "-c", "ls -R /usr/share/doc >/dev/null"]
PIPELINE = ["sh", "-c", "cat /etc/passwd | sort | wc -l >/dev/null; "
            "echo a >&2 2>/dev/null; test -e /dev/null"]
CALL = re.compile(r"^(\w+)\((.*)$")


def trace(command, preload):
    """[[call, ...] per program image], after the loader's calls."""
    with tempfile.TemporaryDirectory() as directory:
        # -ff: one file per process, in which no call is split.
        words = ["strace", "-ff", "-o", os.path.join(directory, "trace"),
                 *command]
        if preload:
            words = [USIW, "run", "--", *words]
        subprocess.run(words, check=True, cwd="/",
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found = []
        for name in os.listdir(directory):
            with open(os.path.join(directory, name)) as f:
                found += images(f.readlines())
        return found


def images(lines):
    """Splits one process's trace into the program images that it ran."""
    order, cache = [[]], None
    for line in lines:
        match = CALL.match(line)
        if not match:
            continue
        call, rest = match.groups()
        # A child's death may interrupt its parent at any time.
        if call == "rt_sigreturn":
            continue
        if call == "execve" and rest.endswith("= 0\n"):
            order.append([])
            cache = None
        order[-1].append(call)
        # The loader unmaps /etc/ld.so.cache when all libraries are mapped and
        # relocated. Its earlier calls are not compared.
        if call == "openat" and "ld.so.cache" in rest:
            cache = "wanted"
        elif call == "mmap" and cache == "wanted":
            cache = rest.rsplit("= ", 1)[1].strip()
        elif call == "munmap" and cache and rest.startswith(cache + ","):
            order[-1].clear()
            cache = None
    return order


def same_calls(name, command):
    harness.need("strace")
    plain = trace(command, preload=False)
    under = trace(command, preload=True)
    check(sum(len(i) for i in plain) > 20, "the trace is empty")
    # Processes of a pipeline run in any order, so compare a sorted list.
    plain.sort()
    under.sort()
    check(len(plain) == len(under), f"{len(plain)} program images without, "
          f"{len(under)} with usiw run")
    for number, (a, b) in enumerate(zip(plain, under)):
        if a == b:
            continue
        at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y),
                  min(len(a), len(b)))
        raise harness.Failure(
            f"image {number}, call {at}: {a[at:at + 6]} without, "
            f"{b[at:at + 6]} with usiw run")
    print(f"ok {name}: {sum(len(i) for i in plain)} calls, the same")


harness.main([
    ("ls", lambda: same_calls("ls -R", COMMAND)),
    ("pipeline", lambda: same_calls("a pipeline", PIPELINE)),
])

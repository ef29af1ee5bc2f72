#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Who never looks at a device pays nothing: the same system calls, in the
same order, once the loader has done its work."""
import os
import re
import subprocess
import tempfile

import harness
from harness import USIW, check

COMMAND = ["sh", "-c", "ls -R /usr/share/doc >/dev/null"]
PIPELINE = ["sh", "-c", "cat /etc/passwd | sort | wc -l >/dev/null; "
            "echo a >&2 2>/dev/null; test -e /dev/null"]
CALL = re.compile(r"^(\d+) +(\w+)\((.*)$")


def trace(command, preload):
    """[[call, ...] per program image], what follows the loader's work."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "trace")
        words = ["strace", "-f", "-o", path, *command]
        if preload:
            words = [USIW, "run", "--", *words]
        subprocess.run(words, check=True, cwd="/",
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(path) as f:
            return images(f.readlines())


def images(lines):
    """Cut a trace into program images, in the order of their execve."""
    order, image_of, cache_of = [], {}, {}
    for line in lines:
        match = CALL.match(line)
        if not match:
            continue
        pid, call, rest = match.groups()
        if call == "execve" and rest.endswith("= 0\n"):
            image_of[pid] = []
            order.append(image_of[pid])
            cache_of[pid] = None
        if pid not in image_of:  # a child of fork: an image of its own
            image_of[pid] = []
            order.append(image_of[pid])
        image_of[pid].append(call)
        # The loader unmaps /etc/ld.so.cache when all libraries are mapped
        # and relocated: what it did before does not count.
        if call == "openat" and "ld.so.cache" in rest:
            cache_of[pid] = "wanted"
        elif call == "mmap" and cache_of.get(pid) == "wanted":
            cache_of[pid] = rest.rsplit("= ", 1)[1].strip()
        elif call == "munmap" and cache_of.get(pid) and \
                rest.startswith(cache_of[pid] + ","):
            image_of[pid].clear()
            cache_of[pid] = None
    return order


def same_calls(name, command):
    harness.need("strace")
    plain = trace(command, preload=False)
    under = trace(command, preload=True)
    check(sum(len(i) for i in plain) > 20, "the trace is empty")
    # Processes of a pipeline run in any order: compare as a sorted list.
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

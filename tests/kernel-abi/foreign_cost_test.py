#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A process that never looks for a device makes the same system calls as
without usiw.

The calls with which the loader loads one more object are left out. All calls
after them must be the same.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

# SIGCHLD of a shell arrives before or after the call that waits.
SIGNALS = {"rt_sigreturn"}
# The arenas of CPython depend on the addresses that the loader chose.
MEMORY = {"mmap", "munmap", "brk", "madvise"}

COMMANDS = [
    ["sh", "-c", "ls -R /usr/share/doc/base-files >/dev/null"],
    ["ls", "-lR", "/etc/alternatives"],
    [sys.executable, "-S", "-c",
     "import os,socket,subprocess; os.listdir('/sys/class/net');"
     "os.dup2(0, 9); os.close(9); s=socket.socketpair(); s[0].close();"
     "os.stat('/dev/null'); open('/etc/passwd').read()"],
]


def trace(command, preload):
    with tempfile.TemporaryDirectory() as where:
        env = dict(os.environ, PYTHONHASHSEED="0",
                   PYTHONDONTWRITEBYTECODE="1")
        env.pop("LD_PRELOAD", None)
        if preload:
            # strace itself runs without it
            command = ["env", "LD_PRELOAD=" + preload] + command
        else:
            command = ["env", "LD_NOTHING=" + "x"] + command
        # Python lists its directory again if another test writes there.
        subprocess.run(["strace", "-ff", "-o", where + "/t"] + command,
                       check=True, env=env, stdout=subprocess.DEVNULL, cwd="/")
        # one list per process, in order of pids
        return [calls(os.path.join(where, name))
                for name in sorted(os.listdir(where),
                                   key=lambda n: int(n.split(".")[1]))]


def calls(path):
    """Per exec: the names of the calls after the last one of the loader."""
    result = []
    for line in open(path, encoding="utf-8", errors="replace"):
        match = re.match(r"(\w+)\(", line)
        if not match:
            continue
        if match.group(1) == "execve":
            result.append([])
        if result:
            result[-1].append(match.group(1))
    return [behind_loader(one) for one in result]


def behind_loader(one):
    """The loader first sets up rseq, its last set-up call, and then protects
    relocated memory."""
    rest = one[one.index("rseq") + 1:] if "rseq" in one else one
    while rest and rest[0] in ("mprotect", "prlimit64", "munmap", "getrandom"):
        rest = rest[1:]
    return rest


def main(preload):
    if not shutil.which("strace"):
        print("SKIP: no strace")
        return 77
    probe = subprocess.run(["strace", "-o", "/dev/null", "true"],
                           capture_output=True)
    if probe.returncode:
        print("SKIP: strace may not trace:", probe.stderr.decode())
        return 77
    for command in COMMANDS:
        ignored = SIGNALS | (MEMORY if command[0] == sys.executable else set())
        plain, under = (
            [[[c for c in one if c not in ignored] for one in process]
             for process in trace(command, p)] for p in (None, preload))
        if plain != under:
            print("not the same calls:", " ".join(command))
            for a, b in zip(plain, under):
                for x, y in zip(a, b):
                    if x != y:
                        first = next((i for i, (m, n)
                                      in enumerate(zip(x, y)) if m != n),
                                     min(len(x), len(y)))
                        print("  without:", x[first:first + 8])
                        print("  with:   ", y[first:first + 8])
            return 1
        if not any(len(one) > 5 for process in plain for one in process):
            print("nothing was compared:", command)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""emulate.py, with a stand-in for qemu that prints and exits as a cmocka
program does."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
HEAD = "[==========] Running 2 test(s).\n"
END = "[==========] 2 test(s) run.\n"
LIMITS = """# machine, program, case, reason
box some_test listed sysnosuch does nothing
all whole_test * sysnosuch kills
"""

# program, machine, output, exit code of qemu; exit code and words of
# emulate.py
CASES = (
    ("passes", "other_test", "box", HEAD + END, 0, 0, ""),
    ("fails", "other_test", "box", HEAD + "[  FAILED  ] x\n" + END, 1, 1, ""),
    ("fails in a listed case", "some_test", "box",
     HEAD + "[  FAILED  ] listed\n" + END, 1, 0,
     "skipped listed: qemu-user: sysnosuch does nothing"),
    ("fails there on another machine", "some_test", "den",
     HEAD + "[  FAILED  ] listed\n" + END, 1, 1, ""),
    ("fails in others, too", "some_test", "box",
     HEAD + "[  FAILED  ] listed\n[  FAILED  ] x\n" + END, 2, 2, ""),
    ("aborts after a listed case", "some_test", "box",
     HEAD + "[  FAILED  ] listed\n", 134, 134, ""),
    ("ends badly without a failure", "some_test", "box", HEAD + END, 3, 3, ""),
    ("is listed as a whole", "whole_test", "box", "", 0, 77,
     "skipped: qemu-user: sysnosuch kills"),
)


def main():
    failed = 0
    for name, program, machine, output, code, wanted, said in CASES:
        with tempfile.TemporaryDirectory(prefix="usiw-emulate.") as work:
            with open(os.path.join(HERE, "emulate.py"),
                      encoding="utf-8") as stream:
                text = stream.read()
            for path, content in (
                    ("emulate.py", text), ("limits.txt", LIMITS),
                    ("output", output),
                    ("qemu-cpu-static",
                     f"#!/bin/sh\ncat {work}/output\nexit {code}\n")):
                with open(os.path.join(work, path), "w",
                          encoding="utf-8") as stream:
                    stream.write(content)
            os.chmod(os.path.join(work, "qemu-cpu-static"), 0o755)
            env = dict(os.environ, PATH=f"{work}:{os.environ['PATH']}")
            done = subprocess.run(
                [sys.executable, "-B", os.path.join(work, "emulate.py"),
                 machine, "cpu", "/nowhere", f"/x/{program}"],
                env=env, text=True, stdout=subprocess.PIPE)
        if done.returncode != wanted or said not in done.stdout:
            print(f"FAILED: a program that {name}: {done.returncode}, not "
                  f"{wanted}: {done.stdout}")
            failed += 1
    print(f"{len(CASES)} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

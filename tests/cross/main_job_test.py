#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The main job with another machine's programs, by qemu-user: two processes of
ib_write_bw -R.

USIW_CROSS, USIW_CROSS_QEMU and USIW_CROSS_ROOT name the machine, the emulator
and the machine's root. limits.txt is used as in emulate.py.
"""
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "apps"))
sys.path.insert(0, HERE)
import emulate  # noqa: E402
import harness  # noqa: E402

ROOT = os.environ["USIW_CROSS_ROOT"]
LIB = os.path.join(harness.BUILD, "lib")
SIZE, COUNT = 65536, 200
ROW = re.compile(rf"^ {SIZE} +{COUNT} ", re.M)


def program(*words):
    """Sets what `usiw run` would set. The tool cannot start a program of that
    machine."""
    qemu = shutil.which(os.environ["USIW_CROSS_QEMU"])
    if not qemu:
        raise harness.Skip(f"{os.environ['USIW_CROSS_QEMU']} is missing "
                           "(Debian: qemu-user-static)")
    return [qemu, "-L", ROOT,
            "-E", f"LD_PRELOAD={LIB}/libusiw-kabi.so",
            "-E", f"RDMAV_DRIVERS={LIB}/libusiw",
            os.path.join(ROOT, "usr", "bin", words[0]), *words[1:]]


def write_bw():
    known = emulate.limits(os.environ["USIW_CROSS"], "main_job")
    if "*" in known:
        raise harness.Skip(f"qemu-user: {known['*']}")
    with harness.Test("ib_write_bw") as test:
        port = harness.free_port()
        words = ["ib_write_bw", "-R", "-d", "usiw_lo", "-F", "-p", port,
                 "-s", SIZE, "-n", COUNT]
        before = test.counters.sum()
        server = test.start("server", program(*words), usiw=False)
        server.wait_listening(port, 120)
        client = test.start("client", program(*words, "127.0.0.1"),
                            usiw=False)
        client.wait(120)
        server.wait(120)
        harness.check(ROW.search(client.text()), "no row of figures")
        test.demand_payload(before, SIZE * COUNT)


if __name__ == "__main__":
    sys.exit(harness.main([("ib_write_bw", write_bw)]))

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""verbs_library_test.py PROGRAM [CASE...]: libraries above verbs, which have
no program of their own in Debian, or only one that tests them.

PROGRAM is one of dapl, gloo, rpma. What arrives is compared.
"""
import functools
import os
import re
import subprocess
import sys

import datagrams
import harness
from datagrams import DEVICE, Test
from harness import check

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20


def build(test, compiler, source, *options):
    """Skips the case if the library's headers are not installed."""
    harness.need(compiler)
    path = os.path.join(test.directory, "program")
    source = os.path.join(HERE, source)
    done = subprocess.run([compiler, "-O2", "-o", path, source, *options],
                          text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if "No such file or directory" in done.stdout:
        raise harness.Skip(done.stdout.splitlines()[0])
    check(done.returncode == 0, f"{compiler}: {done.stdout}")
    return path


# ---- librpma -------------------------------------------------------------

def rpma():
    """1 MiB is written, flushed and read back."""
    with Test("librpma") as test:
        path = build(test, "gcc", "rpma_exchange.c", "-lrpma")
        words = ["127.0.0.1", "PORT"]
        datagrams.pair(test, [path, "server", *words],
                       [path, "client", *words])
        test.demand_payload({}, 2 * MIB)
        total = test.counters.sum()
        check(total["read_wr"] >= 2, f"{total['read_wr']} reads")


# ---- Gloo ----------------------------------------------------------------

def gloo(size):
    """Each adds up five vectors of 1 MiB with the others."""
    with Test(f"Gloo, ibverbs, {size} processes") as test:
        path = build(test, "g++", "gloo_exchange.cc", "-lgloo", "-libverbs")
        scratch = test.folder()
        ranks = [test.start(f"rank{rank}", [path, DEVICE, rank, size, scratch])
                 for rank in range(size)]
        for rank in ranks:
            rank.wait(60)
            check("good" in rank.text(), rank.text())
        test.demand_payload({}, 5 * size * MIB)
        test.demand_path()


# ---- uDAPL ---------------------------------------------------------------

OPERATIONS = [word for who in ("client", "server")
              for what in ("SR", "RW", "RR")
              for word in (who, what, 65536, 2)]


def dapl(persona, count=100):
    """dapltest sends, writes and reads in both directions, and compares."""
    harness.PERSONA[:] = ["--persona", persona]
    with Test(f"dapltest, libdaplofa, persona {persona}") as test:
        harness.need("dapltest")
        config = os.path.join(test.folder(), "dat.conf")
        with open(config, "w", encoding="utf-8") as f:
            f.write('usiw u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 '
                    '"lo 0" ""\n')
        env = {"DAT_OVERRIDE": config}
        port = harness.free_port()
        words = ["-D", "usiw", "-n", port]
        server = test.start("server", ["dapltest", "-T", "S", *words], env=env)
        server.wait_text(re.compile("Service Point Ready"))
        client = test.start("client", [
            "dapltest", "-T", "T", "-s", "127.0.0.1", *words, "-i", count,
            "-V", *OPERATIONS], env=env)
        client.wait(60)
        check("Total RDMA Write" in client.text(), client.text())
        test.demand_payload({}, 6 * count * 2 * 65536)
        test.demand_path()


PROGRAMS = {
    "dapl": ("uDAPL: dapltest by libdaplofa, both personas", [
        (persona, functools.partial(dapl, persona))
        for persona in ("rnic", "ca")]),
    "gloo": ("Gloo: allreduce by ibverbs, 2 and 4 processes", [
        (str(size), functools.partial(gloo, size)) for size in (2, 4)]),
    "rpma": ("librpma: write, flush, read", [("rpma", rpma)]),
}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in PROGRAMS:
        sys.exit(f"programs: {' '.join(PROGRAMS)}")
    title, cases = PROGRAMS[sys.argv.pop(1)]
    datagrams.main(title, "RC", cases)

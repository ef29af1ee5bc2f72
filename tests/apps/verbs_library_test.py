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

DTEST_PORT = 15828  # in its source; hence the namespace
OPERATIONS = [word for who in ("client", "server")
              for what in ("SR", "RW", "RR")
              for word in (who, what, 65536, 2)]


# What the third column of dat.conf calls the device.
PORT_OF = {"daplofa": "lo 0", "daploscm": f"{DEVICE} 1",
           "daploucm": f"{DEVICE} 1"}
SCM_ABOVE = 1000  # libdaploscm listens so far above the port that it is given


def uses(test, provider):
    """Return: the environment in which DAPL has the provider as "usiw"."""
    config = os.path.join(test.folder(), "dat.conf")
    with open(config, "w", encoding="utf-8") as f:
        f.write(f"usiw u2.0 nonthreadsafe default lib{provider}.so.2 dapl.2.0 "
                f'"{PORT_OF[provider]}" ""\n')
    # Without it libdaploscm listens at an address that is not of lo.
    return {"DAT_OVERRIDE": config, "DAPL_SCM_NETDEV": "lo"}


def dapltest(provider, persona, count):
    """dapltest sends, writes and reads in both directions, and compares."""
    harness.PERSONA[:] = ["--persona", persona]
    with Test(f"dapltest, lib{provider}, persona {persona}") as test:
        harness.need("dapltest")
        env = uses(test, provider)
        port = harness.free_port() - SCM_ABOVE
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


def dtest(size=1 << 16, turns=100):
    """dtest exchanges messages, and compares them. libdaploucm connects by
    datagrams, to a LID and a queue pair: dapltest knows addresses only."""
    harness.PERSONA[:] = ["--persona", "ca"]
    with Test("dtest, libdaploucm, persona ca") as test:
        harness.need("dtest")
        env = uses(test, "daploucm")
        command = ["dtest", "-P", "usiw", "-b", size]
        server = test.start("server", [*command, "-s"], env=env)
        server.wait_listening(DTEST_PORT)
        client = test.start("client", [*command, "-h", "127.0.0.1"], env=env)
        for program in (client, server):
            program.wait(60)
            check("DAPL Test Complete. PASSED" in program.text(),
                  program.text())
        test.demand_payload({}, 2 * turns * size)
        check(test.counters.sum()["ud_received"] > 0, "no datagrams")
        test.demand_path()


PROGRAMS = {
    "dapl": ("uDAPL: dapltest by libdaplofa and libdaploscm, both personas; "
             "dtest by libdaploucm, persona ca", [
                 *[(f"{provider[5:]}-{persona}",
                    functools.partial(dapltest, provider, persona, count))
                   for provider, count in (("daplofa", 100), ("daploscm", 20))
                   for persona in ("rnic", "ca")],
                 ("ucm-ca", dtest)]),
    "gloo": ("Gloo: allreduce by ibverbs, 2 and 4 processes", [
        (str(size), functools.partial(gloo, size)) for size in (2, 4)]),
    "rpma": ("librpma: write, flush, read", [("rpma", rpma)]),
}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in PROGRAMS:
        sys.exit(f"programs: {' '.join(PROGRAMS)}")
    if sys.argv[1] == "dapl":
        harness.confine(__file__)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    title, cases = PROGRAMS[sys.argv.pop(1)]
    datagrams.main(title, "RC", cases)

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""qperf_test.py [--persona NAME]: qperf's tests of reliable connections, with
rdma_cm (-cm1) and without it, where it sends a LID and a number to the peer.

Each takes at least a second, so several run at a time.
"""
import functools
import re
import sys

import harness
from harness import Test, check

TESTS = (
    ("rc_bw", "rc_lat"),
    ("rc_bi_bw", "rc_rdma_read_lat"),
    ("rc_rdma_read_bw", "rc_rdma_write_lat"),
    ("rc_rdma_write_bw", "rc_rdma_write_poll_lat"),
    ("rc_compare_swap_mr", "rc_fetch_add_mr"),
    # These compare the result of each atomic with the expected one.
    ("ver_rc_compare_swap", "ver_rc_fetch_add"),
)

FIGURE = re.compile(r"^ +\w+ += +([0-9.]+)", re.M)
BANDWIDTH = re.compile(r"^ +bw += +([0-9.]+) ([KMGT]?)B/sec", re.M)
PREFIXES = ["", "K", "M", "G", "T"]


# With -cm1 the server of qperf 0.4.11 destroys the queue pair of its listener,
# which has none, after the measurement: each of its children ends by SIGSEGV
# inside libibverbs. Later versions destroy the connection's. ASan must not
# report it; `usiw run` would set the other two.
QUIET_END = {"ASAN_OPTIONS": ":".join((
    "verify_asan_link_order=0", "detect_leaks=0", "handle_segv=0"))}


class Pair:
    """One server, and one client that runs some tests in sequence."""

    def __init__(self, test, names, options):
        self.names = names
        port = harness.free_port()
        self.server = test.start("server", ["qperf", "-lp", port],
                                 env=QUIET_END)
        self.server.wait_listening(port)
        self.client = test.start("client", [
            "qperf", "-lp", port, "127.0.0.1", *options, *names])

    def check(self):
        self.client.wait(30)
        text = self.client.text()
        figures = text.split(":\n")
        for name, found in zip(self.names, figures[1:]):
            check(name in text, f"nothing of {name}")
            figure = FIGURE.search(found)
            check(figure and float(figure.group(1)) > 0,
                  f"no figure of {name}")
        check(len(figures) == len(self.names) + 1, f"figures: {text}")
        # It runs for ever, and prints errors; `usiw check` prints notes.
        check(self.server.process.poll() is None, "the server died")
        check(harness.IS_CHECK or not self.server.text(), self.server.text())

    def octets(self):
        """At least so many were moved in the second of each test."""
        return sum(float(number) * 1000 ** PREFIXES.index(prefix) / 2
                   for number, prefix in BANDWIDTH.findall(
                       self.client.text()))


def all_tests(connect):
    with Test(f"qperf {' '.join(connect)}") as test:
        harness.need("qperf")
        pairs = [Pair(test, names, [*connect, "-t", 1]) for names in TESTS]
        for pair in pairs:
            pair.check()
        test.demand_payload({}, int(sum(pair.octets() for pair in pairs)))
        served = test.counters.sum().get("atomic_served", 0)
        check(served > 4, f"{served} atomics by usiw's counters")


if sys.argv[1:2] == ["--persona"]:
    harness.PERSONA[:] = sys.argv[1:3]
    del sys.argv[1:3]
harness.main([
    (name, functools.partial(all_tests, connect))
    for name, connect in (("cm", ("-cm1", )),
                          ("by-hand", ("-i", "usiw_lo:1")))])

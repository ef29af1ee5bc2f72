#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The cost of fork() for a program with connections over SDP: none, unless a
child uses them. Then the parent copies for the child."""
import os

import sdp_program
from harness import BUILD, Test, check
from sdp_program import SdpTest

SOCK_CASES = os.path.join(BUILD, "bin", "sock-cases")


class ForkTest(SdpTest):
    """Not in the table of programs."""
    conclude = Test.conclude


def relayed(name):
    """Octets that a case of sock-cases copied for other processes."""
    with ForkTest(f"fork: {name}") as test:
        test.run("cases", [SOCK_CASES, f"fork.{name}"])
        test.demand_sdp(1)
        return sum(process["totals"]["relayed"]
                   for process in test.processes())


def children_that_do_nothing():
    octets = relayed("unrelated")
    check(octets == 0, f"{octets} octets were copied")


def child_that_sends():
    octets = relayed("large-by-child")
    check(octets >= 2 << 20, f"{octets} octets were copied, it sent 2 MiB")


if __name__ == "__main__":
    sdp_program.main([("unrelated", children_that_do_nothing),
                      ("used", child_that_sends)])

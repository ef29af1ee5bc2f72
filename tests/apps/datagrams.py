# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Programs of datagrams (UD), with persona ca, and of the other rows that
`make apps` prints for verbs.

A case runs programs, and finds at least their payload in usiw's counters. All
cases of a script give one row of the table that `scripts/apps-table` prints.
"""
import sys

import harness
from harness import check

DEVICE = "usiw_lo"
MTU = 4096  # of the loopback device


class Test(harness.Test):
    moved = 0  # payload octets of all cases

    def conclude(self, kind, value, states):
        Test.moved += self.counters.sum().get("tx_payload", 0)
        super().conclude(kind, value, states)

    def demand_datagrams(self, octets, count, is_all=True):
        """Checks that so many octets were sent, and so many datagrams arrived.
        is_all: nothing went by a connection."""
        total = self.counters.sum()
        self.demand_payload({}, octets)
        check(total["ud_received"] >= count,
              f"{total['ud_received']} datagrams by usiw's counters, the "
              f"programs sent {count}")
        check(is_all == (not total["streams_opened"]),
              f"{total['streams_opened']} connections")
        for name in ("ud_bad", "ud_bad_qkey"):
            check(not total[name], f"{name} is {total[name]}")

    def demand_way(self, env):
        """Checks that datagrams of one host went by shared memory, or did
        not, as env has it."""
        opened = self.counters.sum()["local_opened"]
        check((env == harness.WIRE) == (opened == 0),
              f"{opened} peers by shared memory")

    def folder(self):
        """A directory that all programs may write to. Return: its path."""
        path = harness.os.path.join(self.directory, "scratch")
        harness.os.mkdir(path)
        harness.os.chmod(path, 0o1777)
        return path


def at_port(command, port):
    """The word PORT of a command is this one."""
    return [port if word == "PORT" else word for word in command]


def pair(test, server, client, env=None, inside=(), timeout=60):
    """Runs a server, which listens by TCP at PORT, and its client. Return: the
    client."""
    return harness.with_clock(test, lambda: pair_once(
        test, server, client, env, inside, timeout))


def pair_once(test, server, client, env, inside, timeout):
    port = harness.free_port()
    server = test.start("server", at_port(server, port), env=env,
                        inside=inside)
    server.wait_listening(port)
    client = test.start("client", at_port(client, port), env=env)
    client.wait(timeout)
    server.wait(20)
    return client


def main(program, way, cases):
    """Runs the cases; prints the row of these programs."""
    try:
        harness.main(cases)
    finally:
        if Test.moved:
            program += ", under usiw check" if harness.IS_CHECK else ""
            print(f"program: {program} | {way} | {Test.moved}")
            sys.stdout.flush()

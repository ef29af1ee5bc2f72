#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""kill -9 during a transfer: the other side ends with an error."""
import functools
import signal

import harness
from harness import Test, check, wait_until

FLOWING = 50 << 20  # after this many octets the transfer is in progress


# Kills that may find ib_send_bw's client without credits.
ATTEMPTS = 10


def has_nothing_to_lose(test, program):
    """The connections have ended, and no Send failed: none was outstanding.
    (Receives of perftest's first connection fail, and nobody looks at them.)
    ib_send_bw's client posts as many Sends as its server has given it credits
    for, and then waits for more. If they all have completed when the server
    ends, nothing tells the client, on any device."""
    counters = test.counters.pages().get(program.pid, {})
    done = counters.get("cqe", 0) - counters.get("cqe_error", 0)
    return counters.get("streams_ended") == counters.get("streams_opened") \
        and done == sum(counters.get(n, 0)
                        for n in ("send_wr", "write_wr", "recv_done"))


def is_told(program, victim_name, option):
    """False: the other program had nothing to lose."""
    with Test(f"kill -9 of the {victim_name} of {program} {option}") as test:
        port = harness.free_port()
        command = [program, *option.split(), "-D", "10", "-p", port]
        server = test.start("server", command)
        server.wait_listening(port)
        client = test.start("client", command + ["127.0.0.1"])
        wait_until(lambda: test.counters.sum().get("tx_payload", 0) > FLOWING,
                   30, "traffic")
        victim, other = server, client
        if victim_name == "client":
            victim, other = client, server
        check(other.process.poll() is None, f"{other.name} ended too soon")
        victim.signal(signal.SIGKILL)
        victim.wait(5, codes=(-signal.SIGKILL,))
        try:
            code = other.wait(5, codes=None)
        except harness.Failure:
            if program == "ib_send_bw" and has_nothing_to_lose(test, other):
                return False
            raise
        check(code > 0, f"{other.name} ended with {code}: no error, or by a "
              "signal")
        return True


def kill(program, victim_name, option="-R"):
    """Option "": without rdma_cm."""
    check(any(is_told(program, victim_name, option) for _ in range(ATTEMPTS)),
          "the client had nothing to lose, each time")


harness.main([
    (f"{program}-{victim}", functools.partial(kill, program, victim))
    for program in ("ib_write_bw", "ib_read_bw", "ib_send_bw")
    for victim in ("server", "client")] + [
    (f"{program}-{victim}-by-hand", functools.partial(kill, program, victim,
                                                      ""))
    for program, victim in (("ib_write_bw", "server"),
                            ("ib_send_bw", "server"),
                            ("ib_read_bw", "server"))])

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""kill -9 during a transfer: the other side ends with an error."""
import functools
import signal

import harness
from harness import Test, check, wait_until

FLOWING = 50 << 20  # after this many octets the transfer is in progress


def kill(program, victim_name, option="-R"):
    """Option "": without rdma_cm."""
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
        code = other.wait(5, codes=None)
        check(code > 0, f"{other.name} ended with {code}: no error, or by a "
              "signal")


harness.main([
    (f"{program}-{victim}", functools.partial(kill, program, victim))
    for program in ("ib_write_bw", "ib_read_bw", "ib_send_bw")
    for victim in ("server", "client")] + [
    (f"{program}-{victim}-by-hand", functools.partial(kill, program, victim,
                                                      ""))
    for program, victim in (("ib_write_bw", "server"),
                            ("ib_send_bw", "server"),
                            ("ib_read_bw", "server"))])

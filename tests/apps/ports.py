# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A server that listens by TCP and by rdma_cm on one port: rdmacm_ports.c."""
import os
import re

import harness
from harness import Test

PROGRAM = os.path.join(harness.BUILD, "bin", "apps-rdmacm")
ORDERS = ("tcp-first", "rdma-first", "tcp-around", "rdma-around")


def both(address, order, inside=()):
    """A client in this namespace connects to both; the server is `inside`."""
    with Test(f"ports {order} {' '.join(harness.PERSONA)}") as test:
        server = test.start("server", [PROGRAM, "ports-serve", address, order],
                            inside=inside)
        port = server.wait_text(re.compile(r"^port (\d+)$", re.M)).group(1)
        client = test.start("client", [PROGRAM, "ports-dial", address, port])
        client.wait(60)
        server.wait(20)
        total = test.counters.sum()
        harness.check(total["connects"] == 1 and total["accepts"] == 1,
                      "they did not connect by usiw")

# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""rping: starts a pair and waits for its end."""
import harness
from harness import check

# The client closes its event channel at its end, while its own thread may
# still wait there, or come back to it after the last event. It then prints
# this and exits with 255.
CHANNEL_CLOSED = "rdma_get_cm_event: Bad file descriptor"


def wait_client(client, timeout):
    code = client.wait(timeout, codes=(0, 255))
    check(not code or CHANNEL_CLOSED in client.text(),
          f"{client.name} ended with {code}")


def finish(server, client, timeout=60):
    wait_client(client, timeout)
    # The server answers a disconnect with an error.
    server.wait(20, codes=None)


def pair(test, count, size, address="127.0.0.1", listen=None, more=(),
         program=("rping",), env=None, inside=(), timeout=60):
    """Runs server and client to the end. The client pings count times: the
    server reads size octets and writes them back. listen: the address of the
    server, otherwise any; inside: where the server runs."""
    before = test.counters.sum()
    port = harness.free_port()
    common = [*program, "-V", "-C", count, "-S", size, "-p", port, *more]
    server = test.start(
        "server", common + ["-s"] + (["-a", listen] if listen else []),
        env=env, inside=inside)
    server.wait_listening(port)
    client = test.start("client", common + ["-c", "-a", address], env=env)
    finish(server, client, timeout)
    test.demand_payload(before, 2 * count * size)

# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""perftest's programs: starts a pair and reads the table that it prints."""
import re

import harness
from harness import check

ALL_SIZES = [1 << n for n in range(1, 24)]

# "#bytes #iterations ..." and the rows of numbers after it.
ROW = re.compile(r"^ *(\d+) +(\d+) +([0-9][0-9.]*.*)$", re.M)


def rows(text):
    """[(bytes, iterations, [figures])] of the table in a program's output."""
    head = text.find("#bytes")
    if head < 0:
        return []
    return [(int(m.group(1)), int(m.group(2)),
             [float(x) for x in re.findall(r"[0-9.]+", m.group(3))])
            for m in ROW.finditer(text, head)]


def directions(program, options):
    """How often each iteration's octets cross the wire."""
    if program in ("ib_write_lat", "ib_send_lat"):
        return 2  # there and back
    return 2 if "-b" in options else 1


def moved(program, options, table):
    return sum(size * count for size, count, _ in table) * \
        directions(program, options)


def demand_moved(test, before, program, options, table):
    test.demand_payload(before, moved(program, options, table))


def demand_atomics(test, before, program, options, table):
    """Atomics carry no payload, so the responders' counters are checked."""
    served = (test.counters.sum().get("atomic_served", 0) -
              before.get("atomic_served", 0))
    wanted = sum(count for _, count, _ in table) * directions(program, options)
    check(served >= wanted, f"{served} atomics by usiw's counters, the "
          f"programs did {wanted}: they went another way")


# How the queue pairs are connected: by rdma_cm, or by the programs themselves,
# which exchange address and number on a socket.
BY_CM = ("-R",)
BY_HAND = ("-d", "usiw_lo", "-x", "0")


def pair(test, program, options, address="127.0.0.1", **settings):
    """Runs server and client to the end. Return: the client's table. The
    settings are those of pair_once()."""
    return harness.with_clock(test, lambda: pair_once(
        test, program, options, address, **settings))


def pair_once(test, program, options, address, env=None, inside=None,
              timeout=120, demand=demand_moved, connect=BY_CM, codes=(0,),
              max_size=ALL_SIZES[-1]):
    inside = inside or {}
    before = test.counters.sum()
    port = harness.free_port()
    command = [program, *connect, "-p", port, *options]
    server = test.start("server", command, env=env,
                        inside=inside.get("server", ()))
    server.wait_listening(port)
    client = test.start("client", command + [address], env=env,
                        inside=inside.get("client", ()))
    client.wait(timeout, codes=codes)
    server.wait(20, codes=codes)
    table = rows(client.text())
    check(table, f"{program} printed no table")
    if "-a" in options:
        check([r[0] for r in table] == [s for s in ALL_SIZES if s <= max_size],
              f"sizes in the table: {[r[0] for r in table]}")
    for size, count, figures in table:
        check(count > 0 and any(f > 0 for f in figures),
              f"{program}: empty row for {size} octets")
    demand(test, before, program, options, table)
    return table

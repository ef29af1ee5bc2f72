#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""How octets are placed: directly into registered memory without CRC and with
large FPDUs; through staging, with one copy, with CRC. Shared memory has no CRC."""
import functools

import harness
import perftest
from harness import Test, check

ITERATIONS = "2000"


def total_of(test, names):
    total = test.counters.sum()
    return [total.get(name, 0) for name in names]


def direct(program, size):
    with Test(f"{program} -s {size}, CRC off") as test:
        table = perftest.pair(test, program, ["-s", str(size), "-n",
                                              ITERATIONS],
                              env={"USIW_CRC": "off", **harness.WIRE})
        payload = perftest.moved(program, [], table)
        straight, staged = total_of(test, ("rx_direct", "rx_staged"))
        check(straight >= 0.9 * payload,
              f"{straight} of {payload} octets went straight, "
              f"{staged} through staging")


def staged(program, size):
    with Test(f"{program} -s {size}, CRC on") as test:
        table = perftest.pair(test, program, ["-s", str(size), "-n",
                                              ITERATIONS],
                              env=harness.WIRE)
        payload = perftest.moved(program, [], table)
        straight, through = total_of(test, ("rx_direct", "rx_staged"))
        check(straight == 0, f"{straight} octets placed before their CRC "
              "was known")
        check(through >= payload, f"{through} of {payload} octets staged")


harness.main(
    [(f"{program}-{size}-direct", functools.partial(direct, program, size))
     for program in ("ib_write_bw", "ib_read_bw", "ib_send_bw")
     for size in (65536, 1 << 20)] +
    [(f"{program}-staged", functools.partial(staged, program, 65536))
     for program in ("ib_write_bw", "ib_read_bw", "ib_send_bw")])

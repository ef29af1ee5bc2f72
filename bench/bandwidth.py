#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Bandwidth of 64 KiB to 1 MiB messages beside a raw TCP stream.

	bandwidth.py [--rounds N] [--mib N] [--sizes A,B,...]
"""
import argparse
import functools

import runs

PROGRAMS = ("ib_write_bw", "ib_read_bw", "ib_send_bw")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mib", type=int, default=1024,
                        help="MiB moved by one measurement")
    parser.add_argument("--sizes", default="65536,131072,262144,524288,"
                        "1048576")
    args = parser.parse_args()

    print(f"{'MiB/s':<24} {'octets':>8} {'median':>9} {'of raw':>7}")
    for size in (int(s) for s in args.sizes.split(",")):
        count = max(5, (args.mib << 20) // size)
        measurements = {"raw TCP": functools.partial(
            runs.raw, "stream", size, count)}
        for program in PROGRAMS:
            for crc in ("on", "off"):
                measurements[f"{program}, CRC {crc}"] = functools.partial(
                    runs.perf, program, size, count,
                    runs.BANDWIDTH_AVERAGE, crc)
        medians = runs.interleave(args.rounds, measurements)
        for name, median in medians.items():
            print(f"{name:<24} {size:>8} {median:9.0f} "
                  f"{median / medians['raw TCP']:7.2f}")


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Bandwidth beside a raw TCP stream, or beside that of another build.

	bandwidth.py [--rounds N] [--mib N] [--sizes A,B,...]
		[--programs A,B,...] [--crc on,off] [--base BUILD_DIR]

With --base each row compares the usiw of BUILD_DIR with this one's, which take
turns; the rounds should then be many and short.
"""
import argparse
import functools

import runs

PROGRAMS = "ib_write_bw,ib_read_bw,ib_send_bw"
SIZES = "65536,131072,262144,524288,1048576"
# Small messages cost time, not octets.
COUNT_MAX = 50000


def measurement(args, program, size, crc, build=None):
    count = min(COUNT_MAX, max(5, (args.mib << 20) // size))
    return functools.partial(runs.perf, program, size, count,
                             runs.BANDWIDTH_AVERAGE, {"USIW_CRC": crc}, build)


def beside_raw(args, size):
    count = max(5, (args.mib << 20) // size)
    measurements = {"raw TCP": functools.partial(runs.raw, "stream", size,
                                                 count)}
    for program in args.programs:
        for crc in args.crc:
            measurements[f"{program}, CRC {crc}"] = measurement(
                args, program, size, crc)
    medians = runs.medians(args.rounds, measurements)
    for name, median in medians.items():
        print(f"{name:<24} {size:>8} {median:9.0f} "
              f"{median / medians['raw TCP']:7.2f}", flush=True)


def beside_base(args, size):
    for program in args.programs:
        for crc in args.crc:
            runs.compare(f"{program}, CRC {crc}, {size}", args.rounds,
                         measurement(args, program, size, crc, args.base),
                         measurement(args, program, size, crc), 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mib", type=int, default=1024,
                        help="MiB moved by one measurement")
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--programs", default=PROGRAMS)
    parser.add_argument("--crc", default="on,off")
    parser.add_argument("--base", metavar="BUILD_DIR",
                        help="compare with the usiw built there")
    args = parser.parse_args()
    args.programs = args.programs.split(",")
    args.crc = args.crc.split(",")
    sizes = [int(s) for s in args.sizes.split(",")]
    runs.need(*args.programs, builds=(None, args.base), raw=not args.base)

    if args.base:
        runs.compare_head("MiB/s")
    else:
        print(f"{'MiB/s':<24} {'octets':>8} {'median':>9} {'of raw':>7}")
    for size in sizes:
        if args.base:
            beside_base(args, size)
        else:
            beside_raw(args, size)


main()

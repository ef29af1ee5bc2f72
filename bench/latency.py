#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Latency of 8 octets beside raw TCP in the same run, or beside that of another
build.

	latency.py [--rounds N] [--count N] [--sizes A,B,...] [--check]
		[--base BUILD_DIR]

ib_write_lat's receiver spins on memory: its measure is a blocking TCP
ping-pong.  ib_send_lat polls a CQ: its measure is a spinning one.  With
--check the exit code is 1 when a ratio is above what is promised.  With --base
each row compares the usiw of BUILD_DIR with this one's, which take turns.
"""
import argparse
import functools
import sys

import runs

PROMISED = {"ib_write_lat": 1.3, "ib_send_lat": 2.0}
YARDSTICK = {"ib_write_lat": "raw TCP, blocking",
             "ib_send_lat": "raw TCP, spinning"}
CRC = ("on", "off")


def measurement(args, program, size, crc, build=None):
    return functools.partial(runs.perf, program, size, args.count,
                             runs.LATENCY_TYPICAL, {"USIW_CRC": crc}, build)


def beside_base(args, size):
    for program in YARDSTICK:
        for crc in CRC:
            runs.compare(f"{program}, CRC {crc}, {size}", args.rounds,
                         measurement(args, program, size, crc, args.base),
                         measurement(args, program, size, crc), 2)


def beside_raw(args, size):
    """Names of those that are slower than promised."""
    measurements = {}
    for program, yardstick in YARDSTICK.items():
        measurements[yardstick] = functools.partial(
            runs.raw, "pingpong", size, args.count, "spin" in yardstick)
        for crc in CRC:
            measurements[f"{program}, CRC {crc}"] = measurement(
                args, program, size, crc)
    medians = runs.medians(args.rounds, measurements)

    late = []
    print(f"{'half round trip of ' + str(size) + ' octets':<28} "
          f"{'us':>8} {'ratio':>6} {'limit':>6}")
    for program, yardstick in YARDSTICK.items():
        base = medians[yardstick]
        print(f"{yardstick:<28} {base:8.2f} {1:6.2f}")
        for crc in CRC:
            name = f"{program}, CRC {crc}"
            ratio = medians[name] / base
            print(f"{name:<28} {medians[name]:8.2f} {ratio:6.2f} "
                  f"{PROMISED[program]:6.2f}")
            if ratio > PROMISED[program]:
                late.append(name)
    return late


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--sizes", default="8")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--base", metavar="BUILD_DIR",
                        help="compare with the usiw built there")
    args = parser.parse_args()
    sizes = [int(s) for s in args.sizes.split(",")]
    runs.need(*YARDSTICK, builds=(None, args.base), raw=not args.base)

    late = []
    if args.base:
        runs.compare_head("half round trip, us")
    for size in sizes:
        if args.base:
            beside_base(args, size)
        else:
            late += beside_raw(args, size)
    if late:
        print("above the limit: " + "; ".join(late))
    sys.exit(1 if late and args.check else 0)


main()

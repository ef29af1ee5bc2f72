#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Latency of 8 octets beside raw TCP in the same run.

	latency.py [--rounds N] [--count N] [--check]

ib_write_lat's receiver spins on memory: its measure is a blocking TCP
ping-pong.  ib_send_lat polls a CQ: its measure is a spinning one.  With
--check the exit code is 1 when a ratio is above what is promised.
"""
import argparse
import functools
import sys

import runs

SIZE = 8
PROMISED = {"ib_write_lat": 1.3, "ib_send_lat": 2.0}
YARDSTICK = {"ib_write_lat": "raw TCP, blocking",
             "ib_send_lat": "raw TCP, spinning"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()

    measurements = {}
    for program, yardstick in YARDSTICK.items():
        measurements[yardstick] = functools.partial(
            runs.raw, "pingpong", SIZE, args.count, "spin" in yardstick)
        for crc in ("on", "off"):
            measurements[f"{program}, CRC {crc}"] = functools.partial(
                runs.perf, program, SIZE, args.count, runs.LATENCY_TYPICAL,
                crc)
    medians = runs.interleave(args.rounds, measurements)

    late = []
    print(f"{'half round trip of ' + str(SIZE) + ' octets':<28} "
          f"{'us':>8} {'ratio':>6} {'limit':>6}")
    for program, yardstick in YARDSTICK.items():
        base = medians[yardstick]
        print(f"{yardstick:<28} {base:8.2f} {1:6.2f}")
        for crc in ("on", "off"):
            name = f"{program}, CRC {crc}"
            ratio = medians[name] / base
            print(f"{name:<28} {medians[name]:8.2f} {ratio:6.2f} "
                  f"{PROMISED[program]:6.2f}")
            if ratio > PROMISED[program]:
                late.append(name)
    if late:
        print("above the limit: " + "; ".join(late))
    sys.exit(1 if late and args.check else 0)


main()

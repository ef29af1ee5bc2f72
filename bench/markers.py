#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Throughput with MPA markers both ways, beside none: end to end, perftest.

	markers.py [--rounds N] [--mib N] [--size N]

Exits with 1 when markers leave less than a quarter.
"""
import argparse
import functools
import sys

import runs

GOAL = 0.25
PROGRAMS = ("ib_write_bw", "ib_read_bw", "ib_send_bw")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mib", type=int, default=512)
    parser.add_argument("--size", type=int, default=1 << 20)
    args = parser.parse_args()
    runs.need(*PROGRAMS, raw=False)

    count = max(5, (args.mib << 20) // args.size)
    worst = 1.0
    print(f"{'MiB/s':<24} {'off':>9} {'on':>9} {'share':>6}")
    for program in PROGRAMS:
        for crc in ("on", "off"):
            medians = runs.medians(args.rounds, {
                markers: functools.partial(
                    runs.perf, program, args.size, count,
                    runs.BANDWIDTH_AVERAGE,
                    {"USIW_CRC": crc, "USIW_MARKERS": markers})
                for markers in ("off", "on")})
            share = medians["on"] / medians["off"]
            worst = min(worst, share)
            print(f"{program + ', CRC ' + crc:<24} {medians['off']:9.0f} "
                  f"{medians['on']:9.0f} {share:6.2f}")
    print(f"worst share {worst:.2f}, goal {GOAL:.2f}: "
          f"{'met' if worst >= GOAL else 'MISSED'}")
    return worst < GOAL


sys.exit(main())

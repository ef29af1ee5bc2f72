#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Compares usiw with its peers in one run, by samples in turns.

	bench.py [--rounds N] [--rows PATTERN,...] [--window MS] [--base COMMIT]
		[--out DIRECTORY] [--list] [--kernel]

A row has the same load for usiw and for each peer. A round takes one sample of
each way of each row. The table has the median, minimum and maximum of the
rounds, and the ratio of usiw's median to that of each peer. It is printed on
standard output, and written to BUILD/bench, or the directory of --out, with the
JSON file and the plots. publish.py makes doc/bench of it.

--rows selects rows with a name that contains one of the words, or matches it
as a shell pattern. --base compares with usiw at another commit instead of with
peers. --kernel measures the rows of the kernel's siw and rxe; kernel.py runs
it in a guest.

make bench runs this; see README.md. USIW_BUILD_DIR names the build
directory.
"""
import argparse
import fnmatch
import json
import os
import platform
import re
import resource
import subprocess
import sys
import time

import base
import plots
import report
import rounds
import rows
import targets
import ways

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
ROUNDS = 5


def arguments(words=None):
    parser = argparse.ArgumentParser(
        description=__doc__, usage=argparse.SUPPRESS,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--rows", default="")
    parser.add_argument("--window", type=int, default=250, metavar="MS")
    parser.add_argument("--base", default="")
    parser.add_argument("--out", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--kernel", action="store_true")
    parser.add_argument("--address", action="append", default=[],
                        metavar="STACK=ADDRESS",
                        help="where a driver's device is")
    parser.add_argument("--scale", type=float, default=1.0,
                        help="of the counts, for a slow machine")
    found = parser.parse_args(words)
    if found.rounds < 1 or found.window < 1:
        parser.error("rounds and window are at least 1")
    return found


def chosen(all_rows, patterns):
    """The rows that match --rows."""
    words = [w for w in patterns.split(",") if w]
    return [row for row in all_rows if not words or
            any(w in row.name or fnmatch.fnmatchcase(row.name, w)
                for w in words)]


def command_output(*words):
    try:
        return subprocess.run(words, capture_output=True, text=True,
                              check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def commit_of(root):
    text = command_output("git", "-C", root, "rev-parse", "--short=12", "HEAD")
    is_changed = text and command_output("git", "-C", root, "status",
                                         "--porcelain", "-uno")
    return (text or "unknown") + (", changed" if is_changed else "")


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as stream:
        model = re.search(r"^model name\s*: (.*)$", stream.read(), re.M)
    return f"{model.group(1) if model else platform.machine()}, " \
           f"{os.cpu_count()} CPUs"


def about(args, begin_load):
    """What a reader must know about a run."""
    found = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "usiw": commit_of(ROOT),
        "machine": f"{processor()}, Linux {platform.release()}",
        "load before": f"{begin_load:.2f}",
        "rounds": str(args.rounds),
    }
    if args.base:
        found["base"] = args.base
    return found


def write_results(directory, all_rows, samples, verdicts, facts):
    os.makedirs(directory, exist_ok=True)
    text = report.text(all_rows, samples, verdicts, facts,
                       rows.SHORT)
    with open(os.path.join(directory, "table.md"), "w",
              encoding="utf-8") as stream:
        stream.write("# Benchmark\n\n" + text)
    with open(os.path.join(directory, "bench.json"), "w",
              encoding="utf-8") as stream:
        json.dump(report.as_json(all_rows, samples, verdicts, facts), stream,
                  indent=1)
        stream.write("\n")
    print(text)
    print(plots.draw(all_rows, samples, directory))
    print(f"results: {os.path.relpath(directory)}")


def main():
    args = arguments()
    all_rows = chosen(rows.kernel_table() if args.kernel else rows.table(),
                      args.rows)
    if args.list:
        print("\n".join(f"{r.name:<34} {r.title}" for r in all_rows))
        return 0
    if not all_rows:
        sys.exit(f"bench: no row is named like {args.rows}")
    if args.kernel:
        # siw wants locked memory, whatever the rights of the process are.
        ways.harness.MEMLOCK = resource.RLIM_INFINITY
    try:
        ways.harness.check_environment()
    except (ways.harness.Failure, ways.harness.Skip) as e:
        sys.exit(f"bench: {e}")
    if args.base:
        before = base.build(ROOT, args.base,
                            os.path.join(ways.harness.BUILD, "bench"))
        all_rows = rows.beside_base(all_rows, before)
    facts = about(args, os.getloadavg()[0])
    bench = ways.Bench(args.window, args.scale,
                       dict(a.split("=", 1) for a in args.address))
    samples = rounds.Samples()
    begin = time.monotonic()
    rounds.interleave(
        all_rows, args.rounds, bench.measure, samples,
        lambda text: print(f"{time.monotonic() - begin:6.1f} s  {text}",
                           file=sys.stderr, flush=True))
    facts["took"] = f"{time.monotonic() - begin:.0f} s"
    wanted = [] if args.base else targets.table(all_rows, args.kernel)
    verdicts = targets.judge(all_rows, wanted, samples)
    write_results(os.path.abspath(args.out) if args.out else
                  os.path.join(ways.harness.BUILD, "bench"),
                  all_rows, samples, verdicts, facts)
    return 1 if samples.failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Makes doc/bench from the results of a whole run of make bench: one short
table and one picture.

	publish.py [RESULTS [DIRECTORY]]

RESULTS is the JSON file of the run, build/bench/bench.json by default.
"""
import json
import os
import sys

import plots
import report
import rounds
import rows

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
ROUNDS = 5
PICTURE = "send-latency.svg"
HEAD = f"""\
# Benchmark

`make bench` measures usiw beside its peers, and `bench/publish.py` makes this page of its results.
[The benchmark](../../bench/README.md) says what a row means and how far its figure can be trusted. Figures are
medians; minimum and maximum are in brackets.

- "local" is the default between programs of one host: shared memory.
- "wire CRC" is the default between hosts: TCP, with CRC. "wire" has no CRC.
- Rows of SDP begin with SDP, but for "from TCP", which is the default.
- UCX shm and libfabric shm are shared memory without verbs.

![Half a round trip of 8 octets]({PICTURE})

"""


def why_not(results):
    """Why a run is not one to publish; None if it is."""
    about = results["about"]
    if "base" in about:
        return "it compares with another commit"
    if int(about["rounds"]) < ROUNDS:
        return f"it has {about['rounds']} rounds, not {ROUNDS}"
    missing = set(rows.SHORT) - {row["name"] for row in results["rows"]}
    if missing:
        return "it lacks " + ", ".join(sorted(missing))
    return None


def samples_of(results):
    samples = rounds.Samples()
    for row in results["rows"]:
        for way in row["ways"]:
            for metric, values in way["metrics"].items():
                samples.figures[row["name"], way["name"], metric] = \
                    rounds.Figures(values)
    return samples


def page(results):
    facts = "\n".join(f"- {k}: {v}" for k, v in results["about"].items())
    table = {row.name: row for row in rows.table()}
    short = report.short_table([table[name] for name in rows.SHORT],
                               samples_of(results))
    return f"{HEAD}{short}\n\n{facts}\n"


def main():
    words = sys.argv[1:]
    path = words[0] if words else os.path.join(
        os.environ.get("USIW_BUILD_DIR") or os.path.join(ROOT, "build"),
        "bench", "bench.json")
    directory = words[1] if len(words) > 1 else \
        os.path.join(ROOT, "doc", "bench")
    try:
        with open(path, encoding="utf-8") as stream:
            results = json.load(stream)
    except OSError as e:
        sys.exit(f"publish: no results of make bench: {e}")
    reason = why_not(results)
    if reason:
        sys.exit(f"publish: {path} is not a whole run: {reason}")
    with open(os.path.join(directory, "table.md"), "w",
              encoding="utf-8") as stream:
        stream.write(page(results))
    print(plots.draw(rows.table(), samples_of(results), directory, PICTURE))
    return 0


if __name__ == "__main__":
    sys.exit(main())

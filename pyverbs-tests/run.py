#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Runs tests of this directory under `usiw run`.

  run.py [-j JOBS] [--dev DEVICE] MODULE[.CLASS[.TEST]]...

Each test is a separate process with a watchdog. None may be skipped: a
requirement that the machine or usiw does not meet is a failure.
"""
import argparse
import os
import sys
import unittest

import inside
import isolate

LIMIT = 60 * float(os.environ.get("USIW_TEST_SLOW", "1"))


def main():
    parse = argparse.ArgumentParser(description=__doc__)
    parse.add_argument("-j", dest="jobs", type=int, default=2)
    parse.add_argument("--dev", default="usiw_lo")
    parse.add_argument("name", nargs="+")
    arguments = parse.parse_args()
    inside.enter(arguments.dev)
    tests = list(isolate.tests_in(
        unittest.defaultTestLoader.loadTestsFromNames(arguments.name)))
    results = inside.Results(arguments.name)

    def tell(test, outcome):
        good = outcome.verdict == "pass"
        print(f"{outcome.verdict:6} {outcome.seconds:5.1f} s  {test.id()}",
              flush=True)
        if not good:
            print(f"{outcome.text.rstrip()}\n{outcome.output.rstrip()}",
                  flush=True)
        results.take(test, outcome)

    isolate.run(tests, arguments.jobs, LIMIT, tell)
    if arguments.name == [arguments.name[0].split(".")[0]]:
        results.write()  # of a whole module, for the verb table
    bad = results.count(lambda verdict: verdict != "pass")
    print(f"{arguments.name}: {len(tests)} tests, {bad} bad")
    return 1 if bad or not tests else 0


if __name__ == "__main__":
    sys.exit(main())

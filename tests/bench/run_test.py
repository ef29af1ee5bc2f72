#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""bench/bench.py runs: one round of a row, from programs to files."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import place

BENCH = os.path.join(place.BENCH, "bench.py")
ROW = "write-rate-64-list32-qp4"


class Run(unittest.TestCase):
    def bench(self, *words):
        return subprocess.run([sys.executable, "-B", BENCH, *words],
                              capture_output=True, text=True, timeout=250)

    def test_a_row_is_measured_and_written(self):
        with tempfile.TemporaryDirectory() as directory:
            done = self.bench("--rounds", "1", "--window", "20", "--rows", ROW,
                              "--out", directory)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(os.path.join(directory, "bench.json"),
                      encoding="utf-8") as stream:
                row, = json.load(stream)["rows"]
            with open(os.path.join(directory, "table.md"),
                      encoding="utf-8") as stream:
                table = stream.read()
        self.assertEqual(row["name"], ROW)
        wire, = [w for w in row["ways"] if w["name"] == "wire CRC"]
        figure, = wire["metrics"]["M/s"]
        self.assertGreater(figure, 0)
        self.assertIn(row["title"], table)

    def test_a_row_that_does_not_exist_is_an_error(self):
        done = self.bench("--rows", "no-such-row")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no row is named like no-such-row", done.stderr)


if __name__ == "__main__":
    unittest.main()

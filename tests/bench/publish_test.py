#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""bench/publish.py: the page of a whole run, and which runs have none."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import place
import publish
import report
import rounds
import rows


def results(count=5):
    """A run that measured 1, 2, 3... in each way of each row."""
    table = rows.table()
    samples = rounds.Samples()
    for row in table:
        for way in row.ways:
            for number in range(count):
                samples.add(row.name, way.name, {row.metrics[0]: number + 1})
    return report.as_json(table, samples, [],
                          {"date": "2026-01-01", "rounds": str(count)})


class Publish(unittest.TestCase):
    def test_a_line_for_each_row_that_matters(self):
        page = publish.page(results())
        self.assertIn("3.00 (1.00 to 5.00)", page)
        table = [line for line in page.split("\n") if line.startswith("| ")]
        self.assertEqual(len(table), 2 + len(rows.SHORT))
        self.assertIn("- date: 2026-01-01", page)

    def test_the_page_is_short(self):
        self.assertTrue(15 <= len(rows.SHORT) <= 25)

    def test_only_a_whole_run_is_published(self):
        self.assertIsNone(publish.why_not(results()))
        self.assertIn("4 rounds", publish.why_not(results(4)))
        other = results()
        other["about"]["base"] = "HEAD~1"
        self.assertIn("another commit", publish.why_not(other))
        part = results()
        part["rows"] = part["rows"][:3]
        self.assertIn(rows.SHORT[-1], publish.why_not(part))

    def test_a_table_and_a_picture(self):
        if not shutil.which("gnuplot"):
            self.skipTest("gnuplot is not installed (gnuplot-nox)")
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "bench.json")
            with open(path, "w", encoding="utf-8") as stream:
                json.dump(results(), stream)
            target = os.path.join(directory, "page")
            os.mkdir(target)
            subprocess.run([sys.executable, "-B",
                            os.path.join(place.BENCH, "publish.py"), path,
                            target], check=True)
            self.assertEqual(sorted(os.listdir(target)),
                             sorted([publish.PICTURE, "table.md"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)

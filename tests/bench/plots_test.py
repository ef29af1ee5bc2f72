#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""bench/plots.py: the figures of each plot."""
import os
import shutil
import tempfile
import unittest
import xml.etree.ElementTree

import place  # noqa: F401
import plots
import rounds
import rows


def measured():
    """Some rows of the table, and figures for two of their ways."""
    table = [r for r in rows.table()
             if r.name in ("write-bw-64", "write-bw-1024", "send-lat-8")]
    samples = rounds.Samples()
    for number, row in enumerate(table, 1):
        for way in row.ways[:2]:
            samples.add(row.name, way.name, {row.metrics[0]: number})
            samples.add(row.name, way.name, {row.metrics[0]: 3 * number})
    return table, samples


class Scripts(unittest.TestCase):
    def test_only_what_was_measured_is_drawn(self):
        table, samples = measured()
        self.assertEqual(set(plots.scripts(table, samples)),
                         {"write-bandwidth.svg", "send-latency.svg"})
        self.assertEqual(plots.scripts(table, rounds.Samples()), {})

    def test_a_line_has_sizes_medians_and_spread(self):
        script = plots.scripts(*measured())["write-bandwidth.svg"]
        self.assertIn("$d0 << EOD\n64 2 1 3\n1024 4 2 6\nEOD", script)

    def test_gnuplot_takes_them(self):
        if not shutil.which("gnuplot"):
            self.skipTest("gnuplot is not installed (gnuplot-nox)")
        with tempfile.TemporaryDirectory() as directory:
            told = plots.draw(*measured(), directory)
            self.assertEqual(told,
                             "plots: write-bandwidth.svg send-latency.svg")
            for name in ("write-bandwidth.svg", "send-latency.svg"):
                with open(os.path.join(directory, name),
                          encoding="utf-8") as stream:
                    text = stream.read()
                xml.etree.ElementTree.fromstring(text)
                self.assertIn(plots.SPDX, text.split("\n")[1])


if __name__ == "__main__":
    unittest.main(verbosity=2)

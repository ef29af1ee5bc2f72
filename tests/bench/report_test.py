#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""bench/report.py: the tables of a run."""
import json
import unittest

import place  # noqa: F401
import report
import rounds
import rows
import targets

ROW = rows.Row("a", "latency", "`program -s 8`", "us", rows.LESS,
               rows.usiw("t", ("wire", "local")) + rows.peer("TCP", "u"),
               ("p50", "p99"))
ABOUT = {"date": "2026-01-01"}


def samples():
    found = rounds.Samples()
    found.figures["a", "wire", "p50"] = rounds.Figures([5, 4, 6])
    found.figures["a", "wire", "p99"] = rounds.Figures([50, 40, 60])
    found.figures["a", "TCP", "p50"] = rounds.Figures([10, 8, 20])
    found.skipped["a", "local"] = "this build has no setting"
    return found


class Numbers(unittest.TestCase):
    def test_three_digits(self):
        for value, text in ((12345.6, "12,346"), (123.4, "123"),
                            (12.34, "12.3"), (1.234, "1.23"),
                            (0.1234, "0.12"), (0.0123, "0.012"),
                            (None, "-")):
            self.assertEqual(report.number(value), text)


class Text(unittest.TestCase):
    def cells(self, table):
        return [[c.strip() for c in line.strip("|").split("|")]
                for line in table.split("\n")]

    def test_a_line_for_each_way_and_metric(self):
        cells = self.cells(report.group_table([ROW], samples()))
        self.assertEqual(cells[0], ["what", "way", "median", "min", "max",
                                    "unit", "/ TCP"])
        self.assertEqual(cells[2:], [
            ["`program -s 8`", "wire", "5.00", "4.00", "6.00", "us", "0.50"],
            ["", "wire, p99", "50.0", "40.0", "60.0", "us", ""],
            ["", "TCP", "10.0", "8.00", "20.0", "us", ""]])

    def test_the_short_table_has_peers_in_one_column(self):
        cells = self.cells(report.short_table([ROW], samples()))
        self.assertEqual(cells[0], ["what", *report.OWN, "beside"])
        self.assertEqual(cells[2], ["`program -s 8`, us", "-", "-",
                                    "5.00 (4.00 to 6.00)", "TCP 10.0"])

    def test_columns_have_one_width(self):
        lines = report.group_table([ROW], samples()).split("\n")
        self.assertEqual(len({len(line) for line in lines}), 1)

    def test_all_that_is_missing_is_told_and_counted(self):
        found = samples()
        found.failed["a", "TCP"] = "it ended with 1"
        wanted = [targets.most("a", "wire", 6), targets.most("a", "wire", 1),
                  targets.most("a", "local", 1)]
        verdicts = targets.judge([ROW], wanted, found)
        text = report.text([ROW], found, verdicts, ABOUT)
        self.assertIn("- skipped, 1: this build has no setting: a (local)",
                      text)
        self.assertIn("- FAILED, 1: it ended with 1: a (TCP)", text)
        self.assertTrue(text.endswith(
            "Targets: 1 met, 1 NOT MET, 1 not measured. "
            "Samples: 1 skipped, 1 failed.\n"))

    def test_a_verdict_has_what_was_measured(self):
        verdicts = targets.judge(
            [ROW], [targets.most("a", "wire", 0.4, peer="TCP")], samples())
        cells = self.cells(report.targets_table(verdicts))
        self.assertEqual(cells[2], ["`program -s 8`", "wire", "<= 0.4 of TCP",
                                    "0.50", "NOT MET"])


class Json(unittest.TestCase):
    def test_it_has_each_round(self):
        found = json.loads(json.dumps(report.as_json([ROW], samples(), [],
                                                     ABOUT)))
        ways = {w["name"]: w for w in found["rows"][0]["ways"]}
        self.assertEqual(ways["wire"]["metrics"]["p99"], [50, 40, 60])
        self.assertEqual(ways["local"]["missing"],
                         "this build has no setting")
        self.assertEqual(ways["local"]["metrics"], {})


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""bench/targets.py: when a target is met."""
import unittest

import place  # noqa: F401
import rounds
import rows
import targets

RATE = rows.Row("a-rate", "g", "A rate", "M/s", rows.MORE,
                rows.usiw("t", ("wire",)) + rows.peer("UCX tcp", "u"),
                ("M/s",))
TIME = rows.Row("a-lat", "g", "A time", "us", rows.LESS,
                rows.usiw("t", ("wire",)) + rows.peer("rsockets", "u"),
                ("p50", "p99"))




class Judge(unittest.TestCase):
    def state(self, row, target, values, skipped=()):
        found = rounds.Samples()
        for (way, metric), figures in values.items():
            found.figures[row.name, way, metric] = rounds.Figures(figures)
        found.skipped.update(skipped)
        verdict, = targets.judge([RATE, TIME], [target], found)
        return verdict

    def test_bounds(self):
        table = (
            # target, measured, value, state
            (targets.least("a-rate", "wire", 2), {("wire", "M/s"): [1, 2, 9]},
             2, targets.MET),
            (targets.least("a-rate", "wire", 2.1),
             {("wire", "M/s"): [1, 2, 9]}, 2, targets.MISSED),
            (targets.most("a-lat", "wire", 5), {("wire", "p50"): [4]},
             4, targets.MET),
            (targets.most("a-lat", "wire", 3), {("wire", "p50"): [4]},
             4, targets.MISSED),
            (targets.most("a-lat", "wire", 3, metric="p99"),
             {("wire", "p50"): [1], ("wire", "p99"): [8]}, 8,
             targets.MISSED),
            (targets.least("a-rate", "wire", 0.9, peer="UCX tcp"),
             {("wire", "M/s"): [9], ("UCX tcp", "M/s"): [10]}, 0.9,
             targets.MET),
            (targets.most("a-lat", "wire", 0.5, peer="rsockets"),
             {("wire", "p50"): [6], ("rsockets", "p50"): [10]}, 0.6,
             targets.MISSED),
            (targets.least("a-rate", "wire", 0.7, is_slowest=True),
             {("wire", "M/s"): [6, 10, 20]}, 0.6, targets.MISSED),
            (targets.least("a-rate", "wire", 0.7, is_slowest=True),
             {("wire", "M/s"): [7, 10, 20]}, 0.7, targets.MET),
        )
        for target, values, value, state in table:
            with self.subTest(target=target):
                row = RATE if target.rows == "a-rate" else TIME
                verdict = self.state(row, target, values)
                self.assertEqual(verdict.state, state)
                self.assertAlmostEqual(verdict.value, value)

    def test_what_was_not_measured_is_neither(self):
        target = targets.least("a-rate", "wire", 1, peer="UCX tcp")
        verdict = self.state(RATE, target, {("wire", "M/s"): [1]},
                             {("a-rate", "UCX tcp"): "not installed"})
        self.assertEqual((verdict.state, verdict.reason),
                         (targets.UNKNOWN, "not installed"))
        verdict = self.state(RATE, target, {})
        self.assertEqual(verdict.state, targets.UNKNOWN)
        verdict = self.state(RATE, targets.least("a-rate", "wire", 0.7,
                                                 is_slowest=True),
                             {("wire", "M/s"): [1]})
        self.assertEqual(verdict.state, targets.UNKNOWN)

    def test_usiw_is_to_be_ahead_of_those_that_are_named(self):
        found = [t for t in targets.table([RATE, TIME])
                 if t.rows in ("a-rate", "a-lat")]
        self.assertEqual(
            [(t.rows, t.peer, t.bound, t.is_least) for t in found],
            [("a-rate", "UCX tcp", 1, True), ("a-lat", "rsockets", 1, False)])


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""bench/rounds.py: the order of turns, and their results."""
import types
import unittest

import place  # noqa: F401
import rounds


def row(name, *ways, times=None):
    return types.SimpleNamespace(
        name=name, rounds=times,
        ways=[types.SimpleNamespace(name=w, key=k) for w, k in ways])


class Order(unittest.TestCase):
    def test_each_round_has_each_position_once(self):
        for count in range(12):
            for turn in range(9):
                with self.subTest(count=count, turn=turn):
                    self.assertEqual(sorted(rounds.order(count, turn)),
                                     list(range(count)))

    def test_the_first_changes(self):
        for count in range(3, 12):
            firsts = {rounds.order(count, turn)[0] for turn in range(6)}
            self.assertGreater(len(firsts), 1, count)

    def test_neighbours_change_places(self):
        self.assertLess(rounds.order(3, 0).index(1), 3)
        even = rounds.order(7, 0)
        odd = rounds.order(7, 1)
        self.assertNotEqual(even.index(3) < even.index(4),
                            odd.index(3) < odd.index(4))


class Figures(unittest.TestCase):
    def test_median_low_high(self):
        figures = rounds.Figures([5, 1, 9, 2])
        self.assertEqual((figures.median, figures.low, figures.high),
                         (3.5, 1, 9))


class Interleave(unittest.TestCase):
    def run_rows(self, rows, count, measure):
        samples = rounds.Samples()
        rounds.interleave(rows, count, measure, samples)
        return samples

    def test_each_way_is_measured_once_a_round(self):
        calls = []

        def measure(way):
            calls.append(way.name)
            return {"x": len(calls)}

        rows = [row("a", ("one", 1), ("two", 2)), row("b", ("three", 3))]
        samples = self.run_rows(rows, 3, measure)
        self.assertEqual({n: calls.count(n) for n in calls},
                         {"one": 3, "two": 3, "three": 3})
        # No round begins before the last one has ended.
        for start in (0, 3, 6):
            self.assertEqual(len(set(calls[start:start + 3])), 3)
        self.assertEqual(len(samples.get("a", "two", "x").values), 3)

    def test_a_common_measurement_is_taken_once_for_all_rows(self):
        calls = []

        def measure(way):
            calls.append(way.key)
            return {"x": len(calls)}

        rows = [row("a", ("TCP", "t")), row("b", ("TCP", "t"))]
        samples = self.run_rows(rows, 2, measure)
        self.assertEqual(calls, ["t", "t"])
        self.assertEqual(samples.get("a", "TCP", "x").values,
                         samples.get("b", "TCP", "x").values)

    def test_a_row_may_have_fewer_rounds(self):
        rows = [row("a", ("one", 1), times=1)]
        samples = self.run_rows(rows, 4, lambda way: {"x": 1})
        self.assertEqual(samples.get("a", "one", "x").values, [1])

    def test_what_cannot_run_is_tried_once(self):
        calls = []

        def measure(way):
            calls.append(way.name)
            raise LookupError("no such program")

        samples = self.run_rows([row("a", ("one", 1))], 3, measure)
        self.assertEqual(calls, ["one"])
        self.assertEqual(samples.why_not("a", "one"), "no such program")

    def test_what_went_wrong_is_tried_again_and_told(self):
        calls = []

        def measure(way):
            calls.append(way.name)
            if len(calls) == 1:
                raise RuntimeError("it ended with 1")
            return {"x": 7}

        samples = self.run_rows([row("a", ("one", 1))], 3, measure)
        self.assertEqual(samples.get("a", "one", "x").values, [7, 7])
        self.assertEqual(samples.failed, {("a", "one"): "it ended with 1"})


if __name__ == "__main__":
    unittest.main()

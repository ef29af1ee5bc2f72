#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""bench/rows.py: the tables fit the tools, and the targets fit the tables."""
import fnmatch
import inspect
import unittest

import place  # noqa: F401
import rows
import targets
import ways


class Table(unittest.TestCase):
    def test_names_are_unique(self):
        for table in (rows.table(), rows.kernel_table()):
            names = [r.name for r in table]
            self.assertEqual(len(names), len(set(names)))
            for row in table:
                of_ways = [w.name for w in row.ways]
                self.assertEqual(len(of_ways), len(set(of_ways)), row.name)

    def test_the_short_table_names_rows(self):
        names = [r.name for r in rows.table()]
        self.assertEqual([n for n in rows.SHORT if n not in names], [])

    def test_each_tool_takes_its_arguments(self):
        for row in rows.table() + rows.kernel_table():
            for way in row.ways:
                with self.subTest(row=row.name, way=way.name):
                    inspect.signature(ways.TOOLS[way.tool]).bind(
                        None, **dict(way.args))

    def test_each_setting_exists(self):
        for row in rows.table() + rows.kernel_table():
            for way in row.ways:
                self.assertIn(way.setting, {None, *rows.SETTINGS})

    def test_each_row_has_usiw(self):
        for row in rows.table() + rows.kernel_table():
            self.assertTrue(any(not w.is_peer for w in row.ways), row.name)

    def test_ways_of_one_load_share_their_measurement(self):
        table = {r.name: r for r in rows.table()}
        tcp = {w.key for op in rows.OPS for w in table[f"{op}-bw-64"].ways
               if w.name == "TCP"}
        self.assertEqual(len(tcp), 1)


class Base(unittest.TestCase):
    def test_each_way_of_usiw_has_the_base_as_its_peer(self):
        row = next(r for r in rows.table() if r.name == "send-lat-8")
        found = rows.beside_base([row], "somewhere")
        self.assertEqual([r.name for r in found],
                         ["send-lat-8, wire CRC", "send-lat-8, local"])
        for one in found:
            this, before = one.ways
            self.assertEqual((this.name, this.build, this.is_peer),
                             ("this", None, False))
            self.assertEqual((before.name, before.build, before.is_peer),
                             ("base", "somewhere", True))
            self.assertNotEqual(this.key, before.key)


class Targets(unittest.TestCase):
    def test_each_target_is_about_a_row_a_way_and_a_peer(self):
        table = rows.table()
        for target in targets.table(table):
            with self.subTest(target=target):
                found = [r for r in table
                         if fnmatch.fnmatchcase(r.name, target.rows)]
                self.assertTrue(found)
                for row in found:
                    names = {w.name: w.is_peer for w in row.ways}
                    self.assertFalse(names[target.way])
                    if target.peer:
                        self.assertTrue(names[target.peer])
                    self.assertIn(target.metric, (None, *row.metrics))


if __name__ == "__main__":
    unittest.main()

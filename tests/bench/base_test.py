#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""bench/base.py: the build that a word stands for."""
import os
import tempfile
import unittest

import place  # noqa: F401
import base


class Build(unittest.TestCase):
    def test_a_build_directory_is_taken_as_it_is(self):
        with tempfile.TemporaryDirectory() as directory:
            os.mkdir(os.path.join(directory, "bin"))
            tool = os.path.join(directory, "bin", "usiw")
            with open(tool, "w", encoding="ascii"):
                pass
            os.chmod(tool, 0o755)
            self.assertEqual(base.build(place.ROOT, directory, directory),
                             os.path.abspath(directory))

    def test_what_is_no_commit_ends_the_program_with_the_reason(self):
        with tempfile.TemporaryDirectory() as directory:
            with self.assertRaises(SystemExit) as caught:
                base.build(directory, "no-such-commit", directory)
            self.assertIn("rev-parse", str(caught.exception))


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""scripts/check: a test that fails is run once more, alone."""
import os
import re
import subprocess
import tempfile
import unittest

ROOT = os.environ.get("USIW_SOURCE_DIR") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..")
# Each run of a test appends a line to the file of its name. Tests called flaky
# pass at their second run.
TESTS = {
    "good": "true",
    "bad": "echo FAILED bad: never holds; false",
    "flaky": "test $(wc -l <flaky) = 2 || { echo FAILED flaky: late; false; }",
    "skip": "echo skipped: no device; exit 77",
    "ready": "true",
    "flaky-ready": "test $(wc -l <flaky-ready) = 2"}


class Check(unittest.TestCase):
    def run_check(self, tests, *words):
        """The lines, the exit code, and how often each test ran."""
        with tempfile.TemporaryDirectory() as build:
            with open(os.path.join(build, "CTestTestfile.cmake"), "w",
                      encoding="utf-8") as stream:
                for name, command in tests.items():
                    stream.write(f'add_test({name} sh -c "echo >>{name}; '
                                 f'{command}")\n'
                                 f"set_tests_properties({name} PROPERTIES "
                                 "SKIP_RETURN_CODE 77)\n")
                if "ready" in tests:
                    stream.write(
                        "set_tests_properties(ready PROPERTIES FIXTURES_SETUP "
                        "way)\nset_tests_properties(flaky-ready PROPERTIES "
                        "FIXTURES_REQUIRED way)\n")
            done = subprocess.run(
                [os.path.join(ROOT, "scripts", "check"), build, *words],
                capture_output=True, text=True, timeout=100)
            runs = {}
            for name in tests:
                path = os.path.join(build, name)
                if os.path.exists(path):
                    with open(path, encoding="utf-8") as stream:
                        runs[name] = len(stream.readlines())
        return done.stdout.splitlines(), done.returncode, runs

    def test_what_failed_runs_once_more(self):
        lines, code, runs = self.run_check(TESTS)
        self.assertEqual(runs, {"good": 1, "bad": 2, "flaky": 2, "skip": 1,
                                "ready": 1, "flaky-ready": 2})
        self.assertEqual((lines[-1], code),
                         ("4 passed, 1 failed, 1 skipped", 1))
        self.assertIn("passed at the second run:", lines)
        self.assertIn("  flaky: not in tests/known-flaky", lines)
        self.assertIn("    FAILED flaky: late", lines)

    def test_what_passes_then_is_no_failure(self):
        lines, code, runs = self.run_check(TESTS, "-E", "^bad$")
        self.assertNotIn("bad", runs)
        self.assertEqual((lines[-1], code),
                         ("4 passed, 0 failed, 1 skipped", 0))

    def test_more_than_three_are_a_failure(self):
        for number, runs_each, code in (3, 2, 0), (4, 1, 1):
            tests = {f"flaky{i}": f"test $(wc -l <flaky{i}) = 2"
                     for i in range(number)}
            _, seen, runs = self.run_check({"good": "true", **tests})
            self.assertEqual(seen, code)
            self.assertEqual({runs[name] for name in tests}, {runs_each})

    def test_the_list_of_known_ones_is_complete(self):
        """Each row has a date and a cause; each name is that of a test. The
        end of a name may be that of a sanitizer's build."""
        listed = subprocess.run(
            ["ctest", "--test-dir", os.environ["USIW_BUILD_DIR"], "-N", "-C",
             "long"],
            check=True, capture_output=True, text=True, timeout=100).stdout
        names = set(re.findall(r"^ +Test +#\d+: (\S+)", listed, re.M))
        with open(os.path.join(ROOT, "tests", "known-flaky"),
                  encoding="utf-8") as stream:
            for line in stream:
                if line.startswith("#"):
                    continue
                self.assertRegex(line, r"^\S+ 20\d\d-\d\d-\d\d \S.*\S\n$")
                name = re.sub("-(address|thread)$", "", line.split()[0])
                self.assertTrue(any(
                    other == name or other.startswith(name + "-")
                    for other in names), line)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""scripts/count-tests: what each kind of test adds to the last line."""
import os
import subprocess
import sys
import tempfile
import unittest
from xml.sax.saxutils import escape

ROOT = os.environ.get("USIW_SOURCE_DIR") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..")
SCRIPT = os.path.join(ROOT, "scripts", "count-tests")

PASSED = ("run", "")
FAILED = ("fail", '<failure message="Failed"/>')
SKIPPED = ("notrun", '<skipped message="SKIP_RETURN_CODE=77"/>')
NOT_RUN = ("notrun", '<skipped message="Unable to find executable"/>')
DISABLED = ("disabled", '<skipped message="Disabled"/>')

CMOCKA = """[==========] Running 3 test(s).
[ RUN      ] answers
[       OK ] answers
[ RUN      ] needs_a_second_address
skipped: this machine has no address but loopback's
[  SKIPPED ] needs_a_second_address
[ RUN      ] says_nothing
[  SKIPPED ] says_nothing
[==========] 3 test(s) run.
[  PASSED  ] 1 test(s).
[  SKIPPED ] 2 test(s), listed below:
[  SKIPPED ] needs_a_second_address
[  SKIPPED ] says_nothing

 2 SKIPPED TEST(S)
"""
HARNESS = """ok rping 127.0.0.1 (0.4 s)
skipped rping-machine: this machine has no address but loopback's
2 cases, 0 failed, 1 skipped
"""
VERBOSE = """test_a (__main__.A.test_a) ... ok
test_b (__main__.A.test_b) ... skipped 'no such device'
test_c (__main__.A) ... skipped 'neither'

OK (skipped=2)
"""
TERSE = """.s
Ran 2 tests in 0.001s

OK (skipped=1)
"""

# What failed tests print, and what has to follow below their names.
CMOCKA_FAILED = """[==========] Running 4 test(s).
[ RUN      ] answers
[       OK ] answers
[ RUN      ] needs_a_second_address
[  SKIPPED ] needs_a_second_address
[ RUN      ] adds
row 7
[  ERROR   ] --- 0x1 != 0x2
[   LINE   ] --- x_test.c:7: error: Failure!
[  FAILED  ] adds
[ RUN      ] ends
[       OK ] ends
[==========] 4 test(s) run.
[  FAILED  ] 1 test(s), listed below:
[  FAILED  ] adds
"""
CMOCKA_ABORTED = """[ RUN      ] answers
[       OK ] answers
[ RUN      ] adds
x_test: x.c:7: x_add: Assertion `is_one' failed.
"""
HARNESS_FAILED = """ok rping (0.4 s)
FAILED rping-ipv6 (rping ::1) after 0.2 s: client ended with 1, not (0,)
--- client: rping -c
cma event RDMA_CM_EVENT_REJECTED
--- counters: {'connects': 1}
ok rping-65000 (0.4 s)
3 cases, 1 failed, 0 skipped: rping-ipv6
"""
UNITTEST_FAILED = """test_a (__main__.A.test_a) ... ok
test_b (__main__.A.test_b) ... FAIL

======================================================================
FAIL: test_b (__main__.A.test_b)
----------------------------------------------------------------------
AssertionError: 1 != 2

----------------------------------------------------------------------
Ran 2 tests in 0.001s

FAILED (failures=1)
"""
TSAN = """[ RUN      ] adds
==================
WARNING: ThreadSanitizer: data race (pid=1)
    #0 x_add x.c:7
SUMMARY: ThreadSanitizer: data race x.c:7 in x_add
==================
[       OK ] adds
"""
FAILED_OUTPUTS = (
    (CMOCKA_FAILED, CMOCKA_FAILED.splitlines()[5:10]),
    (CMOCKA_ABORTED, CMOCKA_ABORTED.splitlines()[2:]),
    (HARNESS_FAILED, HARNESS_FAILED.splitlines()[1:5]),
    (UNITTEST_FAILED, UNITTEST_FAILED.splitlines()[4:8] +
     ["-" * 70, "FAILED (failures=1)"]),
    (TSAN, ["[ RUN      ] adds", "=" * 18] + TSAN.splitlines()[2:5]),
    ("".join(f"line {i}\n" for i in range(30)),
     [f"line {i}" for i in range(5, 30)]),
    ("FAILED x: y\n" + "".join(f"line {i}\n" for i in range(99)),
     ["FAILED x: y"] + [f"line {i}" for i in range(19)] +
     ["... 61 lines ..."] + [f"line {i}" for i in range(80, 99)]),
    ("FAILED x: y\n" * 7, ["FAILED x: y"] * 5 + ["... 2 more reports ..."]),
    ("", []))

# What is said in short, when several tests failed.
VERDICTS = (
    (CMOCKA_FAILED, ["[  ERROR   ] --- 0x1 != 0x2",
                     "[   LINE   ] --- x_test.c:7: error: Failure!",
                     "[  FAILED  ] adds"]),
    (CMOCKA_ABORTED, ["x_test: x.c:7: x_add: Assertion `is_one' failed."]),
    ("row 1\nx_test.c:7: x_add: is_one does not hold (Success)\n",
     ["x_test.c:7: x_add: is_one does not hold (Success)"]),
    (HARNESS_FAILED, HARNESS_FAILED.splitlines()[1:2]),
    (UNITTEST_FAILED, ["FAIL: test_b (__main__.A.test_b)",
                       "AssertionError: 1 != 2", "FAILED (failures=1)"]),
    (TSAN, TSAN.splitlines()[4:5]),
    ("FAILED x: y\n" * 7, ["FAILED x: y"] * 3),
    ("nothing known\nlast\n", ["last"]),
    ("", []))


class CountTests(unittest.TestCase):
    def write(self, path, cases):
        """A file with (number, kind, output) as test cases."""
        rows = [f'<testcase name="t{i}" status="{kind[0]}">{kind[1]}'
                f"<system-out>{escape(output)}</system-out></testcase>"
                for i, kind, output in cases]
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(f"<testsuite>{''.join(rows)}</testsuite>")

    def count(self, *cases, again=()):
        """The last line, all lines and the exit code for (kind, output), with
        a second run of those that failed."""
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "run.xml")
            numbered = [(i, *case) for i, case in enumerate(cases)]
            self.write(path, numbered)
            if again:
                failed = [i for i, kind, _ in numbered if kind == FAILED]
                self.write(os.path.join(place, "run-again.xml"),
                           [(i, *case) for i, case in zip(failed, again)])
            done = subprocess.run([sys.executable, SCRIPT, path],
                                  timeout=50, capture_output=True, text=True)
        lines = done.stdout.splitlines()
        return lines[-1], lines, done.returncode

    def test_counts(self):
        for cases, line, code in (
                ([(PASSED, ""), (PASSED, "")],
                 "2 passed, 0 failed, 0 skipped", 0),
                ([(PASSED, ""), (SKIPPED, "skipped: no root")],
                 "1 passed, 0 failed, 1 skipped", 0),
                ([(SKIPPED, "")], "0 passed, 0 failed, 1 skipped", 1),
                ([(PASSED, ""), (FAILED, "")],
                 "1 passed, 1 failed, 0 skipped", 1),
                ([(PASSED, ""), (NOT_RUN, "")],
                 "1 passed, 1 failed, 0 skipped", 1),
                ([(PASSED, ""), (DISABLED, "")],
                 "1 passed, 1 failed, 0 skipped", 1),
                ([(PASSED, CMOCKA)], "1 passed, 0 failed, 2 skipped", 0),
                ([(PASSED, HARNESS)], "1 passed, 0 failed, 1 skipped", 0),
                ([(PASSED, VERBOSE)], "1 passed, 0 failed, 2 skipped", 0),
                ([(PASSED, TERSE)], "1 passed, 0 failed, 1 skipped", 0),
                ([(FAILED, HARNESS)], "0 passed, 1 failed, 1 skipped", 1),
                # Every case skipped: exit code 77, and counted once.
                ([(PASSED, ""), (SKIPPED, HARNESS)],
                 "1 passed, 0 failed, 1 skipped", 0)):
            with self.subTest(cases=cases):
                last, _, status = self.count(*cases)
                self.assertEqual((last, status), (line, code))

    def test_a_second_run_counts(self):
        flaky, good = (FAILED, HARNESS_FAILED), (PASSED, "")
        for cases, again, line, code in (
                ([good, flaky], [good], "2 passed, 0 failed, 0 skipped", 0),
                ([good, flaky], [flaky], "1 passed, 1 failed, 0 skipped", 1),
                ([good, flaky], [(SKIPPED, "")],
                 "1 passed, 1 failed, 0 skipped", 1),
                ([flaky, flaky], [good, flaky],
                 "1 passed, 1 failed, 0 skipped", 1),
                ([flaky] * 3, [good] * 3, "3 passed, 0 failed, 0 skipped", 0),
                ([flaky] * 4, [good] * 4, "4 passed, 0 failed, 0 skipped", 1)):
            with self.subTest(cases=cases):
                last, lines, status = self.count(*cases, again=again)
                self.assertEqual((last, status), (line, code))
                named = [l for l in lines
                         if l.endswith(": not in tests/known-flaky")]
                self.assertEqual(len(named), again.count(good))
                self.assertEqual("passed at the second run:" in lines,
                                 good in again)

    def test_skipped_cases_are_named_with_their_reason(self):
        lines = self.count((PASSED, CMOCKA), (PASSED, HARNESS))[1]
        reason = "this machine has no address but loopback's"
        self.assertEqual(lines[:3], [
            f"SKIPPED t0, needs_a_second_address: {reason}",
            "SKIPPED t0, says_nothing: no reason given",
            f"SKIPPED t1, rping-machine: {reason}"])

    def test_the_cause_follows_the_name_of_a_failed_test(self):
        for output, told in FAILED_OUTPUTS:
            with self.subTest(output=output):
                lines = self.count((PASSED, HARNESS), (FAILED, output))[1]
                self.assertEqual(lines[1], "FAILED  t1: Failed")
                end = 2 + len(told)
                self.assertEqual(lines[2:end],
                                 [f"    {line}".rstrip() for line in told])
                self.assertRegex(lines[end], "^(SKIPPED t1|1 passed, )")
                self.assertRegex(lines[-1], "^1 passed, 1 failed, ")

    def test_several_failed_tests_stand_together_at_the_end(self):
        outputs = [output for output, _ in VERDICTS]
        lines = self.count(*((FAILED, output) for output in outputs))[1]
        told = []
        for i, (_, verdict) in enumerate(VERDICTS):
            told += [f"  t{i}"] + [f"    {line}" for line in verdict]
        begin = lines.index("failed:") + 1
        self.assertEqual(lines[begin:-1], told)

    def test_one_failed_test_stands_once(self):
        lines = self.count((PASSED, ""), (FAILED, CMOCKA_FAILED))[1]
        self.assertNotIn("failed:", lines)

    def test_no_output_of_others_is_printed(self):
        for kind in (PASSED, SKIPPED):
            lines = self.count((PASSED, ""), (kind, CMOCKA_FAILED))[1]
            self.assertNotIn("row 7", "\n".join(lines))

    def test_a_missing_file_is_a_failure(self):
        done = subprocess.run([sys.executable, SCRIPT, "/nonexistent.xml"],
                              timeout=50, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.splitlines()[-1],
                         "0 passed, 1 failed, 0 skipped")


if __name__ == "__main__":
    unittest.main()

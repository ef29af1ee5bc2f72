#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""scripts/apps-table: a row for each test, whatever its result."""
import os
import subprocess
import tempfile
import unittest

ROOT = os.environ.get("USIW_SOURCE_DIR") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..")
SCRIPT = os.path.join(ROOT, "scripts", "apps-table")
JUNIT = """<testsuite>
<testcase name="apps-sdp-a" status="run"><system-out>
program: a and b | SDP | 42
ok a and b (0.4 s)
</system-out></testcase>
<testcase name="apps-sdp-c" status="fail"><failure message="Failed"/>
<system-out>program: c | SDP | 0
FAILED c: nothing came</system-out></testcase>
<testcase name="apps-sdp-d" status="fail"><failure message="Timeout"/>
</testcase>
<testcase name="apps-sdp-e" status="notrun">
<skipped message="SKIP_RETURN_CODE=77"/><system-out>
skipped e: e is not installed</system-out></testcase>
</testsuite>
"""


class AppsTable(unittest.TestCase):
    def table(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as stream:
            stream.write(text)
            stream.flush()
            return subprocess.run([SCRIPT, stream.name], timeout=50,
                                  capture_output=True, text=True)

    def test_every_test_has_its_row(self):
        done = self.table(JUNIT)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout.split("\n")[2:-1], [
            "| a and b | SDP | passed | 42 | `apps-sdp-a` |",
            "| c | SDP | failed | 0 | `apps-sdp-c` |",
            "| apps-sdp-d | - | failed | - | `apps-sdp-d` |",
            "| apps-sdp-e | - | skipped | - | `apps-sdp-e` |"])

    def test_no_test_is_no_success(self):
        self.assertNotEqual(self.table("<testsuite/>").returncode, 0)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""scripts/demo with a stand-in for usiw: what is a failure, and what is
printed then."""
import concurrent.futures
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.environ.get("USIW_SOURCE_DIR") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..")
DEMO = os.path.join(ROOT, "scripts", "demo")
# Seconds without progress, by what the stand-in does: short where they have to
# pass, and longer than the start of the stand-in on a loaded machine
# elsewhere.
LIMIT_S = {"stuck": 5, "slow": 10}
LONG_S = 250

# `usiw run -- PROGRAM...`: the server listens, and exits when the client says
# so.
STAND_IN = r"""#!{python}
import os, signal, socket, sys, time
words = sys.argv[3:]
client = words[-1] == "127.0.0.1"
mode = os.environ["USIW_TEST_MODE"]
if words[0] == "ibv_devinfo":
    sys.exit(print("state: PORT_ACTIVE"))
port = int(words[words.index("-p") + 1])
if not client:
    listener = socket.create_server(("127.0.0.1", port))
    connection = listener.accept()[0]
    if mode == "server fails":
        sys.exit(3)
    connection.recv(1)
    sys.exit(0)
connection = socket.create_connection(("127.0.0.1", port))
if mode == "client fails":
    os._exit(4)
if mode == "stuck" or mode == "server fails":
    while True:
        signal.pause()
if mode == "slow":  # longer than the limit, and never still for as long
    counter = os.path.join(os.environ["USIW_STAT_DIR"], "usiw.1")
    end = time.monotonic() + {limit} + 3
    while time.monotonic() < end:
        with open(counter, "w") as stream:
            stream.write(str(time.monotonic_ns()))
        time.sleep(0.05)
for size in range(22 if mode == "a row less" else 23):
    print(2 << size, 200, 1.0, "0.00" if mode == "slow row" else 1.0, 0.5)
"""


MODES = ("good", "slow", "slow row", "a row less", "stuck", "server fails",
         "client fails")


class Demo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Most of them wait, so they run side by side."""
        with concurrent.futures.ThreadPoolExecutor(len(MODES)) as pool:
            cls.ended = dict(zip(MODES, pool.map(cls.run_demo, MODES)))

    def demo(self, mode):
        done, left = self.ended[mode]
        self.assertEqual(left, [])
        return done

    @staticmethod
    def run_demo(mode):
        with tempfile.TemporaryDirectory() as scratch:
            for name in ("usiw", "ib_write_bw", "ibv_devinfo"):
                path = os.path.join(scratch, name)
                with open(path, "w", encoding="ascii") as stream:
                    stream.write(STAND_IN.format(python=sys.executable,
                                                 limit=LIMIT_S["slow"]))
                os.chmod(path, 0o755)
            env = dict(os.environ, USIW_TEST_MODE=mode, TMPDIR=scratch,
                       USIW_TOOL=os.path.join(scratch, "usiw"),
                       USIW_DEMO_LIMIT_S=str(LIMIT_S.get(mode, LONG_S)),
                       PATH=f"{scratch}:{os.environ['PATH']}")
            done = subprocess.run([DEMO], env=env, capture_output=True,
                                  text=True, timeout=LONG_S + 50)
            left = [n for n in os.listdir(scratch) if n.startswith("usiw-")]
        return done, left

    def test_passes(self):
        done = self.demo("good")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("usiw demo: passed, 23 sizes", done.stdout)

    def test_a_slow_machine_is_no_failure(self):
        done = self.demo("slow")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_rate_that_rounds_to_nothing_is_no_failure(self):
        done = self.demo("slow row")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_missing_row_is_a_failure(self):
        done = self.demo("a row less")
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAILED: 22 bandwidth rows instead of 23", done.stderr)

    def test_no_progress_is_named_and_nobody_blamed(self):
        done = self.demo("stuck")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"nothing moved for {LIMIT_S['stuck']} s", done.stderr)
        self.assertIn("USIW_DEMO_LIMIT_S", done.stderr)

    def test_the_side_that_failed_is_named(self):
        for mode, words in (
                ("server fails", "FAILED: the server ended with status 3\n"),
                ("client fails", "FAILED: the client ended with status 4")):
            with self.subTest(mode=mode):
                done = self.demo(mode)
                self.assertEqual(done.returncode, 1)
                self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""scripts/install-deps, with a dpkg-query whose output the test sets."""
import os
import subprocess
import tempfile
import unittest

ROOT = os.environ.get("USIW_SOURCE_DIR") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..")
SCRIPT = os.path.join(ROOT, "scripts", "install-deps")
# The last word is the package. A file with its name has the output for it.
DPKG_QUERY = """#!/bin/sh
for name; do :; done
file=$USIW_TEST_STATES/$name
[ -e "$file" ] || file=$USIW_TEST_STATES/default
cat "$file"
"""


class InstallDeps(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.bin = os.path.join(scratch.name, "bin")
        self.states = os.path.join(scratch.name, "states")
        os.mkdir(self.bin)
        os.mkdir(self.states)
        tool = os.path.join(self.bin, "dpkg-query")
        with open(tool, "w", encoding="ascii") as stream:
            stream.write(DPKG_QUERY)
        os.chmod(tool, 0o755)
        self.state("default", "installed")

    def state(self, package, *lines):
        with open(os.path.join(self.states, package), "w",
                  encoding="ascii") as stream:
            stream.writelines(f"{line}\n" for line in lines)

    def ask(self, *purposes):
        env = dict(os.environ, USIW_TEST_STATES=self.states,
                   PATH=f"{self.bin}:{os.environ['PATH']}")
        return subprocess.run([SCRIPT, "-n", *purposes], env=env,
                              capture_output=True, text=True, timeout=50)

    def test_all_installed_is_no_work(self):
        done = self.ask("build", "test", "deb")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_only_the_state_installed_counts(self):
        for lines in ([], ["not-installed"], ["half-installed"],
                      ["config-files"], ["unpacked"]):
            with self.subTest(lines=lines):
                self.state("debhelper", *lines)
                done = self.ask("deb")
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, r"(?m)^  debhelper$")
                self.assertRegex(done.stderr,
                                 r"apt-get install .* debhelper$")

    def test_one_architecture_is_enough(self):
        self.state("libasan8", "not-installed", "installed")
        self.assertEqual(self.ask("sanitize").returncode, 0)

    def test_deb_names_what_dpkg_buildpackage_takes_for_granted(self):
        self.state("build-essential", "not-installed")
        self.assertIn("build-essential", self.ask("deb").stderr)

    def test_unknown_purpose_is_an_error(self):
        done = self.ask("nonsense")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("unknown purpose 'nonsense'", done.stderr)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""scripts/install-deps, with a dpkg-query whose output the test sets and an
apt-get that installs nothing; and what keeps services from running."""
import os
import shutil
import signal
import subprocess
import tempfile
import time
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
# Takes its time, and fails if it runs twice at once.
APT_GET = """#!/bin/sh
echo "$*" >>"$USIW_TEST_STATES/calls"
case $* in *" install "*) ;; *) exit 0 ;; esac
mkdir "$USIW_TEST_STATES/working" || { touch "$USIW_TEST_STATES/two"; exit 1; }
sleep 1
echo installed >"$USIW_TEST_STATES/debhelper"
rmdir "$USIW_TEST_STATES/working"
"""
ROOTS_ID = """#!/bin/sh
echo 0
"""
POLICY = "/usr/sbin/policy-rc.d"
SHIMS = os.path.join(os.path.realpath(ROOT), "scripts", "no-services")
HELPER = "deb-systemd-helper"


def policy():
    """What that file says; None if there is none."""
    if not os.path.exists(POLICY):
        return None
    with open(POLICY, encoding="utf-8") as stream:
        return stream.read()


class InstallDeps(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.bin = os.path.join(scratch.name, "bin")
        self.states = os.path.join(scratch.name, "states")
        os.mkdir(self.bin)
        os.mkdir(self.states)
        for name, text in (("dpkg-query", DPKG_QUERY), ("apt-get", APT_GET),
                           ("id", ROOTS_ID)):
            tool = os.path.join(self.bin, name)
            with open(tool, "w", encoding="ascii") as stream:
                stream.write(text)
            os.chmod(tool, 0o755)
        self.state("default", "installed")

    def state(self, package, *lines):
        with open(os.path.join(self.states, package), "w",
                  encoding="ascii") as stream:
            stream.writelines(f"{line}\n" for line in lines)

    def start(self, *words):
        env = dict(os.environ, USIW_TEST_STATES=self.states,
                   PATH=f"{self.bin}:{os.environ['PATH']}")
        return subprocess.Popen([SCRIPT, *words], env=env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def ask(self, *purposes):
        asking = self.start("-n", *purposes)
        out, err = asking.communicate(timeout=50)
        return subprocess.CompletedProcess(asking.args, asking.returncode,
                                           out, err)

    def calls(self):
        with open(os.path.join(self.states, "calls"),
                  encoding="utf-8") as stream:
            return stream.read().splitlines()

    def wait_for(self, name):
        limit = time.monotonic() + 50
        while not os.path.exists(os.path.join(self.states, name)):
            self.assertLess(time.monotonic(), limit, f"no {name}")
            time.sleep(0.01)

    def test_it_waits_for_locks_and_starts_no_service(self):
        before = policy()
        self.state("debhelper", "not-installed")
        running = self.start("deb")
        self.wait_for("working")
        self.assertEqual(policy(), before)
        _, err = running.communicate(timeout=50)
        self.assertEqual((running.returncode, err), (0, ""))
        update, install = self.calls()
        self.assertIn("update", update)
        for words in (" install -y --no-install-recommends debhelper",
                      " DPkg::Lock::Timeout=600 ",
                      f" DPkg::Path={SHIMS}:/usr/sbin:"):
            self.assertIn(words, install)

    def test_two_at_once_take_turns(self):
        self.state("debhelper", "not-installed")
        both = [self.start("deb"), self.start("deb")]
        for one in both:
            one.communicate(timeout=50)
            self.assertEqual(one.returncode, 0)
        self.assertFalse(os.path.exists(os.path.join(self.states, "two")))
        self.assertEqual(len(self.calls()), 2)  # the second has no work

    def test_one_that_is_killed_is_no_obstacle(self):
        before = policy()
        self.state("debhelper", "not-installed")
        first = self.start("deb")
        self.wait_for("working")
        first.send_signal(signal.SIGKILL)
        first.wait()
        second = self.start("deb")  # waits for the apt-get of the first
        out, _ = second.communicate(timeout=50)
        first.communicate()
        self.assertEqual(second.returncode, 0)
        self.assertIn("waits for another", out)
        self.assertFalse(os.path.exists(os.path.join(self.states, "two")))
        self.assertEqual(policy(), before)

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


@unittest.skipUnless(shutil.which(HELPER), "Debian only")
class NoServices(unittest.TestCase):
    """What the scripts of packages call, in a root of the test."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = scratch.name
        units = os.path.join(self.root, "usr/lib/systemd/system")
        for place in units, os.path.join(self.root, "lib/systemd/system"):
            os.makedirs(place)
            with open(os.path.join(place, "x.service"), "w",
                      encoding="ascii") as stream:
                stream.write("[Install]\nWantedBy=multi-user.target\n")

    def helper(self, *words, path=None):
        done = subprocess.run([path or HELPER, "--quiet", *words], env=dict(
            os.environ, DPKG_ROOT=self.root, DPKG_MAINTSCRIPT_PACKAGE="x",
            PATH=f"{SHIMS}:{os.environ['PATH']}"), timeout=50)
        return done.returncode == 0

    def configure(self, path=None):
        """What debhelper puts into a package's postinst."""
        self.helper("unmask", "x.service", path=path)
        self.helper("enable" if self.helper("was-enabled", "x.service",
                                            path=path) else "update-state",
                    "x.service", path=path)
        return os.path.islink(os.path.join(
            self.root, "etc/systemd/system/multi-user.target.wants/x.service"))

    def test_a_new_service_is_disabled_and_stays_so(self):
        self.assertFalse(self.configure())
        self.assertFalse(self.configure("/usr/bin/" + HELPER))  # an upgrade

    def test_one_that_was_there_stays_as_it_is(self):
        self.assertTrue(self.configure("/usr/bin/" + HELPER))
        self.assertTrue(self.configure())


if __name__ == "__main__":
    unittest.main(verbosity=2)

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""scripts/build-dist: the archive of one source is the same wherever it is
made."""
import hashlib
import os
import re
import subprocess
import tarfile
import tempfile
import unittest

ROOT = os.environ.get("USIW_SOURCE_DIR") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..")


def read(*names):
    with open(os.path.join(ROOT, *names), encoding="utf-8") as stream:
        return stream.read()


def build(root, target, **environment):
    done = subprocess.run(["scripts/build-dist", target], cwd=root, text=True,
                          stdout=subprocess.PIPE, check=True,
                          env={**os.environ, **environment})
    return done.stdout.strip()


def digest(path):
    with open(path, "rb") as stream:
        return hashlib.sha256(stream.read()).hexdigest()


class BuildDist(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.work = scratch.name

    def target(self, name):
        return os.path.join(self.work, name)

    def test_same_octets_twice(self):
        first = build(ROOT, self.target("a"))
        old = os.umask(0o077)
        try:
            second = build(ROOT, self.target("b"), TZ="Asia/Tokyo",
                           LC_ALL="C.UTF-8")
        finally:
            os.umask(old)
        self.assertEqual(digest(first), digest(second))

    def test_unpacked_archive_makes_itself(self):
        first = build(ROOT, self.target("a"))
        with tarfile.open(first) as archive:
            archive.extractall(self.work)
        tree = first.rpartition("/")[2][:-len(".tar.gz")]
        # The files of a build are not part of the source.
        os.makedirs(os.path.join(self.work, tree, "build", "bin"))
        second = build(os.path.join(self.work, tree), self.target("b"),
                       GIT_CEILING_DIRECTORIES=self.work)
        self.assertEqual(digest(first), digest(second))

    def test_archive_is_the_source(self):
        with tarfile.open(build(ROOT, self.target("a"))) as archive:
            members = archive.getmembers()
        names = [member.name for member in members]
        top = names[0].partition("/")[0]
        version = re.search(r"^project\(usiw VERSION ([\d.]+)",
                            read("CMakeLists.txt"), re.M).group(1)
        self.assertEqual(top, f"usiw-{version}")
        self.assertEqual(names, sorted(names))
        for name in ("README.md", "Makefile", "debian/rules", "COPYING"):
            self.assertIn(f"{top}/{name}", names)
        self.assertFalse([n for n in names if n.startswith(f"{top}/build")
                          or "/.git/" in n])
        self.assertEqual({m.uid for m in members}, {0})

    def test_one_version(self):
        version = re.search(r"^project\(usiw VERSION ([\d.]+)",
                            read("CMakeLists.txt"), re.M).group(1)
        told = re.match(r"usiw \(([^)]*)\)", read("debian", "changelog"))
        self.assertEqual(told.group(1), version)


if __name__ == "__main__":
    unittest.main(verbosity=2)

# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Installations of the build below prefixes; the first argument of the test
is the cmake to use."""
import os
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "apps"))
from harness import BUILD, check  # noqa: E402

SOURCE = os.path.join(here, "..", "..")
CMAKE = sys.argv.pop(1)
WRITES = ("-- Installing: ", "-- Up-to-date: ")


def files_below(directory):
    return [os.path.join(path, name)
            for path, _, names in os.walk(directory) for name in names]


def install(prefix, destdir=""):
    """Installs, and returns the paths that make install prints."""
    ended = subprocess.run([CMAKE, "--install", BUILD, "--prefix", prefix],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True, env={**os.environ, "DESTDIR": destdir})
    check(ended.returncode == 0, f"cmake --install: {ended.stdout[-1000:]}")
    paths = [line[len(word):] for line in ended.stdout.splitlines()
             for word in WRITES if line.startswith(word)]
    check(len(paths) > 20, f"only {len(paths)} files were installed")
    return paths


def uninstall(destdir=""):
    ended = subprocess.run(["make", "-s", "-C", SOURCE, "uninstall",
                            f"BUILD={BUILD}", f"DESTDIR={destdir}"],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True)
    check(ended.returncode == 0, f"make uninstall: {ended.stdout}")


def directory_of(test, name):
    path = os.path.join(test.directory, name)
    os.mkdir(path, 0o777)
    os.chmod(path, 0o777)
    return path

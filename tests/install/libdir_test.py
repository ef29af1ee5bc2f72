#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""libdir_test.py CMAKE: the checks of prefix_test.py for a build with
libraries in lib64, as on rpm distributions. make install and make uninstall
accept paths with spaces, and name a directory that cannot be written."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

CMAKE = sys.argv[1]
SOURCE = os.environ["USIW_SOURCE_DIR"]
BUILD = os.environ["USIW_BUILD_DIR"]
HERE = os.path.dirname(os.path.abspath(__file__))


def run(*words, code=0, **env):
    ended = subprocess.run(words, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True,
                           env={**os.environ, **env})
    if ended.returncode != code:
        sys.exit(f"FAILED: {' '.join(words)}: exit code {ended.returncode}:\n"
                 f"{ended.stdout[-3000:]}")
    return ended.stdout


def check(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


def make(target, build, prefix, destdir="", code=0):
    # The settings of the make that runs the tests do not apply to this one,
    # but the objects that it takes are compiled in the same way.
    launcher = cached("CMAKE_C_COMPILER_LAUNCHER")
    return run("make", "-s", "-C", SOURCE, target, f"BUILD={build}",
               f"PREFIX={prefix}", f"DESTDIR={destdir}",
               f"WERROR={cached('USIW_WERROR')}",
               "CONFIG=-DCMAKE_INSTALL_LIBDIR=lib64 "
               f"-DCMAKE_C_COMPILER_LAUNCHER={launcher}",
               code=code, MAKEFLAGS="")


def cached(name):
    with open(os.path.join(BUILD, "CMakeCache.txt"),
              encoding="utf-8") as stream:
        found = re.search(rf"^{name}:\w+=(.*)$", stream.read(), re.M)
    return found.group(1) if found else ""


def take_objects(build):
    """Objects of the build under test. Ninja compiles anew what its log says
    has another command."""
    def ignore(where, names):
        return [name for name in names
                if not os.path.isdir(os.path.join(where, name))
                and not name.endswith(".o")
                and name not in (".ninja_log", ".ninja_deps")]
    if os.path.exists(os.path.join(BUILD, ".ninja_log")):
        shutil.copytree(BUILD, build, ignore=ignore, symlinks=True)


def files_below(top):
    return [os.path.join(where, name)[len(top):]
            for where, _, names in os.walk(top) for name in names]


def files_stand_in_lib64(build, top):
    """As for a package: the prefix /usr below a separate directory."""
    make("install", build, "/usr", top)
    paths = files_below(top)
    libraries = [p for p in paths if re.search(r"\.(so|a|pc)(\.|$)", p)]
    check(len(libraries) > 10, f"only {libraries}")
    astray = [p for p in libraries if not p.startswith("/usr/lib64/")]
    check(not astray, f"not in lib64: {astray}")
    check("/etc/libibverbs.d/usiw.driver" in paths, "no usiw.driver")
    check("/usr/lib/systemd/system/sdp-pmd.service" in paths,
          "no sdp-pmd.service in lib")
    for path in libraries:
        if path.endswith(".pc"):
            with open(top + path, encoding="utf-8") as stream:
                text = stream.read()
            check(re.search(r"^libdir=.*/lib64$", text, re.M),
                  f"{path}: {text}")
    make("uninstall", build, "/usr", top)
    left = files_below(top) + [path for path, _, _ in os.walk(top)
                               if "/usiw" in path[len(top):]]
    check(not left, f"make uninstall leaves {left}")


def prefix_with_a_space(build, scratch):
    prefix = os.path.join(scratch, "a prefix")
    make("install", build, prefix)
    check(os.path.exists(os.path.join(prefix, "bin", "usiw")),
          f"nothing was installed below {prefix}")
    make("uninstall", build, prefix)
    left = [name for name in os.listdir(scratch)
            if name.startswith("a") and files_below(f"{scratch}/{name}")]
    check(not left, f"make uninstall leaves {left}")


def prefix_that_cannot_be_written(build):
    """A prefix that root cannot write either. The error comes before anything
    is built."""
    said = make("install", build, "/proc/usiw", code=2)
    check("/proc/usiw cannot be written" in said and "PREFIX=" in said
          and len(said.splitlines()) == 2, f"make install says: {said}")


def main():
    with tempfile.TemporaryDirectory(prefix="usiw-libdir.") as scratch:
        os.chmod(scratch, 0o755)
        build = os.path.join(scratch, "build")
        prefix_that_cannot_be_written(build)
        check(not os.path.exists(build), "it was built nevertheless")
        take_objects(build)
        prefix_with_a_space(build, scratch)
        files_stand_in_lib64(build, os.path.join(scratch, "a top"))
        print(run(sys.executable, "-B", os.path.join(HERE, "prefix_test.py"),
                  CMAKE, USIW_BUILD_DIR=build))


if __name__ == "__main__":
    main()

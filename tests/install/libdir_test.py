#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""libdir_test.py CMAKE: what prefix_test.py asks, of a build whose libraries
are installed in lib64, as rpm distributions have them."""
import os
import re
import subprocess
import sys
import tempfile

CMAKE = sys.argv[1]
SOURCE = os.environ["USIW_SOURCE_DIR"]
HERE = os.path.dirname(os.path.abspath(__file__))


def run(*words, **env):
    ended = subprocess.run(words, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True,
                           env={**os.environ, **env})
    if ended.returncode:
        sys.exit(f"FAILED: {' '.join(words)}:\n{ended.stdout[-3000:]}")
    return ended.stdout


def check(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


def files_stand_in_lib64(build, top):
    """As a package is made: the prefix /usr below a directory of its own."""
    run(CMAKE, "--install", build, "--prefix", "/usr", DESTDIR=top)
    paths = [os.path.join(where, name)[len(top):]
             for where, _, names in os.walk(top) for name in names]
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


def main():
    with tempfile.TemporaryDirectory(prefix="usiw-libdir.") as scratch:
        os.chmod(scratch, 0o755)
        build = os.path.join(scratch, "build")
        run(CMAKE, "-S", SOURCE, "-B", build, "-G", "Ninja",
            "-DCMAKE_INSTALL_LIBDIR=lib64", "-DUSIW_TESTS=OFF",
            "-DCMAKE_INSTALL_PREFIX=/usr")
        run(CMAKE, "--build", build, "--target", "usiw-products")
        files_stand_in_lib64(build, os.path.join(scratch, "top"))
        print(run(sys.executable, "-B", os.path.join(HERE, "prefix_test.py"),
                  CMAKE, USIW_BUILD_DIR=build))


if __name__ == "__main__":
    main()

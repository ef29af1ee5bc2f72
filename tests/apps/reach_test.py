#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A clone in a directory that only root may enter, as /root is, with files
that only root may read: programs of user nobody run from there all the same,
and nothing is left."""
import os
import shutil
import subprocess
import sys
import tempfile

import harness
import reach
from harness import BUILD, check

HERE = os.path.dirname(os.path.abspath(__file__))


def closed_clone():
    with tempfile.TemporaryDirectory() as top:
        build = os.path.join(top, "build")
        for part in "bin", "lib":
            shutil.copytree(os.path.join(BUILD, part),
                            os.path.join(build, part), symlinks=True,
                            ignore=reach.LEFT_OUT)
        apps = shutil.copytree(HERE, os.path.join(top, "tests", "apps"))
        for path, _, names in os.walk(top):
            for name in (path, *(os.path.join(path, n) for n in names)):
                if not os.path.islink(name):
                    os.chmod(name, os.stat(name).st_mode & ~0o077)
        left = os.path.join(top, "tmp")
        os.mkdir(left)
        os.chmod(left, 0o1777)
        for place in "/tmp", left:  # nobody cannot enter the second either
            ended = subprocess.run(
                [sys.executable, "-B", os.path.join(apps, "run_cases.py"),
                 "refused"],
                env={**os.environ, "USIW_BUILD_DIR": build, "TMPDIR": place},
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            check(ended.returncode == 0, ended.stdout)
            check(not os.listdir(left), f"{os.listdir(left)} is left")


if os.geteuid() != 0:
    print("skipped: only root runs programs as another user")
    sys.exit(harness.SKIP)
harness.main([("closed", closed_clone)])

# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What the tests of usiw(1) have in common.  Their arguments: USIW LIBDIR
SANITIZER, the tool, its directory of libraries relative to it when installed,
the runtime that the tool preloads; the last may be missing."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "apps"))
import reach  # noqa: E402

USIW, LIBDIR = os.path.realpath(sys.argv[1]), sys.argv[2]
SANITIZER = sys.argv[3] if len(sys.argv) > 3 else ""


def clean_env(**more):
    env = {k: v for k, v in os.environ.items()
           if k not in ("LD_PRELOAD", "RDMAV_DRIVERS")
           and not (k.startswith("USIW_") and not k.endswith("_DIR"))}
    if SANITIZER:  # usiw itself, with a LD_PRELOAD that is not its own
        env.setdefault("ASAN_OPTIONS",
                       "verify_asan_link_order=0:detect_leaks=0")
    env.update(more)
    return env


def gains_rights():
    """Does a set-user-ID program get its owner's rights here?"""
    with open("/proc/self/status", encoding="ascii") as f:
        return "NoNewPrivs:\t0" in f.read()


def usiw(*args, env=None, program=None, **how):
    return subprocess.run([program or USIW, *args], env=env or clean_env(),
                          capture_output=True, text=True, timeout=50, **how)


def usiw_of(user):
    """The path of usiw as that user can reach it."""
    build = os.path.dirname(os.path.dirname(USIW))
    return reach.reachable(USIW, ((build, ("bin", "lib")),)) if user else USIW

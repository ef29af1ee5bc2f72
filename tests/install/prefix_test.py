#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""prefix_test.py CMAKE: installs the build below other prefixes.

Nothing may be written elsewhere. A program run from there gets the devices.
make uninstall leaves no file. If LD_PRELOAD cannot contain the prefix, usiw
run says so.
"""
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "apps"))
import harness  # noqa: E402
from harness import Test, check  # noqa: E402

from prefix import SOURCE, directory_of, files_below, install, uninstall  # noqa: E402


def stays_below(destdir):
    def case():
        with Test(f"{'DESTDIR' if destdir else 'prefix'}") as test:
            below = directory_of(test, "below")
            prefix = "/opt/usiw" if destdir else below
            for path in install(prefix, below if destdir else ""):
                check(path.startswith(below + "/"),
                      f"{path} is not below {below}")
            driver = os.path.join(below, prefix.lstrip("/") if destdir else "",
                                  "etc/libibverbs.d/usiw.driver")
            check(os.path.exists(driver), f"no {driver}")
            uninstall(below if destdir else "")
            left = files_below(below)
            check(not left, f"make uninstall leaves {left[:5]}")
    return case


def runs_there():
    with Test("runs there") as test:
        prefix = directory_of(test, "prefix")
        install(prefix)
        usiw = os.path.join(prefix, "bin", "usiw")
        program = test.start("ibv_devinfo", [usiw, "run", "--", "ibv_devinfo"],
                             usiw=False)
        program.wait(30)
        check("usiw_lo" in program.text(), "no device usiw_lo")
        uninstall()


def check_runs_there():
    with Test("check runs there") as test:
        prefix = directory_of(test, "prefix")
        path, = [path for path in install(prefix)
                 if os.path.basename(path) == "libusiw-check.so"]
        usiw = os.path.join(prefix, "bin", "usiw")
        program = test.start("maps", [usiw, "check", "--", "grep", path,
                                      "/proc/self/maps"], usiw=False)
        program.wait(30)
        check("0 findings" in program.text(), "usiw check does not end")
        uninstall()


def sdp_runs_there():
    """libsdp.so finds the direct verbs below the same prefix. It is not in a
    directory of the linker, because other software has a library of this
    name."""
    with Test("sdp runs there") as test:
        prefix = directory_of(test, "prefix")
        paths = install(prefix)
        found = [path for path in paths
                 if os.path.basename(path) == "libsdp.so"]
        check([os.path.basename(os.path.dirname(path)) for path in found] ==
              ["usiw"], f"libsdp.so stands at {found}")
        exchange = os.path.join(here, "package", "sdp-exchange")
        program = test.start("sdp-exchange", [exchange], usiw=False, env={
            "USIW_TOOL": os.path.join(prefix, "bin", "usiw"),
            "SDPSTAT": os.path.join(prefix, "bin", "sdpstat")})
        program.wait(60)
        check("none by TCP" in program.text(), "octets went by TCP")
        uninstall()


def says_what_cannot_be():
    with Test("a prefix with a space") as test:
        prefix = directory_of(test, "a prefix")
        install(prefix)
        usiw = os.path.join(prefix, "bin", "usiw")
        program = test.start("true", [usiw, "run", "--", "true"], usiw=False)
        program.wait(30, codes=(1,))
        check("cannot name a path with a space" in program.text(),
              "usiw run does not say what is wrong")
        uninstall()


CASES = [("prefix", stays_below(False)), ("destdir", stays_below(True)),
         ("runs", runs_there), ("check", check_runs_there),
         ("sdp", sdp_runs_there), ("space", says_what_cannot_be)]

if __name__ == "__main__":
    harness.main(CASES)

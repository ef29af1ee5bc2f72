#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A program that posts its receive after the message has come, or never."""
import os

from harness import BUILD, Test, check, main

LATE_RECV = os.path.join(BUILD, "bin", "apps-late-recv")


def run(how, env=None):
    def case():
        with Test(" ".join(how)) as test:
            program = test.start("late", [LATE_RECV, *how], env=env)
            program.wait(20)
            check("good" in program.text(), program.text())
    return case


SHORT = {"USIW_RNR_MS": "200"}

main([("late", run(["late"])),
      ("late-without-crc", run(["late"], {"USIW_CRC": "off"})),
      ("late-srq", run(["late", "srq"])),
      ("never", run(["never"], SHORT)),
      ("never-srq", run(["never", "srq"], SHORT))])

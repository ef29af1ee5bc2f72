#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""late_test.py [--persona NAME]: a program that posts its receive after the
message has arrived, or never."""
import os
import sys

import harness
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
LONG = {"USIW_RNR_MS": "600000"}

BOTH = [("late", run(["late"])),
        ("late-without-crc", run(["late"], {"USIW_CRC": "off"})),
        ("late-srq", run(["late", "srq"])),
        ("never", run(["never", "limit"], SHORT)),
        ("never-srq", run(["never", "srq", "limit"], SHORT)),
        ("leave", run(["leave"], LONG)),
        ("leave-srq", run(["leave", "srq"], LONG))]
# rnr_retry_count 7: without limit only with persona ca
RNIC = [("never-7", run(["never"], SHORT))]
CA = [("very-late", run(["very-late"], SHORT)),
      ("very-late-srq", run(["very-late", "srq"], SHORT))]

if sys.argv[1:2] == ["--persona"]:
    harness.PERSONA[:] = sys.argv[1:3]
    del sys.argv[1:3]
main(BOTH + (CA if "ca" in harness.PERSONA else RNIC))

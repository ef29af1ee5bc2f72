#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""run_cases.py [--persona NAME] [--engines N] GROUP [CASE...]: a group of the
table in cases.py."""
import sys

import cases
import harness

if sys.argv[1:2] == ["--persona"]:
    harness.PERSONA[:] = sys.argv[1:3]
    del sys.argv[1:3]
if sys.argv[1:2] == ["--engines"]:
    harness.ENGINES["USIW_ENGINES"] = sys.argv[2]
    del sys.argv[1:3]
if len(sys.argv) < 2 or sys.argv[1] not in cases.GROUPS:
    sys.exit(f"groups: {' '.join(cases.GROUPS)}")
group = cases.GROUPS[sys.argv.pop(1)]
harness.main(group)

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""run_cases.py GROUP [CASE...]: a group of the table in cases.py."""
import sys

import cases
import harness

if len(sys.argv) < 2 or sys.argv[1] not in cases.GROUPS:
    sys.exit(f"groups: {' '.join(cases.GROUPS)}")
group = cases.GROUPS[sys.argv.pop(1)]
harness.main(group)

# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Where the benchmark's modules are."""
import os
import sys

ROOT = os.environ.get("USIW_SOURCE_DIR") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..")
BENCH = os.path.join(ROOT, "bench")
sys.path.insert(0, BENCH)

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""check_format.py [--fix]: clang-format decides the layout of C files.

Versions differ, so only one decides: 19, which Debian 12 and 13 both have.
"""
import os
import shutil
import subprocess
import sys

import tree

TOOL = "clang-format-19"


def complaints(paths, is_fixing):
    """Files that clang-format would change."""
    mode = ["-i"] if is_fixing else ["--dry-run", "-Werror"]
    result = subprocess.run([TOOL, "--style=file", *mode, *paths],
                            capture_output=True, text=True)
    wrong = sorted({line.split(":")[0] for line in result.stderr.split("\n")
                    if "clang-format-violations" in line})
    if result.returncode and not wrong:
        sys.exit(f"{TOOL}: {result.stderr.strip()}")
    return wrong


def main():
    if not shutil.which(TOOL):
        print(f"skipped: {TOOL} is not installed")
        return 77
    root = os.environ.get("USIW_SOURCE_DIR") or os.path.abspath(
        os.path.join(os.path.dirname(__file__), "../.."))
    paths = [os.path.join(root, p) for p in tree.list_files(root)
             if tree.is_c(p)]
    if not paths:
        print("no C file found")
        return 1
    wrong = complaints(paths, "--fix" in sys.argv)
    for path in wrong:
        print(f"{os.path.relpath(path, root)}: not as {TOOL} lays it out; "
              "'make format' does")
    print(f"format: {len(paths)} files, {len(wrong)} complaints")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

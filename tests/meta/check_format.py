#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""check_format.py [--fix]: clang-format decides the layout of C files."""
import os
import shutil
import subprocess
import sys

import tree


def main():
    tool = shutil.which("clang-format-14") or shutil.which("clang-format")
    if not tool:
        print("skipped: clang-format is not installed")
        return 77
    version = subprocess.run([tool, "--version"], capture_output=True,
                             text=True).stdout
    if " 14." not in version:
        print(f"skipped: clang-format 14 decides, this is {version.strip()}")
        return 77
    root = os.environ.get("USIW_SOURCE_DIR") or os.path.abspath(
        os.path.join(os.path.dirname(__file__), "../.."))
    paths = [os.path.join(root, p) for p in tree.list_files(root)
             if tree.is_c(p)]
    if not paths:
        print("no C file found")
        return 1
    mode = ["-i"] if "--fix" in sys.argv else ["--dry-run", "-Werror"]
    result = subprocess.run([tool, "--style=file", *mode, *paths],
                            capture_output=True, text=True)
    wrong = sorted({line.split(":")[0] for line in result.stderr.split("\n")
                    if "clang-format-violations" in line})
    for path in wrong:
        print(f"{os.path.relpath(path, root)}: not as clang-format lays it "
              "out; 'make format' does")
    print(f"format: {len(paths)} files, {len(wrong)} complaints")
    return 1 if wrong or result.returncode else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""check_format.py [--fix]: clang-format decides the layout of C files.

Versions 14 (Debian 12) and 19 (Debian 13) both have to leave a file as it is.
Where they cannot agree, the code is between "clang-format off" and "on".
"""
import os
import re
import shutil
import subprocess
import sys

import tree


VERSIONS = (14, 19)


def found_tools():
    """(name, major version) of the installed ones, each version once."""
    found = {}
    for name in ("clang-format", *(f"clang-format-{v}" for v in VERSIONS)):
        if shutil.which(name):
            text = subprocess.run([name, "--version"], capture_output=True,
                                  text=True).stdout
            match = re.search(r"version (\d+)", text)
            if match:
                found.setdefault(int(match.group(1)), name)
    return [(name, version) for version, name in found.items()]


def complaints(tool, paths, is_fixing):
    """Files that this clang-format would change."""
    mode = ["-i"] if is_fixing else ["--dry-run", "-Werror"]
    result = subprocess.run([tool, "--style=file", *mode, *paths],
                            capture_output=True, text=True)
    wrong = sorted({line.split(":")[0] for line in result.stderr.split("\n")
                    if "clang-format-violations" in line})
    if result.returncode and not wrong:
        sys.exit(f"{tool}: {result.stderr.strip()}")
    return wrong


def main():
    tools = [(name, version) for name, version in found_tools()
             if version in VERSIONS]
    if not tools:
        seen = ", ".join(f"{version}" for _, version in found_tools())
        print("skipped: clang-format of version "
              f"{' or '.join(map(str, VERSIONS))} decides, "
              f"{f'this is {seen}' if seen else 'none is installed'}")
        return 77
    root = os.environ.get("USIW_SOURCE_DIR") or os.path.abspath(
        os.path.join(os.path.dirname(__file__), "../.."))
    paths = [os.path.join(root, p) for p in tree.list_files(root)
             if tree.is_c(p)]
    if not paths:
        print("no C file found")
        return 1
    failed = 0
    for tool, version in tools:
        wrong = complaints(tool, paths, "--fix" in sys.argv)
        for path in wrong:
            print(f"{os.path.relpath(path, root)}: not as clang-format "
                  f"{version} lays it out; 'make format' does")
        print(f"format: {len(paths)} files, {len(wrong)} complaints of "
              f"clang-format {version}")
        failed += len(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

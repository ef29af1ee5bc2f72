#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""check_spelling.py: codespell finds no misspelling in the tree. .codespellrc
has the words that it should accept."""
import os
import shutil
import subprocess
import sys

import tree

TOOL = "codespell"


def main():
    if not shutil.which(TOOL):
        print(f"skipped: {TOOL} is not installed")
        return 77
    root = os.environ.get("USIW_SOURCE_DIR") or os.path.abspath(
        os.path.join(os.path.dirname(__file__), "../.."))
    # Paths with "./" match the patterns of .codespellrc, as those of a run
    # without arguments do.
    paths = ["./" + p for p in tree.list_files(root)]
    result = subprocess.run([TOOL, *paths], cwd=root, capture_output=True,
                            text=True)
    found = result.stdout.strip()
    if result.returncode and not found:
        sys.exit(f"{TOOL}: {result.stderr.strip()}")
    if found:
        print(found)
        print("correct it, or add the word to .codespellrc")
    print(f"spelling: {len(paths)} files, "
          f"{len(found.splitlines())} complaints")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

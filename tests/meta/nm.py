# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Symbols of object files."""
import subprocess


def texts(paths):
    """Path -> what nm prints of that object file. All by one process: to start
    it takes longer than to read a file."""
    found = {path: [] for path in paths}
    if not found:
        return {}
    out = subprocess.run(["nm", "-A", *found], check=True,
                         capture_output=True, text=True).stdout
    for line in out.splitlines():
        path, _, rest = line.partition(":")
        found[path].append(rest)
    return {path: "\n".join(lines) for path, lines in found.items()}

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""check_headers.py CC [CFLAGS...]: every header compiles alone, the public
ones also as C++ (with c++, if it is installed)."""
import os
import shutil
import subprocess
import sys

import tree

# Headers that programs outside of the project include.
PUBLIC = ("libsiw-mpa/include/siw-mpa.h", "providers/usiw/usiwdv.h")
INCLUDE_DIRS = ("abi", "util", "libsiw-mpa/include", "libsiw-mpa", "rnic",
                "providers/usiw", "kernel-abi", "sdp")
WARNINGS = ("-Wall", "-Wextra", "-Wstrict-prototypes", "-Werror")


def compile_alone(command, root, path):
    """The compiler's messages, or None. The header is included twice, to test
    its guard."""
    full = os.path.join(root, path)
    source = f'#include "{full}"\n#include "{full}"\nextern int unit;\n'
    result = subprocess.run(command + ["-fsyntax-only", "-"], input=source,
                            capture_output=True, text=True)
    return None if result.returncode == 0 else result.stderr


def own_dirs(root, path):
    """Include directories of the header's layer, its own directory first."""
    layer = tree.layer_of(path)
    dirs = [os.path.dirname(path)]
    dirs += [d for d in INCLUDE_DIRS if d.startswith(layer)] + ["abi", "util"]
    if layer in ("rnic",):
        dirs.append("libsiw-mpa/include")
    if layer in ("providers/usiw", "kernel-abi"):
        dirs.append("rnic")
    return [f"-I{os.path.join(root, d)}" for d in dict.fromkeys(dirs)]


def main():
    compiler = sys.argv[1:] or ["cc"]
    root = os.environ["USIW_SOURCE_DIR"]
    headers = [p for p in tree.list_files(root)
               if p.endswith(".h") and tree.layer_of(p)]
    found = []
    for path in headers:
        command = compiler + ["-D_GNU_SOURCE", "-std=gnu11", "-xc", *WARNINGS]
        said = compile_alone(command + own_dirs(root, path), root, path)
        if said:
            found.append(f"{path} does not compile alone:\n{said}")
    cxx = shutil.which("c++") or shutil.which("g++")
    for path in PUBLIC:
        if path not in headers:
            continue
        if not cxx:
            found.append("no C++ compiler (Debian: g++)")
            break
        said = compile_alone(
            [cxx, "-xc++", "-std=c++11", "-Wall", "-Wextra", "-Werror"],
            root, path)
        if said:
            found.append(f"{path} does not compile as C++:\n{said}")
    print("\n".join(found))
    print(f"headers: {len(headers)} headers, {len(found)} complaints")
    return 1 if found or not headers else 0


if __name__ == "__main__":
    sys.exit(main())

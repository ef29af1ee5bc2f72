#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""check_headers.py CC [CFLAGS...]: every header compiles alone and has a guard,
the public ones also compile as C++ (with c++, if it is installed).

A header that a source file includes before all others is not compiled again:
the build has compiled it alone."""
import os
import re
import shutil
import subprocess
import sys

import tree

# Headers that programs outside of the project include.
PUBLIC = ("libsiw-mpa/include/siw-mpa.h",
          "libsiw-ib/include/siw-ib.h",
          "providers/usiw/include/infiniband/usiwdv.h")
INCLUDE_DIRS = ("abi", "util", "libsiw-mpa/include", "libsiw-mpa",
                "libsiw-ib/include", "libsiw-ib", "rnic",
                "providers/usiw", "kernel-abi", "sdp")
WARNINGS = ("-Wall", "-Wextra", "-Wstrict-prototypes", "-Werror")


FIRST_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+["<]([^">]+)[">]', re.M)
GUARD = re.compile(r"(?:\s|/\*.*?\*/)*#ifndef (\w+)\n#define \1\n.*"
                   r"#endif(?:\s|/\*.*?\*/)*\Z", re.S)


def compiled_by_the_build(files, headers):
    """The headers that a source file includes first."""
    found = set()
    for path, text in files.items():
        if not path.endswith(".c") or not tree.layer_of(path):
            continue
        first = FIRST_INCLUDE.search(text)
        for directory in (os.path.dirname(path), tree.layer_of(path)):
            header = first and os.path.normpath(
                os.path.join(directory, first.group(1)))
            if header in headers:
                found.add(header)
                break
    return found


def compile_alone(command, root, path):
    """The compiler's messages, or None."""
    source = f'#include "{os.path.join(root, path)}"\nextern int unit;\n'
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
    return [f"-I{os.path.join(root, d)}" for d in dict.fromkeys(dirs + [""])]


def main():
    compiler = sys.argv[1:] or ["cc"]
    root = os.environ["USIW_SOURCE_DIR"]
    files = tree.read(root)
    headers = [p for p in files if p.endswith(".h") and tree.layer_of(p)]
    found = [f"{path} has no guard" for path in headers
             if not GUARD.match(files[path])]
    built = compiled_by_the_build(files, set(headers))
    for path in headers:
        if path in built:
            continue
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
    print(f"headers: {len(headers)} headers, {len(built)} compiled by the "
          f"build, {len(found)} complaints")
    return 1 if found or not headers else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""check_circles.py BUILD: no two files of a layer need each other, by their
includes and by the symbols of their object files in BUILD. No module needs one
above it."""
import os
import re
import sys

import circles
import nm
import rules
import tree

OBJECT = re.compile(r"(?:(.*)/)?CMakeFiles/[^/]+\.dir/(.*)\.c\.o")
# Others belong to libc: a preload library defines functions that also exist in
# libc.
OWN = re.compile(r"(util|smpa|sib|crc32c|rx|tx|start|ddp|rdmap|fpdu|term|kabi|sdp|cmd|"
                 r"environment|program|setting|rnic|cm|oob|loop|bench)(_\w+)?")


def symbols(out):
    """@out: what nm prints."""
    defined = set(re.findall(r"^[0-9a-f]+ [TDBRC] (\S+)", out, re.M))
    undefined = set(re.findall(r"^\s+U (\S+)", out, re.M))
    return ({n for n in defined if OWN.fullmatch(n)},
            {n for n in undefined if OWN.fullmatch(n)})


def objects_of(build, layer, nouns):
    """Noun -> symbols. The first object is taken of a source that is built
    twice."""
    paths = {}
    for where, _, names in os.walk(os.path.join(build, layer)):
        for name in sorted(names):
            path = os.path.join(where, name)
            match = OBJECT.fullmatch(os.path.relpath(path, build))
            if not match:
                continue
            noun = os.path.normpath(
                os.path.join(match.group(1) or "", match.group(2)))
            if noun in nouns:
                paths.setdefault(noun, path)
    texts = nm.texts(paths.values())
    return {noun: symbols(texts[path]) for noun, path in paths.items()}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = os.environ.get("USIW_SOURCE_DIR") or os.path.abspath(
        os.path.join(os.path.dirname(__file__), "../.."))
    files = tree.read(root)
    found = []
    for layer in circles.LAYERS:
        graph = rules.include_graph(files, layer)
        objects = objects_of(sys.argv[1], layer, graph)
        if not any(defined for defined, _ in objects.values()):
            print(f"{layer}: not built here: by includes alone")
        graph = circles.union(graph, circles.by_symbols(objects))
        known = circles.KNOWN.get(layer, frozenset())
        found += circles.find(graph, known)
        if any(defined for defined, _ in objects.values()):
            found += circles.gone(graph, known)
        found += circles.against_order(graph, files)
        print(f"{layer}: {len(graph)} nouns, {len(objects)} objects")
    print("\n".join(found))
    print(f"circles: {len(circles.LAYERS)} layers, {len(found)} complaints")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

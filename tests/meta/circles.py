# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Circles between files.  A .c and its .h are one noun, the path without its
ending; a graph maps a noun to the nouns that it needs."""
import os

import tree

# Where no two files may stand in a circle.
ROOMS = ("util", "libsiw-mpa", "kernel-abi", "sdp", "tools")


def noun_of(path):
    return os.path.splitext(path)[0]


def by_includes(files, room, targets_of):
    """@targets_of(path, text): the files of the tree that @path includes."""
    graph = {}
    for path, text in files.items():
        if tree.room_of(path) != room or not tree.is_c(path) or text is None:
            continue
        nouns = graph.setdefault(noun_of(path), set())
        nouns |= {noun_of(t) for t in targets_of(path, text)
                  if tree.room_of(t) == room}
        nouns.discard(noun_of(path))
    return graph


def by_symbols(objects):
    """@objects: noun -> (defined, undefined symbols).  One that two nouns
    define tells nothing."""
    definer = {}
    for noun, (defined, _) in objects.items():
        for name in defined:
            definer[name] = None if name in definer else noun
    return {noun: {definer.get(name) for name in undefined} - {None, noun}
            for noun, (_, undefined) in objects.items()}


def union(*graphs):
    return {noun: set().union(*(g.get(noun, ()) for g in graphs))
            for graph in graphs for noun in graph}


def find(graph):
    """Nouns that stand in a circle.  Whoever is left when all nouns that need
    nobody who is left have gone stands in one, or above one."""
    left = set(graph)
    while True:
        free = {n for n in left if not graph[n] & left}
        if not free:
            break
        left -= free
    # Those above a circle are not to blame: nobody left needs them.
    while True:
        above = {n for n in left
                 if not any(n in graph[m] for m in left if m != n)}
        if not above:
            break
        left -= above
    return [f"{n}: in a circle with {', '.join(sorted(graph[n] & left))}"
            for n in sorted(left)]

# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Circles between files. A .c and its .h are one noun, the path without its
ending. A graph maps a noun to the nouns that it needs."""
import os

import tree

# Directories without circles between files.
LAYERS = ("util", "libsiw-mpa", "libsiw-ib", "rnic", "kernel-abi", "sdp", "tools",
          "bench")
# Layer -> all nouns that are in a circle for now, and why.
KNOWN = {}
# A directory with this file has modules: it lists them, lowest first, and the
# headers that all of them may use.
MODULES = "modules.txt"


def noun_of(path):
    return os.path.splitext(path)[0]


def by_includes(files, layer, targets_of):
    """@targets_of(path, text): the files of the tree that @path includes."""
    graph = {}
    for path, text in files.items():
        if tree.layer_of(path) != layer or not tree.is_c(path) or text is None:
            continue
        nouns = graph.setdefault(noun_of(path), set())
        nouns |= {noun_of(t) for t in targets_of(path, text)
                  if tree.layer_of(t) == layer}
        nouns.discard(noun_of(path))
    return graph


def by_symbols(objects):
    """@objects: noun -> (defined, undefined symbols). A symbol that two nouns
    define is ignored."""
    definer = {}
    for noun, (defined, _) in objects.items():
        for name in defined:
            definer[name] = None if name in definer else noun
    return {noun: {definer.get(name) for name in undefined} - {None, noun}
            for noun, (_, undefined) in objects.items()}


def union(*graphs):
    return {noun: set().union(*(g.get(noun, ()) for g in graphs))
            for graph in graphs for noun in graph}


def members(graph):
    """Nouns that are in a circle, or need one. Nouns that need none of the
    remaining ones are removed until there are no more."""
    left = set(graph)
    while True:
        free = {n for n in left if not graph[n] & left}
        if not free:
            break
        left -= free
    # A noun above a circle is not part of it: no remaining noun needs it.
    while True:
        above = {n for n in left
                 if not any(n in graph[m] for m in left if m != n)}
        if not above:
            break
        left -= above
    return left


def find(graph, known=frozenset()):
    """Complaints about nouns in a circle, except for those of @known."""
    left = members(graph)
    return [f"{n}: in a circle with {', '.join(sorted(graph[n] & left))}"
            for n in sorted(left - known)]


def gone(graph, known):
    """Complaints about nouns of @known that are in no circle any more."""
    return [f"{n}: in no circle any more, and still listed as known"
            for n in sorted(known - members(graph))]


def orders(files):
    """Directory with modules -> the lines of its list."""
    return {os.path.dirname(path): [line for line in text.split("\n")
                                    if line and not line.startswith("#")]
            for path, text in files.items()
            if os.path.basename(path) == MODULES}


def against_order(graph, files):
    """Complaints about nouns that need one of a module above theirs. Files
    directly in the directory of the modules are above all of them."""
    return [line for place, order in orders(files).items()
            for line in against_one(graph, place, order)]


def against_one(graph, place, order):
    free = {f"{place}/{noun_of(line)}" for line in order
            if line.endswith(".h")}
    inside = sorted(n for n in graph if n.startswith(place + "/"))

    def rank(noun):
        module, _, rest = noun[len(place) + 1:].partition("/")
        if not rest:
            return -1 if noun in free else len(order)
        return order.index(module) if module in order else None
    found = [f"{n}: {place}/{MODULES} does not list its module"
             for n in inside if rank(n) is None]
    listed = [n for n in inside if rank(n) is not None]
    return found + [f"{n}: uses {m}, of a module above it"
                    for n in listed for m in sorted(graph[n] & set(listed))
                    if rank(m) > rank(n) and n not in free]

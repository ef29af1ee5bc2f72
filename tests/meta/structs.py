# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""No struct of the product has more than so many members."""
import re

import tree

MEMBERS = 40
# Structs that have more -> how many. The numbers may only fall.
MORE = {"sdp_conn": 51, "rnic_qp": 49}
HEAD = re.compile(r"\b(?:struct|union)\b[ \t]*(\w*)[^;{}()=,]*\{")
# In a body without what is inside of inner braces.
DECLARATION = re.compile(r"([^;]*);")
LINES = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", re.M)


def body_of(text, start):
    """The text from @start to the brace that closes the one before it."""
    depth, at = 1, start
    while at < len(text) and depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[start:at - 1]


def without(pattern, text, by=""):
    while (shorter := re.sub(pattern, by, text)) != text:
        text = shorter
    return text


def members(body):
    """Of a struct without a name inside it, the members count, else one."""
    body = without(r"\([^()]*\)", LINES.sub("", body))
    # "struct { int a, b; };" is "int a, b;"
    body = without(r"\b(?:struct|union)\s*\{([^{}]*)\}\s*;", body, r"\1")
    body = without(r"\{[^{}]*\}", body)
    return sum(1 + words.count(",") for words in DECLARATION.findall(body)
               if words.strip())


def sizes(text):
    """(line, name, members) of each struct of a file."""
    text = tree.strip_comments(text)
    for match in HEAD.finditer(text):
        body = body_of(text, match.end())
        yield (text.count("\n", 0, match.start()) + 1, match[1], members(body))


def large(files):
    found, seen = [], {}
    for path, text in files.items():
        if tree.layer_of(path) in (None, "bench") or not tree.is_c(path) or \
                text is None:
            continue
        for line, name, count in sizes(text):
            limit = MORE.get(name, MEMBERS)
            if name in MORE:
                seen[name] = count
            if count > limit:
                found.append(f"{path}:{line}: struct {name} has {count} "
                             f"members, more than {limit}")
    return found + [f"tests/meta/structs.py: MORE: {name} has {count} members: "
                    "write that down" for name, count in seen.items()
                    if count < MORE[name]]

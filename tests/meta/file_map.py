#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The map of files, doc/files.md, from the first comment of each file.

As a program it writes the page; the test meta-file_map compares. A .c and its
.h share a row. The row has the first sentence of the longer one of their first
comments.
"""
import os
import re

import tree

PAGE = "doc/files.md"
HEAD = """\
# Map of files

`tests/meta/file_map.py` makes this page from the first comment of each file. To change a row, change that comment and run the script;
`meta-file_map` compares.
"""
MAPPED = (".c", ".h", ".def")
COMMENT = re.compile(r"\s*/\*(.*?)\*/", re.S)
SPDX = re.compile(r"\A(/\*|//|#) SPDX[^\n]*\n")
# A full stop in a name or a number has no blank after it.
SENTENCE = re.compile(r"(.*?[.?])(?=\s|\Z)", re.S)
# "See x.h.", and the name that some headers repeat: "siw-mpa.h - ".
POINTER = re.compile(r"See [\w./-]+\.h\Z")
OWN_NAME = re.compile(r"\A[\w./-]+\.h - ")


def sentence_of(text):
    """The first sentence of a file's first comment; "" if there is none."""
    comment = COMMENT.match(SPDX.sub("", text))
    if not comment:
        return ""
    words = re.sub(r"\n\s*\*+ ?", "\n", comment[1]).strip()
    # An empty line ends a sentence, too.
    words = re.split(r"\n\s*\n", words)[0]
    match = SENTENCE.match(words)
    sentence = re.sub(r"\s+", " ", match[1] if match else words)
    sentence = OWN_NAME.sub("", sentence).rstrip(".")
    return "" if POINTER.match(sentence) else sentence


def rows_of(files):
    """(folder, paths, sentence) by noun: a path without its ending."""
    nouns = {}
    for path in sorted(files):
        layer = tree.layer_of(path)
        if layer in (None, "bench") or files[path] is None or \
                not path.endswith(MAPPED):
            continue
        nouns.setdefault(os.path.splitext(path)[0], []).append(path)
    for noun, paths in nouns.items():
        sentences = [sentence_of(files[p]) for p in paths]
        yield os.path.dirname(noun), paths, max(sentences, key=len)


def untold(files):
    return [paths[0] for _, paths, sentence in rows_of(files) if not sentence]


def order_of(folder):
    return tree.LAYERS.index(tree.layer_of(folder + "/"))


def render(files):
    folders = {}
    for folder, paths, sentence in rows_of(files):
        folders.setdefault(folder, []).append((paths, sentence))
    lines = [HEAD]
    for folder in sorted(folders, key=lambda f: (order_of(f), f)):
        lines += [f"## {folder}/", "", "| file | content |", "| --- | --- |"]
        for paths, sentence in folders[folder]:
            names = " ".join(f"`{os.path.basename(p)}`" for p in paths)
            lines.append(f"| {names} | {sentence} |")
        lines.append("")
    return "\n".join(lines)


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(
        os.path.abspath(__file__))))
    text = render(tree.read(root))
    with open(os.path.join(root, PAGE), "w", encoding="utf-8") as stream:
        stream.write(text)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What a folder and a file say about themselves: the README.md of a folder
names its files, and a file begins with a comment."""
import os
import re

import tree

NOUN_FILES = (".c", ".h", ".def")
# `mr-table`, or `object.h`; not `cm/`, `rnic_x()`, `stream/socket`.
NAME = re.compile(r"`([a-z][a-z0-9-]*)(?:\.(?:c|h|def))?`")
# `cm/`: a folder below or beside this one, or a layer.
FOLDER = re.compile(r"`([a-z][a-z0-9-]*)/`")
COMMENT = re.compile(r"\s*/\*(.*?)\*/", re.S)
SPDX = re.compile(r"\A(/\*|//|#) SPDX[^\n]*\n")
# "See x.h." tells nothing.
POINTER = re.compile(r"See [\w./-]+\.h\.?\Z")


def nouns_of(files):
    """{folder: {noun: paths}} of the layers. A .c and its .h are one noun."""
    found = {}
    for path in sorted(files):
        folder, name = os.path.split(path)
        noun, ending = os.path.splitext(name)
        if tree.layer_of(path) not in (None, "bench") and \
                ending in NOUN_FILES and files[path] is not None:
            found.setdefault(folder, {}).setdefault(noun, []).append(path)
    return found


def strays(files, page):
    """Folders that a page names, and that are neither below nor beside it."""
    folder = os.path.dirname(page)
    places = (folder, os.path.dirname(folder), "")
    return [name for name in sorted(set(FOLDER.findall(files[page])))
            if not any(path.startswith(os.path.join(place, name, ""))
                       for path in files for place in places)]


def readmes(files):
    """A folder's README.md names each noun of the folder, and no other. The
    folders that it names exist."""
    found = [f"{page}: names `{name}/`, which is no folder" for page in files
             if tree.layer_of(page) and page.endswith("/README.md")
             for name in strays(files, page)]
    for folder, nouns in nouns_of(files).items():
        page = folder + "/README.md"
        if page not in files:
            continue
        named = set(NAME.findall(files[page]))
        found += [f"{page}: does not name `{noun}`: say there what "
                  f"{' and '.join(nouns[noun])} is for"
                  for noun in nouns if noun not in named]
        found += [f"{page}: names `{noun}`, and {folder}/ has no such file"
                  for noun in sorted(named - set(nouns))]
    return found


# clang-format ends such a comment where a line is one character too long.
LATE_END = re.compile(r"/\*(?!\*| ----[^\n]*\n \*\n)[ \t]*[^\s*](?:(?!\*/).)*\n[ \t]*\*/", re.S)


def comment_ends(files):
    """A comment whose text begins behind its mark ends behind its text."""
    return [f"{path}:{text.count(chr(10), 0, match.start()) + 1}: the end of "
            "the comment is alone on its line: shorten or break the text"
            for path, text in files.items()
            if tree.is_c(path) and text
            for match in LATE_END.finditer(text)]


def has_comment(text):
    comment = COMMENT.match(SPDX.sub("", text))
    words = re.sub(r"\n\s*\*+ ?", "\n", comment[1]).strip() if comment else ""
    return bool(words) and not POINTER.match(words)


def first_comments(files):
    """A .c or its .h begins with a comment that says what it is for."""
    return [f"{paths[0]}: no comment below the SPDX line says what it is for"
            for nouns in nouns_of(files).values() for paths in nouns.values()
            if not any(has_comment(files[path]) for path in paths)]

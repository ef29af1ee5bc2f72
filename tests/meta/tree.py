# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The source tree for the rules: a mapping from path to text."""
import os
import re
import subprocess

LAYERS = ("abi", "util", "libsiw-mpa", "libsiw-ib", "rnic",
          "providers/usiw", "kernel-abi", "sdp", "tools", "bench")
BUILD_DIR = re.compile(r"^(build(-[a-z]+)?|obj-.*|\.git|\.cache)$")


def list_files(root):
    """Files that are tracked or about to be added. Without git, all files: for
    a tar ball."""
    try:
        out = subprocess.run(
            ["git", "-c", f"safe.directory={root}", "-C", root, "ls-files",
             "-z", "--cached", "--others", "--exclude-standard"],
            check=True, capture_output=True).stdout.decode()
        names = [n for n in out.split("\0") if n]
    except (OSError, subprocess.CalledProcessError):
        names = []
        for where, dirs, files in os.walk(root):
            dirs[:] = [d for d in dirs if not BUILD_DIR.match(d)]
            names += [os.path.relpath(os.path.join(where, f), root)
                      for f in files]
    return sorted(n for n in set(names)
                  if os.path.isfile(os.path.join(root, n))
                  and not os.path.islink(os.path.join(root, n)))


def read(root):
    """Path -> text of every text file; None for what is not UTF-8."""
    files = {}
    for name in list_files(root):
        with open(os.path.join(root, name), "rb") as stream:
            data = stream.read()
        try:
            files[name] = None if b"\0" in data else data.decode("utf-8")
        except UnicodeDecodeError:
            files[name] = None
    return files


def layer_of(path):
    """The layer that contains a file, or None."""
    for layer in LAYERS:
        if path.startswith(layer + "/"):
            return layer
    return None


def is_c(path):
    return path.endswith((".c", ".h"))


def strip_comments(text):
    """C text with comments and string contents blanked. Line breaks are
    kept."""
    def blank(match):
        found = match.group(0)
        if found[0] in "\"'":
            return found[0] + found[0]
        return re.sub(r"[^\n]", " ", found)
    return re.sub(
        r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'",
        blank, text, flags=re.S)


# CASE(name), CASE_WITH(name, ...), and what a fixture makes of them.
CASE = re.compile(r"^(?:[A-Z_]+_)?CASE(?:_WITH)?\((\w+)")


def functions(text):
    """(name, first line, line count) of each function in kernel layout: the
    body's braces stand alone in column 0. A case of tests/harness/case.h is a
    function, too."""
    lines = strip_comments(text).split("\n")
    found = []
    start = None
    for index, line in enumerate(lines):
        if line == "{":
            start = index
        elif start is not None and line.rstrip() == "}":
            head = []
            row = start - 1
            while row >= 0 and lines[row].strip() and \
                    not lines[row].startswith(("}", "#")) and \
                    not lines[row].rstrip().endswith(";"):
                head.insert(0, lines[row])
                row -= 1
            words = " ".join(head)
            names = CASE.findall(words) or \
                re.findall(r"\b([A-Za-z_]\w*)\s*\(", words)
            found.append((names[0] if names else "?", row + 2,
                          index - row))
            start = None
    return found


def function_at(text, line):
    """The name of the function with that line, or None."""
    for name, first, count in functions(text):
        if first <= line < first + count:
            return name
    return None

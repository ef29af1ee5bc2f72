# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The rules that can be checked from the text of the tree.

Each rule takes the tree (path -> text, see tree.py) and returns complaints.
"""
import os
import re

import circles
import folders
import refusals
import structs
import tree

# --- includes point down only -------------------------------------------

# Layer -> directories whose headers it may include besides its own.
OURS = {
    "abi": (),
    "util": ("abi",),
    "libsiw-mpa": (),
    "libsiw-ib": ("libsiw-mpa",),
    "rnic": ("libsiw-mpa/include", "libsiw-ib/include", "abi", "util"),
    "providers/usiw": ("abi", "util", "rnic"),
    "kernel-abi": ("abi", "util", "rnic"),
    "sdp": ("util",),
    "tools": ("abi", "util", "sdp/rules", "sdp/stat"),
    "bench": (),
}
# Other layers may include only these headers of a layer.
PUBLIC = {"sdp": {"sdp/rules/rules.h", "sdp/stat/read.h"},
          "rnic": {"rnic/rnic.h", "rnic/dgram/rnic-ud.h",
                   "rnic/cm/rnic-cm-ud.h",
                   "rnic/dev/rnic-stats.h", "rnic/os/rnic-observer.h",
                   "rnic/os/rnic-watch.h",
                   "rnic/qp/rnic-fault.h"},
          "libsiw-mpa": {"libsiw-mpa/include/siw-mpa.h", "libsiw-mpa/wire.h",
                         "libsiw-mpa/registers.h"}}
# Layer -> pattern of the system headers it may include; anything if absent.
SYSTEM_ALLOWED = {
    "abi": r"(stdint|stddef|stdatomic|assert)\.h",
    # sys/uio.h: struct iovec, no call
    "libsiw-mpa":
        r"(stdint|stddef|stdbool|string|stdlib|assert|errno|limits|sys/uio)\.h"
        r"|(isa-l|isa-l/crc)\.h",
    "libsiw-ib":
        r"(stdint|stddef|stdbool|string|assert|errno|sys/uio|isa-l/crc)\.h",
}
SYSTEM_FORBIDDEN = {
    "util": r"(infiniband|rdma)/.*",
    "rnic": r"(infiniband|rdma)/.*",
    "providers/usiw": r"sys/socket\.h|netinet/tcp\.h",
    "kernel-abi": r"infiniband/.*|rdma/rdma_(cma|verbs|cma_abi)\.h",
    "tools": r"",
}
# One file of a library uses ISA-L, so that the portable code remains in use and
# tested. A benchmark compares the two. A build may have no <sys/sdt.h>.
ONLY_IN = {r"isa-l.*": {"libsiw-mpa/crc32c.c", "libsiw-ib/crc32.c",
                        "bench/framing.c"},
           r"sys/sdt\.h": {"util/probe.h"}}

# Sub-layers of sdp/, lowest first: sub-layer -> sub-layers it may include. All
# of them may include a header of sdp/ itself.
SDP_BELOW = {
    "msg": (),
    "flow": ("msg",),
    "conn": ("msg", "flow"),
    "pm": (),
    "rules": (),
    "stat": (),
    "verbs": ("msg", "flow", "conn"),
    "sock": ("msg", "flow", "conn", "pm", "rules", "stat", "verbs"),
    "preload": ("msg", "flow", "conn", "pm", "rules", "stat", "verbs", "sock"),
    "tools": ("pm", "stat"),
}
# The protocol core uses no layer but sdp/, and does no I/O.
SDP_CORE = ("", "msg", "flow", "conn", "pm")
# Files in a core sub-layer that do its I/O.
SDP_CORE_IO = re.compile(r"sdp/pm/(pm-client|registry|sock-diag)\.[ch]")
# The headers that all other files of the core may include from outside.
SDP_CORE_SYSTEM = \
    r"(stdint|stddef|stdbool|string|stdlib|assert|errno|limits)\.h"

INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"]+)[>\"]", re.M)


def resolve(files, path, name):
    """The tree's file to which #include "name" in path leads, or None."""
    layer = tree.layer_of(path)
    places = [os.path.dirname(path), layer, "", layer + "/include"]
    places += [r for r in ("abi", "util", "libsiw-mpa/include", "libsiw-ib/include",
                           "rnic",
                           "providers/usiw", "kernel-abi")]
    for place in places:
        candidate = os.path.normpath(os.path.join(place, name))
        if candidate in files:
            return candidate
    return None


def sdp_sublayer(path):
    """The directory below sdp/ that contains a file; "" for sdp/ itself."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else ""


def check_sdp_include(path, target):
    """A sub-layer of sdp/ includes itself and those below it."""
    layer, other = sdp_sublayer(path), sdp_sublayer(target)
    if other in ("", layer) or other in SDP_BELOW.get(layer, ()):
        return None
    return f"{path}: includes {target}: sdp/{layer} may not know sdp/{other}"


def is_sdp_core(path):
    return tree.layer_of(path) == "sdp" and sdp_sublayer(path) in SDP_CORE \
        and not SDP_CORE_IO.fullmatch(path)


def check_own_include(files, path, name):
    layer = tree.layer_of(path)
    target = resolve(files, path, name)
    if target is None:
        return None if layer == "bench" else f"{path}: \"{name}\" is nowhere"
    other = tree.layer_of(target)
    if other == layer:
        return check_sdp_include(path, target) if layer == "sdp" else None
    if not any(target.startswith(d + "/") for d in OURS[layer]) or \
            is_sdp_core(path):
        return f"{path}: includes {target}: {layer}/ may not know {other}/"
    if target not in PUBLIC.get(other, {target}):
        return f"{path}: includes {target}, an internal header of {other}/"
    return None


def check_system_include(path, name):
    layer = tree.layer_of(path)
    allowed = SYSTEM_ALLOWED.get(layer)
    if allowed and not re.fullmatch(allowed, name):
        return f"{path}: <{name}> is not for {layer}/"
    forbidden = SYSTEM_FORBIDDEN.get(layer)
    if forbidden and re.fullmatch(forbidden, name):
        return f"{path}: <{name}> must not be known in {layer}/"
    if is_sdp_core(path) and not re.fullmatch(SDP_CORE_SYSTEM, name):
        return f"{path}: <{name}> is not for the protocol core of sdp/"
    for pattern, places in ONLY_IN.items():
        if re.fullmatch(pattern, name) and path not in places:
            return f"{path}: <{name}> is only for {', '.join(places)}"
    return None


UTIL_DIRS = ("util", "abi")


def include_paths(files):
    """A header of util/ or abi/ is included by its path from the root, and one
    of another layer never by "..": one spelling for each."""
    found = []
    for path, text in files.items():
        if not tree.is_c(path) or text is None:
            continue
        layer = tree.layer_of(path)
        for kind, name in INCLUDE.findall(text):
            if kind == "<" or name in files:
                continue
            near = os.path.normpath(os.path.join(os.path.dirname(path), name))
            other = tree.layer_of(near) if near in files else None
            if near in files and (other == layer or other is None):
                continue
            if other is None and layer and f"{layer}/{name}" in files:
                continue
            right = near if other else next(
                (f"{d}/{name}" for d in UTIL_DIRS if f"{d}/{name}" in files),
                None)
            if right:
                found.append(f'{path}: "{name}": write "{right}"')
    return found


def includes(files):
    found = []
    for path, text in files.items():
        if not tree.layer_of(path) or not tree.is_c(path) or text is None:
            continue
        for kind, name in INCLUDE.findall(text):
            if kind == "<":
                found.append(check_system_include(path, name))
            else:
                found.append(check_own_include(files, path, name))
    return [f for f in found if f]


# --- no circles ---------------------------------------------------------------

def include_graph(files, layer):
    def targets_of(path, text):
        targets = [resolve(files, path, name)
                   for kind, name in INCLUDE.findall(text) if kind == "\""]
        return [t for t in targets if t]
    return circles.by_includes(files, layer, targets_of)


def no_circles(files):
    """Checks includes. check_circles.py checks symbols, too."""
    found = []
    for layer in circles.LAYERS:
        graph = include_graph(files, layer)
        found += circles.find(graph, circles.KNOWN.get(layer, frozenset()))
        found += circles.against_order(graph, files)
    return found


# --- size -----------------------------------------------------------------

FILE_LINES = 900
FUNCTION_LINES = 80


def size(files):
    found = []
    for path, text in files.items():
        if text is None or not path.endswith((".c", ".h", ".py", ".sh")):
            continue
        count = text.count("\n")
        if count > FILE_LINES:
            found.append(f"{path}: {count} lines, more than {FILE_LINES}")
        if not path.endswith(".c") or path.startswith("tests/"):
            continue
        lines = text.split("\n")
        for name, line, count in tree.functions(text):
            if count > FUNCTION_LINES and \
                    "NOLINT" not in " ".join(lines[max(0, line - 3):line + 2]):
                found.append(f"{path}:{line}: {name}() has {count} lines, "
                             f"more than {FUNCTION_LINES}")
    return found


NAMELESS = re.compile(r"(^|/)(misc|common|helpers?)\.[ch]$")


def names(files):
    return [f"{p}: no file is named misc, common or helpers"
            for p in files if NAMELESS.search(p)]


# --- licence ---------------------------------------------------------------

SPDX = "SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB"
NO_SPDX = re.compile(
    r"(^|/)(COPYING|LICENSES/.*|debian/.*|\.gitignore|\.gitattributes)$"
    r"|\.(md|json|driver|bin|hex|seed|txt|pcap|pcapng|csv)$"
    r"|(^|/)(corpus|corpora|seeds|vectors|golden)/")


def spdx(files):
    found = []
    for path, text in files.items():
        if text is None or NO_SPDX.search(path):
            continue
        if SPDX not in "\n".join(text.split("\n")[:4]):
            found.append(f"{path}: no SPDX line at its top")
    return found


# --- every source has its test -----------------------------------------------

MIRRORED = ("util", "libsiw-mpa", "libsiw-ib", "rnic", "providers/usiw",
            "kernel-abi", "sdp", "tools")


def load_exceptions(text):
    """Lines 'path: reason'."""
    found = {}
    for line in text.split("\n"):
        if line.strip() and not line.startswith("#"):
            path, _, reason = line.partition(":")
            found[path.strip()] = reason.strip()
    return found


def mirror(files):
    found = []
    exceptions = load_exceptions(files.get("tests/meta/untested.txt") or "")
    for path in files:
        layer = tree.layer_of(path)
        if layer not in MIRRORED or not path.endswith(".c"):
            continue
        wanted = re.sub(r"^providers/usiw/", "providers/", path)
        wanted = "tests/" + wanted[:-2] + "_test.c"
        if wanted in files:
            if path in exceptions:
                found.append(f"{path}: has a test, yet stands in untested.txt")
        elif not exceptions.get(path):
            found.append(f"{path}: no {wanted}")
    found += [f"tests/meta/untested.txt: {path} is no file of the tree"
              for path in exceptions if path not in files]
    found += [f"tests/meta/untested.txt: {path}: no file {test}"
              for path, reason in exceptions.items()
              for test in re.findall(r"tests/[\w./-]*\w", reason)
              if test not in files]
    return found


# --- what the pages say about the code ---------------------------------------

REQUIREMENT = re.compile(r"\b(?:MPA2?|DDP|RDMAP|EXT)-[0-9]+\b")


def map_rows(text, requirement):
    """Cells of a map's rows 'ID | clause | function | test'."""
    for line in text.split("\n"):
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) >= 4 and \
                requirement.match(cells[0]):
            yield cells


def unkept_rows(text, requirement):
    """Identifiers in the rows 'IDs | why' of a map's second part."""
    found = []
    for line in text.split("\n"):
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 2 and cells[1] and \
                requirement.match(cells[0]):
            found += requirement.findall(cells[0])
    return found


# A requirement is defined by one row in a page of doc/spec.
DEFINITION = re.compile(rf"^\| ({REQUIREMENT.pattern}) \|", re.M)
# Those of the Sockets Direct Protocol have a page and a map of their own.
SDP_REQUIREMENT = re.compile(r"\bSDP-[0-9]+\b")
SDP_DEFINITION = re.compile(rf"^- ({SDP_REQUIREMENT.pattern}) ·", re.M)


def defined_functions(files):
    found = set()
    for path, text in files.items():
        if text is None or not tree.is_c(path) or path.startswith("tests/"):
            continue
        found.update(name for name, _, _ in tree.functions(text))
    return found


def rfc_map(files):
    return requirement_map(files, "doc/rfc-map.md", REQUIREMENT, DEFINITION)


# This test shows that a rule was needed. It does not show that the code
# follows it.
MODEL = "tests/prop/sdp_model.c"


def sdp_map(files):
    page = "doc/sdp-map.md"
    found = requirement_map(files, page, SDP_REQUIREMENT, SDP_DEFINITION)
    for cells in map_rows(files.get(page) or "", SDP_REQUIREMENT):
        if set(re.findall(r"`([^`:]+)", cells[3].replace(" ", ""))) == {MODEL}:
            found.append(f"{page}: {cells[0]}: the model is its only test")
    return found


def requirement_map(files, page, requirement, definition):
    """Requirement, function and test of every row exist. Every requirement
    that the code names has a row. Every requirement of the specification has a
    row, or a reason for having none."""
    if page not in files:
        return [f"{page} is missing"]
    known, defined = set(), set()
    for path, text in files.items():
        if path.startswith("doc/spec/") and text:
            known.update(requirement.findall(text))
            defined.update(definition.findall(text))
    code = defined_functions(files)
    found, listed = [], set()
    for cells in map_rows(files[page], requirement):
        ids = requirement.findall(cells[0])
        listed.update(ids)
        label = ", ".join(ids)
        found += [f"{page}: {i} is in no page of doc/spec"
                  for i in ids if i not in known]
        found += [f"{page}: {label}: no function {name}()"
                  for name in re.findall(r"`(\w+)\(\)`", cells[2])
                  if name not in code]
        if "`" not in cells[2]:
            found.append(f"{page}: {label}: names no function")
        found += check_test_cell(files, page, label, cells[3])
    if not listed:
        found.append(f"{page}: has no row")
    unkept = set(unkept_rows(files[page], requirement))
    found += [f"{page}: {i} has neither a row nor a reason why not"
              for i in sorted(defined - listed - unkept)]
    found += [f"{page}: {i} has a row and a reason why not"
              for i in sorted(listed & unkept)]
    found += [f"{page}: {i} is in no page of doc/spec"
              for i in sorted(unkept - known)]
    for path, text in files.items():
        if text is None or not tree.is_c(path) or path.startswith("tests/"):
            continue
        for name in sorted(set(requirement.findall(text)) & known - listed):
            found.append(f"{page}: {name} is named in {path}, has no row")
    return found


# "IBA 9.2, 9.3; A17": clauses of InfiniBand, and of its annexes.
IBA_CLAUSES = re.compile(r"\bIBA ([0-9].*)")
IBA_CLAUSE = re.compile(r"\b[0-9]+(?:\.[0-9]+)+\b")
IBA_ANNEX = re.compile(r"\bA1[1479](?:\.[0-9]+)*\b")
IBA_CODE = ("libsiw-ib/", "rnic/dgram/", "rnic/cm/", "providers/")


def iba_clauses(text):
    return set(IBA_ANNEX.findall(text)).union(
        *(IBA_CLAUSE.findall(rest) for rest in IBA_CLAUSES.findall(text)))


def roce_map(files):
    """Function and test of each row exist, and it says what it was compared
    with. Each clause that the code names has a row."""
    page = "doc/roce-map.md"
    code, found, listed = defined_functions(files), [], set()
    for line in (files.get(page) or "").split("\n"):
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        clauses = iba_clauses(cells[0])
        if not line.startswith("|") or not clauses:
            continue
        listed |= clauses
        if len(cells) != 5 or not cells[4] or "`" not in cells[2]:
            found.append(f"{page}: {cells[0]}: a cell is missing")
            continue
        found += [f"{page}: {cells[0]}: no function {name}()"
                  for name in re.findall(r"`(\w+)\(\)`", cells[2])
                  if name not in code]
        found += check_test_cell(files, page, cells[0], cells[3])
    if not listed:
        found.append(f"{page}: has no row")
    for path, text in files.items():
        if text is None or not tree.is_c(path) or \
                not path.startswith(IBA_CODE):
            continue
        found += [f"{page}: {clause} is named in {path}, has no row"
                  for clause in sorted(iba_clauses(text) - listed)]
    return found


# Part 10 of the SDP specification numbers its tests: T1, T70b.
TEST_NUMBER = re.compile(r"\bT[0-9]+b?\b")
TEST_PART = re.compile(r"^## 10\. .*?(?=^## |\Z)", re.M | re.S)


def sdp_tests(files):
    """Every numbered test of the specification has a row in the map, and the
    row's tests exist and are run."""
    page, spec = "doc/sdp-map.md", "doc/spec/sdp.md"
    part = TEST_PART.search(files.get(spec) or "")
    if not part:
        return [f"{spec}: no part 10"]
    numbers = set(TEST_NUMBER.findall(part[0]))
    found, listed = [], set()
    for line in (files.get(page) or "").split("\n"):
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if not line.startswith("|") or not TEST_NUMBER.fullmatch(cells[0]):
            continue
        listed.add(cells[0])
        if len(cells) != 2 or cells[1] == "-":
            found.append(f"{page}: {cells[0]}: names no test")
            continue
        found += check_test_cell(files, page, cells[0], cells[1])
        for path, name in re.findall(r"`([^`:]+)(?::(\w+))?`", cells[1]):
            found += check_is_run(files, page, cells[0], path, name)
    found += [f"{page}: {number} has no row"
              for number in sorted(numbers - listed)]
    found += [f"{page}: {number} is no test of {spec}"
              for number in sorted(listed - numbers)]
    return found


def check_is_run(files, page, label, path, name):
    """A test of the map has a name. In C it is the name of a case, or of a
    function or table that the file uses."""
    text = files.get(path) or ""
    if not name:
        return [f"{page}: {label}: {path} without the name of a test"]
    if not path.endswith(".c"):
        return []
    if name in {word for word, _, _ in tree.functions(text)} and \
            re.search(rf"CASE(_WITH)?\({name}\b", text):
        return []
    if not re.search(rf"\b{name}[(\[]", text):
        return [f"{page}: {label}: {name} is no test of {path}"]
    if path.endswith("_test.c") and \
            len(re.findall(rf"\b{name}\b", text)) < 2:
        return [f"{page}: {label}: {path} does not run {name}"]
    return []


def check_test_cell(files, page, label, cell):
    """A test is `path` or `path:name`; '-' means that there is none yet."""
    tests = re.findall(r"`([^`:]+)(?::(\w+))?`", cell)
    if not tests and cell != "-":
        return [f"{page}: {label}: '{cell}' is neither a test nor -"]
    found = []
    for path, name in tests:
        if path not in files:
            found.append(f"{page}: {label}: no file {path}")
        elif name and not re.search(rf"\b{name}\b", files[path] or ""):
            found.append(f"{page}: {label}: no test {name} in {path}")
    return found


ARCHITECTURE = "doc/ARCHITECTURE.md"
ARCHITECTURE_LINES = 200
DESIGN_WORDS = 1500
# The prefixes of our functions. Other names are functions of libc or
# libibverbs.
OUR_FUNCTION = re.compile(r"`((?:rnic|smpa|usiw|usiwdv|kabi|util|cm|sdp)_\w+)"
                          r"\(\)`")
ANY_FUNCTION = re.compile(r"`(\w+)\(\)`")
TOP = "|".join(re.escape(r) for r in
               tree.LAYERS + ("tests", "doc", "cmake", "scripts",
                             "pyverbs-tests"))
NAMED_FILE = re.compile(rf"`((?:{TOP})/[\w./-]+\.\w+)`")
NAMED_FOLDER = re.compile(rf"`((?:{TOP})/(?:[\w.-]+/)*)`")
LINK = re.compile(r"\]\(([\w./-]*)(?:#([\w-]+))?\)")


def anchors(text):
    """The anchors that GitHub makes from the headings of a page."""
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", text, re.M)}


def check_links(files, page):
    found = []
    for path, anchor in LINK.findall(files[page]):
        target = page
        if path:
            target = os.path.normpath(os.path.join(os.path.dirname(page),
                                                   path))
        if files.get(target) is None:
            found.append(f"{page}: no page {path}")
        elif anchor and anchor not in anchors(files[target]):
            found.append(f"{page}: no heading {path}#{anchor}")
    return found


WALK_ROW = re.compile(r"^\|[^|\n]*\|([^|\n]*)\|([^|\n]*\(\)`[^|\n]*)\|$",
                      re.M)


def check_walks(files):
    """Rows 'step | files | functions': each function is in one of the
    files."""
    found = []
    for named, functions in WALK_ROW.findall(files[ARCHITECTURE]):
        paths = NAMED_FILE.findall(named)
        defined = {name for path in paths
                   for name, _, _ in tree.functions(files.get(path) or "")}
        found += [f"{ARCHITECTURE}: {name}() is not in {', '.join(paths)}"
                  for name in ANY_FUNCTION.findall(functions)
                  if name not in defined]
    return found


def documents(files):
    """Every file, function, page and heading that the design pages name
    exists, and so does what other pages link to. All of them stay short, and
    the first one links to the others."""
    if ARCHITECTURE not in files:
        return [f"{ARCHITECTURE} is missing"]
    code = defined_functions(files)
    found = []
    for page, text in files.items():
        if page.endswith(".md") and text is not None:
            found += check_links(files, page)
        if page != ARCHITECTURE and not page.startswith("doc/design/"):
            continue
        function = ANY_FUNCTION if page == ARCHITECTURE else OUR_FUNCTION
        found += [f"{page}: no function {name}()"
                  for name in sorted(set(function.findall(text)) - code)]
        found += [f"{page}: no file {name}"
                  for name in sorted(set(NAMED_FILE.findall(text)))
                  if name not in files]
        found += [f"{page}: no folder {name}"
                  for name in sorted(set(NAMED_FOLDER.findall(text)))
                  if not any(f.startswith(name) for f in files)]
        count = len(text.split())
        if page != ARCHITECTURE and count > DESIGN_WORDS:
            found.append(f"{page}: {count} words, more than {DESIGN_WORDS}")
        link = "(" + page[len("doc/"):] + ")"
        if page != ARCHITECTURE and link not in files[ARCHITECTURE]:
            found.append(f"{ARCHITECTURE}: has no link to {page}")
    found += check_walks(files)
    count = files[ARCHITECTURE].count("\n")
    if count > ARCHITECTURE_LINES:
        found.append(f"{ARCHITECTURE}: {count} lines, more than "
                     f"{ARCHITECTURE_LINES}")
    return found


# --- nothing of the machine it was written on ---------------------------------

MACHINE = re.compile(
    r"/work/[\w.]|/home/\w|/root/\w|(?<![\w.])(deb|security|snapshot)\.debian"
    r"\.org|registry\.npmjs|\bpypi\.org|proxy\.golang")


def machine(files, hosts=()):
    """hosts: names found in this machine's own package configuration."""
    found = []
    for path, text in files.items():
        if text is None or path.startswith("tests/meta/"):
            continue
        for number, line in enumerate(text.split("\n"), 1):
            if MACHINE.search(line) or any(h in line for h in hosts):
                found.append(f"{path}:{number}: names a machine's path or "
                             "a registry host")
    return found


# --- the preload's version script ---------------------------------------------

def preload_map(files):
    """With a named version node, libibverbs' references to versioned symbols
    of libc would bypass the preload library without a message."""
    found = []
    maps = [p for p in files if re.match(
        r"(kernel-abi|sdp|providers/usiw/check)/.*\.map$", p)]
    if not maps:
        found.append("kernel-abi/ has no version script")
    for path in maps:
        if not re.match(r"\{\s", tree.strip_comments(
                re.sub(r"^#.*\n", "", files[path])).lstrip() + " "):
            found.append(f"{path}: the node has a name")
    return found


# --- asserts ----------------------------------------------------

SIDE_EFFECT = re.compile(r"\bassert\s*\((?:[^;]*?(?:\+\+|--|[^=!<>]=[^=])|"
                         r"[^;]*\b\w*(?:trylock|_put|_push|_pop|_lock)\()")


def assert_effect(files):
    found = []
    for path, text in files.items():
        if text is None or not tree.layer_of(path) or not tree.is_c(path):
            continue
        body = tree.strip_comments(text)
        for match in SIDE_EFFECT.finditer(body):
            line = body.count("\n", 0, match.start()) + 1
            found.append(f"{path}:{line}: assert() with an effect")
    return found


# --- one place each -------------------------------------------------------------

# Where observers attach (doc/ARCHITECTURE.md): each of these is done by one
# function only. Directory, pattern of the code, file and function that may
# have it (None: any of the file).
ONE_PLACE = (
    # Octets of a stream: the wrapper, and below it the carriers.
    ("rnic/", r"\bcarrier->send\(",
     "rnic/stream/carrier.c", "stream_send"),
    ("rnic/", r"\bcarrier->recv\(",
     "rnic/stream/carrier.c", "stream_recv"),
    ("rnic/stream/", r"\brnic_tcp_send\(",
     "rnic/stream/tcp.c", "rnic_stream_tcp_send"),
    ("rnic/stream/", r"\brnic_tcp_recv\(",
     "rnic/stream/tcp.c", "rnic_stream_tcp_recv"),
    ("rnic/", r"(?<!ssize_t )\brnic_tcp_discard\(",
     "rnic/stream/tcp.c", "rnic_stream_tcp_recv"),
    ("rnic/stream/", r"\brnic_tcp\(\)->(recv|send)",
     "rnic/stream/tcp.c", "rnic_stream_tcp_peek"),
    ("rnic/", r"(?<!ssize_t )\brnic_stream_tcp_send\(",
     "rnic/stream/ring.c", "ring_send"),
    ("rnic/", r"(?<!ssize_t )\brnic_local_send\(",
     "rnic/stream/ring.c", "ring_send"),
    ("rnic/", r"(?<!ssize_t )\brnic_local_recv\(",
     "rnic/stream/ring.c", None),
    ("rnic/", r"(?<!ssize_t )\brnic_ring_(write|read|discard)\(",
     "rnic/local/local.c", None),
    ("rnic/", r"atomic_store_explicit\(&[\w>-]+->head\b",
     "rnic/local/ring.c", "rnic_ring_write"),
    ("rnic/qp/", r"\brnic_engine_(post|ring)\(",
     "rnic/qp/wr.c", "wr_posted"),
    ("rnic/", r"(?<!int )\brnic_cq_push\(",
     "rnic/qp/wr.h", "rnic_wr_push"),
    ("rnic/", r"atomic_store_explicit\(&\w+->state\b",
     "rnic/qp/state.c", "rnic_qp_set_state"),
    ("rnic/cm/", r"\b(id|child)->state = ",
     "rnic/cm/state.c", "cm_id_set_state"),
    ("rnic/cm/", r"\bconn->phase = ", "rnic/cm/conn.c", "cm_conn_enter"),
    ("rnic/oob/", r"\blink->phase = ", "rnic/oob/link.c", "link_enter"),
    ("rnic/stream/", r"\bstream->phase = ",
     "rnic/stream/object.h", "rnic_stream_enter"),
    # Octets of another process: nowhere (doc/design/revocation.md).
    ("rnic/", r"\b(SYS_)?(process_vm_\w+|pwritev?\w*)\b|"
     r"\"/proc/[^\"]*/mem\b", None, None),
    # A QP reaches the protocol through its transport.
    ("rnic/qp/", r"\bsmpa_conn_\w+\(\w", None, None),
)


def one_place(files):
    found = []
    for directory, pattern, place, function in ONE_PLACE:
        is_used = False
        for path, text in files.items():
            if not path.startswith(directory) or not tree.is_c(path):
                continue
            # What stands nowhere does not stand in strings either.
            body = tree.strip_comments(text) if place else text
            for match in re.finditer(pattern, body):
                line = body.count("\n", 0, match.start()) + 1
                if not place:
                    found.append(f"{path}:{line}: {match[0]}: not in "
                                 f"{directory}")
                elif path == place and \
                        function in (None, tree.function_at(text, line)):
                    is_used = True
                else:
                    found.append(f"{path}:{line}: {match[0]}: only "
                                 f"{function or '*'}() of {place} may do "
                                 "that")
        if place in files and not is_used:
            found.append(f"{place}: {function or '*'}() has no {pattern}")
    return found


# --- descriptions of the packages ------------------------------------------

# File -> start of a description, and its longest line: rpmlint's limit, and
# lintian's.
DESCRIPTIONS = {
    "redhat/usiw.spec": (r"%description\b", r"%(?!%)", 79),
    "debian/control": (r"Description:", r"(?! )", 80),
}


def descriptions(files):
    found = []
    for path, (start, end, limit) in DESCRIPTIONS.items():
        inside = False
        for number, line in enumerate(files.get(path, "").split("\n"), 1):
            if re.match(start, line):
                inside = True
            elif inside and re.match(end, line):
                inside = False
            elif inside and len(line) > limit:
                found.append(f"{path}:{number}: a description's line has "
                             f"{len(line)} characters, at most {limit}")
    return found


# --- differences of SDP from TCP ----------------------------------------------

SDP_PAGE = "man/libsdp.7"
SDP_CASES = "tests/sdp/cases/"
DIFFERENCES = re.compile(r"^\.SH DIFFERENCES FROM TCP\n(.*?)(?=^\.SH )",
                         re.M | re.S)
DIFFERENCE = re.compile(r"^\.TP\n\.B ([\w-]+)\n", re.M)


def listed_cases(files):
    """(file, case, difference) of all cases of sock-cases that differ."""
    for name in ("exceptions.txt", "cold-exceptions.txt", "cm-exceptions.txt",
                 "after-exceptions.txt"):
        path = SDP_CASES + name
        for case, what in load_exceptions(files.get(path) or "").items():
            yield path, case, re.sub(r" (hangs|mostly)$", "", what)
    path = SDP_CASES + "unfit.txt"
    for words, what in load_exceptions(files.get(path) or "").items():
        where, _, case = words.partition(" ")
        if where in ("cold", "cm"):
            yield path, case, what.split(",")[0]


def differences(files):
    """Each difference that the manual page names is shown by a test, and each
    case that differs names one of them."""
    section = DIFFERENCES.search(files.get(SDP_PAGE) or "")
    known = DIFFERENCE.findall(section[1]) if section else []
    found = [f"{SDP_PAGE}: {name} twice"
             for name in sorted(set(known)) if known.count(name) > 1]
    if not known:
        found.append(f"{SDP_PAGE}: names no difference")
    source = "".join(text or "" for path, text in files.items()
                     if path.startswith(SDP_CASES) and path.endswith(".c"))
    shown = set()
    for path, case, what in listed_cases(files):
        shown.add(what)
        if what not in known:
            found.append(f"{path}: {case}: {SDP_PAGE} names no difference "
                         f"'{what}'")
        if f'"{case}"' not in source:
            found.append(f"{path}: no case {case}")
    path = SDP_CASES + "elsewhere.txt"
    for what, place in load_exceptions(files.get(path) or "").items():
        shown.add(what)
        test, _, word = place.partition(" ")
        if what not in known:
            found.append(f"{path}: {SDP_PAGE} names no difference '{what}'")
        if not word or word not in (files.get(test) or ""):
            found.append(f"{path}: {what}: no {word} in {test}")
    return found + [f"{SDP_PAGE}: {what}: no test shows it"
                    for what in known if what not in shown]


# --- functions that only tests call -------------------------------------------

# Function -> its file. Tests put a TCP of their own below the RNIC, and see that
# an idle process sleeps (tests/sdp/verbs/link_process.c).
UNCALLED = {
    "rnic_tcp_replace": "rnic/os/tcp.c",
    "sdp_progress_wakeups": "sdp/verbs/wait/progress.c",
}
# Those of libsiw-mpa, libsiw-ib and libusiwdv are for other programs, too.
PRODUCT_FUNCTION = re.compile(r"(rnic|cm|oob|loop|kabi|usiw|util|sdp)_\w+")
# Lists that make names of functions: file, its entries, prefix of the names.
NAME_LISTS = (
    ("kernel-abi/base/rnic-dl.h", r"\bX\((\w+)\)", "rnic_"),
    ("providers/usiw/verbs-ops.def",
     r"^OP\(\d+, (?:DO|POST|COUNT|POLL|MAKE|TELL), [\w\s*]+, (\w+)", "usiw_"),
)
# A definition or a declaration begins in column 0. So does a stub: a macro
# with arguments.
DECLARES = re.compile(r"[A-Za-z_](?![A-Z_]*\()")


def named_by_lists(files):
    return {prefix + name for path, entry, prefix in NAME_LISTS
            for name in re.findall(entry, files.get(path) or "", re.M)}


def uncalled(files):
    """Each function that is not static has a caller in the product, or its
    address is taken there."""
    texts = {path: tree.strip_comments(text) for path, text in files.items()
             if tree.layer_of(path) not in (None, "bench")
             and tree.is_c(path) and text}
    used = set(re.findall(r"\b[a-z]\w+", "\n".join(
        line for text in texts.values() for line in text.split("\n")
        if not DECLARES.match(line)))) | named_by_lists(files)
    found, defined = [], set()
    for path in texts:
        for name, line, _ in tree.functions(files[path]):
            defined.add(name)
            if PRODUCT_FUNCTION.fullmatch(name) and \
                    name not in used and name not in UNCALLED:
                found.append(f"{path}:{line}: nothing calls {name}()")
    return found + [f"tests/meta/rules.py: UNCALLED: {name}() is called, or is "
                    "no function" for name, path in UNCALLED.items()
                    if path in texts and (name in used or name not in defined)]


DATA_PATH = "rnic/data-path.ld"


def data_path(files):
    """Each name of the linker's order is a function."""
    defined = defined_functions(files)
    return [f"{DATA_PATH}: {name}() is no function"
            for name in re.findall(r"\*\(\.text\.(\w+) ",
                                   files.get(DATA_PATH) or "")
            if name not in defined]


ALL = {
    "includes": includes,
    "include_paths": include_paths,
    "no_circles": no_circles,
    "size": size,
    "structs": structs.large,
    "names": names,
    "spdx": spdx,
    "mirror": mirror,
    "rfc_map": rfc_map,
    "sdp_map": sdp_map,
    "roce_map": roce_map,
    "sdp_tests": sdp_tests,
    "documents": documents,
    "folder_readmes": folders.readmes,
    "first_comments": folders.first_comments,
    "comment_ends": folders.comment_ends,
    "machine": machine,
    "preload_map": preload_map,
    "assert_effect": assert_effect,
    "one_place": one_place,
    "refusals": refusals.bare,
    "descriptions": descriptions,
    "differences": differences,
    "uncalled": uncalled,
    "data_path": data_path,
}

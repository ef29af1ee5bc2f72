# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Verbs and commands of rdma_cm refuse by util_refuse() or a function on it,
which says why: they have no errno of such a refusal by itself."""
import re

import tree

# What serves verbs and commands, and little else.
FILES = re.compile(
    r"providers/usiw/.*\.c|kernel-abi/commands/.*\.c"
    r"|rnic/(cm|mem|oob)/.*\.c|rnic/dgram/(group|ud)\.c"
    r"|rnic/qp/(cq|srq|qp|qp-table|ring-mem)\.c")
BARE = re.compile(r"-E(?:INVAL|OPNOTSUPP|NOMEM)\b")
COMPARED = re.compile(r"[=!]=\s*-E\w+")
# Functions with one -> who says it.
SAID_ELSEWHERE = {
    "rnic/cm/active.c:active_attach": "cm_active_establish(), or an event",
    "rnic/cm/active.c:active_respond": "an event",
    "rnic/cm/id.c:cm_id_new": "id_create(), or an event",
    "rnic/cm/passive.c:answered_attach": "an event",
    "rnic/cm/passive.c:request_report": "nobody: the peer is rejected",
    "rnic/cm/sidr-answer.c:request_report": "nobody: the peer is rejected",
    "rnic/cm/sidr-request.c:reply_take": "an event",
    "rnic/cm/sidr.c:cm_sidr_new": "cm_sidr_request()",
    "rnic/dgram/group.c:socket_join": "a warning",
    "rnic/mem/mr-table.c:rnic_mr_table_init": "the provider: an error",
    "rnic/qp/qp.c:qp_reads_alloc": "who attaches a stream",
    "rnic/qp/qp.c:rnic_qp_prepare": "who attaches a stream",
}


def bare(files):
    found, used = [], set()
    for path, text in files.items():
        if not FILES.fullmatch(path):
            continue
        code = COMPARED.sub(lambda m: "\n" * m[0].count("\n"),
                            tree.strip_comments(text))
        for match in BARE.finditer(code):
            line = code.count("\n", 0, match.start()) + 1
            name = f"{path}:{tree.function_at(text, line)}"
            used.add(name)
            if name not in SAID_ELSEWHERE:
                found.append(f"{path}:{line}: {match[0]}: say why, by "
                             "util_refuse()")
    return found + [f"tests/meta/refusals.py: SAID_ELSEWHERE: {name}() has none"
                    for name in SAID_ELSEWHERE
                    if name.split(":")[0] in files and name not in used]

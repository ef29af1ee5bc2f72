#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The table of doc/verbs.md: for each verb, what usiw, siw and rxe support.

  verb_table.py [--write]

usiw's column comes from the results of suite.py and run.py in the build tree:
"yes" if every test of the row passed, "no" if each of them was skipped or
refused because usiw lacks the feature, the persona's name if only that one has
it. The other two columns come from reading their source. Without --write the
page is compared with the table.
"""
import fnmatch
import json
import os
import sys
import textwrap

import inside

PAGE = os.path.join(inside.HERE, "..", "doc", "verbs.md")
BEGIN = "<!-- made by pyverbs-tests/verb_table.py from test results -->\n"
END = "<!-- end of what verb_table.py makes -->\n"
# Row (the name that tests pass to rig.shows), siw, rxe, and the tests of
# rdma-core's suite that show it.
ROWS = (
    ("IBV_WR_SEND", "yes", "yes", ["*test_rdmacm_sync_traffic"]),
    ("IBV_WR_SEND_WITH_IMM", "no", "yes", ["*test_qp_ex_rc_send_imm"]),
    ("IBV_WR_SEND_WITH_INV", "yes", "yes", ["*mw_type2_invalidate_remote"]),
    ("IBV_WR_RDMA_WRITE", "yes", "yes", ["*test_rdmacm_async_write"]),
    ("IBV_WR_RDMA_WRITE_WITH_IMM", "no", "yes",
     ["*test_qp_ex_rc_rdma_write_imm"]),
    ("IBV_WR_RDMA_READ", "yes", "yes", ["*test_rdmacm_async_read"]),
    ("IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD", "no", "yes",
     ["*test_atomic.*.test_atomic_*", "*test_qp_ex_rc_atomic_cmp_swp",
      "*test_qp_ex_rc_atomic_fetch_add"]),
    ("IBV_WR_LOCAL_INV", "no", "yes", ["*mw_type2_invalidate_local"]),
    ("IBV_WR_BIND_MW, ibv_bind_mw: windows of type 1 and 2", "no", "yes",
     ["*MWTest.test_mw_type*", "*test_invalidate_mw_type1",
      "*test_reg_mw_wrong_type", "*test_qp_ex_rc_bind_mw"]),
    ("IBV_WC_WITH_IMM and IBV_WC_WITH_INV in wc_flags", "no", "yes", []),
    ("fence", "yes", "?", []),
    ("inline data: 1 KiB", "80 octets", "400 octets", []),
    ("32 SGEs in a work request, READ sinks too", "6, READ 1", "yes", []),
    ("local protection errors", "yes", "?", []),
    ("remote access errors", "yes", "?", []),
    ("messages longer than their receive", "yes", "?", []),
    ("no receive posted: the Send is held", "no", "?", []),
    ("CQ events, solicited events", "yes", "yes",
     ["*test_cq_events_rc", "*test_create_cq_with_comp_channel"]),
    ("ibv_resize_cq", "no", "yes", []),
    ("CQ overflow", "yes", "?", []),
    ("ibv_create_cq_ex, ibv_start_poll", "no", "yes",
     ["*test_cqex.*.test_rc_*", "*test_cqex.CQEXAPITest.*"]),
    ("completion timestamps", "no", "no", []),
    ("ibv_create_qp_ex, ibv_wr_*", "no", "yes",
     ["*test_qp_ex_rc_send", "*test_qp_ex_rc_rdma_*",
      "*test_create_rc_qp_ex_*"]),
    ("SRQ", "yes", "yes", []),
    ("SRQ modify and limit event", "yes", "yes", []),
    ("SRQ query", "no", "yes", []),
    ("last WQE event", "no", "yes", []),
    ("ibv_rereg_mr", "no", "no", ["*test_mr_rereg_*"]),
    ("zero-based registration", "?", "?", []),
    ("relaxed ordering", "?", "?", ["*test_ro_rc_traffic"]),
    ("on-demand paging, implicit too; ibv_advise_mr", "no", "no",
     ["*test_odp_*prefetch*", "*test_odp_rc_traffic",
      "*test_odp_implicit_rc_traffic", "*test_odp_rc_rdma_*",
      "*test_odp_rc_atomic_*"]),
    ("device memory", "no", "no",
     ["*.DMTest.test_*dm*", "*DeviceMemory*Test.*"]),
    ("parent domains", "no", "no",
     ["*test_without_allocators_rc_traffic", "*test_mem_align_*rc_traffic"]),
    ("query_device, query_port, query_gid_ex", "yes", "yes",
     ["*DeviceTest.test_query_*", "*test_dev_list", "*test_open_dev"]),
    ("ibv_query_qp", "yes", "yes", ["*test_query_rc_qp"]),
    ("connection by rdma_cm", "yes", "yes",
     ["*test_rdmacm_sync_traffic", "*test_rdmacm_async_traffic",
      "*test_rdmacm_async_reject_traffic"]),
    ("connection by ibv_modify_qp", "no", "yes", ["*test_cq_events_rc"]),
    ("ibv_import_device, _pd, _mr, _dm", "no", "no",
     ["*test_import_dm", "*test_imported_rc_ex*"]),
    ("UC", "no", "yes", ["*test_create_uc_qp_*", "*test_query_uc_qp"]),
    ("UD", "no", "yes",
     ["*test_create_ud_qp_*", "*test_create_ah*", "*test_qp_ex_ud_*",
      "*test_cq_events_ud", "*test_ud_traffic_cq_ex", "*test_odp_ud_traffic",
      "*test_query_ud_qp", "*test_modify_ud_qp"]),
    ("multicast", "no", "yes", ["*multicast_traffic"]),
    ("XRC, tag matching, raw packets, flows, RSS", "no", "no",
     ["*test_xrc_*", "*test_qp_ex_xrc_*", "*test_tm_*",
      "*test_create_raw_*_attr", "*spec_flow_traffic", "*test_rss_traffic"]),
)
NOTE = "\n" + textwrap.fill(
    "usiw's column is what the tests of `make pyverbs` show: rdma-core's own "
    "suite and those of `pyverbs-tests/`. The columns of siw and rxe are facts "
    "from reading source: rdma-core 44 and Linux 6.1, so what the kernel "
    "module could do and its provider does not offer is \"no\"; \"?\" is what "
    "was not read.", 118, break_on_hyphens=False) + "\n"


def load(modules):
    """Verdict and rows of each test, from these runs in the build tree."""
    rows = {}
    for name in modules:
        path = os.path.join(inside.RESULTS, f"{name}.json")
        with open(path, encoding="utf-8") as stream:
            rows.update(json.load(stream))
    return rows


def verdict_of(title, verdicts):
    """The verdict of a row from those of its tests."""
    if not verdicts:
        sys.exit(f"no test shows '{title}'")
    if all(verdict == "pass" for verdict in verdicts):
        return "yes"
    if all(verdict == "skip" for verdict in verdicts):
        return "no"
    sys.exit(f"the tests of '{title}' do not agree: {sorted(verdicts)}")


def verdicts_of(title, patterns, results):
    return [row["verdict"] for name, row in results.items()
            if title in row["shows"] or
            any(fnmatch.fnmatchcase(name, p) for p in patterns)]


def table(results, of_ca):
    known = {title for title, *_ in ROWS}
    told = {title for row in results.values() for title in row["shows"]}
    if told - known:
        sys.exit(f"tests show what is no row: {told - known}")
    lines = ["| what | usiw | siw | rxe |", "| --- | --- | --- | --- |"]
    for title, siw, rxe, patterns in ROWS:
        unused = [p for p in patterns if not fnmatch.filter(results, p)]
        if unused:
            sys.exit(f"'{title}': no test is called {unused}")
        usiw = verdict_of(title, verdicts_of(title, patterns, results))
        ca = verdicts_of(title, patterns, of_ca)
        if usiw == "no" and ca and verdict_of(title, ca) == "yes":
            usiw = "persona `ca`"
        lines.append(f"| {title} | {usiw} | {siw} | {rxe} |")
    return "\n".join(lines) + "\n" + NOTE


def main():
    with open(PAGE, encoding="utf-8") as stream:
        page = stream.read()
    head, rest = page.split(BEGIN)
    there, tail = rest.split(END)
    modules = ["suite"] + [name[:-3] for name in os.listdir(inside.HERE)
                           if name.startswith("test_")]
    made = table(load(modules), load(["suite-ca"]))
    if sys.argv[1:] == ["--write"]:
        with open(PAGE, "w", encoding="utf-8") as stream:
            stream.write(head + BEGIN + made + END + tail)
        return 0
    if there != made:
        print("doc/verbs.md does not say what the tests show; "
              "pyverbs-tests/verb_table.py --write makes it do so.  "
              f"It should be:\n{made}")
        return 1
    print(f"doc/verbs.md agrees with the tests: {len(ROWS)} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())

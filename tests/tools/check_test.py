#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""usiw check: what it finds in small programs with one fault, and that it finds
nothing in those with nearly one.  Arguments: USIW CASES [--ca]"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

USIW, CASES = "", ""
IS_CA = False  # each case with persona ca, instead of rnic

# Case of tests/apps/check_cases.c: rules found, notes included.
FOUND = {
    "source_changed": {"source-changed"},
    "source_changed_unsignaled": {"source-changed"},
    "word_changed": {"word-changed"},
    "source_kept": set(),
    "source_inline": set(),
    "buffer_in_use": {"buffer-in-use"},
    "buffer_fenced": set(),
    "recv_buffer_read_into": {"buffer-in-use"},
    "recv_buffer_sent": {"recv-buffer-sent"},
    "bad_lkey": {"bad-lkey", "completion-error"},
    "parent_domain": set(),
    "out_of_region": {"out-of-region", "completion-error"},
    "no_local_write": {"no-local-write", "completion-error"},
    "dereg_in_use": {"dereg-in-use"},
    "dereg_receives": {"dereg-receives"},
    "dereg_after": set(),
    "unmapped_in_use": {"unmapped-in-use"},
    "unmapped_for_a_time": {"unmapped-in-use", "completion-error"},
    "cq_overrun": {"cq-overrun", "cq-small"},
    "cq_small": {"cq-small"},
    "srq_overrun": {"cq-overrun", "cq-small"},
    "srq_fits": set(),
    "never_signaled": {"never-signaled"},
    "last_signaled": set(),
    "sq_overfull": {"sq-overfull"},
    "full_ignored": {"full-ignored"},
    "full_repeated": set(),
    "inline_long": {"inline-long"},
    "post_refused": {"post-refused"},
    "bad_transition": {"bad-transition"},
    "mask_missing": {"bad-transition"},
    "recv_not_reposted": {"recv-not-reposted"},
    "recv_not_reposted_waits": {"recv-not-reposted"},
    "recv_reposted": set(),
    "lost_wakeup": {"lost-wakeup"},
    "lost_wakeup_poll": {"lost-wakeup"},
    "lost_wakeup_epoll": {"lost-wakeup"},
    "lost_wakeup_select": {"lost-wakeup"},
    "wakeup_timed": set(),
    "wakeup_kept": set(),
    "event_not_acked": {"event-not-acked"},
    "event_acked_twice": {"event-not-acked", "leaked"},
    "event_acked": set(),
    "async_not_acked": {"event-not-acked", "access-refused"},
    "async_acked": {"access-refused"},
    "access_refused": {"access-refused", "completion-error"},
    "window_refused": {"access-refused", "completion-error"},
    "leaked": {"leaked"},
    "datagram_changed": {"datagram-changed"},
    "datagram_unacked": {"source-changed"},
    "freed_in_use": {"freed-in-use"},
    "freed_receive": {"freed-in-use"},
    "reallocated_in_use": {"freed-in-use"},
    "munmapped_in_use": {"unmapped-in-use"},
    "mremapped_in_use": {"unmapped-in-use"},
    "mremapped_over": {"unmapped-in-use"},
    "madvised_in_use": {"unmapped-in-use"},
    "freed_in_use_threads": {"freed-in-use"},
    # Nearly the fault of one rule each.
    "freed_after": set(),
    "freed_beside": set(),
    "freed_inline": set(),
    "freed_after_reset": set(),
    "freed_after_destroy": set(),
    "freed_by_child": set(),
    "freed_after_threads": set(),
    "reallocated_after": set(),
    "munmapped_beside": set(),
    "mremapped_beside": set(),
    "madvised_beside": set(),
    "munmapped_by_handler": set(),
    "region_end": set(),
    "source_without_rights": set(),
    "source_read_into": set(),
    "unmapped_after": set(),
    "sq_full": set(),
    "inline_limit": set(),
    "recv_in_init": set(),
    "transitions_allowed": set(),
    "access_exact": set(),
}
# They need datagrams.
CA_ONLY = {"datagram_changed", "datagram_unacked"}
# The Write is sent before the memory goes, or not.
PERHAPS = {"unmapped_in_use": {"completion-error"}}
NOTES = {"datagram-changed", "dereg-receives", "word-changed",
         "recv-buffer-sent", "cq-small", "completion-error", "leaked"}


def check(*args):
    return subprocess.run([USIW, "check", *args], capture_output=True,
                          text=True, timeout=50)


def findings(*args):
    done = check("--json", *args)
    return done, json.loads(done.stdout[done.stdout.index("{\n"):])["findings"]


class Cases(unittest.TestCase):
    def test_each_finds_its_rules_and_no_other(self):
        for case, rules in FOUND.items():
            persona = "ca" if IS_CA or case in CA_ONLY else "rnic"
            with self.subTest(case=case, persona=persona):
                done, found = findings("--persona", persona, "--", CASES, case)
                got = {one["rule"] for one in found}
                perhaps = PERHAPS.get(case, set())
                self.assertEqual(got - perhaps, rules - perhaps,
                                 done.stderr + done.stdout)
                self.assertEqual(done.returncode, 1 if rules - NOTES else 0,
                                 done.stderr)

    def test_stacks_have_functions_and_lines(self):
        _, found = findings("--", CASES, "source_changed")
        stacks = {stack["of"]: stack["frames"]
                  for stack in found[0]["stacks"]}
        self.assertEqual(set(stacks), {"posted", "completion polled"})
        for frames in stacks.values():
            names = [frame["function"] for frame in frames]
            self.assertIn("source_changed", names)
            self.assertNotRegex(frames[0]["module"], "lib(usiw|.san)")
            frame = frames[names.index("source_changed")]
            self.assertTrue(frame["file"].endswith("check_cases.c"), frame)
            self.assertGreater(frame["line"], 0)

    def test_a_region_that_is_gone_is_told_where(self):
        _, found = findings("--", CASES, "bad_lkey")
        one = next(one for one in found if one["rule"] == "bad-lkey")
        self.assertEqual([stack["of"] for stack in one["stacks"]],
                         ["posted", "region deregistered"])

    def test_the_call_that_takes_memory_is_told(self):
        for case, label, call in (
                ("freed_in_use", "freed", "free"),
                ("reallocated_in_use", "reallocated", "realloc"),
                ("munmapped_in_use", "unmapped", "munmap"),
                ("mremapped_in_use", "remapped", "mremap"),
                ("madvised_in_use", "given back", "madvise"),
                ("freed_in_use_threads", "freed", "free")):
            with self.subTest(case=case):
                done, found = findings("--", CASES, case)
                self.assertEqual(len(found), 1, done.stdout)
                self.assertIn(f": {call}() takes its 4096 octets at 0x",
                              found[0]["what"])
                stacks = {stack["of"]: stack["frames"]
                          for stack in found[0]["stacks"]}
                self.assertEqual(set(stacks), {label, "posted"})
                # The call itself is in the program, and it has a line.
                self.assertRegex(stacks[label][0]["module"],
                                 "apps-check-cases$")
                self.assertIn(case, [frame["function"]
                                     for frame in stacks[label]])
                self.assertGreater(stacks[label][0]["line"], 0)
                self.assertIn("own_write", [frame["function"]
                                            for frame in stacks["posted"]])

    def test_a_transition_is_told_what_it_lacks(self):
        _, found = findings("--persona", "ca", "--", CASES, "mask_missing")
        self.assertIn("IBV_QP_DEST_QPN", found[0]["what"])
        self.assertIn("from INIT it may go to INIT, RTR, ERR, RESET",
                      found[0]["what"])

    def test_the_side_that_lacks_the_right_is_told(self):
        _, found = findings("--", CASES, "access_refused")
        one = {one["rule"]: one for one in found}
        self.assertIn("registered without IBV_ACCESS_REMOTE_WRITE",
                      one["access-refused"]["what"])
        self.assertRegex(one["completion-error"]["what"],
                         r"status 10: the peer refused the RDMA_WRITE at "
                         r"0x\w+ by rkey 0x\w+: no region .*0x1100")

    def test_a_window_that_lacks_the_right_is_told(self):
        _, found = findings("--", CASES, "window_refused")
        one = next(one for one in found if one["rule"] == "access-refused")
        self.assertIn("the region, the window or the QP does not have the right",
                      one["what"])


class Command(unittest.TestCase):
    def test_exit_code(self):
        for args, code in (
                (("--", CASES, "source_kept"), 0),
                (("--", CASES, "cq_small"), 0),  # a note
                (("--", CASES, "source_changed"), 1),
                (("--error-exitcode", "9", "--", CASES, "source_kept"), 0),
                (("--error-exitcode=9", "--", CASES, "source_changed"), 9),
                (("--error-exitcode=0", "--", CASES, "source_changed"), 0),
                (("--", "sh", "-c", f"{CASES} source_changed; exit 7"), 7),
                (("--", "sh", "-c", "kill -9 $$"), 137),
                (("--", "/nonexistent"), 127)):
            self.assertEqual(check(*args).returncode, code, args)

    def test_findings_of_all_processes_once_with_their_count(self):
        script = f"{CASES} source_changed; {CASES} source_changed"
        done, found = findings("--", "sh", "-c", script)
        self.assertEqual([(one["rule"], one["count"]) for one in found],
                         [("source-changed", 2)], done.stdout)
        self.assertEqual(done.stderr, "")

    def test_a_process_that_is_killed_has_told_all(self):
        done, found = findings("--", CASES, "killed")
        self.assertEqual(done.returncode, 137)
        self.assertEqual({one["rule"] for one in found}, {"source-changed"})

    def test_suppressions(self):
        with tempfile.NamedTemporaryFile("w") as lines:
            lines.write("# known\nsource-* function=write_now\n")
            lines.flush()
            args = ("--suppressions", lines.name, "--", CASES)
            done = check(*args, "source_changed")
            self.assertEqual(done.returncode, 0)
            self.assertIn("0 findings, 0 notes, 1 suppressed", done.stderr)
            self.assertEqual(check(*args, "inline_long").returncode, 1)
            lines.write("source-changed line=3\n")
            lines.flush()
            done = check(*args, "source_changed")
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{lines.name}:3:", done.stderr)

    def test_wrong_usage(self):
        for args in ((), ("--",), ("--nonsense", "x"), ("--persona", "x", "y"),
                     ("--error-exitcode",), ("--suppressions",),
                     ("--error-exitcode", "256", "x"),
                     ("--error-exitcode", "x", "y")):
            done = check(*args)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn("Usage: usiw check", done.stderr)

    def test_the_manual_has_each_rule(self):
        source = os.environ["USIW_SOURCE_DIR"]
        with open(f"{source}/providers/usiw/check/rules.def",
                  encoding="utf-8") as rules, \
                open(f"{source}/man/usiw-check.1", encoding="utf-8") as page:
            known = re.findall(r'RULE\(\w+, "([\w-]+)", (\w+)', rules.read())
            section = page.read().split(".SH RULES")[1].split(".SH ")[0]
        told = re.findall(r"^\.TP\n\.B (\S+)\n(\(note\))?", section, re.M)
        self.assertEqual([(name, level == "NOTE") for name, level in known],
                         [(name.replace("\\-", "-"), bool(note))
                          for name, note in told])
        self.assertLessEqual({rule for rules in FOUND.values()
                              for rule in rules}, {name for name, _ in known})
        self.assertLessEqual({name for name, _ in known},
                             {rule for rules in FOUND.values()
                              for rule in rules})


if __name__ == "__main__":
    USIW, CASES = (os.path.realpath(sys.argv.pop(1)) for _ in range(2))
    if sys.argv[1:2] == ["--ca"]:
        IS_CA = True
        del sys.argv[1]
    unittest.main()

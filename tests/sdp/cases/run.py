#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""run.py tcp|sdp|rules [--only NAME,...] [--sanitizer address|thread]
[--carrier cm] [--cold] [--after OCTETS] [ipv4|ipv6]: compares the output of sock-cases.

A NAME is that of a case or of a theme. Without any, all cases run. Those that
unfit.txt names for the sanitizer or the carrier are left out. --carrier is
USIW_SDP_CARRIER of the run over SDP. --cold: no connection was used before its
case begins. --after is USIW_SDP_AFTER of the run over SDP: 0 if it is not said.

tcp: two runs over TCP, the second beside a busy loop, print the same. No case
fails, crashes or hangs.

sdp: a run over SDP prints the same as a run over TCP. exceptions.txt names the
cases that differ, one a line, "name: difference", by the names of the
differences in libsdp(7). An exception without a difference is an error too,
but for one that has the word "mostly" behind it. A case that hangs, "name: difference hangs", is given little time for that.
With a carrier or --cold the word stands before the file's name.

rules: a run under the library, with rules that leave every socket to TCP or
that cannot be read, prints the same as a run without the library. Nothing goes
by usiw.
"""
import difflib
import os
import re
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "apps"))
sys.path.insert(0, os.path.join(here, "..", "..", "meta"))
import harness  # noqa: E402
import rules  # noqa: E402
from harness import BUILD, Test, check  # noqa: E402

SOCK_CASES = os.path.join(BUILD, "bin", "sock-cases")
LEAST_CASES = 150
# Seconds for one case. Only a hang takes that long.
LIMIT = 20
# The same for those that hang in any case.
HANGS_LIMIT = 2
BAD = re.compile(r"hangs|dies of SIG\w+|fails at .*|says nothing")
# All cases together move at least this much.
PAYLOAD = 16 << 20
# Processes that sent something as SDP: at least one per case, but some cases
# need no data.
LEAST_SENDERS = 250
ONLY = []
SANITIZER = []
CARRIER = []
# "cold", or nothing.
COLD = []
AFTER = ["0"]


def by_case(text, names):
    """Name -> lines. Log lines of a library do not begin with a case's
    name."""
    found = {name: [] for name in names}
    for line in text.splitlines():
        name, colon, what = line.partition(": ")
        if colon and name in found:
            found[name].append(what)
    return found


def list_cases(test):
    program = test.start("list", [SOCK_CASES, "--list"], usiw=False)
    program.wait(20)
    names = program.text().split()
    check(len(names) >= LEAST_CASES,
          f"{len(names)} cases, at least {LEAST_CASES} are wanted")
    check(len(names) == len(set(names)), "two cases have one name")
    for only in ONLY:
        check(any(is_of(name, only) for name in names), f"no case {only}")
    left_out = unfit(names)
    return [name for name in names if name not in left_out and
            (not ONLY or any(is_of(name, only) for only in ONLY))]


def load(name):
    with open(os.path.join(here, name), encoding="utf-8") as f:
        return rules.load_exceptions(f.read())


def unfit(names):
    """The cases that the sanitizer or the carrier does not allow."""
    unfit_for = [*SANITIZER, *CARRIER, *COLD] + ["both"] * len(SANITIZER) + [
        f"{carrier}-{sanitizer}"
        for carrier in CARRIER for sanitizer in SANITIZER] + [
        f"after-{sanitizer}"
        for sanitizer in SANITIZER if AFTER[-1] != "0"]
    found = []
    for words, reason in load("unfit.txt").items():
        what, name = words.split()
        check(what in ("address", "thread", "both", "cm", "cm-address",
                       "cm-thread", "cold", "after-thread") and reason and
              name in names, f"unfit.txt: {words}: {reason}")
        if what in unfit_for:
            found.append(name)
    return found


def is_of(name, only):
    return name == only or name.startswith(only + ".")


def start(test, name, family, usiw, names, env=None, seconds=LIMIT):
    """Starts sock-cases over TCP or, with @usiw, over SDP."""
    limit = max(1, round(seconds * harness.SLOW))
    words = [f"--{word}" for word in COLD]
    words += ["--ipv6"] if family == "ipv6" else []
    env = {"USIW_SDP_AFTER": AFTER[-1], **(env or {})}
    if CARRIER:
        env["USIW_SDP_CARRIER"] = CARRIER[0]
    return test.start(name, [SOCK_CASES, *words, "-j", 4, "--limit", limit,
                             *names], usiw=usiw, env=env)


def wait_for(program, names):
    """Waits for its end, checks that no case lacks output, and returns the
    lines by name."""
    hangs = len(names) * LIMIT / 4
    program.wait(60 + hangs, codes=(0, 1))
    text = by_case(program.text(), names)
    missing = [name for name in names if not text[name]]
    check(not missing, f"{program.name} says nothing of {missing}")
    return text


def bad_lines(text):
    """The lines that say that a case is bad, each with the one before it, which
    tells how far the case has come."""
    return [f"{name}: {line} (after: {before})"
            for name, lines in text.items()
            for before, line in zip(["its begin", *lines], lines)
            if BAD.fullmatch(line)]


def show_difference(name, one, other, of_one, of_other):
    print(f"--- {name}")
    for line in difflib.unified_diff(one, other, of_one, of_other,
                                     lineterm="", n=2):
        print(line)


def over_tcp(family):
    with Test(f"TCP twice, {family}") as test:
        names = list_cases(test)
        quiet = wait_for(start(test, "quiet", family, False, names), names)
        check(not bad_lines(quiet), "\n".join(bad_lines(quiet)))
        test.start("busy", ["sh", "-c", "while [ -d /proc/$PPID ]; do :; done"],
                   usiw=False)
        busy = wait_for(start(test, "beside-a-busy-loop", family, False,
                              names), names)
        different = [name for name in names if quiet[name] != busy[name]]
        for name in different:
            show_difference(name, quiet[name], busy[name], "quiet", "busy")
        check(not different, f"no stable text: {' '.join(different)}")
        print(f"{len(names)} cases")


def exceptions(names):
    words = ["after"] if AFTER[-1] != "0" else COLD
    path = "-".join([*CARRIER, *words, "exceptions.txt"])
    found = load(path)
    for name in found:
        check(ONLY or SANITIZER or name in names, f"{path}: {name} is no case")
    return {name: reason for name, reason in found.items() if name in names}


def demand_sdp(test, before):
    """Checks that the octets went by usiw, and did so in most cases."""
    if AFTER[-1] != "0":
        if not ONLY or "stream" in " ".join(ONLY):
            test.demand_payload(before, 1)
        return
    if ONLY:
        test.demand_payload(before, 1)
        return
    test.demand_payload(before, PAYLOAD)
    senders = sum(page.get("tx_payload", 0) > 0
                  for page in test.counters.pages().values())
    check(senders >= LEAST_SENDERS,
          f"{senders} processes sent by usiw: others took TCP")


def over_sdp(family):
    harness.PERSONA[:] = ["--sdp"]
    with Test(f"SDP as TCP, {family}") as test:
        names = list_cases(test)
        excused = exceptions(names)
        tcp = wait_for(start(test, "tcp", family, False, names), names)
        check(not bad_lines(tcp), "\n".join(bad_lines(tcp)))
        before = test.counters.sum()
        stuck = [name for name in names
                 if excused.get(name, "").endswith(" hangs")]
        moving = [name for name in names if name not in stuck]
        sdp = wait_for(start(test, "sdp", family, True, moving), moving)
        if stuck:
            hung = wait_for(start(test, "hanging", family, True, stuck,
                                  seconds=HANGS_LIMIT), stuck)
            check(all(lines[-1] == "hangs" for lines in hung.values()),
                  f"does not hang: {hung}")
            sdp |= hung
        demand_sdp(test, before)
        different = [name for name in names if tcp[name] != sdp[name]]
        unexcused = [name for name in different if name not in excused]
        for name in unexcused:
            show_difference(name, tcp[name], sdp[name], "tcp", "sdp")
        same = [name for name in excused if name not in different and
                not excused[name].endswith(" mostly")]
        check(not same, f"exceptions that say the same: {' '.join(same)}")
        check(not unexcused, f"{len(unexcused)} of {len(names)} cases "
              f"differ: {' '.join(unexcused)}")
        print(f"{len(names)} cases, {len(excused)} exceptions")


# Name -> the file of rules, what the program prints on standard error.
RULES = {
    "tcp-only": ("use tcp server *:*\nuse tcp client *:*\n", None),
    "unreadable": ("use bogus client *:*\n", "'bogus' is not a protocol"),
}


def by_rules(family):
    harness.PERSONA[:] = ["--sdp"]
    with Test(f"rules for TCP, {family}") as test:
        names = list_cases(test)
        tcp = wait_for(start(test, "tcp", family, False, names), names)
        check(not bad_lines(tcp), "\n".join(bad_lines(tcp)))
        for what, (rules, said) in RULES.items():
            path = os.path.join(test.directory, f"{what}.conf")
            with open(path, "w", encoding="ascii") as f:
                f.write(rules)
            os.chmod(path, 0o644)
            program = start(test, what, family, True, names,
                            {"LIBSDP_CONFIG_FILE": path})
            plain = wait_for(program, names)
            different = [name for name in names if tcp[name] != plain[name]]
            for name in different:
                show_difference(name, tcp[name], plain[name], "tcp", what)
            check(not different, f"{what}: {len(different)} of {len(names)} "
                  f"cases differ: {' '.join(different)}")
            check(said is None or said in program.text(),
                  f"{what}: '{said}' is not said")
        check(not test.counters.pages(), "a device was opened")
        print(f"{len(names)} cases")


WAYS = {"tcp": over_tcp, "sdp": over_sdp, "rules": by_rules}


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in WAYS:
        sys.exit(__doc__)
    run = WAYS[sys.argv.pop(1)]
    for word, values in (("--only", ONLY), ("--sanitizer", SANITIZER),
                         ("--carrier", CARRIER)):
        if sys.argv[1:2] == [word]:
            values.extend(sys.argv[2].split(","))
            del sys.argv[1:3]
    if sys.argv[1:2] == ["--cold"]:
        COLD.append(sys.argv.pop(1).lstrip("-"))
    if sys.argv[1:2] == ["--after"]:
        AFTER.append(sys.argv[2])
        del sys.argv[1:3]
    harness.main([("ipv4", lambda: run("ipv4")),
                  ("ipv6", lambda: run("ipv6"))])


if __name__ == "__main__":
    main()

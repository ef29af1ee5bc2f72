#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""completion_test.py USIW SCRIPT: bash completes exactly the words that the
tool accepts."""
import re
import shlex
import subprocess
import sys

USIW, SCRIPT = sys.argv[1:3]
failed = []


def complete(*words):
    """What bash offers for the last word."""
    line = " ".join(shlex.quote(word) for word in words)
    done = subprocess.run(
        ["bash", "--norc", "-c",
         f'. "$0"; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _usiw; '
         'printf "%s\\n" "${COMPREPLY[@]}"', SCRIPT],
        check=True, stdout=subprocess.PIPE, text=True)
    return set(done.stdout.split())


def tool(*words):
    return subprocess.run([USIW, *words], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def expect(what, found, wanted):
    if found != wanted:
        failed.append(what)
        print(f"{what}: {sorted(found)}, not {sorted(wanted)}")


commands = re.findall(r"^  ([a-z]+)  ",
                      tool("--help").split("Options:")[0], re.M)
expect("commands", complete("usiw", ""),
       {*commands, "--help", "--version"})
usage = tool("run", "--help").splitlines()[0]
options = {*re.findall(r"\[(--[a-z]*)", usage), "--help"}
expect("options", complete("usiw", "run", "-"), options)
expect("options after --sdp", complete("usiw", "run", "--sdp", "--p"),
       {"--persona"})
expect("personas", complete("usiw", "run", "--persona", ""), {"rnic", "ca"})
for before in ([], ["--"], ["--sdp"], ["--persona", "ca", "--sdp", "--"]):
    found = complete("usiw", "run", *before, "setpri")
    expect(f"a program after {before}", found & {"setpriv"}, {"setpriv"})
expect("a program's options", complete("usiw", "run", "setpriv", "--sd"),
       set())
print(f"{len(failed)} failed")
sys.exit(bool(failed))

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
usage = tool("run", "--help").split("\nRuns")[0]
options = {*re.findall(r"\[(--[a-z]*)", usage), "--help"}
expect("options", complete("usiw", "run", "-"), options)
usage = tool("doctor", "--help").split("Examples:")[0]
options = {*re.findall(r"(--[a-z]+)", usage), "--help", "--"}
expect("options of doctor", complete("usiw", "doctor", "-"), options)
usage = tool("check", "--help").split("Runs COMMAND")[0]
options = {*re.findall(r"(--[a-z-]+)", usage), "--help", "--"}
expect("options of check", complete("usiw", "check", "-"), options)
for before in (["--error-exitcode", "3"], ["--suppressions", "/etc/passwd"]):
    expect(f"a program of check after {before}",
           complete("usiw", "check", *before, "setpri") & {"setpriv"},
           {"setpriv"})
expect("a program of doctor",
       complete("usiw", "doctor", "--quiet", "--sdp", "setpri") & {"setpriv"},
       {"setpriv"})
usage = tool("capture", "--help")
options = {*re.findall(r"(--?[a-zA-Z]+) [A-Z\n,]", usage), "-a", "-b", "--sdp",
           "--persona", "--help", "--"}
expect("options of capture", complete("usiw", "capture", "-"), options)
expect("conditions", complete("usiw", "capture", "-b", "f"),
       {"filesize:", "files:"})
expect("a program of capture",
       complete("usiw", "capture", "-o", "file", "--sdp", "--", "setpri") &
       {"setpriv"}, {"setpriv"})
usage = tool("trace", "--help").split("Examples:")[0]
options = {*re.findall(r"(?m)^  (-[a-zA-Z]) ", usage), "--sdp", "--persona",
           "--help", "--"}
expect("options of trace", complete("usiw", "trace", "-"), options)
expect("classes", complete("usiw", "trace", "-e", "c"), {"cm", "completions"})
expect("a program of trace",
       complete("usiw", "trace", "-c", "-e", "cm", "setpri") & {"setpri", "setpriv"},
       {"setpriv"})
expect("options after --sdp", complete("usiw", "run", "--sdp", "--p"),
       {"--persona"})
expect("personas", complete("usiw", "run", "--persona", ""), {"rnic", "ca"})
expect("faults", complete("usiw", "run", "--fault", "stream=r"),
       {"stream=reset"})
expect("seeds", complete("usiw", "run", "--chaos", ""), set())
for fault in complete("usiw", "run", "--fault", ""):
    more = ",for=1s" if fault in ("stream=delay", "receive=rnr",
                                  "port=down") else ""
    tool("run", "--fault", fault + more, "true")
for before in ([], ["--"], ["--fault", "cq=overrun", "--chaos", "1"],
               ["--sdp"], ["--persona", "ca", "--sdp", "--"]):
    found = complete("usiw", "run", *before, "setpri")
    expect(f"a program after {before}", found & {"setpriv"}, {"setpriv"})
expect("a program's options", complete("usiw", "run", "setpriv", "--sd"),
       set())
for command in ("stat", "top"):
    usage = tool(command, "--help")
    expect(f"options of {command}", complete("usiw", command, "--"),
           {*re.findall(r"(?<![\w-])--[a-z]+", usage.split("Examples")[0]),
            "--help"})
expect("states", complete("usiw", "stat", "--state", "lis"), {"listening"})
print(f"{len(failed)} failed")
sys.exit(bool(failed))

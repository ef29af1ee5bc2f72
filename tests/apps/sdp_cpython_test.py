#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""sdp_cpython_test.py [SUITE...]: CPython's own tests of sockets.

A suite runs over TCP, then over SDP. A test that passes over TCP must pass
over SDP. cpython-exceptions.txt names the exceptions, one per line, "test:
reason". They are not run.
"""
import os
import subprocess
import xml.etree.ElementTree as ET

import harness
from harness import check
from sdp_program import SdpTest, main

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
# Time limit of a suite in seconds: only a hang reaches it.
LIMIT = 1200
# Suite -> its arguments, minimum number of octets. test_select has no socket.
SUITES = {
    "test_socket": ([], 1 << 20),
    "test_asyncio": ([], 1 << 20),
    "test_select": ([], 0),
    "test_selectors": ([], 0),
    "test_epoll": ([], 0),
    "test_signal": ([], 0),
    "test_threadsignals": ([], 0),
    # It uses only loopback, although it requires the network resource.
    "test_socketserver": (["-u", "network"], 1 << 20),
    "test_ssl": ([], 1 << 19),
    "test_httplib": ([], 1 << 10),
    "test_ftplib": ([], 1 << 19),
}


def exceptions():
    with open(os.path.join(HERE, "cpython-exceptions.txt"),
              encoding="utf-8") as f:
        lines = [line.strip() for line in f if not line.startswith("#")]
    names = {line.partition(": ")[0]: line.partition(": ")[2]
             for line in lines if line}
    check(all(names.values()), "an exception without a reason")
    return names


def outcomes(path):
    """Name of a test -> "passed", or another result with its text."""
    found = {}
    for case in ET.parse(path).getroot().iter("testcase"):
        bad = [(kind, case.findtext(kind) or "")
               for kind in ("error", "failure", "skipped")
               if case.find(kind) is not None]
        name = case.get("name")
        # A second result of one test belongs to a subtest.
        found[name] = bad[0] if bad else found.get(name, ("passed", ""))
    return found


def run(test, suite, way, excepted):
    directory = test.folder(way)
    results = os.path.join(directory, "results.xml")
    command = [PYTHON, "-B", "-m", "test", "-v", *SUITES[suite][0],
               "--timeout", int(LIMIT * harness.SLOW), "--tempdir", directory,
               "--junit-xml", results]
    for name in excepted:
        command += ["-i", name]
    program = test.start(way, command + [suite], usiw=way == "SDP",
                         env={"HOME": directory, "TMPDIR": directory})
    # The failed tests are checked below.
    program.wait(LIMIT + 60, codes=None)
    check(os.path.exists(results), f"{suite} did not end over {way}")
    return outcomes(results)


def compare(suite):
    with SdpTest(f"CPython's {suite}") as test:
        if subprocess.run([PYTHON, "-c", f"import test.{suite}"],
                          stderr=subprocess.DEVNULL, check=False).returncode:
            raise harness.Skip("CPython's tests are not installed")
        excepted = exceptions()
        before = run(test, suite, "TCP", excepted)
        after = run(test, suite, "SDP", excepted)
        good = [name for name in before if before[name][0] == "passed"]
        check(good, f"no test of {suite} passes over TCP")
        bad = {name: after.get(name, ("missing", "")) for name in good
               if after.get(name, ("missing", ""))[0] != "passed"}
        for name, (kind, text) in bad.items():
            print(f"--- {kind}: {name}\n{text[-2000:]}")
        check(not bad, f"{len(bad)} of {len(good)} tests pass over TCP only: "
              + ", ".join(bad))
        print(f"{suite}: {len(good)} tests pass")
        least = SUITES[suite][1]
        if least:
            test.demand_payload({}, least)
            check(test.octets() >= least, f"only {test.octets()} octets by "
                  "the statistics pages")


main([(suite, lambda suite=suite: compare(suite)) for suite in SUITES])

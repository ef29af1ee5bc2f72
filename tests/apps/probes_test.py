#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Tracers find the probes that usiw-probes(7) lists, and see a program's work
by them."""
import collections
import os
import re
import subprocess

import harness
from harness import Failure, Test, check, need

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PINGS = 3
# enum ibv_wr_opcode, ibv_wc_opcode, and RNIC_CM_S_* and enum rnic_qp_state of
# rnic.h.
WR_SEND, RECV, WC_SEND = 2, 128, 0
RDMAP_WRITE, RDMAP_READ_REQUEST = 0, 1
CM_ESTABLISHED, QP_IDLE, QP_RTS = 7, 0, 2


def libraries():
    """The provider, and the RNIC that it is linked to: a build directory may
    have RNICs of older builds."""
    need("readelf")
    lib = os.path.join(harness.BUILD, "lib")
    provider = os.path.join(lib, "libusiw-rdmav34.so")
    needed = subprocess.run(["readelf", "-d", provider], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    rnic = re.search(r"\[(libusiw-rnic-\w+\.so)\]", needed).group(1)
    return [os.path.realpath(os.path.join(lib, name))
            for name in (rnic, "libusiw-rdmav34.so")]


def of_page():
    """Probe -> number of its arguments."""
    with open(os.path.join(ROOT, "man/usiw-probes.7"), encoding="utf-8") as f:
        rows = re.findall(r'^\.B "(\w+)\((.*)\)"$', f.read(), re.M)
    return {name: args.count(",") + 1 for name, args in rows}


def of_library(path):
    """(probe, number of its arguments) of each place."""
    notes = subprocess.run(["readelf", "-n", path], check=True, text=True,
                           stdout=subprocess.PIPE).stdout
    return [(name, args.count("@")) for name, args in re.findall(
        r"Provider: usiw\s+Name: (\w+)\s+Location: .*\s+Arguments: (.*)",
        notes)]


def listed():
    """The page lists all, and each has one place, as perf wants."""
    places = sum((of_library(path) for path in libraries()), [])
    page = of_page()
    check(page, "the page lists nothing")
    check(sorted(places) == sorted(page.items()), f"{places}, page: {page}")


# ---- what a tracer sees -------------------------------------------------------

def pings(test, client):
    """rping, with @client() as the command of its client."""
    port = harness.free_port()
    server = test.start("server", ["rping", "-s", "-p", port, "-C", PINGS],
                        env=harness.WIRE)
    server.wait_listening(port)
    words = [harness.USIW, "run", "--", "rping", "-c", "-a", "127.0.0.1", "-p",
             str(port), "-C", str(PINGS)]
    program = client(words)
    program.wait(60, codes=(0, 255))  # as in rping.py
    server.wait(30, codes=None)
    return program


def seen_by(text):
    """Probe -> list of its arguments, as the tracers print them here."""
    seen = collections.defaultdict(list)
    for name, numbers in re.findall(r"^@(\w+)((?: \d+)+)$", text, re.M):
        seen[name].append(tuple(int(n) for n in numbers.split()))
    return seen


def check_client(seen):
    """Each ping of the client is two Sends and two receives; its server reads
    and writes once."""
    check(set(seen) == set(of_page()), f"only {sorted(seen)}")
    qps = {row[0] for row in seen["post"]}
    check(len(qps) == 1, f"queue pairs {qps}")
    qp = qps.pop()
    sends = [row for row in seen["post"] if row[1] == WR_SEND]
    check([row[2] for row in sends] == [16] * 2 * PINGS, f"{sends}")
    done = collections.Counter(row[1:3] for row in seen["complete"])
    check(done[0, WC_SEND] == 2 * PINGS, f"{done}")
    check(done[0, RECV] == 2 * PINGS, f"{done}")
    check({row[0] for row in seen["complete"]} == {qp}, "other queue pairs")
    opcodes = collections.Counter(row[1] for row in seen["segment_in"])
    check(opcodes[RDMAP_READ_REQUEST] == PINGS, f"{opcodes}")
    check(opcodes[RDMAP_WRITE] >= PINGS, f"{opcodes}")
    check((qp, QP_IDLE, QP_RTS) in seen["qp_state"], f"{seen['qp_state']}")
    check(CM_ESTABLISHED in [row[2] for row in seen["cm_state"]],
          f"{seen['cm_state']}")
    for name in "octets_in", "octets_out":
        check({row[1] for row in seen[name]} == {0}, f"{name}: not all by TCP")
    out = sum(row[2] for row in seen["octets_out"])
    check(out > 2 * PINGS * 16, f"{out} octets")


def gdb_script():
    lines = ["set breakpoint pending on", "set confirm off",
             "set pagination off", "handle all nostop noprint pass"]
    for name, cnt in of_page().items():
        values = "".join(f", $_probe_arg{i}" for i in range(cnt))
        lines += [f"break -probe-stap usiw:{name}", "commands", "silent",
                  f'printf "\\n@{name}{" %lu" * cnt}\\n"{values}', "continue",
                  "end"]
    return "\n".join(lines + ["run", ""])


def by_gdb():
    need("gdb")
    with Test("rping under gdb") as test:
        script = os.path.join(test.directory, "script")
        with open(script, "w", encoding="utf-8") as f:
            f.write(gdb_script())

        def client(words):
            return test.start("gdb", ["gdb", "-batch", "-nx", "-x", script,
                                      "--args", *words], usiw=False,
                              env=harness.WIRE)
        text = pings(test, client).text()
        if "ptrace: Operation not permitted" in text:
            raise harness.Skip("gdb may not trace")
        check_client(seen_by(text))


def by_bpftrace():
    """As the page's examples.  Other tests' processes are seen as well.
    bpftrace 0.23 exchanges pid and tid in a PID namespace."""
    need("bpftrace")
    if os.geteuid() != 0:
        raise harness.Skip("bpftrace is for root")
    cnts = of_page()
    script = " ".join(
        f"usdt:{path}:usiw:{name} {{ printf(\"@{name} %d %d"
        + f"{' %llu' * cnts[name]}\\n\", pid, tid"
        + "".join(f", arg{i}" for i in range(cnts[name])) + "); }"
        for path in libraries() for name, _ in of_library(path))
    with Test("rping beside bpftrace") as test:
        tracer = test.start("bpftrace", ["bpftrace", "-e", script],
                            usiw=False, keep_user=True)

        def client(words):
            return test.start("client", words, usiw=False, env=harness.WIRE)

        def rows_of(pid):
            return {name: [row[2:] for row in rows if pid in row[:2]]
                    for name, rows in seen_by(tracer.text()).items()
                    if any(pid in row[:2] for row in rows)}

        pids = []

        def is_right():
            """The tracer attaches one probe after the other, and prints late:
            of one of the programs it saw all."""
            if tracer.process.poll() is not None:
                raise harness.Skip(f"bpftrace: {tracer.told()}")
            pids.append(pings(test, client).pid)
            for pid in pids:
                try:
                    check_client(rows_of(pid))
                    return True
                except Failure as e:
                    is_right.reason = e
            return False
        try:
            harness.wait_until(is_right, 80, "bpftrace's output")
        except Failure:
            raise Failure(f"{is_right.reason}") from None


harness.main([("listed", listed), ("gdb", by_gdb), ("bpftrace", by_bpftrace)])

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Without work there is no system call and no context switch."""
import functools
import glob
import os
import re
import signal
import subprocess

import harness
from harness import Test, check, wait_until

SECONDS = 10
STRACE_SETTLE = 1.0  # attaching interrupts the calls that threads wait in


def switches(pid):
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/status"):
        with open(path) as f:
            for number in re.findall(r"ctxt_switches:\s*(\d+)", f.read()):
                total += int(number)
    return total


def watch_for(seconds):
    """The elapsed time itself is measured here."""
    with subprocess.Popen(["sleep", str(seconds)]) as clock:
        clock.wait()


def settle(pid):
    """Waits until a quarter of a second has passed without a context
    switch."""
    def is_quiet():
        before = switches(pid)
        watch_for(0.25)
        return switches(pid) == before
    wait_until(is_quiet, 10, "the server to become idle")


def system_calls(test, pid):
    """Calls that began after strace had been attached for a while."""
    path = os.path.join(test.directory, "strace")
    tracer = subprocess.Popen(["strace", "-f", "-ttt", "-o", path, "-p",
                               str(pid)], stderr=subprocess.PIPE, text=True)
    line = tracer.stderr.readline()
    if "attached" not in line:
        tracer.kill()
        tracer.wait()
        raise harness.Skip(f"strace may not attach: {line.strip()}")
    watch_for(STRACE_SETTLE + SECONDS)
    tracer.send_signal(signal.SIGINT)
    tracer.stderr.read()
    tracer.wait()
    calls, first = [], None
    with open(path) as f:
        for line in f:
            when = float(line.split()[1])
            first = first or when
            if when >= first + STRACE_SETTLE and "<detached" not in line:
                calls.append(line)
    return calls


def idle(name, start):
    harness.need("strace")
    with Test(name) as test:
        server = start(test)
        settle(server.pid)
        before = switches(server.pid)
        watch_for(SECONDS)
        grown = switches(server.pid) - before
        check(grown == 0, f"{grown} context switches in {SECONDS} s")
        calls = system_calls(test, server.pid)
        check(not calls, f"{len(calls)} system calls in {SECONDS} s:\n" +
              "".join(calls[:20]))
        check(server.process.poll() is None, "the server ended")


def stopped_client(test, env):
    """rping's server with a client that SIGSTOP has stopped. It has work under
    way, so the engine would look at its peer each 7.5 s."""
    env = {**env, "USIW_RETRY_MS": "0"}
    port = harness.free_port()
    server = test.start("server", ["rping", "-s", "-p", port], env=env)
    server.wait_listening(port)
    client = test.start("client", ["rping", "-c", "-a", "127.0.0.1",
                                   "-p", port], env=env)
    is_local = env["USIW_LOCAL"] == harness.LOCAL["USIW_LOCAL"]
    path = "local_tx_octets" if is_local else "tx_payload"
    wait_until(lambda: test.counters.of(server.pid, path) > 1000, 20, "pings")
    client.signal(signal.SIGSTOP)
    return server


def listening(test):
    port = harness.free_port()
    server = test.start("server", ["rping", "-s", "-p", port])
    server.wait_listening(port)
    return server


def watching(test):
    """Waits for asynchronous events while the network does not change."""
    server = test.start("watch", ["stdbuf", "-oL", "ibv_asyncwatch", "-d",
                                  "usiw_lo"])
    server.wait_text(re.compile("async event FD"))
    return server


harness.main([
    (f"stopped-client-{path}",
     functools.partial(idle, f"rping -s over {path}, client stopped",
                       functools.partial(stopped_client, env=env)))
    for path, env in (("wire", harness.WIRE), ("local", harness.LOCAL))
] + [
    ("listening", lambda: idle("rping -s, no client", listening)),
    ("watching", lambda: idle("ibv_asyncwatch", watching)),
], at_once=4)

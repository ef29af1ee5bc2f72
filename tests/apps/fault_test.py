#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""usiw run --fault: programs reach their paths for errors. The first cases are
the examples of usiw-fault(7)."""
import functools
import os
import re

import harness
import rping
from harness import PYTHON, Test, check

POSTS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                     "fault_posts.py")
SAID = re.compile(r"^usiw: rnic: \w+: fault: (.*)$", re.M)
# What differs from run to run: numbers of QPs, and ports.
CHANCE = re.compile(r"0x[0-9a-f]{6}|port \d+")


def run(rules):
    return [harness.USIW, "run", "--fault", rules, "--"]


def start(test, name, rules, command, **how):
    """Under usiw run --fault, or without it if there are no rules."""
    if not rules:
        return test.start(name, command, **how)
    return test.start(name, run(rules) + command, usiw=False, **how)


def said(program):
    return [CHANCE.sub("?", line) for line in SAID.findall(program.text())]


def pair(test, program, server_rules, client_rules, more=(), env=None):
    """perftest to its end. Return: server, client."""
    port = harness.free_port()
    command = [program, "-d", "usiw_lo", "-p", str(port), *more]
    server = start(test, "server", server_rules, command, env=env)
    server.wait_listening(port)
    client = start(test, "client", client_rules, command + ["127.0.0.1"],
                   env=env)
    client.wait(60, codes=None)
    return server, client


def fails(program):
    check(program.process.returncode not in (0, None),
          f"{program.name} ended with {program.process.returncode}")


# ---- the examples ----

def perftest_is_told():
    rules = "completion=RETRY_EXC_ERR,opcode=write,nth=100,vendor_err=0x81"
    heard = []
    for _ in range(2):
        with Test(f"ib_write_bw with {rules}") as test:
            server, client = pair(test, "ib_write_bw", None, rules)
            fails(client)
            check("Failed status 12" in client.text() and
                  "syndrom 0x81" in client.text(), client.told())
            check(test.counters.of(client.pid, "faults_injected") == 1,
                  "not counted")
            heard.append(said(client))
    check(heard[0] == heard[1] == [
        f"{rules}: event 100, qp 1 (?) to 127.0.0.1 ?",
        f"{rules}: 1 in 100 events"], f"{heard}")


def pyverbs_tries_again():
    harness.need_pyverbs()
    with Test("posts that are refused") as test:
        program = start(
            test, "posts", "verb=post_send,nth=3,errno=EAGAIN; "
            "verb=post_send,nth=7,errno=ENOMEM", [PYTHON, "-B", POSTS])
        program.wait(60)
        told = [line for line in program.text().splitlines()
                if not line.startswith("usiw:")]
        check(told == ["Send 3: EAGAIN", "Send 6: ENOMEM",
                       "10 Sends have arrived"], f"{told}")


def rping_is_rejected():
    for rules, event in (("cm=reject", "REJECTED, error -111"),
                         ("cm=unreachable", "UNREACHABLE, error -113"),
                         ("cm=addr-error", "ADDR_ERROR, error -113"),
                         ("cm=route-error", "ROUTE_ERROR, error -110")):
        with Test(f"rping with {rules}") as test:
            client = start(test, "client", rules,
                           ["rping", "-c", "-a", "127.0.0.1", "-C", "1"])
            client.wait(20, codes=None)
            fails(client)
            check(f"cma event RDMA_CM_EVENT_{event}" in client.text(),
                  client.text())


# ---- what both ends see ----

def ends_in_error(rules, where, shown):
    """@where: which of the two has the rules. The client fails, and one of
    them says what is shown."""
    with Test(f"ib_write_bw, {where}: {rules}") as test:
        server_rules = rules if where == "server" else None
        client_rules = rules if where == "client" else None
        server, client = pair(test, "ib_write_bw", server_rules, client_rules,
                              env={"USIW_LOG": "info"})
        fails(client)
        program = server if where == "server" else client
        check(said(program), f"{program.name} says nothing of {rules}")
        check(shown in client.text() + server.text(), f"nobody says {shown}")
        server.wait(20, codes=None)
        # A stream that has faults goes by TCP.
        check(not test.counters.sum().get("local_tx_octets", 0),
              "octets were local")


def survives(rules, where):
    """Data is compared at both ends."""
    with Test(f"rping, {where}: {rules}") as test:
        port = harness.free_port()
        common = ["rping", "-V", "-C", "30", "-S", "5000", "-p", str(port)]
        server = start(test, "server", rules if where == "server" else None,
                       common + ["-s"])
        server.wait_listening(port)
        client = start(test, "client", rules if where == "client" else None,
                       common + ["-c", "-a", "127.0.0.1"])
        rping.finish(server, client)
        check(test.counters.sum().get("faults_injected", 0) > 0,
              "no fault was injected")


def dies(rules):
    with Test(f"a peer that is killed: {rules}") as test:
        server, client = pair(test, "ib_write_bw", rules, None,
                              more=["-D", "20", "-R"])
        check(server.wait(20, codes=None) == -9, "the server was not killed")
        fails(client)


def port_goes_down():
    with Test("a port is down for a time") as test:
        program = start(test, "watch", "port=down,at=200ms,for=300ms;"
                        "device=fatal,at=900ms",
                        ["stdbuf", "-oL", "ibv_asyncwatch", "-d", "usiw_lo"])
        program.wait_text(re.compile(
            r"PORT_ERR.*PORT_ACTIVE.*DEVICE_FATAL", re.S))


def a_rule_is_for_a_process():
    """usiw run starts a shell, which starts others."""
    with Test("rules for one of several processes") as test:
        words = ["sh", "-c", "ibv_devinfo -d usiw_lo; ibv_devices"]
        program = start(test, "shell",
                        "verb=query_port,errno=EIO,process=ibv_devinfo;"
                        "verb=query_port,errno=EPERM,process=other", words)
        program.wait(20, codes=None)
        check(said(program)[0].startswith(
            "verb=query_port,errno=EIO,process=ibv_devinfo: event 1"),
            program.text())


def a_wrong_rule_injects_nothing():
    with Test("USIW_FAULT is wrong") as test:
        program = test.start("devinfo", ["ibv_devinfo", "-d", "usiw_lo"],
                             env={"USIW_FAULT": "verb=query_port,errno=EIOO"})
        program.wait(20)
        check("error: USIW_FAULT, character 23: no such errno; is EIO meant?"
              in program.text(), program.text())


def chaos(seed):
    """Posts may be refused, which the program expects."""
    harness.need_pyverbs()
    with Test(f"chaos {seed}") as test:
        program = test.start("posts", [
            harness.USIW, "run", "--chaos", str(seed), "--", PYTHON, "-B",
            POSTS], usiw=False)
        program.wait(60)
        check("10 Sends have arrived" in program.text(), program.told())


harness.main([
    ("perftest", perftest_is_told),
    ("pyverbs", pyverbs_tries_again),
    ("rping", rping_is_rejected),
] + [(name, functools.partial(ends_in_error, rules, where, shown))
     for name, rules, where, shown in (
         ("reset", "stream=reset,nth=50", "client", "reset by peer"),
         ("half-close", "stream=half-close,nth=50", "client", "Broken pipe"),
         ("silent", "stream=silent,nth=50", "client", "retries exhausted"),
         ("state", "state=error,dir=in,nth=50", "server",
          "retries exhausted"),
         ("crc", "message=bad-crc,nth=50", "client",
          "TERMINATE from the peer: MPA: CRC error"),
         ("crc-after", "message=bad-crc,after=1M", "client",
          "TERMINATE from the peer: MPA: CRC error"))] + [
    (name, functools.partial(survives, rules, where))
    for name, rules, where in (
        ("delay", "stream=delay,for=5ms,every=7", "client"),
        ("stall", "stream=stall,for=100ms,nth=20", "client"),
        ("stall-in", "stream=stall,dir=in,for=100ms,nth=20", "server"),
        ("silent-for-a-time", "stream=silent,for=100ms,nth=20", "client"),
        ("rnr", "receive=rnr,for=20ms,every=10", "server"),
        ("seed", "seed=7; stream=delay,for=1ms,p=0.1", "client"))] + [
    ("killed", functools.partial(dies, "signal=KILL,at=1s")),
    ("port", port_goes_down),
    ("process", a_rule_is_for_a_process),
    ("wrong", a_wrong_rule_injects_nothing),
    *((f"chaos-{seed}", functools.partial(chaos, seed))
      for seed in (1, 2, 3))], at_once=3)

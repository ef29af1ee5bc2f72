#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""usiw trace with unmodified programs: what they call and get is shown, with
arguments, as usiw-trace(1) quotes it. Processes that run, fork, execute, are
killed; a reader that is slow."""
import os
import re
import signal
import subprocess
import sys

import harness
import perftest
import rping
from harness import USIW, Test, check

ADDRESS = "127.0.0.1"
HERE = os.path.dirname(os.path.abspath(__file__))
HEX = "0x[0-9a-f]+"
TOOK = r" <[\d.]+ us>"


def trace_words(path, *options):
    return [USIW, "trace", "-o", path, *options, "--"]


def lines(path):
    """The lines of a trace, without the IDs of processes and threads."""
    with open(path, encoding="ascii") as file:
        return re.sub(r"(?m)^\[[\d/]+\] ", "", file.read()).split("\n")


def check_order(found, *wanted):
    """Each pattern is a whole line, behind that of the one before."""
    rest = iter(found)
    for pattern in wanted:
        check(any(re.fullmatch(pattern, line) for line in rest),
              "no line, or not in this order: " + pattern + "\n" +
              "\n".join(found))


def check_quoted(found, command, in_order=True):
    """The manual page quotes such lines of the command; numbers and what is
    left out ("...") do not count. The lines of each thread are in this
    order."""
    with open(os.path.join(HERE, "..", "..", "man", "usiw-trace.1"),
              encoding="ascii") as file:
        text = file.read().replace("\\-", "-")
    block = re.search(rf"^\$ \\fBusiw trace .*{command}.*\n((?:.*\n)*?)\.EE",
                      text, re.M)
    check(block, f"usiw-trace(1) quotes no {command}")
    threads = {}
    for thread, line in re.findall(r"(?m)^(?:\[([\d/]+)\] )?(.+)$", block[1]):
        line = re.sub(r"0x[0-9a-f]+|\d+(\.\d+)*", "\0", line)
        line = re.escape(line).replace(r"\.\.\.", ".*")
        line = re.sub(r"(\\ )+", " +", line.replace("\0", r"[\dxa-f.]+"))
        threads.setdefault(thread if in_order else line, []).append(line)
    for patterns in threads.values():
        check_order(found, *patterns)


def count(found, pattern):
    return sum(bool(re.fullmatch(pattern, line)) for line in found)


def table(path):
    """Name of a call -> (calls, errors); opcode and status -> completions."""
    text = "\n".join(lines(path))
    calls = {name: (int(cnt), int(errors or 0)) for cnt, errors, name in
             re.findall(r"(?m)^ *[\d.]+ +[\d.]+ +[\d.]+ +(\d+) +(?:(\d+) )?"
                        r"(ibv_\w+|rdma_\w+)$", text)}
    done = {(opcode, status): (int(cnt), float(p50), float(p99))
            for cnt, p50, p99, opcode, status in
            re.findall(r"(?m)^ *(\d+) +([\d.]+) +([\d.]+) IBV_WC_(\w+) "
                       r"IBV_WC_(\w+)$", text)}
    return calls, done


def write_bw_case():
    with Test("ib_write_bw") as test:
        path = os.path.join(test.directory, "trace")
        perftest.pair(test, "ib_write_bw", ["-s", "4096", "-n", "200"],
                      ADDRESS, inside={"client": trace_words(path, "-C")},
                      demand=lambda *_: None)
        found = lines(path)
        check_order(
            found,
            r"ibv_open_device\(device=usiw_lo\) = context" + TOOK,
            r"rdma_connect\(id=\d+, conn_param=\{qp_num=" + HEX +
            ", .*\}\) = 0" + TOOK,
            rf"ibv_post_send\(qp={HEX}, wr=\[\{{wr_id={HEX}, "
            rf"opcode=IBV_WR_RDMA_WRITE, flags=IBV_SEND_SIGNALED, sge=\["
            rf"\{{{HEX}, 4096, lkey={HEX}\}}\], remote=\{{{HEX}, rkey={HEX}"
            rf"\}}\}}\]\) = 0{TOOK}",
            rf"ibv_poll_cq\(cq=\d+, num=16\) = [1-9]\d*{TOOK}",
            rf"--- IBV_WC_SUCCESS \{{wr_id={HEX}, opcode=IBV_WC_RDMA_WRITE, "
            rf"qp={HEX}, cq=\d+\}} [\d.]+ us after its post ---",
            rf"ibv_destroy_qp\(qp={HEX}\) = 0{TOOK}")
        check_quoted(found, "ib_write_bw", in_order=False)
        calls, done = table(path)
        written, p50, p99 = done["RDMA_WRITE", "SUCCESS"]
        # Each request of ib_write_bw that is signaled has one.
        signaled = count(found, ".*opcode=IBV_WR_RDMA_WRITE, "
                         "flags=IBV_SEND_SIGNALED, .*")
        check(written == signaled > 0, f"{written} of {signaled} completions")
        check(0 < p50 <= p99, f"p50 {p50}, p99 {p99}")
        check(calls["ibv_post_send"][0] ==
              count(found, r"ibv_post_send\(.*"), f"{calls}")


def rping_case():
    with Test("rping") as test:
        path = os.path.join(test.directory, "trace")
        port = harness.free_port()
        words = ["rping", "-C", "2", "-S", "64", "-p", port, "-a", ADDRESS]
        server = test.start("server", [*words, "-s"])
        server.wait_listening(port)
        client = test.start("client", [*words, "-c"],
                            inside=trace_words(path, "-e", "cm,events"))
        rping.finish(server, client)
        found = lines(path)
        check_quoted(found, "rping")
        check(count(found, r"ibv_.*|--- IBV_WC.*") == 0, "not filtered")


def pyverbs_case():
    harness.need_pyverbs()
    with Test("pyverbs") as test:
        path = os.path.join(test.directory, "trace")
        words = [harness.PYTHON, os.path.join(HERE, "fault_posts.py")]
        program = test.start("program", words, inside=trace_words(path))
        program.wait(60)
        found = lines(path)
        check_quoted(found, "posts.py")
        for number in range(1, 11):
            check_order(
                found,
                rf"ibv_post_send\(qp={HEX}, wr=\[\{{wr_id={number:#x}, "
                r"opcode=IBV_WR_SEND, flags=IBV_SEND_SIGNALED, sge=\[\{"
                rf"{HEX}, 64, lkey={HEX}\}}\]\}}\]\) = 0{TOOK}",
                rf"--- IBV_WC_SUCCESS \{{wr_id={number:#x}, "
                r"opcode=IBV_WC_SEND, .* us after its post ---")
        check(count(found, r"--- IBV_WC_SUCCESS \{wr_id=0x0, opcode="
                    r"IBV_WC_RECV, .*, byte_len=64\} .* after its post ---")
              == 10, "receives")
        check_order(
            found, r"ibv_modify_qp\(qp=" + HEX + r", attr=\{qp_state="
            r"IBV_QPS_RTR, .*ah_attr=\{dgid=::ffff:127\.0\.0\.1, .*path_mtu="
            r"IBV_MTU_1024, dest_qp_num=0x.*\) = 0" + TOOK)
        # What fails says why, and which request.
        program = test.start(
            "refused", words, inside=trace_words(path, "-C"),
            env={"USIW_FAULT": "verb=post_send,nth=3,errno=EAGAIN"})
        program.wait(60)
        check_order(lines(path), r"ibv_post_send\(.*, bad_wr=\{wr_id=0x3\}\) "
                    r"= EAGAIN \(Resource temporarily unavailable\)" + TOOK)
        check(table(path)[0]["ibv_post_send"] == (11, 1), "calls and errors")


SERVER = """
import socket
with socket.create_server(("127.0.0.1", {port})) as listener:
    link, _ = listener.accept()
    got = 0
    while got < 300000:
        got += len(link.recv(65536))
    link.sendall(b"all")
    link.recv(1)
"""
CLIENT = """
import socket
with socket.create_connection(("127.0.0.1", {port})) as link:
    link.sendall(bytes(300000))
    assert link.recv(3) == b"all"
"""


def sdp_case():
    with Test("an SDP server") as test:
        path = os.path.join(test.directory, "trace")
        port = harness.free_port()
        server = test.start(
            "server", [*trace_words(path, "--sdp"), sys.executable, "-c",
                       SERVER.format(port=port)], usiw=False)
        server.wait_listening(port)
        client = test.start(
            "client", [USIW, "run", "--sdp", "--", sys.executable, "-c",
                       CLIENT.format(port=port)], usiw=False)
        client.wait(30)
        server.wait(30)
        check_quoted(lines(path), "server.py")


# ---- processes ---------------------------------------------------------------

def attach(test, path, *words):
    command = test.start("trace", [USIW, "trace", "-o", path, *words],
                         usiw=False)
    command.wait_text(re.compile("attached"))
    return command


def attach_case():
    """A program that runs is traced, left, and traced again, until it is
    killed."""
    with Test("attach") as test:
        path = os.path.join(test.directory, "trace")
        port = harness.free_port()
        words = ["rping", "-S", "100", "-a", ADDRESS, "-p", port]
        server = test.start("server", [*words, "-s"])
        server.wait_listening(port)
        client = test.start("client", [*words, "-c"])
        harness.wait_until(
            lambda: test.counters.of(client.pid, "tx_octets") > 1000, 20,
            "messages")
        for end in signal.SIGINT, signal.SIGTERM:
            command = attach(test, path, "-C", str(client.pid))
            harness.wait_until(lambda: os.path.getsize(path) > 10000, 20,
                               "lines")
            command.signal(end)
            command.wait(20)
            calls, done = table(path)
            check(calls["ibv_post_send"][0] > 5, f"{calls}")
            check(done["SEND", "SUCCESS"][0] > 5, f"{done}")
        before = test.counters.of(client.pid, "tx_octets")
        harness.wait_until(
            lambda: test.counters.of(client.pid, "tx_octets") > before + 1000,
            20, "messages, though it is not traced any more")
        command = attach(test, path, "-p", str(client.pid), "-p",
                         str(server.pid))
        harness.wait_until(lambda: os.path.getsize(path) > 10000, 20, "lines")
        client.signal(signal.SIGKILL)
        server.wait(20, codes=None)
        command.wait(20)
        check(count(lines(path), ".*opcode=IBV_WC_RDMA_WRITE.*") > 1,
              "nothing of the server")


def fork_case():
    """A process with verbs forks and executes: all of them are shown."""
    with Test("fork and exec") as test:
        path = os.path.join(test.directory, "trace")
        program = test.start(
            "program", [os.path.join(harness.BUILD, "bin", "apps-fork-exec"),
                        "ibv_devinfo"], inside=trace_words(path))
        program.wait(30)
        with open(path, encoding="ascii") as file:
            text = file.read()
        pids = set(re.findall(r"(?m)^\[(\d+)(?:/\d+)?\] ibv_open_device\(", text))
        check(len(pids) == 2, f"{text}")


def dead_case():
    """What a process wrote before it was killed is shown, and its end."""
    with Test("killed") as test:
        path = os.path.join(test.directory, "trace")
        program = test.start("program", [
            *trace_words(path), "sh", "-c", "ibv_devinfo; kill -9 $$"],
            usiw=False)
        program.wait(30, codes=(137,))
        check(count(lines(path), r"ibv_query_port\(.*") > 0, "no calls")


def slow_case():
    """Nobody reads what is printed: the program ends, and what is missing is
    counted."""
    with Test("a slow reader") as test:
        port = harness.free_port()
        words = ["ib_send_lat", "-d", "usiw_lo", "-x", "0", "-s", "64", "-n",
                 "60000", "-p", port]
        server = test.start("server", words)
        server.wait_listening(port)
        with subprocess.Popen(
                [USIW, "trace", "--", *map(str, words), ADDRESS],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True) as command:
            server.wait(100)  # and so has the client
            said = command.communicate(timeout=60)[1]
        check(command.returncode == 0, f"{command.returncode}")
        missing = re.search(r"(\d+) records are missing", said)
        check(missing and int(missing.group(1)) > 1000, said[-500:])


harness.confine(__file__)
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
harness.main([(name, globals()[f"{name}_case"]) for name in
              ("write_bw", "rping", "pyverbs", "sdp", "attach", "fork", "dead",
               "slow")])

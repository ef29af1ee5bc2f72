#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""sdp_young_data_test.py [NAME...]: servers of other protocols than HTTP whose
connections begin as TCP, with SDP later."""
import os
import random

import harness
from harness import check, free_port
from sdp_program import YoungTest, checksum, main

PYTHON = "/usr/bin/python3"
SIZE = 256 << 20


def same(path, wanted):
    check(checksum(path) == wanted, "other octets came")


def netcat():
    with YoungTest("nc.traditional to nc.traditional") as test:
        harness.need("nc.traditional")
        path, wanted = test.payload(SIZE)
        port = free_port()
        server = test.start("server", [
            "nc.traditional", "-l", "-s", "127.0.0.1", "-p", port])
        server.wait_listening(port)
        test.run("client", ["sh", "-c", "exec nc.traditional -q 0 127.0.0.1 "
                            f"{port} < {path}"])
        server.wait(30)
        same(server.output_path, wanted)
        test.demand_sdp(SIZE)


MOSQUITTO = """
listener {port} 127.0.0.1
allow_anonymous true
persistence false
"""


def mosquitto():
    with YoungTest("mosquitto, mosquitto_pub and mosquitto_sub") as test:
        harness.need("mosquitto", "mosquitto_pub", "mosquitto_sub")
        path, wanted = test.payload(SIZE // 2)
        port = free_port()
        server = test.start("server", ["mosquitto", "-c", test.file(
            "conf", MOSQUITTO.format(port=port))])
        server.wait_listening(port)
        to = ["-h", "127.0.0.1", "-p", port, "-t", "payload", "-q", 1]
        test.run("publish", ["mosquitto_pub", *to, "-r", "-f", path])
        same(test.run("subscribe", ["mosquitto_sub", *to, "-C", 1,
                                    "-N"]).output_path, wanted)
        # On a busy machine SDP may enter only one of the two connections
        # before its message is over.
        test.demand_sdp(SIZE // 2)


def nbd():
    """Several connections to a server with threads."""
    with YoungTest("nbdkit and nbdcopy, both ways") as test:
        harness.need("nbdkit", "nbdcopy")
        path, wanted = test.payload(SIZE)
        folder = test.folder("disk")
        disk, back = os.path.join(folder, "disk"), os.path.join(folder, "back")
        with open(disk, "wb") as f:
            f.truncate(SIZE)
        os.chmod(disk, 0o666)
        port = free_port()
        server = test.start("server", [
            "nbdkit", "-f", "-i", "127.0.0.1", "-p", port, "file", disk])
        server.wait_listening(port)
        there = f"nbd://127.0.0.1:{port}"
        test.run("push", ["nbdcopy", path, there], timeout=60)
        same(disk, wanted)
        test.run("pull", ["nbdcopy", there, back], timeout=60)
        same(back, wanted)
        test.demand_sdp(2 * SIZE)


def distcc():
    """The compiler runs as a child of both programs."""
    with YoungTest("distccd and distcc") as test:
        harness.need("distccd", "distcc", "gcc")
        folder, port = test.folder("run"), free_port()
        source = test.file("large.c", 'const char large[] = "' + "".join(
            random.choices("usiw", k=8 << 20)) + '";\n')
        server = test.start("server", [
            "distccd", "--no-detach", "--daemon", "--listen", "127.0.0.1",
            "--port", port, "--allow", "127.0.0.1", "--jobs", 2,
            "--log-stderr", "--enable-tcp-insecure"],
            env={"TMPDIR": folder, "HOME": folder})
        server.wait_listening(port)
        for name, words, usiw in (
                ("here", [], False), ("there", ["distcc"], True)):
            test.run(name, [*words, "gcc", "-O1", "-c", source, "-o",
                            f"{folder}/{name}.o"], usiw=usiw, timeout=60,
                     env={"DISTCC_HOSTS": f"127.0.0.1:{port}",
                          "DISTCC_FALLBACK": "0", "DISTCC_DIR": folder,
                          "TMPDIR": folder})
        same(f"{folder}/there.o", checksum(f"{folder}/here.o"))
        # On a busy machine its few milliseconds may all go by TCP.


# DNS over TCP: many questions on one connection, then all answers.
ASK = r"""
import socket, struct, sys
COUNT = 90


def question(number):
    return (struct.pack("!6H", number, 0x100, 1, 0, 0, 0) +
            b"\4usiw\4test\0" + struct.pack("!2H", 16, 1))


def take(stream, count):
    data = stream.read(count)
    assert len(data) == count, len(data)
    return data


good = 0
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as sock:
    stream = sock.makefile("rb")
    for number in range(COUNT):
        text = question(number)
        sock.sendall(struct.pack("!H", len(text)) + text)
        answer = take(stream, struct.unpack("!H", take(stream, 2))[0])
        good += (answer[:2] == struct.pack("!H", number) and
                 sys.argv[2].encode() in answer)
print(good, "of", COUNT, "answers are good")
"""


def dnsmasq():
    """A process for each connection."""
    with YoungTest("dnsmasq, 90 questions over TCP") as test:
        harness.need("dnsmasq")
        port, text = free_port(), "usiw" * 60
        server = test.start("server", [
            "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null",
            f"--port={port}", "--listen-address=127.0.0.1",
            "--bind-interfaces", "--no-resolv", "--no-hosts", "--pid-file=",
            f"--txt-record=usiw.test,{text}"])
        server.wait_listening(port)
        client = test.run("client", [PYTHON, "-c", ASK, port, text])
        check("90 of 90 answers are good" in client.text(), "bad answers")
        test.demand_sdp(90 * 240, is_handed_over=True)


main([
    ("netcat", netcat), ("mosquitto", mosquitto), ("nbd", nbd),
    ("distcc", distcc), ("dnsmasq", dnsmasq),
])

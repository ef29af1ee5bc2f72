#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A Port Mapper of another implementation names a port that accepts only a
Hello, as in the draft, and no MPA Request: the connection uses TCP, and no
octet is lost.

The script simulates the other host in a separate network namespace.
"""
import os
import socket
import struct
import sys
import threading

import harness
from harness import SLOW, USIW, check
from netns import ADDRESS, Net
from sdp_remote_test import CLIENT, SIZE, Host

HELLO = 32
PM_PORT, PM_ACCEPT, PM_TYPE_SHIFT, PM_AP_PORT = 3935, 1, 4, 4
# Sends and closes before anything about the connection is known.
BRIEF = f"""
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as sock:
    sock.sendall(bytes(range(250)) * 4)
"""


# ---- the other host ----------------------------------------------------------

def answer(mapper, sdp_port):
    """Answers every request with PMAccept; a PMAck needs no answer."""
    while True:
        octets, sender = mapper.recvfrom(64)
        if octets[0] >> PM_TYPE_SHIFT & 3:
            continue
        reply = bytearray(octets)
        reply[0] |= PM_ACCEPT << PM_TYPE_SHIFT
        struct.pack_into("!H", reply, PM_AP_PORT, sdp_port)
        mapper.sendto(reply, sender)


def refuse(listener, how, kept):
    """Anything but a Hello ends the connection, or nothing happens."""
    while True:
        sock, _ = listener.accept()
        hello = sock.recv(HELLO, socket.MSG_WAITALL)
        print("first", hello[:4], flush=True)
        if how == "silent":
            kept.append(sock)
            continue
        if how == "fin":
            sock.recv(4096)
        sock.close()  # with unread octets: a reset


def other_host(how):
    listeners = [socket.create_server((ADDRESS["server"], 0))
                 for _ in range(2)]
    service, sdp = listeners
    mapper = socket.socket(type=socket.SOCK_DGRAM)
    mapper.bind((ADDRESS["server"], PM_PORT))
    for function, words in ((answer, (mapper, sdp.getsockname()[1])),
                            (refuse, (sdp, how, []))):
        threading.Thread(target=function, args=words, daemon=True).start()
    print(service.getsockname()[1], flush=True)
    sock, _ = service.accept()
    got = 0
    try:
        while data := sock.recv(65536):
            got += len(data)
            sock.sendall(data)
    except ConnectionError:
        pass  # the short one does not wait for the answer
    sock.close()
    print("got", got, flush=True)


# ---- the test -----------------------------------------------------------------

def case(how, program, octets, carrier="auto"):
    def run():
        net = Net(1500)
        try:
            with Host(net) as host:
                host.env["USIW_SDP_REPLY_MS"] = "500"
                other = host.start(sys.executable, "-B",
                                   os.path.abspath(__file__),
                                   "--other-host", how)
                port = other.stdout.readline().strip()
                check(port.isdigit(), f"the other host said {port!r}")
                client = host.start(USIW, "run", "--sdp", "--", sys.executable,
                                    "-c", program, ADDRESS["server"], port,
                                    inside=False, carrier=carrier)
                out, _ = client.communicate(timeout=60 * SLOW)
                check(client.returncode == 0, f"the client ended with {out}")
                check("False" not in out, out)
                first = other.stdout.readline().strip()
                check(first == "first b'MPA '", first)
                got = other.stdout.readline().strip()
                check(got == f"got {octets}", got)
                # The short one ends before its library knows.
                pages = host.pages()
                check(sum(page["fallbacks"]["total"] for page in pages) == 1,
                      pages)
                check(sum(page["totals"]["tx_octets"] for page in pages) == 0,
                      pages)
        finally:
            net.close()
    return run


if __name__ == "__main__":
    if sys.argv[1:2] == ["--other-host"]:
        other_host(sys.argv[2])
        sys.exit()
    harness.confine(__file__)
    harness.main([
        (f"{name}-{how}", case(how, program, octets))
        for how in ("fin", "reset", "silent")
        for name, program, octets in (("both-ways", CLIENT, SIZE),
                                      ("brief", BRIEF, 1000))
    ])

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Malformed and cut octets at each step of a start of SDP, by a raw TCP peer:
Hello, MPA Request with and without Hello, the first messages, and, to a client,
the answers. Each is refused with a line in the log, and an honest client beside
gets its octets. (`sdp_hostile_test.py` has peers that start well.) A peer that
does no more than the draft demands gets everything.
"""
import os
import re
import secrets
import socket
import struct
import sys
import threading

import iwarp
from harness import check, wait_until
from iwarp import fpdu, send
from sdp_hostile_test import (
    ACK_IN_RTR, CLIENT, ROUNDS, ROUNDS_BESIDE, TIMEOUT, data, demand_steps,
    hello, sdp_port, start_server)
from sdp_program import SdpTest, main

REVISION, ENHANCED = 2, iwarp.FLAG_CRC | iwarp.FLAG_ENHANCED
LOG = {"USIW_LOG": "info"}


def changed(octets, offset, value):
    """A copy with other octets at that place."""
    return octets[:offset] + value + octets[offset + len(value):]


def hello_ack():
    return bytes.fromhex("0021 00 01 0000001c 00000000 00000000"
                         "0008 00 11 00004000 0008 0008")


def mpa_request(private_data, rev=REVISION, flags=ENHANCED):
    return iwarp.request(private_data, rev=rev, flags=flags)


BY_HELLO = hello() + mpa_request(ACK_IN_RTR)
BY_REQUEST = mpa_request(ACK_IN_RTR + hello())
RTR = fpdu(iwarp.write(0, 0, b""))


def first(message, **kwargs):
    return fpdu(send(message, **kwargs))


# Name: octets, which the peer sends at once. What they lack, it never sends.
HELLOS = {
    "MID of HelloAck": changed(hello(), 3, b"\x01"),
    "MID 0xff": changed(hello(), 3, b"\xff"),
    "Len 31": changed(hello(), 7, b"\x1f"),
    "Len 33": changed(hello(), 7, b"\x21"),
    "Len 2^32-1": changed(hello(), 4, b"\xff" * 4),
    "Bufs 2": changed(hello(), 0, b"\0\2"),
    "Bufs 0": changed(hello(), 0, b"\0\0"),
    "OOB_PRES": changed(hello(), 2, b"\1"),
    "MajV 2": changed(hello(), 19, b"\x12"),
    "MaxAdverts 0": changed(hello(), 16, b"\0\0"),
    "LocIRD 0": changed(hello(), 28, b"\0\0"),
    "LocORD 0": changed(hello(), 30, b"\0\0"),
    "size 36": changed(hello(), 24, b"\0\0\0\x24"),
    "size 2^32-1": changed(hello(), 24, b"\xff" * 4),
    "zeros": bytes(32),
    "ones": b"\xff" * 32,
    "text": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
}
CUTS = {f"{name}, {n} octets": octets[:n]
        for name, octets, lengths in (
            ("Hello", hello(), (1, 3, 4, 16, 31)),
            ("Hello, Request", BY_HELLO, (33, 51, 53)),
            ("Request", BY_REQUEST, (4, 15, 19, 20, 23, 24, 55)))
        for n in lengths}
REQUESTS = {
    "another key": changed(BY_REQUEST, 4, b"JD"),
    "a Reply": changed(BY_REQUEST, 0, iwarp.REPLY_KEY),
    "no Hello": mpa_request(ACK_IN_RTR),
    "no private data": mpa_request(b"", rev=1, flags=iwarp.FLAG_CRC),
    "513 octets of private data": mpa_request(ACK_IN_RTR + hello() + bytes(477)),
    "2^16-1 octets of private data": changed(BY_REQUEST, 18, b"\xff\xff"),
    "Hello of 31 octets": mpa_request(ACK_IN_RTR + hello()[:31]),
    "octets behind Hello": mpa_request(ACK_IN_RTR + hello() + b"\1"),
    "revision 0": changed(BY_REQUEST, 17, b"\0"),
    "revision 3": changed(BY_REQUEST, 17, b"\3"),
    "behind Hello: text": hello() + HELLOS["text"],
    "behind Hello: Hello": hello() + hello(),
    "behind Hello: a Reply": hello() + changed(
        mpa_request(ACK_IN_RTR), 0, iwarp.REPLY_KEY),
} | {f"Request, {name}": mpa_request(ACK_IN_RTR + octets)
     for name, octets in HELLOS.items()}
MESSAGES = {
    "a wrong CRC": fpdu(send(data(0)), bad_crc=True),
    "an FPDU of 0 octets": fpdu(b""),
    "an FPDU of 3 octets": fpdu(b"\0\0\0"),
    "opcode 15": fpdu(iwarp.untagged(15, data(0))),
    "DDP version 0": fpdu(send(data(0), dv=0)),
    "queue 3": fpdu(send(data(0), qn=3)),
    "MSN 2": first(data(0), msn=2),
    "a Write to an unknown STag": fpdu(iwarp.write(0x1234, 0, b"x")),
    "a Read of an unknown STag": fpdu(iwarp.read_request(0x1234, 0, 8)),
    "15 octets": first(data(0)[:15]),
    "Len 15": first(changed(data(0), 7, b"\x0f")),
    "Len 17": first(changed(data(0), 7, b"\x11")),
    "MID 0x10": first(changed(data(0), 3, b"\x10")),
    "HelloAck": first(hello_ack()),
    "Hello": first(hello()),
    "MSeq 2": first(data(2, b"x")),
    "MSeqAck 5": first(changed(data(0, b"x"), 15, b"\5")),
    "DisConn with payload": first(changed(data(0, b"x"), 3, b"\2")),
    "SuspCommAck": first(changed(data(0), 3, b"\x0e")),
    "AbortConn": first(changed(data(0), 3, b"\3")),
}


def rows():
    """Name, octets, and whether the peer ends its stream behind them."""
    for name, octets in (HELLOS | REQUESTS).items():
        yield name, octets, False
    for name, octets in CUTS.items():
        yield name, octets, True
    for start, octets in ("Hello", BY_HELLO), ("Request", BY_REQUEST):
        for name, message in MESSAGES.items():
            yield f"{start}, then {name}", octets + RTR + message, False
        for cut in first(data(0))[:30], b"\xa5" * 500:
            yield f"{start}, then {len(cut)} octets", octets + RTR + cut, True


SAYS = (r"aborted: V|does not speak SDP|the peer refused|broke the protocol|"
        r"message refused|invalid Request")


def demand_end(name, peer):
    """Reads up to the end of the stream. The server's program, which would
    send back what it receives, receives nothing."""
    got = b""
    try:
        while octets := peer.socket.recv(65536):
            got += octets
    except ConnectionResetError:
        pass
    check(not got or got.startswith(iwarp.REPLY_KEY), f"{name}: came {got}")


def demand_line(name, program, port):
    """Waits for a line in the log that says what that port did wrong."""
    line = re.compile(rf"127\.0\.0\.1(:| port ){port}\b.*({SAYS})")
    wait_until(lambda: line.search(program.text()), 20,
               f"{name}: a line about port {port}")


# ---- a server ------------------------------------------------------------------

def to_a_server(carrier):
    """@carrier: of the server (USIW_SDP_CARRIER). rdma_cm takes an MPA Request
    only, and reads nothing else from a connection."""
    name = f"to-a-server-{carrier}"

    def run():
        with SdpTest(name) as test:
            server, port, sdp = start_server(
                test, LOG | {"USIW_SDP_CARRIER": carrier})
            client = [sys.executable, "-c", CLIENT, port]
            beside = test.start("beside", client + [ROUNDS_BESIDE, 0.02])
            beside.wait_text(re.compile("first"))
            held = []
            for row, octets, is_cut in rows():
                if carrier == "cm" and not octets.startswith(b"MPA "):
                    continue
                peer = iwarp.Peer(sdp, TIMEOUT)
                peer.put(octets)
                if is_cut:
                    held.append(iwarp.Peer(sdp, TIMEOUT))
                    held[-1].put(octets)
                    peer.socket.shutdown(socket.SHUT_WR)
                demand_end(row, peer)
                # A peer that leaves early breaks no rule.
                if not is_cut:
                    demand_line(row, server, peer.socket.getsockname()[1])
                peer.close()
            after = test.start("after", client + [ROUNDS, 0])
            for honest in beside, after:
                demand_steps(name, honest)
            check(not test.fallbacks(), f"TCP: {test.fallbacks()}")
            for peer in held:
                peer.close()
    return name, run


# ---- the least that the draft demands ------------------------------------------

LEAST_BUFS, STREAM_SIZE = 3, 300_000
STREAMER = f"""
import socket
listener = socket.create_server(("127.0.0.1", 0))
print("port", listener.getsockname()[1], flush=True)
sock, _ = listener.accept()
sock.sendall(b"x" * {STREAM_SIZE})
sock.recv(1)
"""


def by_the_letter():
    """The server sends first, and the peer only receives. It gives credit when
    its own count says that the server has one left (SDP-45)."""
    with SdpTest("by-the-letter") as test:
        server = test.start("server", [sys.executable, "-c", STREAMER])
        port = int(server.wait_text(re.compile(r"port (\d+)")).group(1))
        peer = iwarp.Peer(wait_until(lambda: sdp_port(server, port), 20,
                                     "the announcement"), TIMEOUT)
        bufs = struct.pack(">H", LEAST_BUFS)
        peer.put(changed(BY_HELLO, 0, bufs) + RTR)
        peer.get(struct.unpack(">18xH", peer.get(20))[0])
        check(peer.get_ulpdu()[18 + 3] == 1, "no HelloAck")
        got = since = given = 0
        while got < STREAM_SIZE:
            message = peer.get_ulpdu()[18:]
            got += len(message) - 16
            since += 1
            check(since < LEAST_BUFS, f"{since} messages without credit")
            if LEAST_BUFS - since == 1:
                update = changed(data(given), 0, bufs)
                peer.put(first(changed(update, 12, message[8:12]),
                               msn=given + 1))
                given, since = given + 1, 0
        peer.close()


# ---- a client ------------------------------------------------------------------

def reply(private_data, rev=REVISION, flags=ENHANCED):
    return changed(mpa_request(private_data, rev, flags), 0, iwarp.REPLY_KEY)


ACK = hello_ack()
ACKS = {
    "MID of Hello": changed(ACK, 3, b"\0"),
    "MID 0x40": changed(ACK, 3, b"\x40"),
    "Len 27": changed(ACK, 7, b"\x1b"),
    "Len 29": changed(ACK, 7, b"\x1d"),
    "27 octets": ACK[:27],
    "29 octets": ACK + b"\1",
    "Bufs 2": changed(ACK, 0, b"\0\2"),
    "OOB_PRES": changed(ACK, 2, b"\1"),
    "MajV 2": changed(ACK, 19, b"\x12"),
    "MaxAdverts 0": changed(ACK, 16, b"\0\0"),
    "LocIRD 0": changed(ACK, 24, b"\0\0"),
    "size 36": changed(ACK, 20, b"\0\0\0\x24"),
    "noise": b"\xa5" * 28,
}
NOTHING, CUT_REPLY, CUT_ACK = "nothing", "a cut Reply", "a cut HelloAck"
BAD_CRC = "HelloAck with a wrong CRC"
# After these the stream ends.
ENDS = {NOTHING, CUT_REPLY, CUT_ACK}
# These break the stream below SDP, which may look like a reset by the peer.
BROKEN = {CUT_ACK, BAD_CRC}
REPLIES = {
    NOTHING: b"",
    "a Request": mpa_request(ACK_IN_RTR),
    "text": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "a rejection": reply(ACK_IN_RTR, flags=ENHANCED | iwarp.FLAG_REJECT),
    "revision 0": reply(ACK_IN_RTR, rev=0),
    CUT_REPLY: reply(ACK_IN_RTR + ACK)[:30],
}
ANSWERS = {"hello": REPLIES | {
    f"HelloAck, {name}": reply(ACK_IN_RTR) + first(octets)
    for name, octets in ACKS.items()
} | {
    "Data before HelloAck": reply(ACK_IN_RTR) + first(data(0)),
    BAD_CRC: reply(ACK_IN_RTR) + fpdu(send(ACK), bad_crc=True),
    CUT_ACK: reply(ACK_IN_RTR) + first(ACK)[:40],
}, "request": REPLIES | {
    f"HelloAck, {name}": reply(ACK_IN_RTR + octets)
    for name, octets in ACKS.items()
}}


def announce(listener, sdp, kind):
    """As the registry does (sdp/pm/registry.c). Return: what stands for it."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.bind(f"\0usiw-sdp/1/{os.fstat(listener.fileno()).st_ino}/"
              f"{sdp.getsockname()[1]}/"
              f"{'cm/' if kind == 'request' else ''}{secrets.randbits(32)}")
    return sock


def echo(listener):
    while True:
        sock, _ = listener.accept()
        while octets := sock.recv(65536):
            sock.sendall(octets)
        sock.close()


def answer(sdp, name, octets):
    """Sends that to the next connection of the SDP port, and waits for its
    end."""
    sock, _ = sdp.accept()
    sock.settimeout(TIMEOUT)
    sock.recv(20, socket.MSG_WAITALL)
    sock.sendall(octets)
    if name in ENDS:
        sock.shutdown(socket.SHUT_WR)
    while sock.recv(65536):
        pass
    sock.close()


def to_a_client(kind):
    """The program gets TCP in place of SDP, at once and with all its octets."""
    name = f"to-a-client-{kind}"

    def run():
        with SdpTest(name) as test:
            service, sdp = (socket.create_server(("127.0.0.1", 0), backlog=64)
                            for _ in range(2))
            sdp.settimeout(TIMEOUT)
            announcement = announce(service, sdp, kind)
            threading.Thread(target=echo, args=(service,), daemon=True).start()
            for row, octets in ANSWERS[kind].items():
                client = test.start(row, [
                    sys.executable, "-c", CLIENT, service.getsockname()[1], 2,
                    0], env=LOG)
                answer(sdp, row, octets)
                client.wait(20, codes=(0, 1) if row in BROKEN else (0,))
                demand_line(row, client, sdp.getsockname()[1])
                wanted = ["worst"] + ["reset by peer"] * (row in BROKEN)
                check(any(text in client.text() for text in wanted),
                      f"{row}: {client.text()}")
            announcement.close()
            found = sum(test.fallbacks().values())
            check(found >= len(ANSWERS[kind].keys() - BROKEN),
                  f"{found} connections used TCP")
    return name, run


if __name__ == "__main__":
    main([to_a_server("auto"), to_a_server("cm"),
          ("by-the-letter", by_the_letter),
          to_a_client("hello"), to_a_client("request")])

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Peers that violate the protocol or end at any time, against a correct
program.

Each attack must get exactly the TERMINATE of doc/spec/ddp-rdmap.md part 6, or
a close. Every receive of the program completes exactly once. Memory outside of
the registered region stays unchanged. The next peer is served.
"""
import functools
import os
import random
import re
import socket
import struct

import harness
import iwarp
from harness import BUILD, Test, check, wait_until
from iwarp import Closed, Peer, fpdu, read_request, send, terminate, write

SERVER = os.path.join(BUILD, "bin", "apps-badpeer-server")
TIMEOUT = 10
RECEIVES = 5
RECV_SIZE, OPEN_SIZE, BIG_SIZE = 128, 4096, 32 << 20
# IBV_WC_WR_FLUSH_ERR, _LOC_LEN_ERR, _LOC_ACCESS_ERR
FLUSHED, TOO_LONG, NO_RIGHT = 5, 1, 8
QP_EVENTS = {1, 2, 3}     # IBV_EVENT_QP_FATAL, _REQ_ERR, _ACCESS_ERR


class Offer:
    def __init__(self, private_data):
        (self.addr, self.big_addr, self.open, self.other_pd, self.local,
         self.read_only, self.write_only, self.big) = struct.unpack_from(
             ">QQIIIIII", private_data)


class Server:
    """The program under test, and its output."""

    def __init__(self, test, env=None):
        self.port = harness.free_port()
        self.program = test.start("server", [SERVER, self.port], env=env)
        self.program.wait_listening(self.port)
        self.checked = set()  # ended connections that were checked

    def lines(self, pattern):
        return re.findall(pattern, self.program.text(), re.M)

    def alive(self):
        check(self.program.process.poll() is None,
              f"the program died: {self.program.process.poll()}")

    def requests(self):
        return len(self.lines(r"^request \d+"))

    def wait_end(self, receives=None):
        """Waits for the end of the next connection (with that many receives,
        if given): (number, {slot: (status, octets)})."""
        def ends():
            self.alive()
            return [end for end in self.lines(
                        r"^end (\d+) (\d+) (\d+) (\d+)$")
                    if end[0] not in self.checked and
                    receives in (None, int(end[1]))]
        number, want, done, guard = wait_until(
            ends, TIMEOUT, "the connection's end")[0]
        self.checked.add(number)
        check(want == done, f"{done} of {want} receives completed")
        check(guard == "1", "memory outside the offered was changed")
        found = self.lines(rf"^wc {number} (\d+) (\d+) (\d+)$")
        check(len(found) == int(want), f"{len(found)} completions")
        return int(number), {int(s): (int(st), int(n)) for s, st, n in found}

    def connect(self, receives=RECEIVES, reads=8, **kwargs):
        peer = Peer(self.port, TIMEOUT * harness.SLOW, **kwargs)
        flags, rev, data = peer.start(bytes([receives, reads]))
        check(flags & iwarp.FLAG_CRC, "the Reply does without CRC")
        check(not flags & iwarp.FLAG_REJECT and rev == 1,
              f"Reply with flags {flags:#x}, rev {rev}")
        return peer, Offer(data)

    def serve_honest_peer(self, rev=1):
        """Sends, a WRITE, a READ, all valid."""
        peer = Peer(self.port, TIMEOUT * harness.SLOW)
        wish = bytes([3, 4])
        if rev == 2:
            flags, got, data = peer.start(
                struct.pack(">HH", 8, 8) + wish, rev=2,
                flags=iwarp.FLAG_CRC | iwarp.FLAG_ENHANCED)
            check(got == 2 and flags & iwarp.FLAG_ENHANCED,
                  f"Reply with flags {flags:#x}, rev {got}")
            ird, ord_ = struct.unpack_from(">HH", data)
            check(ird & 0x3FFF >= 1, f"IRD {ird:#x}, ORD {ord_:#x}")
            data = data[4:]
        else:
            _, _, data = peer.start(wish)
        offer = Offer(data)
        payload = bytes(range(256)) * 4
        peer.put(fpdu(send(b"hello")) +
                 fpdu(write(offer.open, offer.addr + 8, payload)) +
                 fpdu(send(b"x" * 60, msn=2, last=False)) +
                 fpdu(send(b"y" * 68, msn=2, mo=60)) +
                 fpdu(read_request(offer.open, offer.addr + 8, 1024,
                                   sink_stag=77, sink_to=9)))
        want = iwarp.tagged(iwarp.OP_READ_RESPONSE, 77, 9, payload)
        got = peer.get_ulpdu()
        check(got == want, f"Read Response {got.hex()}")
        peer.close()
        _, done = self.wait_end(receives=3)
        check([done[i] for i in range(3)] == [(0, 5), (0, RECV_SIZE),
                                              (FLUSHED, 0)],
              f"completions of an honest peer: {done}")


class Beside:
    """Correct connections to the same program. Each writes its own octets to
    its own part of the memory and reads them back."""

    PART = 256

    def __init__(self, server, count=4):
        self.server = server
        self.peers = [server.connect() for _ in range(count)]
        self.rounds = 0
        self.choose = random.Random(7)

    def go_on(self):
        self.rounds += 1
        for part, (peer, offer) in enumerate(self.peers, 1):
            octets = self.choose.randbytes(self.PART)
            where = offer.addr + part * self.PART
            peer.put(fpdu(write(offer.open, where, octets)) +
                     fpdu(read_request(offer.open, where, self.PART,
                                       msn=self.rounds, sink_stag=part,
                                       sink_to=self.rounds)))
            want = iwarp.tagged(iwarp.OP_READ_RESPONSE, part, self.rounds,
                                octets)
            check(peer.get_ulpdu() == want,
                  f"connection {part} beside: wrong octets")

    def end(self):
        self.go_on()
        for peer, _ in self.peers:
            peer.close()
            _, done = self.server.wait_end()
            check(set(done.values()) == {(FLUSHED, 0)},
                  f"completions of a connection beside: {done}")


# ---- attacks -------------------------------------------------------------

def wild(offer):
    """An STag that does not belong to the program."""
    known = {offer.open, offer.other_pd, offer.local, offer.read_only,
             offer.write_only, offer.big}
    return next(s for s in (0xDEADBEEF, 0xDEADBEF0, 0) if s not in known)


def refused(layer_type, code, segment, read_header=False):
    """An attack by one segment, which the Terminate copies."""
    def attack(offer):
        ulpdu = segment(offer)
        return fpdu(ulpdu), terminate(layer_type, code, ulpdu, read_header)
    return attack


def refused_bare(layer_type, code, octets):
    """An attack below DDP: nothing is copied. A valid FPDU goes first, because
    only then may a Responder send one (MPA-134)."""
    return lambda offer: (fpdu(write(offer.open, offer.addr, b"first")) +
                          octets, terminate(layer_type, code))


TOP = (1 << 64) - 1
EIGHT = b"ABCDEFGH"

# name -> offer -> (octets to send, the Terminate's ULPDU)
ATTACKS = {
    "wrong-crc": refused_bare(0x20, 2, fpdu(send(b"ping"), bad_crc=True)),
    "garbage": refused_bare(0x20, 2, bytes([0, 30]) + b"GET / HTTP/1.1\r\n" *
                            2 + b"Host"),
    "short-segment": refused_bare(0x20, 3, fpdu(b"\x41\x43\0")),
    "empty-segment": refused_bare(0x20, 3, fpdu(b"")),

    "write-wild-stag": refused(0x11, 0, lambda o: write(wild(o), 0, EIGHT)),
    "write-wrong-key": refused(
        0x11, 0, lambda o: write(o.open ^ 1, o.addr, EIGHT)),
    "write-beyond": refused(
        0x11, 1, lambda o: write(o.open, o.addr + OPEN_SIZE - 7, EIGHT)),
    "write-before": refused(
        0x11, 1, lambda o: write(o.open, o.addr - 1, EIGHT)),
    "write-far": refused(0x11, 1, lambda o: write(o.open, 0, EIGHT)),
    "write-wrap": refused(
        0x11, 3, lambda o: write(o.open, TOP - 3, EIGHT)),
    "write-other-pd": refused(
        0x11, 2, lambda o: write(o.other_pd, o.addr, EIGHT)),
    "write-no-right": refused(
        0x11, 0, lambda o: write(o.local, o.addr, EIGHT)),
    "write-read-only": refused(
        0x11, 0, lambda o: write(o.read_only, o.addr, EIGHT)),
    "write-ddp-version": refused(
        0x11, 4, lambda o: write(o.open, o.addr, EIGHT, dv=2)),

    "read-wild-stag": refused(
        0x01, 0, lambda o: read_request(wild(o), 0, 8), True),
    "read-beyond": refused(
        0x01, 1, lambda o: read_request(o.open, o.addr + OPEN_SIZE - 7, 8),
        True),
    "read-no-right": refused(
        0x01, 2, lambda o: read_request(o.write_only, o.addr, 8), True),
    "read-other-pd": refused(
        0x01, 3, lambda o: read_request(o.other_pd, o.addr, 8), True),
    "read-wrap": refused(
        0x01, 4, lambda o: read_request(o.open, TOP - 3, 8), True),
    "read-msn": refused(
        0x12, 3, lambda o: read_request(o.open, o.addr, 8, msn=2)),
    "read-response-unasked": refused(
        0x02, 6, lambda o: iwarp.tagged(iwarp.OP_READ_RESPONSE, o.open,
                                        o.addr, EIGHT)),

    "send-too-long": refused(0x12, 5, lambda o: send(b"x" * (RECV_SIZE + 1))),
    "send-msn": refused(0x12, 3, lambda o: send(b"ping", msn=2)),
    "send-msn-zero": refused(0x12, 3, lambda o: send(b"ping", msn=0)),
    "send-mo": refused(0x12, 4, lambda o: send(b"ping", mo=4)),
    "send-qn": refused(0x12, 1, lambda o: send(b"ping", qn=5)),
    "send-ddp-version": refused(0x12, 6, lambda o: send(b"ping", dv=0)),
    "send-rdmap-version": refused(0x02, 5, lambda o: send(b"ping", rv=0)),
    "send-tagged": refused(
        0x02, 6, lambda o: iwarp.tagged(iwarp.OP_SEND, o.open, o.addr,
                                        EIGHT)),
    "opcode-15": refused(0x02, 6, lambda o: iwarp.untagged(15, b"ping")),
    "invalidate-wild-stag": refused(
        0x01, 9, lambda o: send(b"ping", opcode=iwarp.OP_SEND_INV,
                                reserved=wild(o))),
    "invalidate-other-pd": refused(
        0x01, 9, lambda o: send(b"ping", opcode=iwarp.OP_SEND_INV,
                                reserved=o.other_pd)),
    # RDMAP-74: every connection of the domain may be using it.
    "invalidate-shared-region": refused(
        0x01, 9, lambda o: send(b"ping", opcode=iwarp.OP_SEND_SE_INV,
                                reserved=o.open)),
}


def expect_terminate(peer, want):
    """The next FPDU except Read Responses, then the end."""
    try:
        got = peer.get_ulpdu()
        while got[1] & 0x0F == iwarp.OP_READ_RESPONSE:
            got = peer.get_ulpdu()
    except Closed as e:
        raise harness.Failure(f"no Terminate: {e}") from None
    check(got == want, f"Terminate {got.hex()}, not {want.hex()}")
    check(peer.is_closed(), "octets follow the Terminate")


def check_flush(server, name, done):
    for slot, (status, _) in done.items():
        want = {FLUSHED}
        # The receive of the violating message has another status.
        if slot == 0 and "long" in name:
            want = {TOO_LONG}
        if slot == 0 and "invalidate" in name:
            want = {NO_RIGHT}
        check(status in want, f"receive {slot}: status {status}")
    check(any(int(e) in QP_EVENTS for e in server.lines(r"^async (\d+)$")),
          "no asynchronous event tells of the violation")


def one_attack(name):
    """U-4, U-5, U-6, U-7; T-73: the Terminate arrives completely before
    FIN."""
    with Test(name) as test:
        server = Server(test)
        peer, offer = server.connect()
        octets, want = ATTACKS[name](offer)
        peer.put(octets)
        expect_terminate(peer, want)
        peer.close()
        _, done = server.wait_end()
        check_flush(server, name, done)
        server.serve_honest_peer()


def first_fpdu_is_bad():
    """MPA-134: no valid FPDU arrived, so nothing may be sent, not even a
    Terminate."""
    with Test("the first FPDU is bad") as test:
        server = Server(test)
        for octets in (fpdu(send(b"ping"), bad_crc=True), bytes(200),
                       b"\0\x40" + b"GET / HTTP/1.1\r\n\r\n" * 9):
            peer, _ = server.connect()
            peer.put(octets)
            check(peer.is_closed(), "octets instead of a close")
            peer.close()
            _, done = server.wait_end()
            check_flush(server, "", done)
        server.serve_honest_peer()


def attacks_after_traffic():
    """The same after valid messages, in one burst, on one server."""
    with Test("attacks after traffic") as test:
        server = Server(test)
        for name, attack in ATTACKS.items():
            if "msn" in name:
                continue  # their numbers count from the start
            peer, offer = server.connect()
            octets, want = attack(offer)
            plain = [write(offer.open, offer.addr, bytes(1000)),
                     write(offer.open, offer.addr + 96, bytes(4000))]
            peer.put(b"".join(fpdu(u) for u in plain) + octets)
            expect_terminate(peer, want)
            peer.close()
            server.wait_end()
        server.serve_honest_peer()
        server.serve_honest_peer(rev=2)


def no_receive():
    """D-11: a Send without a receive."""
    with Test("send without receive") as test:
        server = Server(test)
        peer, _ = server.connect(receives=0)
        ulpdu = send(b"ping")
        peer.put(fpdu(ulpdu))
        expect_terminate(peer, terminate(0x12, 2, ulpdu))
        server.wait_end()
        peer, _ = server.connect(receives=2)
        third = send(b"ping", msn=3)
        peer.put(fpdu(send(b"one")) + fpdu(send(b"two", msn=2)) +
                 fpdu(third))
        expect_terminate(peer, terminate(0x12, 2, third))
        _, done = server.wait_end()
        check(done == {0: (0, 3), 1: (0, 3)}, f"completions {done}")
        server.serve_honest_peer()


def too_many_reads():
    """D-14: the responses are blocked, and requests exceed IRD."""
    with Test("more reads than IRD") as test:
        server = Server(test)
        peer, offer = server.connect(reads=2, rcvbuf=65536)
        requests = [read_request(offer.big, offer.big_addr, BIG_SIZE,
                                 msn=n + 1) for n in range(8)]
        peer.put(b"".join(fpdu(r) for r in requests))
        # Read again only after the program has detected it.
        wait_until(lambda: test.counters.sum().get("term_sent", 0) >= 1 or
                   server.lines("^async"), TIMEOUT, "the refusal")
        try:
            got = peer.get_ulpdu()
            while got[1] & 0x0F == iwarp.OP_READ_RESPONSE:
                got = peer.get_ulpdu()
        except Closed as e:
            raise harness.Failure(f"no Terminate: {e}") from None
        check(got in [terminate(0x12, 2, r) for r in requests[2:4]],
              f"Terminate {got.hex()}")
        server.wait_end()
        peer.close()
        server.serve_honest_peer()


def deaths():
    """The peer ends after any octet, by FIN or by reset."""
    choose = random.Random(1)
    with Test("deaths at any octet") as test:
        server = Server(test, env={"USIW_START_MS": "1000"})
        stream = iwarp.request(bytes([RECEIVES, 2]))
        start = len(stream)
        stream += fpdu(send(b"a" * 100)) + fpdu(send(b"b" * 50, msn=2)) + \
            fpdu(send(b"c" * 128, msn=3))
        cuts = list(range(0, start + 1, 3)) + list(
            range(start, len(stream) + 1, 7))
        for cut in cuts:
            for reset in (False, True):
                before = server.requests()
                peer = Peer(server.port, TIMEOUT * harness.SLOW)
                peer.put(stream[:cut])
                # In half of the cases the other side has answered by then.
                if cut >= start and choose.random() < 0.5:
                    peer.get(20)
                peer.close(reset)
                if cut >= start and not reset:
                    server.wait_end()
                elif server.requests() > before:
                    server.wait_end()
        # A reset may overtake the request. A request that did arrive has its
        # end.
        wait_until(lambda: len(server.lines("^end ")) == server.requests(),
                   TIMEOUT, "all ends")
        check(not server.lines("^twice"), "a receive completed twice")
        server.serve_honest_peer()


def garbage_instead_of_mpa():
    with Test("no MPA at all") as test:
        server = Server(test)
        frames = [
            b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            iwarp.REPLY_KEY + bytes(4),
            b"MPA ID Req Framf" + bytes(4),
            iwarp.request(bytes(513)),
            iwarp.REQUEST_KEY + bytes([0x40, 1, 0xFF, 0xFF]) + bytes(600),
            iwarp.request(b"\4\4", rev=9),
            iwarp.request(b"\4\4", rev=0),
            bytes(20),
        ]
        for frame in frames:
            peer = Peer(server.port, TIMEOUT * harness.SLOW)
            peer.put(frame)
            # A Reply that rejects may come first; then the end.
            try:
                reply = peer.get(20)
                check(reply[:16] == iwarp.REPLY_KEY and
                      reply[16] & iwarp.FLAG_REJECT,
                      f"{frame[:30]} is answered by {reply.hex()}")
                peer.get(struct.unpack(">H", reply[18:])[0])
            except Closed:
                pass
            check(peer.is_closed(), f"{frame[:30]}: still open")
            peer.close()
        server.alive()
        check(server.requests() == 0, "the program was told of an unexpected peer")
        server.serve_honest_peer()


def half_open():
    """T-61: a connection that sends nothing is closed after a time limit, and
    the number of such connections is limited."""
    with Test("half-open peers") as test:
        server = Server(test, env={"USIW_START_MS": "1500",
                                   "USIW_HALF_OPEN_MAX": "8"})
        peers = [Peer(server.port, TIMEOUT * harness.SLOW)
                 for _ in range(24)]
        # The newest ones are kept.
        peers[-1].put(iwarp.REQUEST_KEY[:7])
        wait_until(lambda: test.counters.sum().get("half_open_refused", 0)
                   >= 24 - 8, TIMEOUT, "the surplus to be refused")
        for peer in peers:
            check(peer.is_closed(), "still open")
        total = test.counters.sum()
        check(total["start_timeouts"] >= 8,
              f"{total['start_timeouts']} time-outs")
        check(server.requests() == 0, "the program was told of an unexpected peer")
        server.serve_honest_peer()


def many_at_once():
    """Violating and correct peers at the same time."""
    with Test("violators among honest peers") as test:
        server = Server(test)
        peers = [server.connect() for _ in range(20)]
        for number, (peer, offer) in enumerate(peers):
            if number % 2:
                ulpdu = write(wild(offer), 0, EIGHT)
                peer.put(fpdu(ulpdu))
                expect_terminate(peer, terminate(0x11, 0, ulpdu))
        for number, (peer, offer) in enumerate(peers):
            if number % 2 == 0:
                peer.put(fpdu(read_request(offer.open, offer.addr, 64)))
                check(len(peer.get_ulpdu()) == 14 + 64, "no Read Response")
            peer.close()
        for _ in peers:
            server.wait_end()
        server.serve_honest_peer()


def immediate_data_like_a_mark():
    """Immediate Data of a peer whose last octets equal the mark by chance:
    each takes a receive, and so does the Send after it (RFC 7306 6.3)."""
    with Test("immediate data that ends in SEND") as test:
        server = Server(test)
        beside = Beside(server)
        for opcode in (iwarp.OP_IMM, iwarp.OP_IMM_SE):
            for value in (b"\1\2\3\4SEND", b"SENDSEND", bytes(8)):
                peer, _ = server.connect(receives=4)
                peer.put(fpdu(iwarp.untagged(opcode, value)) +
                         fpdu(send(b"ping", msn=2)) +
                         fpdu(iwarp.untagged(opcode, value, msn=3)))
                beside.go_on()
                peer.close()
                _, done = server.wait_end(receives=4)
                check(done == {0: (0, 0), 1: (0, 4), 2: (0, 0),
                               3: (FLUSHED, 0)},
                      f"{opcode} {value}: completions {done}")
        beside.end()


def get_response(peer, stag, size):
    """The octets of a Read Response of any number of segments."""
    got, last = bytearray(), False
    while not last:
        try:
            ulpdu = peer.get_ulpdu()
        except Closed as e:
            raise harness.Failure(f"response {stag}: {len(got)} octets of "
                                  f"{size}, then {e}") from None
        flags, _, *place = struct.unpack_from(">BBIQ", ulpdu)
        check(place == [stag, len(got)],
              f"response {stag}: {place}, not {len(got)}")
        got += ulpdu[14:]
        last = bool(flags & 0x40)
    check(len(got) == size, f"response {stag} has {len(got)} octets of {size}")
    return bytes(got)


def closes_half_and_reads():
    """DDP-45: requests that arrived before the peer's FIN are answered
    completely."""
    with Test("FIN behind many reads") as test:
        server = Server(test)
        beside = Beside(server)
        for count, size in ((50, 4000), (3, 8 << 20)):
            peer, offer = server.connect(reads=50, rcvbuf=65536)
            stag, addr = ((offer.open, offer.addr) if size <= OPEN_SIZE
                          else (offer.big, offer.big_addr))
            peer.put(b"".join(fpdu(read_request(
                stag, addr, size, msn=n + 1, sink_stag=n + 1, sink_to=0))
                for n in range(count)))
            peer.socket.shutdown(socket.SHUT_WR)
            for n in range(count):
                get_response(peer, n + 1, size)
                if not n:
                    beside.go_on()
            check(peer.is_closed(), "octets behind the last response")
            peer.close()
            _, done = server.wait_end(receives=RECEIVES)
            check(set(done.values()) == {(FLUSHED, 0)}, f"{done}")
            beside.go_on()
        beside.end()
        server.serve_honest_peer()


def closes_half_and_does_not_read():
    """usiw does not wait beyond the limit for a peer that closes its direction
    and reads nothing, or only few octets."""
    with Test("FIN, and responses that are not read") as test:
        server = Server(test, env={"USIW_DRAIN_MS": "700"})
        beside = Beside(server)
        slow, quiet = [], []
        for n in range(6):
            peer, offer = server.connect(receives=1, reads=4, rcvbuf=16384)
            peer.put(b"".join(fpdu(read_request(
                offer.big, offer.big_addr, BIG_SIZE, msn=m + 1))
                for m in range(4)))
            peer.socket.shutdown(socket.SHUT_WR)
            (slow if n % 2 else quiet).append(peer)
        ends = []

        def all_ended():
            for peer in slow:
                if len(ends) < 6:
                    try:
                        peer.socket.recv(16)
                    except ConnectionResetError:
                        pass
            beside.go_on()
            while server.lines(r"^end ")[len(ends):]:
                ends.append(server.wait_end(receives=1))
            return len(ends) == 6
        wait_until(all_ended, TIMEOUT, "the ends of peers that do not read")
        for peer in slow + quiet:
            peer.close()
        beside.end()
        server.serve_honest_peer()


def invalidation_beside_others():
    """RDMAP-74: a peer that invalidates regions of the domain ends its own
    connection. Other connections, with Reads and Writes in progress there,
    continue."""
    size = 8 << 20
    with Test("invalidation beside others") as test:
        server = Server(test)
        # It reads nothing yet: most of the answer is still to be read from the
        # region during the attacks.
        reader, offer = server.connect(receives=0, rcvbuf=65536)
        reader.put(fpdu(read_request(offer.big, offer.big_addr, size,
                                     sink_stag=1, sink_to=0)))
        beside = Beside(server)
        beside.go_on()
        for stag in (offer.open, offer.big, offer.read_only,
                     offer.write_only):
            peer, _ = server.connect()
            ulpdu = send(b"ping", opcode=iwarp.OP_SEND_INV, reserved=stag)
            peer.put(fpdu(ulpdu))
            expect_terminate(peer, terminate(0x01, 9, ulpdu))
            peer.close()
            server.wait_end()
            beside.go_on()
        check(get_response(reader, 1, size) ==
              struct.pack(f"<{size // 4}I", *range(size // 4)),
              "the response has other octets than the region")
        reader.close()
        server.wait_end(receives=0)
        beside.end()
        server.serve_honest_peer()


def lengths_that_are_wrong():
    """A length that was changed in transit, and peers that stop sending but
    keep their connection: the former end in time, idle ones stay."""
    with Test("parts of FPDUs") as test:
        server = Server(test, env={"USIW_STALL_MS": "800"})
        beside, idle = Beside(server), Beside(server)
        peers = []
        for n in range(8):
            peer, offer = server.connect(receives=1)
            whole = fpdu(write(offer.open, offer.addr, EIGHT))
            longer = bytes([whole[0] ^ 1 << (n % 4)]) + whole[1:]
            peer.put(whole + (longer if n % 2 else whole[:3 * n + 1]))
            peers.append(peer)
        ended = 0

        def all_ended():
            nonlocal ended
            beside.go_on()
            while len(server.lines(r"^end ")) > ended:
                _, done = server.wait_end(receives=1)
                check_flush(server, "", done)
                ended += 1
            return ended == len(peers)
        wait_until(all_ended, TIMEOUT, "the ends of peers that break off")
        for peer in peers:
            check(peer.get_ulpdu() == terminate(0x02, 7),
                  "no Terminate that names no cause")
            check(peer.is_closed(), "octets follow the Terminate")
            peer.close()
        idle.end()
        beside.end()
        server.serve_honest_peer()


harness.main(
    [(name, functools.partial(one_attack, name)) for name in ATTACKS] +
    [("first-fpdu-bad", first_fpdu_is_bad),
     ("after-traffic", attacks_after_traffic),
     ("no-receive", no_receive),
     ("too-many-reads", too_many_reads),
     ("deaths", deaths),
     ("no-mpa", garbage_instead_of_mpa),
     ("half-open", half_open),
     ("many-at-once", many_at_once),
     ("immediate-like-mark", immediate_data_like_a_mark),
     ("half-close", closes_half_and_reads),
     ("half-close-no-read", closes_half_and_does_not_read),
     ("wrong-lengths", lengths_that_are_wrong),
     ("invalidation-beside-others", invalidation_beside_others)])

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""FPDUs and TCP segments (doc/spec/mpa.md, 12.4): alignment without
disturbance, a path MTU that shrinks during a transfer, and a proxy that cuts
and joins segments at any place.

The script runs itself in a network namespace of its own.
"""
import bisect
import collections
import functools
import os
import random
import signal
import socket
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "apps"))
import harness  # noqa: E402  (after the path is known)
import pcap  # noqa: E402
import perftest  # noqa: E402
import rping  # noqa: E402
from harness import Test, check, wait_until  # noqa: E402

ADDRESS = "127.0.0.1"
READ_ULPDU = 46
HEADERS = 20 + 20 + 12  # IPv4, TCP, timestamps


def run(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    check(done.returncode == 0, f"{' '.join(words)}: {done.stdout.strip()}")


def link(mtu):
    """Makes lo a plain link: segments are sent as TCP cut them."""
    run("ip", "link", "set", "lo", "up", "mtu", str(mtu))
    run("ethtool", "-K", "lo", "tso", "off", "gso", "off", "gro", "off")


# ---- captures -------------------------------------------------------------

class Capture:
    """tcpdump on lo, while the block runs."""

    def __init__(self, test):
        self.path = os.path.join(test.directory, "wire.pcap")

    def __enter__(self):
        self.process = subprocess.Popen(
            ["tcpdump", "-i", "lo", "-s", "0", "-U", "--immediate-mode",
             "-B", "131072", "-w", self.path, "tcp"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        check("listening" in line, f"tcpdump: {line.strip()}")
        return self

    def __exit__(self, kind, value, trace):
        if not kind:
            wait_until(self.has_ended, 10, "the capture to be whole")
        self.process.send_signal(signal.SIGINT)
        said = self.process.communicate(timeout=20)[1]
        if not kind:
            check("\n0 packets dropped" in said, f"tcpdump: {said.strip()}")

    def has_ended(self):
        try:
            return pcap.connections(self.path)
        except pcap.Error:
            return False  # a packet is being written, or the end is missing


class Stream:
    """One direction of a connection without markers: offset and length of
    FPDUs, and offset of segments."""

    def __init__(self):
        self.segments = {}  # stream offset -> longest payload seen there
        self.first = None

    def add(self, sequence, payload):
        self.segments[(sequence - self.first) & 0xffffffff] = payload

    def octets(self):
        whole = bytearray()
        for at in sorted(self.segments):
            payload = self.segments[at]
            check(at <= len(whole), "octets are missing in the capture")
            whole[at:at + len(payload)] = payload
        return bytes(whole)

    def fpdus(self):
        """[(offset, ULPDU_Length)]"""
        whole = self.octets()
        check(whole[:6] == b"MPA ID", "no start frame")
        at = 20 + int.from_bytes(whole[18:20], "big")
        found = []
        while at + 2 <= len(whole):
            length = int.from_bytes(whole[at:at + 2], "big")
            found.append((at, length))
            at += (2 + length + 3) // 4 * 4 + 4
        check(at == len(whole), "the stream ends inside an FPDU")
        return found


def streams(path):
    """The directions with MPA, the largest first."""
    found = collections.defaultdict(Stream)
    for frame in pcap.packets(path):
        segment = pcap.tcp_segment(frame)
        if not segment:
            continue
        source, destination, sequence, flags, payload = segment
        stream = found[source, destination]
        if flags & pcap.SYN:
            stream.first = (sequence + 1) & 0xffffffff
        elif payload and stream.first is not None:
            stream.add(sequence, payload)
    spoken = [s for s in found.values()
              if s.segments.get(0, b"").startswith(b"MPA ID")]
    return sorted(spoken, reverse=True,
                  key=lambda s: sum(len(p) for p in s.segments.values()))


# ---- T-70 -----------------------------------------------------------------

def aligned(mtu, crc):
    """MPA-73, MPA-188: segments of a bulk transfer begin with FPDUs. No
    message has a short last FPDU, which would shift all FPDUs after it
    (MPA-192).

    If TCP accepts only a part because its send buffer is full, the alignment
    shifts, too. That depends on scheduling (MPA-76), so one of several
    transfers must be undisturbed.
    """
    link(mtu)
    emss = mtu - HEADERS
    mulpdu = emss - 6 - emss % 4  # 6.
    shares = []
    with Test(f"alignment, MTU {mtu}, CRC {crc}") as test:
        while not shares or (shares[-1] < 0.9 and len(shares) < 8):
            shares.append(transfer(test, mulpdu, crc))
        print(f"of the segments, begin with an FPDU: {shares}")
        check(shares[-1] >= 0.9, "most segments do not begin with an FPDU")


def transfer(test, mulpdu, crc):
    size = (mulpdu - 14) * ((1 << 20) // mulpdu)
    with Capture(test) as capture:
        perftest.pair(test, "ib_write_bw", ["-s", str(size), "-n", "8"],
                      env={"USIW_CRC": crc, **harness.WIRE})
    stream = streams(capture.path)[0]
    fpdus = stream.fpdus()
    lengths = collections.Counter(n for _, n in fpdus)
    check(lengths.most_common(1)[0][0] == mulpdu,
          f"most ULPDUs have {lengths.most_common(1)[0][0]} octets, "
          f"not MULPDU, {mulpdu}")
    starts = {at for at, _ in fpdus}
    full = [at for at, p in stream.segments.items() if len(p) > mulpdu // 2]
    return round(sum(at in starts for at in full) / len(full), 2)


# ---- short FPDUs ------------------------------------------------------------

def cut_reads(path):
    """(READ Requests of the stream with most of them, those in more than one
    segment)"""
    best = (0, 0)
    for stream in streams(path):
        whole, borders = stream.octets(), sorted(stream.segments)
        reads = [at for at, length in stream.fpdus()
                 if length == READ_ULPDU and whole[at + 3] & 15 == 1]
        cut = sum(bisect.bisect(borders, at) !=
                  bisect.bisect(borders, at + 6 + READ_ULPDU - 1)
                  for at in reads)
        best = max(best, (len(reads), cut))
    return best


def reads_are_whole(options):
    """MPA-73, MPA-74: no READ Request is divided between two segments,
    whatever is queued while TCP sends. Linux's siw fails if one is
    (kernel-lab/FINDINGS.md)."""
    link(1500)
    with Test(f"READ Requests, {options}") as test:
        with Capture(test) as capture:
            perftest.pair(test, "ib_read_bw",
                          ["-s", "64", "-n", "3840", *options],
                          env=harness.WIRE)
        count, cut = cut_reads(capture.path)
        print(f"{count} READ Requests, {cut} in two segments")
        check(count >= 3840, "not all READ Requests are in the capture")
        check(not cut, f"{cut} READ Requests lie in two segments")


# ---- T-71 -----------------------------------------------------------------

def mtu_shrinks(markers):
    """MPA-67: MULPDU follows EMSS, and the data stays right."""
    link(1500)
    size, count = 60000, 6000
    env = {"USIW_CRC": "on", "USIW_MARKERS": markers, **harness.WIRE}
    with Test(f"MTU shrinks, markers {markers}") as test:
        port = harness.free_port()
        common = ["-V", "-C", count, "-S", size, "-p", port, "-a", ADDRESS]
        server = test.start("server", ["rping", "-s", *common], env=env)
        server.wait_listening(port)
        client = test.start("client", ["rping", "-c", *common], env=env)

        def moved():
            return test.counters.sum().get("tx_payload", 0)

        wait_until(lambda: moved() > count * size // 8, 60, "some traffic")
        run("ip", "link", "set", "lo", "mtu", "700")
        at = moved()
        check(at < 2 * count * size, "all was over before the MTU changed")
        # A stream reads its EMSS at each 4096th pass, and has three or more of
        # them for each round of rping, which moves the size twice.
        wait_until(lambda: moved() > at + count * size, 60, "half of it")
        before = test.counters.sum()
        with Tail(test) as tail:
            wait_until(lambda: tail.longest and moved() >
                       before["tx_payload"] + 20 * size, 60, "still more")
        rping.finish(server, client, 100)
        check(tail.longest > 0, "nothing was captured")
        # segments after the smaller MTU, without retransmissions of old FPDUs
        fpdu = size / tail_fpdus(before, test.counters.sum(), size)
        print(f"segments up to {tail.longest} octets, {fpdu:.0f} octets of "
              "payload in an FPDU")
        check(tail.longest <= 700 - 40, "segments are longer than the MTU")
        check(fpdu < 700, "FPDUs are longer than the new MTU")


def tail_fpdus(before, after, size):
    """The average number of FPDUs for `size` octets of payload."""
    octets = after["tx_payload"] - before["tx_payload"]
    fpdus = after["tx_fpdu"] - before["tx_fpdu"]
    return fpdus * size / octets


class Tail:
    """Reads the segments on lo, while the block runs."""

    def __init__(self, test):
        self.longest = 0
        self.is_over = False

    def __enter__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                    socket.htons(0x0800))
        self.socket.settimeout(0.1)
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self

    def look(self):
        while not self.is_over:
            try:
                frame = self.socket.recv(65536)
            except socket.timeout:
                continue
            segment = pcap.tcp_segment(frame)
            if segment:
                self.longest = max(self.longest, len(segment[4]))

    def __exit__(self, kind, value, trace):
        self.is_over = True
        self.thread.join()
        self.socket.close()


# ---- T-72 -----------------------------------------------------------------

class Relay:
    """Two TCP connections. Octets are forwarded between them in pieces of 1 to
    1460."""

    def __init__(self, port):
        self.port = port
        self.pieces = 0
        self.listener = socket.create_server((ADDRESS, 0))
        self.random = random.Random(72)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection((ADDRESS, self.port))
            for s in (client, server):
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for pair in ((client, server), (server, client)):
                threading.Thread(target=self.carry, args=pair,
                                 daemon=True).start()

    def carry(self, source, destination):
        held = b""
        try:
            while True:
                got = source.recv(self.random.choice((1, 7, 100, 65536)))
                if not got:
                    break
                held += got
                while held:
                    n = self.random.randint(1, 1460)
                    destination.sendall(held[:n])
                    held = held[n:]
                    self.pieces += 1
            destination.shutdown(socket.SHUT_WR)
        except OSError:
            source.close()
            destination.close()


def relayed(markers, crc):
    """MPA-77, MPA-88: boundaries of segments have no meaning."""
    link(65536)
    size, count = 5001, 60
    env = {"USIW_CRC": crc, "USIW_MARKERS": markers, **harness.WIRE}
    with Test(f"relay, markers {markers}, CRC {crc}") as test:
        port = harness.free_port()
        common = ["-V", "-C", count, "-S", size, "-a", ADDRESS, "-p"]
        server = test.start("server", ["rping", "-s", *common, port],
                            env=env)
        server.wait_listening(port)
        relay = Relay(port)
        client = test.start("client", ["rping", "-c", *common,
                                       relay.listener.getsockname()[1]],
                            env=env)
        rping.finish(server, client)
        test.demand_payload({}, 2 * count * size)
        check(relay.pieces > 2 * count * size // 1460,
              f"{relay.pieces} pieces: it did not go through the relay")
        relay.listener.close()


# ---- all tests ------------------------------------------------------------

harness.confine(__file__, "ethtool", "tcpdump", "rping", "ib_write_bw",
                is_root=False)
harness.main(
    [(f"T-70-crc-{crc}", functools.partial(aligned, 1500, crc))
     for crc in ("on", "off")] +
    [("reads-single", functools.partial(reads_are_whole, ())),
     ("reads-chained", functools.partial(reads_are_whole, ("-l", "64")))] +
    [(f"T-71-markers-{markers}", functools.partial(mtu_shrinks, markers))
     for markers in ("off", "on")] +
    [(f"T-72-markers-{markers}-crc-{crc}",
      functools.partial(relayed, markers, crc))
     for markers in ("off", "on") for crc in ("on", "off")])

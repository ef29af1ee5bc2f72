# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Reads pcap files and puts the octets of their TCP connections in order.

It supports what the captures of this project have: Ethernet, IPv4 and IPv6
without extension headers, and connections with their SYN in the file.
"""
import struct

FIN, SYN, RST = 0x01, 0x02, 0x04
ETHERTYPE_IPV4, ETHERTYPE_IPV6 = 0x0800, 0x86dd
IPPROTO_TCP = 6
LINKTYPE_ETHERNET = 1


class Error(Exception):
    """The file is not as expected; the text says how."""


def packets(path):
    """The frames of a pcap file, each whole."""
    with open(path, "rb") as stream:
        data = stream.read()
    order = {b"\xd4\xc3\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">",
             b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\x3c\x4d": ">"}.get(data[:4])
    if not order or len(data) < 24:
        raise Error(f"{path}: no pcap file")
    link = struct.unpack_from(order + "I", data, 20)[0]
    if link != LINKTYPE_ETHERNET:
        raise Error(f"{path}: link type {link}")
    at = 24
    while at < len(data):
        if len(data) - at < 16:
            raise Error(f"{path}: cut off at octet {at}")
        kept, size = struct.unpack_from(order + "II", data, at + 8)
        at += 16
        if kept != size or len(data) - at < kept:
            raise Error(f"{path}: the packet at octet {at} is cut off")
        yield data[at:at + kept]
        at += kept


def tcp_segment(frame):
    """(source, destination, sequence number, flags, payload), or None."""
    ethertype = struct.unpack_from(">H", frame, 12)[0]
    ip = frame[14:]
    if ethertype == ETHERTYPE_IPV4:
        head, total = (ip[0] & 15) * 4, struct.unpack_from(">H", ip, 2)[0]
        protocol, source, destination = ip[9], ip[12:16], ip[16:20]
        # Segmentation offload leaves a length of 0 for the driver to fill in.
        tcp = ip[head:total or len(ip)]
    elif ethertype == ETHERTYPE_IPV6:
        size, protocol = struct.unpack_from(">HB", ip, 4)
        source, destination = ip[8:24], ip[24:40]
        tcp = ip[40:40 + size if size else len(ip)]
    else:
        return None
    if protocol != IPPROTO_TCP:
        return None
    ports = struct.unpack_from(">HH", tcp)
    return ((source, ports[0]), (destination, ports[1]),
            struct.unpack_from(">I", tcp, 4)[0], tcp[13],
            tcp[(tcp[12] >> 4) * 4:])


class Direction:
    """One sender's octets, in order, each once."""

    def __init__(self, first):
        self.next = first  # sequence number, 32 bits
        self.early = {}    # offset from the first octet -> payload
        self.done = 0      # octets delivered
        self.fin_at = None
        self.is_ended = False

    def take(self, sequence, payload, is_fin):
        """What becomes deliverable: (octets, whether the stream ended)."""
        ahead = (sequence - self.next) & 0xffffffff
        if ahead >= 1 << 31:
            ahead -= 1 << 32
        at = self.done + ahead
        if is_fin:
            self.fin_at = at + len(payload)
        if payload:
            self.early[at] = max(self.early.get(at, b""), payload, key=len)
        out = b""
        while True:
            ready = [a for a in self.early if a <= self.done + len(out)]
            if not ready:
                break
            for a in ready:
                out += self.early.pop(a)[self.done + len(out) - a:]
        self.done += len(out)
        self.next = (self.next + len(out)) & 0xffffffff
        ends = self.fin_at == self.done and not self.is_ended
        self.is_ended = self.is_ended or ends
        return out, ends


class Connection:
    """What crossed the wire, in order: steps of (kind, is_active, octets).

    Kind is "data", "fin" or "rst"; is_active: the side that sent the SYN.

    frames: (number of the packet in the file, from 1, is_active, offset of its
    payload in that side's octets, length) of each packet that came in order.
    """

    def __init__(self, active, sequence):
        self.active = active
        self.sides = {True: Direction((sequence + 1) & 0xffffffff)}
        self.steps = []
        self.frames = []

    def add(self, number, is_active, sequence, flags, payload):
        if flags & SYN:
            if is_active not in self.sides:
                self.sides[is_active] = Direction((sequence + 1) & 0xffffffff)
            return
        if is_active not in self.sides:
            return
        side = self.sides[is_active]
        if payload and sequence == side.next:
            self.frames.append((number, is_active, side.done, len(payload)))
        out, ends = side.take(sequence, payload, flags & FIN)
        if out:
            self.steps.append(("data", is_active, out))
        if ends:
            self.steps.append(("fin", is_active, b""))
        if flags & RST:
            self.steps.append(("rst", is_active, b""))

    def check(self, name):
        for side in self.sides.values():
            if side.early:
                raise Error(f"{name}: octets are missing in the capture")


def connections(path):
    """The TCP connections of a file, in the order of their SYNs.

    A connection that was refused by a RST is left out.
    """
    found, live = [], {}
    for number, frame in enumerate(packets(path), 1):
        segment = tcp_segment(frame)
        if not segment:
            continue
        source, destination, sequence, flags, payload = segment
        key = frozenset((source, destination))
        is_opening = flags & SYN and not flags & 0x10
        if is_opening and (key not in live or live[key].steps):
            live[key] = Connection(source, sequence)
            found.append(live[key])
        if key not in live:
            continue
        is_active = source == live[key].active
        if flags & RST and is_active not in live[key].sides:
            found.remove(live.pop(key))
        else:
            live[key].add(number, is_active, sequence, flags, payload)
    for number, connection in enumerate(found):
        connection.check(f"{path}, connection {number}")
    return found

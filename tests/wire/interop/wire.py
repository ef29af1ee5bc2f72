# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The MPA start frames in a capture: what the two stacks agreed on."""
import struct

PCAP_MAGIC = 0xa1b2c3d4  # in little-endian order, microseconds
# Only packets whose payload begins "MPA ".
FILTER = "tcp[((tcp[12] & 0xf0) >> 2):4] = 0x4d504120"
FLAG_MARKERS, FLAG_CRC, FLAG_REJECT, FLAG_ENHANCED = 0x80, 0x40, 0x20, 0x10


class Start:
    """A start frame as sent."""

    def __init__(self, source, target, octets):
        self.source, self.target = source, target
        self.is_reply = octets[:16] == b"MPA ID Rep Frame"
        flags, self.rev, self.pd_len = struct.unpack_from(">BBH", octets, 16)
        self.crc = bool(flags & FLAG_CRC)
        self.markers = bool(flags & FLAG_MARKERS)
        self.rejected = bool(flags & FLAG_REJECT)
        self.enhanced = self.rev == 2 and bool(flags & FLAG_ENHANCED)
        self.ird = self.ord = None
        self.p2p = False
        if self.enhanced and len(octets) >= 24:
            first, second = struct.unpack_from(">HH", octets, 20)
            self.ird, self.ord = first & 0x3fff, second & 0x3fff
            self.p2p = bool(first & 0x8000)

    def __str__(self):
        words = ["Reply" if self.is_reply else "Request", f"rev {self.rev}"]
        words += [w for w in ("crc", "markers", "rejected", "enhanced", "p2p")
                  if getattr(self, w)]
        if self.enhanced:
            words.append(f"ird {self.ird} ord {self.ord}")
        return " ".join(words)


def ip_packets(octets):
    """IPv4 packets of a little-endian pcap file of Ethernet frames."""
    if len(octets) < 24:
        return
    magic, = struct.unpack_from("<I", octets)
    if magic != PCAP_MAGIC:
        raise ValueError(f"not a capture: magic {magic:#x}")
    at = 24
    while at + 16 <= len(octets):
        length, = struct.unpack_from("<I", octets, at + 8)
        frame = octets[at + 16:at + 16 + length]
        at += 16 + length
        if len(frame) == length and frame[12:14] == b"\x08\x00":
            yield frame[14:]


def starts(octets, port):
    """Start frames of the connections to that port, once each, in order."""
    found, seen = [], set()
    for packet in ip_packets(octets):
        head = (packet[0] & 15) * 4
        source, target, sequence = struct.unpack_from(">HHI", packet, head)
        data = packet[head + (packet[head + 12] >> 4) * 4:]
        if port not in (source, target) or len(data) < 20 or \
                (source, target, sequence) in seen:
            continue
        seen.add((source, target, sequence))
        found.append(Start(source, target, data))
    return found

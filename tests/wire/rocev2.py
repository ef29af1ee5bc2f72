# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A second decoder of UD packets in RoCEv2's format, which shares no code with
libsiw-ib. It reads pcap files of Ethernet frames, and says what is wrong with a
packet."""
import collections
import ipaddress
import struct
import zlib

PORT = 4791
PCAP_MAGIC = 0xa1b2c3d4
ETHERTYPE_IPV4, ETHERTYPE_IPV6 = 0x0800, 0x86dd
UDP = 17
UD_SEND, UD_SEND_IMM = 0x64, 0x65
GSI, MULTICAST = 1, 0xffffff
PSNS = 1 << 24


class Wrong(Exception):
    pass


def frames(path):
    """The frames of a little-endian pcap file; of each, what was captured."""
    with open(path, "rb") as f:
        octets = f.read()
    magic, = struct.unpack_from("<I", octets)
    link, = struct.unpack_from("<I", octets, 20)
    if magic != PCAP_MAGIC or link != 1:
        raise Wrong(f"not a capture of Ethernet: {magic:#x}, {link}")
    at = 24
    while at + 16 <= len(octets):
        length, whole = struct.unpack_from("<II", octets, at + 8)
        frame = octets[at + 16:at + 16 + length]
        at += 16 + length
        if len(frame) == length:
            if length < whole:
                raise Wrong("a frame that is cut short")
            yield frame


def demand(condition, text):
    if not condition:
        raise Wrong(text)


def sum16(octets):
    total = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total


class Packet:
    """One UD packet. What InfiniBand and RoCEv2 demand of it is checked."""

    def __init__(self, frame):
        kind, = struct.unpack_from(">H", frame, 12)
        ip = frame[14:]
        if kind == ETHERTYPE_IPV4:
            covered, udp = self.read_ipv4(ip)
        else:
            covered, udp = self.read_ipv6(ip)
        self.port, target, length = struct.unpack_from(">HHH", udp)
        demand(target == PORT and length == len(udp), "UDP: port or length")
        self.read_bth(udp[8:])
        covered += udp[:6] + b"\xff\xff" + udp[8:12] + b"\xff" + udp[13:-4]
        self.icrc, = struct.unpack("<I", udp[-4:])
        demand(self.icrc == zlib.crc32(b"\xff" * 8 + covered), "ICRC")

    def read_ipv4(self, ip):
        length, self.id, flags = struct.unpack_from(">HHH", ip, 2)
        demand(ip[0] == 0x45, "IPv4: version or options")
        demand(20 < length <= len(ip), "IPv4: total length")
        demand(flags == 0x4000, "IPv4: no DF, or a fragment")
        demand(sum16(ip[:20]) == 0xffff, "IPv4: checksum")
        self.source, self.target = (str(ipaddress.ip_address(ip[n:n + 4]))
                                    for n in (12, 16))
        self.tos, self.ttl = ip[1], ip[8]
        masked = bytearray(ip[:20])
        masked[1] = masked[8] = masked[10] = masked[11] = 0xff
        return bytes(masked), ip[20:length]

    def read_ipv6(self, ip):
        length, following, self.ttl = struct.unpack_from(">HBB", ip, 4)
        demand(ip[0] >> 4 == 6 and following == UDP, "IPv6: version or UDP")
        demand(length <= len(ip) - 40, "IPv6: payload length")
        self.source, self.target = (str(ipaddress.ip_address(ip[n:n + 16]))
                                    for n in (8, 24))
        self.tos = (ip[0] & 15) << 4 | ip[1] >> 4
        return b"\x6f\xff\xff\xff" + ip[4:7] + b"\xff" + ip[8:40], \
            ip[40:40 + length]

    def read_bth(self, data):
        demand(len(data) >= 24, "shorter than BTH, DETH and ICRC")
        self.opcode, bits, self.pkey, target, rest = struct.unpack_from(
            ">BBHII", data)
        demand(self.opcode in (UD_SEND, UD_SEND_IMM),
               f"opcode {self.opcode:#x}")
        self.solicited = bool(bits & 0x80)
        pad = bits >> 4 & 3
        demand(bits & 15 == 0, "transport version")
        demand(self.pkey == 0xffff, f"P_Key {self.pkey:#x}")
        demand(target >> 24 == 0, "BTH: reserved octet or ECN")
        self.qpn, self.psn = target & 0xffffff, rest & 0xffffff
        demand(ipaddress.ip_address(self.target).is_multicast ==
               (self.qpn == MULTICAST), "the QP number of groups")
        # rdma_rxe sets A in packets of QP 1.
        demand(rest >> 24 == 0 or self.qpn == GSI, "BTH: A or reserved bits")
        self.qkey, source = struct.unpack_from(">II", data, 12)
        demand(source >> 24 == 0, "DETH: reserved octet")
        self.source_qpn = source
        at = 20
        self.imm = None
        if self.opcode == UD_SEND_IMM:
            demand(len(data) >= 28, "shorter than ImmDt")
            self.imm, = struct.unpack_from(">I", data, 20)
            at = 24
        body = data[at:-4]
        demand(len(body) % 4 == 0 and pad <= len(body), "pad count")
        self.payload = body[:len(body) - pad]
        demand(not any(body[len(body) - pad:]), "pad that is not zero")

    def __str__(self):
        return (f"{self.source} QP {self.source_qpn:#x} to {self.target} QP "
                f"{self.qpn:#x} PSN {self.psn:#x}: {len(self.payload)} octets"
                + ("" if self.imm is None else f", immediate {self.imm:#x}"))


def is_ours(frame):
    """Is it a packet of UDP to the port?"""
    kind, = struct.unpack_from(">H", frame, 12)
    if kind == ETHERTYPE_IPV4:
        at, protocol = 14 + 4 * (frame[14] & 15), frame[14 + 9]
    elif kind == ETHERTYPE_IPV6:
        at, protocol = 54, frame[14 + 6]
    else:
        return False
    return protocol == UDP and len(frame) >= at + 8 and \
        struct.unpack_from(">H", frame, at + 2)[0] == PORT


def read(path):
    """All packets of the capture. Raises Wrong for the first bad one."""
    found = []
    for number, frame in enumerate(frames(path), 1):
        if not is_ours(frame):
            continue
        try:
            found.append(Packet(frame))
        except (Wrong, struct.error) as e:
            raise Wrong(f"frame {number}: {e}: {frame.hex()}") from None
    return found


def by_sender(packets):
    """(address, QP number) -> its packets, in order."""
    found = collections.defaultdict(list)
    for packet in packets:
        found[packet.source, packet.source_qpn].append(packet)
    return found


def gaps(packets):
    """Places where the PSN of one sender does not count up by one."""
    return [f"{then} after PSN {first.psn:#x}"
            for mine in by_sender(packets).values()
            for first, then in zip(mine, mine[1:])
            if then.psn != (first.psn + 1) % PSNS]

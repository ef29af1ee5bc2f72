# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""UD packets in RoCEv2's format as Wireshark's InfiniBand dissector reads
them."""
import re

import rocev2
import tshark
from harness import check

ASKED = ("frame", "eth", "ethertype", "ip", "ipv6", "udp", "data",
         "infiniband")
ICRC = "infiniband.invariant.crc"
OF_PACKET = {
    "infiniband.bth.opcode": lambda p: p.opcode,
    "infiniband.bth.se": lambda p: int(p.solicited),
    "infiniband.bth.p_key": lambda p: p.pkey,
    "infiniband.bth.destqp": lambda p: p.qpn,
    "infiniband.bth.psn": lambda p: p.psn,
    "infiniband.deth.q_key": lambda p: p.qkey,
    "infiniband.deth.srcqp": lambda p: p.source_qpn,
    "infiniband.immdt": lambda p: p.imm,
    # In the order of the wire.
    ICRC: lambda p: int.from_bytes(
        p.icrc.to_bytes(4, "little"), "big"),
}
# Notes tell of what is rare, as a hop limit of 1, which ibv_ud_pingpong asks for.
COMPLAINTS = re.compile(r".*(?:Malformed|Expert Info \((?:Warn|Error)).*")
# A payload that begins as EtherType and two octets of zero is shown as what it
# would be then.
GUESS = re.compile(r"Protocols in frame: .*:infiniband:ethertype")


def number(name, text):
    if text in ("True", "False"):
        return int(text == "True")
    if not text:
        return None
    return int(text, 16 if name == "infiniband.immdt" else 0)


def check_all(path, packets, may_lack_sums=False):
    """tshark complains about none of the packets of the file, and reads in
    them what rocev2.py reads. may_lack_sums: rdma_rxe sends checksum 0 over
    IPv6, too."""
    option = f"udp.ignore_ipv6_zero_checksum:{str(may_lack_sums).upper()}"
    shown = tshark.run(ASKED, "-r", path, "-V", "-o", option)
    parts = re.split(r"^Frame ", shown, flags=re.M)[1:]
    check(len(parts) == len(packets), "other packets in the capture")
    for part in parts:
        found = COMPLAINTS.search(part)
        check(not found or GUESS.search(part),
              f"tshark: packet {part.split(':')[0]}: "
              f"{found and found[0].strip()}")
    words = [w for name in OF_PACKET for w in ("-e", name)]
    rows = tshark.run(ASKED, "-r", path, "-Y", "infiniband", "-T", "fields",
                      "-E", "separator=|", "-E", "occurrence=f", *words).splitlines()
    check(len(rows) == len(packets),
          f"tshark finds {len(rows)} packets, rocev2.py {len(packets)}")
    for part, row, packet in zip(parts, rows, packets):
        said = {name: number(name, text)
                for name, text in zip(OF_PACKET, row.split("|"))}
        wanted = {name: of(packet) for name, of in OF_PACKET.items()}
        if GUESS.search(part):
            wanted[ICRC] = said[ICRC]  # tshark may not show it then
        check(said == wanted, f"tshark reads {said}, it is {wanted}")

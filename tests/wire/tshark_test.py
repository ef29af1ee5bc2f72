#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""usiw's packets as other programs read them: captured with tcpdump in a
network namespace, decoded by Wireshark's iWARP dissectors and by decode.py. No
packet may be malformed, every CRC must be right, and both must find the same
FPDUs.

tshark 4.0 decodes only some segments with markers. It assumes that a TCP
segment contains one FPDU. If an FPDU ends where a marker is due, tshark counts
that marker as part of this FPDU, although it belongs to the next one (RFC 5044
4.3). With markers tshark is used for the other segments only; decode.py checks
all of them.
"""
import collections
import functools
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "apps"))

import decode  # noqa: E402
import harness  # noqa: E402
import pcap  # noqa: E402
import perftest  # noqa: E402
import rping  # noqa: E402
import tshark  # noqa: E402
from harness import Test, check  # noqa: E402

ADDRESS = "127.0.0.1"
PINGS, PING_SIZE = 20, 5000
# With this MTU an FPDU of rping is one segment.
LONE_MTU = 65536
# The output format of tshark for iWARP.
COUNTED = {
    "fpdu": re.compile(r"^ +ULPDU length: ", re.M),
    "good": re.compile(r"\(Good CRC32\)"),
    "bad": re.compile(r"\(Bad CRC32"),
    "unchecked": re.compile(r"^ +CRC: 0x", re.M),
    "malformed": re.compile(r"Malformed Packet"),
}
ULPDU_LENGTH = re.compile(r"^ +ULPDU length: (\d+)", re.M)
MARKER_POINTER = re.compile(r"^ +FPDU back pointer: (\d+)", re.M)
ASKED = ("frame", "eth", "ethertype", "ip", "tcp", "data", "iwarp_mpa",
         "iwarp_ddp_rdmap")


class Capture(tshark.Capture):
    """All of TCP on lo, while the block runs."""

    def __init__(self, test):
        super().__init__(test, "lo", "tcp")

    def is_whole(self):
        """Every connection in the file has ended, both ways."""
        try:
            found = pcap.connections(self.path)
        except pcap.Error:
            return False  # a packet is being written
        return found and all(
            sum(k != "data" for k, _, _ in c.steps) >= 2 or
            any(k == "rst" for k, _, _ in c.steps) for c in found)


def tshark_lines(path):
    """The lines of tshark for the file."""
    return tshark.run(
        ASKED, "-r", path, "-O", "iwarp_mpa,iwarp_ddp_rdmap",
        # Two processors may hand packets to the capture in any order.
        "-o", "tcp.reassemble_out_of_order:TRUE")


def count(text):
    return {name: len(pattern.findall(text))
            for name, pattern in COUNTED.items()}


def our_count(path, has_markers):
    """FPDUs by decode.py, which must find nothing wrong; in all, and by
    kind."""
    fpdus, kinds = 0, collections.Counter()
    for number, connection in enumerate(pcap.connections(path)):
        story = decode.Story(connection)
        lines = story.lines["R"] + story.lines["I"]
        said = f"markers={'11' if has_markers else '00'}"
        check(sum(said in line for line in lines) == 2,
              f"connection {number}: not '{said}'")
        for line in lines:
            check(not line.startswith(("fault", "terminate")),
                  f"connection {number}: {line}")
        check(lines.count("closed") == 2,
              f"connection {number} was not closed both ways")
        kinds.update(line.split()[1] for line in lines
                     if line.startswith("segment"))
        fpdus += sum(line.startswith(("segment", "read ")) for line in lines)
        # Empty Writes: the first FPDU, and those to a peer that sends nothing.
        fpdus += sum(line.endswith("rtr=1") for line in story.lines["R"])
        fpdus += sum(line.startswith("message op=0 len=0 ") for line in lines)
    return fpdus, kinds


def traffic(test, env):
    rping.pair(test, PINGS, PING_SIZE, ADDRESS, listen=ADDRESS, env=env)
    for program, size, count in (("ib_write_bw", 100000, 5),
                                 ("ib_send_bw", 3000, 20),
                                 ("ib_read_bw", 65536, 5)):
        perftest.pair(test, program, ["-s", str(size), "-n", str(count)],
                      env=env)


def over(mtu, env):
    subprocess.run(["ip", "link", "set", "lo", "up", "mtu", str(mtu)],
                   check=True)
    for attempt in range(3):
        try:
            return once(mtu, env)
        except harness.Failure as e:
            # On a busy machine the capture may lack a packet: nothing to
            # check.
            if "capture to be whole" not in str(e) or attempt == 2:
                raise


def once(mtu, env):
    with Test(f"MTU {mtu} {env}") as test:
        with Capture(test) as capture:
            traffic(test, env)
        text = tshark_lines(capture.path)
        print(f"tshark: {count(text)}")
        if env.get("USIW_MARKERS"):
            check_marked(text, capture.path, env, mtu == LONE_MTU)
        else:
            check_found(count(text), capture.path, env)


def check_found(found, path, env):
    check(found["malformed"] == 0, f"{found['malformed']} malformed packets")
    check(found["bad"] == 0, f"{found['bad']} bad CRCs")
    if env.get("USIW_CRC") == "off":
        check(found["good"] == 0, "CRCs, although they are off")
        check(found["unchecked"] == found["fpdu"], "FPDUs without CRC field")
    else:
        check(found["good"] == found["fpdu"],
              f"{found['good']} good CRCs in {found['fpdu']} FPDUs")
    fpdus, kinds = our_count(path, False)
    check(set(kinds) == {"op=0", "op=2", "op=3"},
          f"no Write, Read Response or Send: {kinds}")
    check(found["fpdu"] == fpdus,
          f"tshark finds {found['fpdu']} FPDUs, decode.py {fpdus}")


def lone_fpdus(connection):
    """Packet number -> (length of the ULPDU, pointers of its markers), for the
    segments that contain exactly one FPDU, and that tshark can read."""
    story, found = decode.Story(connection), {}
    has_crc = story.request.has(decode.C) or story.reply.has(decode.C)
    for is_active, sender, frame in ((True, story.active, story.request),
                                     (False, story.passive, story.reply)):
        octets = sender.octets[frame.size:]
        ranges = {(begin, end): len(ulpdu) for ulpdu, begin, end in
                  decode.fpdus(octets, has_crc, True)}
        for number, side, at, size in connection.frames:
            begin = at - frame.size
            end = begin + size
            if side != is_active or (begin, end) not in ranges or \
                    end % 512 == 0 or (begin and begin % 512 == 0):
                continue
            places = range((begin + 511) // 512 * 512, end, 512)
            found[number] = (ranges[begin, end],
                             [int.from_bytes(octets[p + 2:p + 4], "big")
                              for p in places])
    return found


def check_marked(text, path, env, are_lone):
    _, kinds = our_count(path, True)
    check(set(kinds) == {"op=0", "op=2", "op=3"},
          f"no Write, Read Response or Send: {kinds}")
    if not are_lone:
        return
    frames = {int(part.split(":")[0]): part for part in
              re.split(r"^Frame ", text, flags=re.M)[1:]}
    # rping waits for each message before it sends the next.
    wanted = lone_fpdus(pcap.connections(path)[0])
    for number, (size, pointers) in wanted.items():
        part = frames[number]
        said = ([int(n) for n in ULPDU_LENGTH.findall(part)],
                [int(n) for n in MARKER_POINTER.findall(part)])
        check(said == ([size], pointers),
              f"packet {number}: tshark reads {said}, it is {size, pointers}")
        found = count(part)
        check(found["malformed"] == 0, f"packet {number} is malformed")
        check(found["good" if env["USIW_CRC"] == "on" else "unchecked"] == 1,
              f"packet {number}: {found}")
    markers = sum(len(pointers) for _, pointers in wanted.values())
    print(f"of these, checked with markers: {len(wanted)} FPDUs, "
          f"{markers} markers")
    check(len(wanted) >= 5 * PINGS and markers >= 10 * PINGS,
          "too few segments with one FPDU")


harness.confine(__file__, "tcpdump", "tshark", is_root=False)
harness.main([
    (name, functools.partial(over, mtu, {**env, **harness.WIRE}))
    for name, mtu, env in (
        ("crc-on", 65536, {"USIW_CRC": "on"}),
        ("crc-on-mtu1500", 1500, {"USIW_CRC": "on"}),
        ("crc-off", 65536, {"USIW_CRC": "off"}),
        ("crc-off-mtu1500", 1500, {"USIW_CRC": "off"}),
        ("revision-1", 1500, {"USIW_CRC": "on", "USIW_MPA_REV": "1"}),
        ("markers", LONE_MTU, {"USIW_CRC": "on", "USIW_MARKERS": "on"}),
        ("markers-mtu1500", 1500, {"USIW_CRC": "on", "USIW_MARKERS": "on"}),
        ("markers-crc-off", LONE_MTU,
         {"USIW_CRC": "off", "USIW_MARKERS": "on"}),
    )])

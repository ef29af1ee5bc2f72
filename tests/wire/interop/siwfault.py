# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""siw's faults in a case that failed, told from ours by the capture.

Of Linux 6.1, siw_get_trailer(): siw collects an FPDU's padding and CRC in a
buffer, but puts each piece that TCP hands it to that buffer's begin.  Where a
TCP segment ends inside the trailer it therefore compares a wrong CRC, hashes
wrong padding, and says both values in the kernel's log.  What it says is
siw's error when every CRC on the wire is right and one of them, cut
somewhere, gives just these values.

siw_get_hdr(): of a header in two pieces it counts the octets behind the first
16 anew for each.  A READ Request so cut is too long for it; it says so with
the length that it read in the header, which is right: all have that length.

What siw itself sends with a wrong CRC stands so in the capture.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                ".."))

import decode  # noqa: E402
import pcap  # noqa: E402

FAULT_CRC = 0x2002
PAD_MAX, CRC_SIZE = 3, 4
READ_ULPDU = 46  # every READ Request's
LOGGED_READ = f"rreq with mpa len {READ_ULPDU}\n"
LOGGED = re.compile(r"siw: crc error\. in: ([0-9a-f]{8}), own ([0-9a-f]{8})")


def logged(text):
    """(CRC received, CRC computed) of each error in the kernel's log."""
    return [tuple(int(word, 16) for word in pair)
            for pair in LOGGED.findall(text)]


def misread(trailer, before):
    """For each cut what siw takes for (padding, CRC).  @before: octets that
    the trailer's place in the buffer had."""
    for cut in range(1, len(trailer)):
        place = bytearray(before)
        place[:cut] = trailer[:cut]
        place[:len(trailer) - cut] = trailer[cut:]
        yield (cut, bytes(place[:-CRC_SIZE]),
               int.from_bytes(place[-CRC_SIZE:], "little"))


def explain(octets, received, computed):
    """Where siw went wrong in these FPDUs (without markers), or None."""
    buffer = bytearray(PAD_MAX + CRC_SIZE)
    try:
        for number, (ulpdu, begin, end) in enumerate(
                decode.fpdus(octets, True, False)):
            size = -(2 + len(ulpdu)) % 4 + CRC_SIZE
            trailer = octets[end - size:end]
            for cut, padding, crc in misread(trailer, buffer[-size:]):
                if crc == received and computed == decode.crc32c(
                        octets[begin:end - size] + padding):
                    return (f"FPDU {number}'s trailer {trailer.hex()} cut "
                            f"after {cut} octets")
            buffer[-size:] = trailer
    except (decode.Fault, decode.NeedMore):
        pass  # a wrong CRC is ours; the end may be missing
    return None


def read_is_right(octets, has_crc):
    """Are there READ Requests, and is every FPDU right?"""
    count = 0
    try:
        for ulpdu, _, _ in decode.fpdus(octets, has_crc, False):
            if ulpdu[1] & 15 == decode.READ_REQUEST:
                if len(ulpdu) != READ_ULPDU:
                    return False
                count += 1
    except decode.NeedMore:
        pass  # the end may be missing
    except (decode.Fault, IndexError):
        return False
    return count > 0


def wrong_crc(octets):
    """The first FPDU whose CRC is wrong, or None."""
    number = -1
    try:
        for number, _ in enumerate(decode.fpdus(octets, True, False)):
            pass
    except decode.Fault as e:
        if e.args[0] == FAULT_CRC:
            return f"the CRC of its FPDU {number + 1} is wrong on the wire"
    except decode.NeedMore:
        pass
    return None


class Half:
    """What one side of a connection sent behind its start frame."""

    def __init__(self, sender, is_active):
        self.start = decode.Start(sender.octets, decode.REQUEST_KEY if
                                  is_active else decode.REPLY_KEY)
        self.octets = sender.octets[self.start.size:]


def halves(path, is_active):
    """(what usiw sent, what siw sent) of the connections in a capture;
    @is_active: usiw is the side that connects."""
    for connection in pcap.connections(path):
        active, passive = decode.senders(connection)
        try:
            both = Half(active, True), Half(passive, False)
        except (decode.Fault, decode.NeedMore):
            continue  # it did not come that far
        yield both if is_active else both[::-1]


def explain_connection(usiw, siw, said):
    has_crc = usiw.start.has(decode.C) or siw.start.has(decode.C)
    if has_crc:
        for received, computed in logged(said):
            story = explain(usiw.octets, received, computed)
            if story:
                return f"a right CRC in two pieces is wrong to it: {story}"
        story = wrong_crc(siw.octets)
        if story:
            return story
    if LOGGED_READ in said + "\n" and read_is_right(usiw.octets, has_crc):
        return "a READ Request in two pieces is too long to it"
    return None


def explain_capture(path, is_active, said):
    """What siw did wrong, by a capture of the case and by what the guest's
    kernel @said meanwhile; None: nothing that this could prove."""
    try:
        for usiw, siw in halves(path, is_active):
            story = explain_connection(usiw, siw, said)
            if story:
                return story
    except pcap.Error:
        pass
    return None

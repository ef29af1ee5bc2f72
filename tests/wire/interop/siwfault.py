# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Tells siw's bugs from our own in a case that failed, by its capture.

Bug of siw_get_trailer() in Linux 6.1: siw collects the padding and CRC of an
FPDU in a buffer, but writes each piece that it gets from TCP to the start of
that buffer. If a TCP segment ends inside the trailer, siw compares a wrong
CRC, hashes wrong padding, and logs both values. In one case it had hashed the
first piece, too. It was this bug if every CRC on the wire is right, and one of
them, cut somewhere, gives exactly these values.

Bug of siw_get_hdr(): if a header comes in two pieces, siw counts the octets
after the first 16 again for each piece. A READ Request that is cut like this
is too long for siw. siw logs the length that it read in the header. That
length is right, and the same for all of them.

A wrong CRC that siw itself sends is in the capture.
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
    """For each cut, the values that siw reads as (padding, CRC). @before:
    earlier contents of the trailer's place in the buffer."""
    for cut in range(1, len(trailer)):
        place = bytearray(before)
        place[:cut] = trailer[:cut]
        place[:len(trailer) - cut] = trailer[cut:]
        yield (cut, bytes(place[:-CRC_SIZE]),
               int.from_bytes(place[-CRC_SIZE:], "little"))


def explain(octets, received, computed):
    """How siw failed in these FPDUs (without markers), or None."""
    buffer = bytearray(PAD_MAX + CRC_SIZE)
    try:
        for number, (ulpdu, begin, end) in enumerate(
                decode.fpdus(octets, True, False)):
            size = -(2 + len(ulpdu)) % 4 + CRC_SIZE
            trailer = octets[end - size:end]
            for cut, padding, crc in misread(trailer, buffer[-size:]):
                if crc == received and any(computed == decode.crc32c(
                        octets[begin:end - size] + piece + padding)
                        for piece in (b"", trailer[:cut])):
                    return (f"FPDU {number}'s trailer {trailer.hex()} cut "
                            f"after {cut} octets")
            buffer[-size:] = trailer
    except (decode.Fault, decode.NeedMore):
        pass  # a wrong CRC is our own bug; the end may be missing
    return None


def read_is_right(octets, has_crc):
    """Whether there are READ Requests, and every FPDU is right."""
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
    """What one side of a connection sent after its start frame."""

    def __init__(self, sender, is_active):
        self.start = decode.Start(sender.octets, decode.REQUEST_KEY if
                                  is_active else decode.REPLY_KEY)
        self.octets = sender.octets[self.start.size:]


def halves(path, is_active):
    """(what usiw sent, what siw sent) of the connections in a capture.
    @is_active: usiw is the side that connects."""
    for connection in pcap.connections(path):
        active, passive = decode.senders(connection)
        try:
            both = Half(active, True), Half(passive, False)
        except (decode.Fault, decode.NeedMore):
            continue  # it ended before that
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
    """Which bug of siw it was, by a capture of the case and the messages @said
    of the guest's kernel. None: no bug of siw is proved."""
    try:
        for usiw, siw in halves(path, is_active):
            story = explain_connection(usiw, siw, said)
            if story:
                return story
    except pcap.Error:
        pass
    return None

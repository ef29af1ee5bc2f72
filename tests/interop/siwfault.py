# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""siw's error with a trailer in two pieces, told from a wrong CRC of ours.

siw collects an FPDU's padding and CRC in a buffer, but puts each piece that
TCP hands it to that buffer's begin (siw_get_trailer() of Linux 6.1).  Where a
TCP segment ends inside the trailer it therefore compares a wrong CRC, hashes
wrong padding, and says both values in the kernel's log.  What it says is
siw's error when every CRC on the wire is right and one of them, cut
somewhere, gives just these values.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "replay"))

import decode  # noqa: E402
import pcap  # noqa: E402

PAD_MAX, CRC_SIZE = 3, 4
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


def explain_capture(path, is_active, received, computed):
    """The same for what the active (or passive) sides of a capture sent."""
    key = decode.REQUEST_KEY if is_active else decode.REPLY_KEY
    try:
        for connection in pcap.connections(path):
            sender = decode.senders(connection)[0 if is_active else 1]
            start = decode.Start(sender.octets, key)
            story = explain(sender.octets[start.size:], received, computed)
            if story:
                return story
    except (decode.Fault, decode.NeedMore, pcap.Error):
        pass
    return None

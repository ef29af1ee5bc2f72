#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""siwfault.py finds siw's bugs by the messages of siw 6.1, and nothing
else."""
import struct
import tempfile
import unittest

import siwfault

# A Send of 16 octets as a whole, and its first 16 - pad in a segment of their
# own, to Linux 6.1.176: (padding, cut after, what the kernel logged).
SAID = (
    (0, 1, 0x000d77ad, 0x0d77adce), (0, 2, 0x00000d77, 0x0d77adce),
    (0, 3, 0x0077ad0d, 0x0d77adce), (1, 1, 0x00fb4466, 0x61c3f9b8),
    (1, 3, 0x000066fb, 0x7da5ecbb), (2, 1, 0x00da82f0, 0x73e812b1),
    (2, 4, 0x0000f03b, 0xbe35f3bf), (3, 1, 0x000cd945, 0xf28a1422),
    (3, 3, 0x0000000c, 0xc12cc8fd), (3, 6, 0x00d9454d, 0xaa56df92),
)


def fpdu(pad, msn=1):
    info = struct.pack(">QII", 0x1000, 0x12345678, 64)
    info = info[:16 - pad] if pad else info
    ulpdu = struct.pack(">BBIIII", 0x01 if pad else 0x41, 0x43, 0, 0, msn,
                        0)
    octets = struct.pack(">H", len(ulpdu + info)) + ulpdu + info + bytes(pad)
    return octets + struct.pack("<I", siwfault.decode.crc32c(octets))


def read_request(more=b""):
    ulpdu = struct.pack(">BBIIII", 0x41, 0x41, 0, 1, 1, 0) + \
        struct.pack(">IQIIQ", 1, 2, 64, 3, 4) + more
    octets = struct.pack(">H", len(ulpdu)) + ulpdu
    octets += bytes(-len(octets) % 4)
    return octets + struct.pack("<I", siwfault.decode.crc32c(octets))


def packet(is_active, sequence, flags, payload=b""):
    """Record and frame of a pcap file; the active side has port 1."""
    ports = (1, 2) if is_active else (2, 1)
    tcp = struct.pack(">HHIIBBHHH", *ports, sequence, 0, 0x50, flags, 0, 0,
                      0) + payload
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0,
                     ports[0], ports[1])
    frame = bytes(12) + b"\x08\x00" + ip + tcp
    return struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame


def explain(is_active, said, usiw, siw):
    """The explanation for a connection with CRC. @is_active: usiw's side."""
    start = struct.pack(">BBH", 0x40, 1, 0)
    active, passive = (usiw, siw) if is_active else (siw, usiw)
    octets = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 1 << 18, 1)
    octets += packet(True, 99, 0x02) + packet(False, 199, 0x12)
    octets += packet(True, 100, 0x10,
                     siwfault.decode.REQUEST_KEY + start)
    octets += packet(False, 200, 0x10, siwfault.decode.REPLY_KEY + start)
    for side, sequence, data in ((True, 120, active), (False, 220, passive)):
        if data:
            octets += packet(side, sequence, 0x10, data)
    with tempfile.NamedTemporaryFile(suffix=".pcap") as f:
        f.write(octets)
        f.flush()
        return siwfault.explain_capture(f.name, is_active, said)


class SiwFaultTest(unittest.TestCase):
    def test_what_siw_said(self):
        for pad, cut, received, computed in SAID:
            with self.subTest(pad=pad, cut=cut):
                story = siwfault.explain(fpdu(pad), received, computed)
                self.assertIn(f"cut after {cut} octets", story or "")

    def test_octets_of_the_trailer_before_stay(self):
        first, second = fpdu(0), fpdu(0, msn=2)
        received = int.from_bytes(second[-2:] + first[-2:], "little")
        computed = int.from_bytes(second[-4:], "little")
        story = siwfault.explain(first + second, received, computed)
        self.assertIn("FPDU 1's", story or "")
        self.assertIsNone(siwfault.explain(second, received, computed))

    def test_the_first_piece_may_be_hashed(self):
        octets = fpdu(0)
        received = int.from_bytes(octets[-2:] + bytes(2), "little")
        for hashed, is_told in ((octets[:-2], True), (octets[:-1], False)):
            story = siwfault.explain(octets, received,
                                     siwfault.decode.crc32c(hashed))
            self.assertEqual("cut after 2 octets" in (story or ""), is_told)

    def test_wrong_values_are_not_siws(self):
        for pad, _, received, computed in SAID:
            self.assertIsNone(siwfault.explain(fpdu(pad), received ^ 1,
                                             computed))
            self.assertIsNone(siwfault.explain(fpdu(pad), received,
                                             computed ^ 1))

    def test_a_wrong_crc_on_the_wire_is_ours(self):
        for _, _, received, computed in SAID[:3]:
            wrong = bytearray(fpdu(0))
            wrong[20] ^= 1
            self.assertIsNone(siwfault.explain(bytes(wrong) + fpdu(0),
                                             received, computed))
            # siw itself would log this with the whole trailer
            self.assertIsNone(siwfault.explain(
                bytes(wrong), 0x0d77adce,
                siwfault.decode.crc32c(bytes(wrong[:-4]))))

    def test_a_read_request_is_right_or_ours(self):
        good = read_request() + fpdu(0)
        self.assertTrue(siwfault.read_is_right(good, True))
        self.assertTrue(siwfault.read_is_right(good + b"\0", True))
        self.assertFalse(siwfault.read_is_right(fpdu(0), True))
        self.assertFalse(siwfault.read_is_right(
            read_request(more=b"1234") + good, True))
        self.assertFalse(siwfault.read_is_right(
            good + good[:-1] + b"\0", True))

    def test_a_wrong_crc_of_siws(self):
        good = fpdu(0) + fpdu(1)
        self.assertIsNone(siwfault.wrong_crc(good))
        self.assertIsNone(siwfault.wrong_crc(good + good[:10]))
        wrong = bytearray(good)
        wrong[30] ^= 1
        self.assertIn("FPDU 0 ", siwfault.wrong_crc(bytes(wrong)))
        wrong[30] ^= 1
        wrong[-9] ^= 1
        self.assertIn("FPDU 1 ", siwfault.wrong_crc(bytes(wrong)))

    def test_tells_by_a_capture(self):
        cases = (
            # kernel messages, usiw's octets, siw's octets, explanation
            ("rreq with mpa len 46", read_request(), b"", "READ Request"),
            ("rreq with mpa len 47", read_request(), b"", None),
            ("rreq with mpa len 46", fpdu(0), b"", None),
            ("", fpdu(0), fpdu(0)[:-1] + b"\0", "FPDU 0 "),
            ("", fpdu(0)[:-1] + b"\0", fpdu(0), None),
            ("siw: crc error. in: 000d77ad, own 0d77adce, op 3", fpdu(0),
             b"", "two pieces"),
            ("siw: crc error. in: 000d77ad, own 0d77adcf, op 3", fpdu(0),
             b"", None),
            ("", fpdu(0), fpdu(0), None),
        )
        for is_active in (True, False):
            for said, usiw, siw, story in cases:
                with self.subTest(said=said, is_active=is_active,
                                  story=story):
                    found = explain(is_active, said, usiw, siw)
                    if story:
                        self.assertIn(story, found or "")
                    else:
                        self.assertIsNone(found)

    def test_reads_the_kernels_log(self):
        text = ("[   13.1] siw: crc error. in: 6515895d, own cf4a11c4, op 0\n"
                "[   13.2] siw: something else\n")
        self.assertEqual(siwfault.logged(text), [(0x6515895d, 0xcf4a11c4)])


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""siwcrc.py knows siw's error, by what siw 6.1 said, and nothing else."""
import struct
import unittest

import siwcrc

# A Send of 16 octets whole, and its first 16 - pad in a segment of their own,
# to Linux 6.1.176: (padding, cut after, what the kernel logged).
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
    return octets + struct.pack("<I", siwcrc.decode.crc32c(octets))


class SiwCrcTest(unittest.TestCase):
    def test_what_siw_said(self):
        for pad, cut, received, computed in SAID:
            with self.subTest(pad=pad, cut=cut):
                story = siwcrc.explain(fpdu(pad), received, computed)
                self.assertIn(f"cut after {cut} octets", story or "")

    def test_octets_of_the_trailer_before_stay(self):
        first, second = fpdu(0), fpdu(0, msn=2)
        received = int.from_bytes(second[-2:] + first[-2:], "little")
        computed = int.from_bytes(second[-4:], "little")
        story = siwcrc.explain(first + second, received, computed)
        self.assertIn("FPDU 1's", story or "")
        self.assertIsNone(siwcrc.explain(second, received, computed))

    def test_wrong_values_are_not_siws(self):
        for pad, _, received, computed in SAID:
            self.assertIsNone(siwcrc.explain(fpdu(pad), received ^ 1,
                                             computed))
            self.assertIsNone(siwcrc.explain(fpdu(pad), received,
                                             computed ^ 1))

    def test_a_wrong_crc_on_the_wire_is_ours(self):
        for _, _, received, computed in SAID[:3]:
            wrong = bytearray(fpdu(0))
            wrong[20] ^= 1
            self.assertIsNone(siwcrc.explain(bytes(wrong) + fpdu(0),
                                             received, computed))
            # siw itself, with the whole trailer, would say so
            self.assertIsNone(siwcrc.explain(
                bytes(wrong), 0x0d77adce,
                siwcrc.decode.crc32c(bytes(wrong[:-4]))))

    def test_reads_the_kernels_log(self):
        text = ("[   13.1] siw: crc error. in: 6515895d, own cf4a11c4, op 0\n"
                "[   13.2] siw: something else\n")
        self.assertEqual(siwcrc.logged(text), [(0x6515895d, 0xcf4a11c4)])


if __name__ == "__main__":
    unittest.main()

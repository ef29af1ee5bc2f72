#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""usiw's datagrams between two network namespaces, as two other decoders read
them: rocev2.py, which computes each ICRC again, and Wireshark's InfiniBand
dissector. IPv4 and IPv6, each path MTU, with immediate data and without, 0
octets to the MTU."""
import functools
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "apps"))

import harness  # noqa: E402
import netns  # noqa: E402
import roce_tshark  # noqa: E402
import rocev2  # noqa: E402
import tshark  # noqa: E402
from harness import Test, check  # noqa: E402

VERIFY = os.path.join(harness.BUILD, "bin", "ud-verify")
SIZES = (0, 1, 2, 3, 4, 255, 256, 1023, 1024, 2047, 2048, 4095, 4096)
KINDS = 8  # of each size, by ud_verify.c
# The largest path MTU that leaves 80 octets of the link's.
PATH_MTU = {336: 256, 592: 512, 1500: 1024, 4175: 2048, 4176: 4096}


class Capture(tshark.Capture):
    """As many datagrams of both sides as the case has, or more."""

    def __init__(self, test, wanted):
        super().__init__(test, "veth0", f"udp port {rocev2.PORT}")
        self.wanted = wanted

    def is_whole(self):
        return len(list(rocev2.frames(self.path))) >= self.wanted


def verify(link_mtu, addresses):
    mtu = PATH_MTU[link_mtu]
    sizes = [size for size in SIZES if size <= mtu]
    net = netns.Net(link_mtu)
    try:
        with Test(f"MTU {mtu} {addresses['server']}") as test:
            harness.PERSONA[:] = ["--persona", "ca"]
            words = [VERIFY, "-p", harness.free_port(), "-dq", "-S",
                     ",".join(map(str, sizes))]
            with Capture(test, 2 * KINDS * len(sizes)) as capture:
                server = test.start("server", [*words, "-s"],
                                    inside=net.inside)
                server.wait_listening(words[2])
                client = test.start("client",
                                    [*words, "-c", addresses["server"]])
                client.wait(60)
                server.wait(20)
            check_capture(capture.path, mtu, sizes)
    finally:
        net.close()


def check_capture(path, mtu, sizes):
    packets = rocev2.read(path)
    found = rocev2.gaps(packets)
    check(not found, f"not in order: {found[:1]}")
    check(len(rocev2.by_sender(packets)) == 2, "not two senders")
    for mine in rocev2.by_sender(packets).values():
        for size in sizes:
            kinds = {(p.imm is None, p.solicited) for p in mine
                     if len(p.payload) == size}
            check(len(kinds) == 4, f"{size} octets: only {kinds}")
    check(max(len(p.payload) for p in packets) == mtu, "MTU")
    check({p.id for p in packets if hasattr(p, "id")} <= {0},
          "IPv4's Identification is not 0")
    roce_tshark.check_all(path, packets)
    check_refusals(next(rocev2.frames(path)))
    print(f"read: {len(packets)} packets")


def check_refusals(frame):
    """rocev2.py refuses the packet if one bit of InfiniBand is another."""
    begin = 14 + (40 if frame[14] >> 4 == 6 else 20)
    for at in range(begin + 8, len(frame)):
        for bit in range(8):
            spoilt = bytearray(frame)
            spoilt[at] ^= 1 << bit
            try:
                rocev2.Packet(bytes(spoilt))
            except rocev2.Wrong:
                continue
            raise harness.Failure(f"octet {at}, bit {bit}: not noticed")


harness.confine(__file__, "tcpdump", "tshark", is_root=False)
harness.main([
    (f"mtu-{link_mtu}-{name}", functools.partial(verify, link_mtu, addresses))
    for name, addresses, mtus in (
        ("ipv4", netns.ADDRESS, (336, 592, 1500, 4175, 4176)),
        ("ipv6", netns.ADDRESS6, (1500, 4175, 4176)))  # IPv6 needs 1280
    for link_mtu in mtus])

# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""No receive is posted when a Send arrives: it is held, and other work
continues."""
import os
import socket

import pyverbs.enums as e
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE

import rig
from rig import Pair, Side, shows


class Late(rig.Case):
    @shows("no receive posted: the Send is held")
    def test_receive_comes_late(self):
        left, right = Pair()
        for i in range(5):
            left.fill(b"%08d" % i)
            left.post(e.IBV_WR_SEND, left.sge(8), wr_id=i)
            left.good()
        right.quiet()
        for i in range(5):
            right.recv(right.sge(8, 8 * i), wr_id=i)
        for i, wc in enumerate(right.good(5)):
            self.assertEqual((wc.wr_id, wc.byte_len), (i, 8))
            self.assertEqual(right.read(8, 8 * i), b"%08d" % i)

    def test_read_behind_it_completes(self):
        """A side that waits for its READ before it posts a receive makes
        progress."""
        left, right = Pair()
        right.fill(b"read me!")
        left.post(e.IBV_WR_SEND, left.sge(8, 64), wr_id=1)
        left.post(e.IBV_WR_RDMA_READ, left.sge(8), to=right, wr_id=2)
        self.assertEqual([wc.wr_id for wc in left.good(2)], [1, 2])
        self.assertEqual(left.read(8), b"read me!")
        right.recv(right.sge(8, 128))
        right.good()

    def test_both_wait_for_their_reads(self):
        """The possible deadlock: each side sends, reads, and posts a receive
        last."""
        left, right = Pair()
        for side, peer in ((left, right), (right, left)):
            side.post(e.IBV_WR_SEND, side.sge(8, 64), wr_id=1)
            side.post(e.IBV_WR_RDMA_READ, side.sge(8), to=peer, wr_id=2)
        for side in (left, right):
            self.assertEqual([wc.wr_id for wc in side.good(2)], [1, 2])
        for side in (left, right):
            side.recv(side.sge(8, 128), wr_id=3)
        for side in (left, right):
            self.assertEqual(side.good()[0].wr_id, 3)

    def test_immediate_data_waits_too(self):
        left, right = Pair()
        for opcode, arrives, length in (
                (e.IBV_WR_SEND_WITH_IMM, e.IBV_WC_RECV, 8),
                (e.IBV_WR_RDMA_WRITE_WITH_IMM,
                 e.IBV_WC_RECV_RDMA_WITH_IMM, 8)):
            left.fill(b"with imm")
            left.post(opcode, left.sge(8), to=right, at=512,
                      imm=socket.htonl(0xabcd))
            left.good()
            right.quiet()
            right.recv(right.sge(64), wr_id=4)
            wc = right.good()[0]
            self.assertEqual((wc.wr_id, wc.opcode, wc.byte_len),
                             (4, arrives, length))
            self.assertEqual(wc.wc_flags, e.IBV_WC_WITH_IMM)
            self.assertEqual(socket.ntohl(wc.imm_data), 0xabcd)
        self.assertEqual(right.read(8, 512), b"with imm")

    def test_shared_queue(self):
        left, right = Pair(left=Side(), right=Side(srq=lambda side: SRQ(
            side.pd, SrqInitAttr(SrqAttr(max_wr=8)))))
        left.post(e.IBV_WR_SEND, left.sge(8))
        left.good()
        right.quiet()
        right.recv(right.sge(8), wr_id=6)
        self.assertEqual(right.good()[0].wr_id, 6)

    def test_never(self):
        """After the RNR time the sender gets the error, and both sides end."""
        os.environ["USIW_RNR_MS"] = "200"
        left, right = Pair()
        left.post(e.IBV_WR_SEND, left.sge(8), wr_id=1)
        left.good()
        left.recv(left.sge(8), wr_id=2)
        left.post(e.IBV_WR_RDMA_READ, left.sge(8), to=right, wr_id=3)
        left.good()
        self.status(left.poll()[0], e.IBV_WC_WR_FLUSH_ERR, 2)
        left.ended()
        right.ended()

    def test_more_than_can_be_held(self):
        """TCP stops the sender. Nothing is lost or out of order."""
        left, right = Pair(room=1 << 20)
        count, size = 60, 1 << 18
        posted = 0
        for i in range(count):
            left.post(e.IBV_WR_SEND, left.sge(size), wr_id=i)
            posted += 1
        for i in range(count):
            right.recv(right.sge(size), wr_id=i)
        self.assertEqual([wc.wr_id for wc in right.good(count)],
                         list(range(count)))
        self.assertEqual([wc.wr_id for wc in left.good(posted)],
                         list(range(count)))


class Immediate(rig.Case):
    @shows("IBV_WR_SEND_WITH_IMM")
    def test_send(self):
        self.both(e.IBV_WR_SEND_WITH_IMM, e.IBV_WC_SEND, e.IBV_WC_RECV, 0)

    @shows("IBV_WR_RDMA_WRITE_WITH_IMM")
    def test_write(self):
        self.both(e.IBV_WR_RDMA_WRITE_WITH_IMM, e.IBV_WC_RDMA_WRITE,
                  e.IBV_WC_RECV_RDMA_WITH_IMM, 8192)

    def both(self, opcode, leaves, arrives, at):
        left, right = Pair()
        for i, size in enumerate((0, 1, 4096, 8000)):
            left.fill(bytes([i + 1]) * size)
            # A WRITE uses a receive, but none of its memory.
            right.recv(SGE(0, 0, 0) if at else right.sge(8192), wr_id=i)
            left.post(opcode, left.sge(size), to=right, at=at,
                      imm=socket.htonl(i + 100))
            self.assertEqual(left.good()[0].opcode, leaves)
            wc = right.good()[0]
            self.assertEqual((wc.wr_id, wc.opcode, wc.byte_len, wc.wc_flags),
                             (i, arrives, size, e.IBV_WC_WITH_IMM))
            self.assertEqual(socket.ntohl(wc.imm_data), i + 100)
            self.assertEqual(right.read(size, at), bytes([i + 1]) * size)

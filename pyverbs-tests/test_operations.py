# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What can be posted: each opcode with its flags and sizes."""
import errno

import pyverbs.enums as e
from pyverbs.qp import QPCap
from pyverbs.wr import SGE

import rig
from rig import Pair, shows

WIDE = {"cap": QPCap(max_send_wr=64, max_recv_wr=64, max_send_sge=32,
                     max_recv_sge=32, max_inline_data=1024)}


def pattern(length, seed=0):
    return bytes((seed + i * 7) & 255 for i in range(length))


class Transfers(rig.Case):
    SIZES = (0, 1, 3, 64, 1024, 4096, 65535)

    @shows("IBV_WR_SEND")
    def test_send(self):
        left, right = Pair()
        for i, size in enumerate(self.SIZES):
            left.fill(pattern(size, i))
            right.recv(right.sge(rig.ROOM), wr_id=i)
            left.post(e.IBV_WR_SEND, left.sge(size), wr_id=100 + i)
            wc = left.good()[0]
            self.assertEqual((wc.wr_id, wc.opcode), (100 + i, e.IBV_WC_SEND))
            wc = right.good()[0]
            self.assertEqual((wc.wr_id, wc.opcode, wc.byte_len, wc.wc_flags),
                             (i, e.IBV_WC_RECV, size, 0))
            self.assertEqual(wc.qp_num, right.qp.qp_num)
            self.assertEqual(right.read(size), pattern(size, i))

    @shows("IBV_WR_RDMA_WRITE")
    def test_write(self):
        left, right = Pair()
        for i, size in enumerate(self.SIZES):
            left.fill(pattern(size, i))
            left.post(e.IBV_WR_RDMA_WRITE, left.sge(size), to=right, wr_id=i)
            wc = left.good()[0]
            self.assertEqual((wc.wr_id, wc.opcode), (i, e.IBV_WC_RDMA_WRITE))
            left.settle(right)
            self.assertEqual(right.read(size), pattern(size, i))
        right.quiet()

    @shows("IBV_WR_RDMA_READ")
    def test_read(self):
        left, right = Pair()
        for i, size in enumerate(self.SIZES):
            right.fill(pattern(size, i))
            left.post(e.IBV_WR_RDMA_READ, left.sge(size), to=right, wr_id=i)
            wc = left.good()[0]
            self.assertEqual((wc.wr_id, wc.opcode, wc.byte_len),
                             (i, e.IBV_WC_RDMA_READ, size))
            self.assertEqual(left.read(size), pattern(size, i))
        right.quiet()

    def test_unsignaled_is_silent(self):
        left, right = Pair()
        for i in range(5):
            left.post(e.IBV_WR_RDMA_WRITE, left.sge(8), to=right, flags=0)
        left.post(e.IBV_WR_RDMA_WRITE, left.sge(8), to=right, wr_id=9)
        self.assertEqual(left.good()[0].wr_id, 9)
        left.quiet()

    def test_sig_all_signals(self):
        left, right = Pair(sig_all=1)
        for i in range(3):
            left.post(e.IBV_WR_RDMA_WRITE, left.sge(8), to=right, flags=0,
                      wr_id=i)
        self.assertEqual([wc.wr_id for wc in left.good(3)], [0, 1, 2])

    def test_large_messages(self):
        size = (32 << 20) + 5
        left, right = Pair(room=size)
        left.fill(pattern(1 << 20) * 32 + b"abcde")
        left.post(e.IBV_WR_RDMA_WRITE, left.sge(size), to=right)
        left.good()
        left.settle(right)
        self.assertEqual(right.read(size), left.read(size))
        right.fill(pattern(4096, 1), 1 << 20)
        left.post(e.IBV_WR_RDMA_READ, left.sge(size), to=right)
        left.good()
        self.assertEqual(right.read(size), left.read(size))

    def test_full_receive_queue_is_refused(self):
        left, right = Pair(cap=QPCap(max_send_wr=4, max_recv_wr=4))
        room = left.qp.query(e.IBV_QP_CAP)[0].cap
        for _ in range(room.max_recv_wr):
            right.recv(right.sge(8))
        self.refused(errno.ENOMEM, right.recv, right.sge(8))


class Flags(rig.Case):
    @shows("inline data: 1 KiB")
    def test_inline_is_copied_at_once(self):
        left, right = Pair(**WIDE)
        inline = e.IBV_SEND_SIGNALED | e.IBV_SEND_INLINE
        for size in (0, 1, 65, 1024):
            left.fill(pattern(size, size))
            right.recv(right.sge(1024))
            # Inline data needs no registration: the lkey is ignored.
            left.post(e.IBV_WR_SEND, SGE(left.mr.buf, size, 0xdead),
                      flags=inline)
            left.fill(b"x" * size)
            left.good()
            self.assertEqual(right.good()[0].byte_len, size)
            self.assertEqual(right.read(size), pattern(size, size))

    def test_inline_over_the_limit(self):
        left, right = Pair(**WIDE)
        limit = left.qp.query(e.IBV_QP_CAP)[0].cap.max_inline_data
        self.assertGreaterEqual(limit, 1024)
        self.refused(errno.EINVAL, left.post, e.IBV_WR_SEND,
                     left.sge(limit + 1),
                     flags=e.IBV_SEND_SIGNALED | e.IBV_SEND_INLINE)
        left.quiet()

    def test_inline_write(self):
        left, right = Pair(**WIDE)
        left.fill(pattern(1024))
        left.post(e.IBV_WR_RDMA_WRITE, left.sge(1024), to=right,
                  flags=e.IBV_SEND_SIGNALED | e.IBV_SEND_INLINE)
        left.fill(b"x" * 1024)
        left.good()
        left.settle(right)
        self.assertEqual(right.read(1024), pattern(1024))

    @shows("fence")
    def test_fence_waits_for_reads(self):
        """A fenced SEND of a READ's sink carries what the READ returned."""
        left, right = Pair()
        for i in range(20):
            right.fill(pattern(4096, i))
            left.fill(b"\0" * 4096)
            right.recv(right.sge(4096, 8192))
            left.post(e.IBV_WR_RDMA_READ, left.sge(4096), to=right)
            left.post(e.IBV_WR_SEND, left.sge(4096),
                      flags=e.IBV_SEND_SIGNALED | e.IBV_SEND_FENCE)
            self.assertEqual([wc.opcode for wc in left.good(2)],
                             [e.IBV_WC_RDMA_READ, e.IBV_WC_SEND])
            right.good()
            self.assertEqual(right.read(4096, 8192), pattern(4096, i))


class Scatter(rig.Case):
    @shows("32 SGEs in a work request, READ sinks too")
    def test_32_pieces_both_ways(self):
        left, right = Pair(**WIDE)
        pieces = [(i * 100, i + 1) for i in range(32)]
        total = sum(length for _, length in pieces)
        at_left = [left.sge(n, at) for at, n in pieces]
        at_right = [right.sge(n, at) for at, n in pieces]
        text = pattern(total)
        self.scatter(left, pieces, text)
        right.recv(*at_right)
        left.post(e.IBV_WR_SEND, *at_left)
        left.good()
        self.assertEqual(right.good()[0].byte_len, total)
        self.assertEqual(self.gather(right, pieces), text)
        left.post(e.IBV_WR_RDMA_WRITE, *at_left, to=right, at=8192)
        left.good()
        left.settle(right)
        self.assertEqual(right.read(total, 8192), text)
        right.fill(pattern(total, 3), 8192)
        left.post(e.IBV_WR_RDMA_READ, *at_left, to=right, at=8192)
        self.assertEqual(left.good()[0].byte_len, total)
        self.assertEqual(self.gather(left, pieces), pattern(total, 3))

    def test_one_piece_too_many(self):
        left, right = Pair()
        limit = left.qp.query(e.IBV_QP_CAP)[0].cap
        self.refused(errno.EINVAL, left.post, e.IBV_WR_SEND,
                     *[left.sge(1)] * (limit.max_send_sge + 1))
        self.refused(errno.EINVAL, right.recv,
                     *[right.sge(1)] * (limit.max_recv_sge + 1))
        left.quiet()

    @staticmethod
    def scatter(side, pieces, text):
        for at, length in pieces:
            side.fill(text[:length], at)
            text = text[length:]

    @staticmethod
    def gather(side, pieces):
        return b"".join(side.read(length, at) for at, length in pieces)


class Sizes(rig.Case):
    def test_more_than_2_to_31_is_refused(self):
        """Each opcode is refused before anything is sent."""
        left, right = Pair()
        limit = left.ctx.query_port(1).max_msg_sz
        self.assertGreaterEqual(limit, 1 << 30)
        for opcode in (e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE,
                       e.IBV_WR_RDMA_READ):
            half = SGE(left.mr.buf, (limit >> 1) + 1, left.mr.lkey)
            self.refused(errno.EINVAL, left.post, opcode, half, half,
                         to=right)
        left.quiet()
        right.recv(right.sge(8))
        left.post(e.IBV_WR_SEND, left.sge(8))
        left.good()
        right.good()

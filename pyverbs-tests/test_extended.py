# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Extended queue pairs (ibv_wr_*) and completion queues (ibv_start_poll)."""
import errno
import socket
import time

import pyverbs.enums as e
from pyverbs.cq import CQEX, CqInitAttrEx, PollCqAttr
from pyverbs.qp import QPEx, QPInitAttrEx
from pyverbs.wr import SGE

import rig
from rig import Pair, Side, shows

ENOENT = errno.ENOENT
OFFERED = (e.IBV_QP_EX_WITH_SEND | e.IBV_QP_EX_WITH_SEND_WITH_IMM |
           e.IBV_QP_EX_WITH_RDMA_WRITE | e.IBV_QP_EX_WITH_RDMA_READ |
           e.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
STAMPS = (e.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
          e.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
TOLD = e.IBV_WC_STANDARD_FLAGS | STAMPS


def extended(operations=OFFERED, create_flags=0, qp_type=e.IBV_QPT_RC):
    """Makes the queue pair of a rig.Side."""
    def make(side):
        mask = e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS
        if create_flags:
            mask |= e.IBV_QP_INIT_ATTR_CREATE_FLAGS
        return QPEx(side.ctx, QPInitAttrEx(
            qp_type=qp_type, scq=side.cq, rcq=side.cq, cap=side.cap,
            pd=side.pd, create_flags=create_flags, comp_mask=mask,
            send_ops_flags=operations))
    return make


class Builders(rig.Case):
    """ibv_wr_start() to ibv_wr_complete()."""

    def begin(self, side, wr_id=1, flags=e.IBV_SEND_SIGNALED):
        side.qp.wr_start()
        side.qp.wr_id = wr_id
        side.qp.wr_flags = flags

    @shows("ibv_create_qp_ex, ibv_wr_*")
    def test_each_builder(self):
        left, right = Pair(make=extended())
        key, there = right.mr.rkey, right.mr.buf
        rows = (
            (left.qp.wr_send, (), e.IBV_WC_SEND, e.IBV_WC_RECV, None),
            (left.qp.wr_send_imm, (77,), e.IBV_WC_SEND, e.IBV_WC_RECV, 77),
            (left.qp.wr_rdma_write, (key, there), e.IBV_WC_RDMA_WRITE,
             None, None),
            (left.qp.wr_rdma_write_imm, (key, there, 78),
             e.IBV_WC_RDMA_WRITE, e.IBV_WC_RECV_RDMA_WITH_IMM, 78),
            (left.qp.wr_rdma_read, (key, there), e.IBV_WC_RDMA_READ,
             None, None))
        for i, (build, words, opcode, arrives, imm) in enumerate(rows):
            with self.subTest(build=build.__name__):
                if arrives is not None:
                    right.recv(right.sge(64), wr_id=50 + i)
                left.fill(bytes([65 + i]) * 64)
                self.begin(left, wr_id=i)
                build(*words)
                left.qp.wr_set_sge(left.sge(64))
                left.qp.wr_complete()
                wc = left.good()[0]
                self.assertEqual((wc.wr_id, wc.opcode), (i, opcode))
                if arrives is not None:
                    wc = right.good()[0]
                    self.assertEqual((wc.wr_id, wc.opcode, wc.byte_len),
                                     (50 + i, arrives, 64))
                    if imm is not None:
                        self.assertEqual(wc.wc_flags, e.IBV_WC_WITH_IMM)
                        self.assertEqual(socket.ntohl(wc.imm_data), imm)
                    self.assertEqual(right.read(64), bytes([65 + i]) * 64)
        # The READ returned what the WRITE before it had written.
        self.assertEqual(left.read(64), b"D" * 64)

    def test_a_batch_in_order(self):
        left, right = Pair(make=extended())
        for i in range(8):
            right.recv(right.sge(8, 8 * i), wr_id=i)
            left.fill(b"%08d" % i, 8 * i)
        left.qp.wr_start()
        for i in range(8):
            left.qp.wr_id = i
            left.qp.wr_flags = e.IBV_SEND_SIGNALED if i % 2 else 0
            left.qp.wr_send()
            left.qp.wr_set_sge(left.sge(8, 8 * i))
        left.qp.wr_complete()
        self.assertEqual([wc.wr_id for wc in left.good(4)], [1, 3, 5, 7])
        right.good(8)
        self.assertEqual(right.read(64), left.read(64))

    def test_abort_leaves_nothing(self):
        left, right = Pair(make=extended())
        right.recv(right.sge(64))
        self.begin(left)
        left.qp.wr_send()
        left.qp.wr_set_sge(left.sge(8))
        left.qp.wr_abort()
        left.quiet()
        self.begin(left, wr_id=9)
        left.qp.wr_send()
        left.qp.wr_set_sge(left.sge(16))
        left.qp.wr_complete()
        self.assertEqual(left.good()[0].wr_id, 9)
        self.assertEqual(right.good()[0].byte_len, 16)

    def test_inline_and_lists(self):
        left, right = Pair(make=extended())
        right.recv(right.sge(64))
        left.fill(b"inline!!")
        self.begin(left)
        left.qp.wr_send()
        left.qp.wr_set_inline_data(left.mr.buf, 8)
        left.qp.wr_complete()
        left.fill(b"changed!")
        left.good()
        right.good()
        self.assertEqual(right.read(8), b"inline!!")
        right.recv(right.sge(64))
        left.fill(b"abcdef")
        self.begin(left)
        left.qp.wr_send()
        left.qp.wr_set_sge_list(3, [left.sge(2, 4), left.sge(2, 2),
                                    left.sge(2, 0)])
        left.qp.wr_complete()
        left.good()
        right.good()
        self.assertEqual(right.read(6), b"efcdab")

    def test_one_bad_takes_all(self):
        """An error is reported by ibv_wr_complete(), and nothing is posted."""
        left, right = Pair(make=extended())
        right.recv(right.sge(64))
        left.qp.wr_start()
        left.qp.wr_id, left.qp.wr_flags = 1, e.IBV_SEND_SIGNALED
        left.qp.wr_send()
        left.qp.wr_set_sge(left.sge(8))
        left.qp.wr_id = 2
        left.qp.wr_send()
        left.qp.wr_set_sge_list(5, [left.sge(1)] * 5)
        self.refused(errno.EINVAL, left.qp.wr_complete)
        left.quiet()
        right.quiet()

    def test_what_cannot_be_made(self):
        for options in ({"operations": e.IBV_QP_EX_WITH_TSO},
                        {"operations": e.IBV_QP_EX_WITH_ATOMIC_WRITE},
                        {"qp_type": e.IBV_QPT_UD},
                        {"create_flags": 1 << 1}):
            with self.subTest(options=options):
                self.refused(errno.EOPNOTSUPP, Side,
                             make=extended(**options))


class OneByOne(rig.Case):
    """ibv_start_poll(), ibv_next_poll(), ibv_end_poll()."""

    def setUp(self):
        self.left, self.right = Pair()
        ctx = self.right.ctx
        self.queue = CQEX(ctx, CqInitAttrEx(cqe=64, wc_flags=TOLD))

        def make(side):
            side.cq = self.queue
            return extended()(side)
        self.left, self.right = Pair(
            left=Side(), right=Side(ctx=ctx, make=make))

    def first(self):
        rig.within(lambda: self.queue.start_poll(PollCqAttr()) == 0,
                   "a completion")

    @shows("ibv_create_cq_ex, ibv_start_poll")
    def test_each_reader(self):
        left, right = self.left, self.right
        right.recv(right.sge(64), wr_id=5)
        left.post(e.IBV_WR_SEND_WITH_IMM, left.sge(33),
                  imm=socket.htonl(0x01020304))
        left.good()
        self.first()
        queue = self.queue
        self.assertEqual(queue.status, e.IBV_WC_SUCCESS)
        self.assertEqual(queue.wr_id, 5)
        self.assertEqual(queue.read_opcode(), e.IBV_WC_RECV)
        self.assertEqual(queue.read_byte_len(), 33)
        self.assertEqual(queue.read_qp_num(), right.qp.qp_num)
        self.assertEqual(queue.read_wc_flags(), e.IBV_WC_WITH_IMM)
        self.assertEqual(socket.ntohl(queue.read_imm_data()), 0x01020304)
        self.assertEqual(queue.read_vendor_err(), 0)
        self.assertEqual(queue.poll_next(), ENOENT)
        queue.end_poll()
        self.assertEqual(queue.start_poll(PollCqAttr()), ENOENT)

    def test_a_batch(self):
        left, right = self.left, self.right
        for i in range(10):
            right.recv(right.sge(64), wr_id=i)
            left.post(e.IBV_WR_SEND, left.sge(i))
        left.good(10)
        seen = []
        while len(seen) < 10:
            self.first()
            more = 0
            while more == 0:
                seen.append((self.queue.wr_id, self.queue.read_byte_len()))
                more = self.queue.poll_next()
            self.assertEqual(more, ENOENT)
            self.queue.end_poll()
        self.assertEqual(seen, [(i, i) for i in range(10)])

    @shows("completion timestamps")
    def test_timestamps(self):
        """Timestamps lie between the times before and after, by the clock of
        query_rt_values_ex(), and never decrease."""
        left, right = self.left, self.right
        attr = right.ctx.query_device_ex()
        self.assertNotEqual(attr.completion_timestamp_mask, 0)
        khz = attr.hca_core_clock
        self.assertGreater(khz, 0)
        last = 0
        for _ in range(5):
            right.recv(right.sge(64))
            raw = self.clock(right.ctx)
            wall = time.time_ns()
            left.post(e.IBV_WR_SEND, left.sge(8))
            left.good()
            self.first()
            stamp = self.queue.read_timestamp() * 1000000 // khz
            stamp_wall = self.queue.read_completion_wallclock_ns()
            self.queue.end_poll()
            self.assertTrue(raw <= stamp <= self.clock(right.ctx))
            self.assertTrue(wall <= stamp_wall <= time.time_ns())
            self.assertGreaterEqual(stamp, last)
            last = stamp

    @staticmethod
    def clock(ctx):
        seconds, nanoseconds = ctx.query_rt_values_ex()
        return seconds * 10 ** 9 + nanoseconds

    def test_what_cannot_be_made(self):
        ctx = self.right.ctx
        self.refused(errno.EOPNOTSUPP, CQEX, ctx, CqInitAttrEx(
            cqe=64, wc_flags=e.IBV_WC_EX_WITH_TM_INFO))
        for attr in (CqInitAttrEx(cqe=0), CqInitAttrEx(cqe=1 << 30)):
            self.refused(errno.EINVAL, CQEX, ctx, attr)

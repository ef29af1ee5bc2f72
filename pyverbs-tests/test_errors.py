# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Errors in keys, domains, rights and bounds, with each opcode: the status on
the side that made it, what the other side sees, and the events."""
import errno

import pyverbs.enums as e
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE

import rig
from rig import Pair, Side, shows

SEND, WRITE, READ = (e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ)
LOCAL, GOOD, FLUSH = (e.IBV_WC_LOC_PROT_ERR, e.IBV_WC_SUCCESS,
                      e.IBV_WC_WR_FLUSH_ERR)


class Local(rig.Case):
    """Errors in the local memory of a work request."""

    def mistake(self, opcode, make):
        """@make(left): the invalid SGE."""
        left, right = Pair()
        right.recv(right.sge(64), wr_id=7)
        left.recv(left.sge(64), wr_id=8)
        left.post(opcode, make(left), to=right, wr_id=1)
        left.post(SEND, left.sge(8), wr_id=2)
        by_id = {wc.wr_id: wc for wc in left.poll(3)}
        self.status(by_id[1], LOCAL)
        self.status(by_id[2], FLUSH)
        self.status(by_id[8], FLUSH)
        left.ended()
        # The peer saw nothing of it except the end of the stream.
        self.status(right.poll()[0], FLUSH, 7)
        self.assertEqual(right.read(64), bytes(64))
        left.quiet()
        right.quiet()

    def each(self, make, opcodes=(SEND, WRITE, READ)):
        for opcode in opcodes:
            with self.subTest(opcode=opcode):
                self.mistake(opcode, make)

    @shows("local protection errors")
    def test_no_such_lkey(self):
        self.each(lambda s: SGE(s.mr.buf, 64, s.mr.lkey ^ 0x5500))

    def test_old_key(self):
        self.each(lambda s: SGE(s.mr.buf, 64, s.mr.lkey ^ 1))

    def test_other_domain(self):
        def make(side):
            side.other_pd = PD(side.ctx)
            side.other_mr = MR(side.other_pd, 64, rig.ALL)
            return side.sge(64, mr=side.other_mr)
        self.each(make)

    def test_past_the_end(self):
        self.each(lambda s: s.sge(64, rig.ROOM - 63))

    def test_before_the_start(self):
        self.each(lambda s: SGE(s.mr.buf - 1, 64, s.mr.lkey))

    def test_around_the_end_of_all_addresses(self):
        self.each(lambda s: SGE((1 << 64) - 8, 64, s.mr.lkey))

    def test_gone(self):
        def make(side):
            gone = MR(side.pd, 64, rig.ALL)
            sge = side.sge(64, mr=gone)
            gone.close()
            return sge
        self.each(make)

    def test_read_only_sink(self):
        def make(side):
            side.sink = MR(side.pd, 64, e.IBV_ACCESS_REMOTE_READ)
            return side.sge(64, mr=side.sink)
        self.each(make, [READ])


class Receive(rig.Case):
    """An error in a receive is reported when a message arrives for it."""

    def mistake(self, make, status, length=64):
        left, right = Pair()
        right.recv(make(right), wr_id=7)
        right.recv(right.sge(64), wr_id=8)
        left.recv(left.sge(8), wr_id=9)
        left.fill(b"m" * length)
        left.post(SEND, left.sge(length), wr_id=1)
        found = right.poll(2)
        self.status(found[0], status, 7)
        self.status(found[1], FLUSH, 8)
        # The SEND may have completed before the Terminate arrived.
        by_id = {wc.wr_id: wc for wc in left.poll(2)}
        self.status(by_id[9], FLUSH)
        right.ended()
        self.event(right, e.IBV_EVENT_QP_REQ_ERR)

    def test_no_such_lkey(self):
        self.mistake(lambda s: SGE(s.mr.buf, 64, s.mr.lkey ^ 0x5500), LOCAL)

    def test_other_domain(self):
        def make(side):
            side.other_pd = PD(side.ctx)
            side.other_mr = MR(side.other_pd, 64, rig.ALL)
            return side.sge(64, mr=side.other_mr)
        self.mistake(make, LOCAL)

    def test_read_only(self):
        def make(side):
            side.sink = MR(side.pd, 64, 0)
            return side.sge(64, mr=side.sink)
        self.mistake(make, LOCAL)

    @shows("messages longer than their receive")
    def test_too_short(self):
        self.mistake(lambda s: s.sge(63), e.IBV_WC_LOC_LEN_ERR)


class Remote(rig.Case):
    """Errors in the memory that a WRITE or a READ names."""

    def mistake(self, opcode, event=e.IBV_EVENT_QP_ACCESS_ERR, at=0,
                rkey=None, prepare=None, **options):
        left, right = Pair(left=Side(), right=Side(**options))
        if prepare:
            at, rkey = prepare(right)
        left.fill(b"w" * 64)
        right.recv(right.sge(8), wr_id=7)
        left.recv(left.sge(8, 128), wr_id=8)
        left.post(opcode, left.sge(64), to=right, wr_id=1, at=at,
                  rkey=rkey and rkey(right))
        by_id = {wc.wr_id: wc for wc in left.poll(2)}
        if opcode == WRITE:
            # TCP accepted it before the peer refused it: iWARP allows both
            # results.
            self.assertIn(by_id[1].status, (GOOD, e.IBV_WC_REM_ACCESS_ERR))
        else:
            self.status(by_id[1], e.IBV_WC_REM_ACCESS_ERR)
            self.assertEqual(left.read(64), b"w" * 64)
        self.status(by_id[8], FLUSH)
        self.status(right.poll()[0], FLUSH, 7)
        left.ended()
        right.ended()
        self.assertNotIn(b"w", right.read(rig.ROOM))
        self.event(right, event)

    def each(self, opcodes=(WRITE, READ), **options):
        for opcode in opcodes:
            with self.subTest(opcode=opcode):
                self.mistake(opcode, **options)

    @shows("remote access errors")
    def test_no_such_rkey(self):
        self.each(rkey=lambda s: s.mr.rkey ^ 0x5500)

    def test_old_key(self):
        self.each(rkey=lambda s: s.mr.rkey ^ 1)

    def test_past_the_end(self):
        self.each(at=rig.ROOM - 63)

    def test_before_the_start(self):
        self.each(at=-1)

    def test_other_domain(self):
        def prepare(side):
            side.other_pd = PD(side.ctx)
            side.other_mr = MR(side.other_pd, 64, rig.ALL)
            return (side.other_mr.buf - side.mr.buf,
                    lambda _: side.other_mr.rkey)
        self.each(prepare=prepare)

    def test_memory_without_the_right(self):
        self.mistake(WRITE, access=e.IBV_ACCESS_LOCAL_WRITE |
                     e.IBV_ACCESS_REMOTE_READ)
        self.mistake(READ, access=e.IBV_ACCESS_LOCAL_WRITE |
                     e.IBV_ACCESS_REMOTE_WRITE)

    def test_queue_pair_without_the_right(self):
        self.mistake(WRITE, rights=e.IBV_ACCESS_REMOTE_READ)
        self.mistake(READ, rights=e.IBV_ACCESS_REMOTE_WRITE)


class States(rig.Case):
    def test_idle_queue_pair_takes_no_sends(self):
        side = Side()
        self.refused(errno.EINVAL, side.post, SEND, side.sge(8))
        side.recv(side.sge(8))  # the only receives
        side.quiet()

    def test_error_flushes_all(self):
        left, right = Pair()
        for i in range(5):
            left.recv(left.sge(8), wr_id=i)
        left.qp.modify(QPAttr(qp_state=e.IBV_QPS_ERR), e.IBV_QP_STATE)
        for i, wc in enumerate(left.poll(5)):
            self.status(wc, FLUSH, i)
        left.recv(left.sge(8), wr_id=5)
        self.status(left.poll()[0], FLUSH, 5)
        left.post(SEND, left.sge(8), wr_id=6)
        self.status(left.poll()[0], FLUSH, 6)
        left.quiet()
        right.recv(right.sge(8), wr_id=7)
        self.status(right.poll()[0], FLUSH, 7)

    def test_wrong_moves(self):
        left, _ = Pair()
        for state in (e.IBV_QPS_INIT, e.IBV_QPS_RTR):
            self.refused(errno.EINVAL, left.qp.modify,
                         QPAttr(qp_state=state), e.IBV_QP_STATE)
        self.assertEqual(left.state(), e.IBV_QPS_RTS)


class Objects(rig.Case):
    def test_over_the_limits(self):
        side = Side()
        limit = side.ctx.query_device()
        for field, most in (("max_send_wr", limit.max_qp_wr),
                            ("max_recv_wr", limit.max_qp_wr),
                            ("max_send_sge", limit.max_sge),
                            ("max_recv_sge", limit.max_sge),
                            ("max_inline_data", 1 << 16)):
            with self.subTest(field=field):
                cap = QPCap(**{field: most + 1})
                self.refused(errno.EINVAL, QP, side.pd, QPInitAttr(
                    qp_type=e.IBV_QPT_RC, scq=side.cq, rcq=side.cq, cap=cap))
        self.refused(errno.EINVAL, CQ, side.ctx, limit.max_cqe + 1)

    def test_objects_of_another_context(self):
        side, other = Side(), Side()
        self.refused(errno.EINVAL, QP, side.pd, QPInitAttr(
            qp_type=e.IBV_QPT_RC, scq=other.cq, rcq=side.cq))
        self.refused(errno.EINVAL, QP, side.pd, QPInitAttr(
            qp_type=e.IBV_QPT_RC, scq=side.cq, rcq=other.cq))

    @shows("query_device, query_port, query_gid_ex")
    def test_port_two(self):
        with Context(name=rig.DEVICE) as ctx:
            self.refused(errno.EINVAL, ctx.query_port, 2)
            self.refused(errno.EINVAL, ctx.query_gid_ex, 2, 0)

    def test_rights_without_local_write(self):
        with Context(name=rig.DEVICE) as ctx, PD(ctx) as pd:
            for rights in (e.IBV_ACCESS_REMOTE_WRITE,
                           e.IBV_ACCESS_REMOTE_ATOMIC):
                self.refused(errno.EINVAL, MR, pd, 64, rights)
            self.refused(errno.EINVAL, MR, pd, 64, 1 << 30 | 1 << 11)

    def test_unmapped_memory(self):
        with Context(name=rig.DEVICE) as ctx, PD(ctx) as pd:
            self.refused(errno.EFAULT, MR, pd, 4096, rig.ALL, address=4096)

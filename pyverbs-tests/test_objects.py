# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Objects: completion queues and their channels, shared receive queues,
registration anew, device memory, domains."""
import errno

import pyverbs.device as d
import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CompChannel
from pyverbs.device import Context
from pyverbs.mem_alloc import mmap as map_memory
from pyverbs.mr import DMMR, MR
from pyverbs.pd import PD, ParentDomain, ParentDomainInitAttr
from pyverbs.qp import ECE, QPAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr

import rig
from rig import Pair, Side, shows


class Queues(rig.Case):
    @shows("ibv_resize_cq")
    def test_resize_keeps_what_is_there(self):
        left, right = Pair(depth=32)
        for i in range(8):
            right.recv(right.sge(8), wr_id=i)
            left.post(e.IBV_WR_SEND, left.sge(8), wr_id=i)
        left.good(4)
        right.good(4)
        for side in (left, right):
            side.cq.resize(200)
            self.assertGreaterEqual(side.cq.cqe, 200)
            self.assertEqual([wc.wr_id for wc in side.good(2)], [4, 5])
            side.cq.resize(8)
            self.assertEqual([wc.wr_id for wc in side.good(2)], [6, 7])
        left.post(e.IBV_WR_RDMA_READ, left.sge(8), to=right, wr_id=9)
        self.assertEqual(left.good()[0].wr_id, 9)

    def test_resize_refused(self):
        side = Side(depth=32)
        limit = side.ctx.query_device().max_cqe
        was = side.cq.cqe
        for cqe in (0, limit + 1):
            self.refused(errno.EINVAL, side.cq.resize, cqe)
        self.assertEqual(side.cq.cqe, was)

    @shows("CQ events, solicited events")
    def test_solicited_event_only(self):
        left, right = Pair(left=Side(), right=Side(channel=CompChannel))
        right.cq.req_notify(solicited_only=True)
        for i in range(4):
            right.recv(right.sge(8), wr_id=i)
        left.post(e.IBV_WR_SEND, left.sge(8))
        left.post(e.IBV_WR_SEND, left.sge(8), flags=e.IBV_SEND_SIGNALED |
                  e.IBV_SEND_SOLICITED)
        left.good(2)
        right.channel.get_cq_event(right.cq)
        # The unsolicited one came first and raised no event: both are there.
        self.assertEqual([wc.wr_id for wc in right.good(2)], [0, 1])
        right.cq.ack_events(1)
        right.cq.req_notify()
        left.post(e.IBV_WR_SEND, left.sge(8))
        left.good()
        right.channel.get_cq_event(right.cq)
        self.assertEqual(right.good()[0].wr_id, 2)
        right.cq.ack_events(1)

    def test_error_completion_is_solicited(self):
        left, right = Pair(left=Side(), right=Side(channel=CompChannel))
        right.recv(right.sge(8), wr_id=3)
        right.cq.req_notify(solicited_only=True)
        left.qp.close()
        right.channel.get_cq_event(right.cq)
        self.status(right.poll()[0], e.IBV_WC_WR_FLUSH_ERR, 3)
        right.cq.ack_events(1)

    @shows("CQ overflow")
    def test_overflow(self):
        """The queue that overflows is in error, its queue pair ends, and the
        context gets the event. Another queue pair continues."""
        left, right = Pair(depth=4)
        other_left, other_right = Pair(left=Side(ctx=left.ctx), right=Side())
        for _ in range(left.cq.cqe + 8):
            left.post(e.IBV_WR_RDMA_WRITE, left.sge(8), to=right)
        kinds = set()
        for _ in range(2):
            event = left.ctx.get_async_event()
            kinds.add(e.ibv_event_type(event.event_type))
            event.ack()
        self.assertEqual(kinds, {e.IBV_EVENT_CQ_ERR, e.IBV_EVENT_QP_FATAL})
        left.ended()
        other_left.post(e.IBV_WR_RDMA_READ, other_left.sge(8),
                        to=other_right)
        other_left.good()


class SharedReceives(rig.Case):
    @staticmethod
    def make(side):
        return SRQ(side.pd, SrqInitAttr(SrqAttr(max_wr=32, max_sge=2)))

    @shows("SRQ")
    def test_receives_in_order(self):
        left, right = Pair(left=Side(), right=Side(srq=self.make))
        for i in range(4):
            right.recv(right.sge(8, 8 * i), wr_id=i)
        for i in range(4):
            left.fill(b"%08d" % i)
            left.post(e.IBV_WR_SEND, left.sge(8))
            left.good()
            wc = right.good()[0]
            self.assertEqual((wc.wr_id, wc.byte_len), (i, 8))
            self.assertEqual(right.read(8, 8 * i), b"%08d" % i)

    @shows("SRQ query")
    def test_query(self):
        side = Side(srq=self.make)
        attr = side.srq.query()
        self.assertGreaterEqual(attr.max_wr, 32)
        self.assertGreaterEqual(attr.max_sge, 2)
        self.assertEqual(attr.srq_limit, 0)

    @shows("SRQ modify and limit event")
    def test_limit(self):
        left, right = Pair(left=Side(), right=Side(srq=self.make))
        for i in range(4):
            right.recv(right.sge(8), wr_id=i)
        right.srq.modify(SrqAttr(max_wr=32, srq_limit=3), e.IBV_SRQ_LIMIT)
        self.assertEqual(right.srq.query().srq_limit, 3)
        for _ in range(2):
            left.post(e.IBV_WR_SEND, left.sge(8))
        left.good(2)
        right.good(2)
        self.event(right, e.IBV_EVENT_SRQ_LIMIT_REACHED)
        self.assertEqual(right.srq.query().srq_limit, 0)

    @shows("last WQE event")
    def test_last_wqe(self):
        left, right = Pair(left=Side(), right=Side(srq=self.make))
        right.recv(right.sge(8))
        left.qp.close()
        self.event(right, e.IBV_EVENT_QP_LAST_WQE_REACHED)
        right.quiet()  # its receives stay for other queue pairs

    def test_refused(self):
        side = Side()
        limit = side.ctx.query_device()
        for attr in (SrqAttr(max_wr=limit.max_srq_wr + 1),
                     SrqAttr(max_wr=1, max_sge=limit.max_srq_sge + 1)):
            self.refused(errno.EINVAL, SRQ, side.pd, SrqInitAttr(attr))
        srq = self.make(side)
        self.refused(errno.EINVAL, srq.modify,
                     SrqAttr(srq_limit=limit.max_srq_wr + 1),
                     e.IBV_SRQ_LIMIT)


class Established(rig.Case):
    """Connection by ibv_modify_qp()."""

    @staticmethod
    def attr(side, peer):
        route = GlobalRoute(dgid=peer.ctx.query_gid(1, 0), sgid_index=0)
        attr = QPAttr(port_num=1)
        attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
        attr.dest_qp_num = peer.qp.qp_num
        attr.path_mtu = e.IBV_MTU_1024
        attr.max_dest_rd_atomic = attr.max_rd_atomic = 4
        attr.min_rnr_timer = 12
        attr.timeout, attr.retry_cnt, attr.rnr_retry = 14, 7, 7
        return attr

    def test_first_message_in_rtr(self):
        left, right = Side(), Side()
        to_left, to_right = self.attr(right, left), self.attr(left, right)
        left.qp.to_rtr(to_right)
        right.qp.to_rtr(to_left)
        left.qp.to_rts(to_right)
        right.recv(right.sge(8))
        left.post(e.IBV_WR_SEND, left.sge(8))
        left.good()
        right.good()
        self.event(right, e.IBV_EVENT_COMM_EST)
        right.qp.to_rts(to_left)
        left.recv(left.sge(8))
        right.post(e.IBV_WR_SEND, right.sge(8))
        right.good()
        left.good()


class Memory(rig.Case):
    @shows("ibv_rereg_mr")
    def test_rereg_rights(self):
        left, right = Pair()
        left.post(e.IBV_WR_RDMA_READ, left.sge(8), to=right)
        left.good()
        right.mr.rereg(e.IBV_REREG_MR_CHANGE_ACCESS, right.pd,
                       access=e.IBV_ACCESS_LOCAL_WRITE)
        left.post(e.IBV_WR_RDMA_READ, left.sge(8), to=right)
        self.status(left.poll()[0], e.IBV_WC_REM_ACCESS_ERR)

    def test_rereg_place(self):
        left, right = Pair()
        place = map_memory(length=8192)
        right.fill(b"old words")
        right.mr.rereg(e.IBV_REREG_MR_CHANGE_TRANSLATION, right.pd,
                       addr=place, length=8192)
        right.fill(b"new words")
        left.post(e.IBV_WR_RDMA_READ, left.sge(9), to=right)
        left.good()
        self.assertEqual(left.read(9), b"new words")

    def test_rereg_refused(self):
        side = Side()
        other = Side()
        self.refused(errno.EINVAL, side.mr.rereg, 1 << 7, side.pd)
        self.refused(errno.EINVAL, side.mr.rereg,
                     e.IBV_REREG_MR_CHANGE_PD, other.pd)
        self.refused(errno.EINVAL, side.mr.rereg,
                     e.IBV_REREG_MR_CHANGE_ACCESS, side.pd,
                     access=e.IBV_ACCESS_REMOTE_WRITE)

    @shows("zero-based registration", "relaxed ordering")
    def test_zero_based(self):
        left, right = Pair()
        zero = MR(right.pd, 4096, rig.ALL | e.IBV_ACCESS_ZERO_BASED |
                  e.IBV_ACCESS_RELAXED_ORDERING)
        zero.write(b"from zero", 9, 100)
        left.post(e.IBV_WR_RDMA_READ, left.sge(9), to=right,
                  at=100 - right.mr.buf, rkey=zero.rkey)
        left.good()
        self.assertEqual(left.read(9), b"from zero")

    @shows("device memory")
    def test_device_memory(self):
        left, right = Pair()
        limit = right.ctx.query_device_ex().max_dm_size
        self.assertGreater(limit, 4096)
        dm = d.DM(right.ctx, d.AllocDmAttr(length=4096))
        dm.copy_to_dm(0, b"device memory!!!", 16)
        mr = DMMR(right.pd, 4096, rig.ALL | e.IBV_ACCESS_ZERO_BASED, dm=dm,
                  offset=0)
        left.post(e.IBV_WR_RDMA_READ, left.sge(16), to=right,
                  at=-right.mr.buf, rkey=mr.rkey)
        left.good()
        self.assertEqual(left.read(16), b"device memory!!!")
        left.fill(b"written there...")
        left.post(e.IBV_WR_RDMA_WRITE, left.sge(16), to=right,
                  at=64 - right.mr.buf, rkey=mr.rkey)
        left.good()
        left.settle(right)
        self.assertEqual(dm.copy_from_dm(64, 16), b"written there...")
        self.refused(errno.ENOMEM, d.DM, right.ctx,
                     d.AllocDmAttr(length=limit + 4096))

    @shows("parent domains")
    def test_parent_domain(self):
        ctx = Context(name=rig.DEVICE)
        pd = PD(ctx)
        parent = ParentDomain(ctx, ParentDomainInitAttr(pd=pd))
        mr = MR(parent, 64, rig.ALL)
        self.assertNotEqual(mr.lkey, 0)
        self.refused(errno.EINVAL, ParentDomain, ctx,
                     ParentDomainInitAttr(pd=PD(Context(name=rig.DEVICE))))


class NotOffered(rig.Case):
    def test_ece(self):
        side = Side()
        self.refused(errno.EOPNOTSUPP, side.qp.query_ece)
        self.refused(errno.EOPNOTSUPP, side.qp.set_ece,
                     ECE(vendor_id=1))

    def test_import(self):
        side = Side()
        self.refused(errno.EOPNOTSUPP, Context, cmd_fd=side.ctx.cmd_fd)

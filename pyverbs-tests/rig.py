# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Common parts of the tests of this directory: two sides with everything that
traffic needs, connected by rdma_cm in one thread."""
import errno
import os
import time
import unittest

import pyverbs.enums as e
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

from connect import Connection

DEVICE = os.environ.get("USIW_PYVERBS_INSIDE", "usiw_lo")
LIMIT_S = 10
ROOM = 1 << 16  # octets of a side's memory, by default
REMOTE = (e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_WRITE |
          e.IBV_ACCESS_REMOTE_ATOMIC)
ALL = e.IBV_ACCESS_LOCAL_WRITE | REMOTE


def shows(*verbs):
    """Marks a test as one that shows these rows of the verb table."""
    def mark(function):
        function.shows = verbs
        return function
    return mark


def within(condition, what, seconds=LIMIT_S):
    """Waits until condition() is true, and returns its value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {seconds} s")


class Side:
    """A context with PD, CQ, memory and a queue pair in INIT."""

    def __init__(self, cap=None, room=ROOM, access=ALL, rights=REMOTE,
                 sig_all=0, srq=None, depth=256, channel=None, make=None,
                 ctx=None):
        """@access: of the memory; @rights: the rights that the QP grants to
        its peer; @make: makes the QP of this side, for other kinds of QP."""
        self.ctx = ctx or Context(name=DEVICE)
        self.pd = PD(self.ctx)
        self.channel = channel(self.ctx) if channel else None
        self.cq = CQ(self.ctx, depth, None, self.channel, 0)
        self.mr = MR(self.pd, room, access)
        self.srq = srq(self) if srq else None
        self.cap = cap or QPCap(max_send_wr=64, max_recv_wr=64,
                                max_send_sge=4, max_recv_sge=4,
                                max_inline_data=64)
        if make:
            self.qp = make(self)
        else:
            self.qp = QP(self.pd, QPInitAttr(
                qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, srq=self.srq,
                cap=self.cap, sq_sig_all=sig_all))
        attr = QPAttr(port_num=1)
        attr.qp_access_flags = rights
        self.qp.to_init(attr)

    # -- memory

    def fill(self, octets, offset=0):
        self.mr.write(octets, len(octets), offset)

    def read(self, length, offset=0):
        return self.mr.read(length, offset)

    def sge(self, length, offset=0, mr=None):
        mr = mr or self.mr
        return SGE(mr.buf + offset, length, mr.lkey)

    # -- work

    def recv(self, *sges, wr_id=0):
        wr = RecvWR(wr_id=wr_id, num_sge=len(sges), sg=list(sges))
        (self.srq or self.qp).post_recv(wr)

    def post(self, opcode, *sges, to=None, at=0, rkey=None, wr_id=0,
             flags=e.IBV_SEND_SIGNALED, imm=0):
        """@to: the side whose memory is the target, at offset @at; @imm: as in
        memory, or the rkey of SEND_WITH_INV and LOCAL_INV."""
        wr = SendWR(wr_id=wr_id, opcode=opcode, num_sge=len(sges),
                    sg=list(sges) or None, send_flags=flags, imm_data=imm)
        if to is not None:
            wr.set_wr_rdma(to.mr.rkey if rkey is None else rkey,
                           to.mr.buf + at)
        self.qp.post_send(wr)

    def atomic(self, opcode, sge, to, at=0, add=0, swap=0, rkey=None,
               wr_id=0):
        wr = SendWR(wr_id=wr_id, opcode=opcode, num_sge=1, sg=[sge])
        wr.set_wr_atomic(to.mr.rkey if rkey is None else rkey,
                         to.mr.buf + at, add, swap)
        self.qp.post_send(wr)

    # -- completions

    def poll(self, count=1, cq=None):
        """Exactly that many completions, in order."""
        found = []

        def more():
            found.extend((cq or self.cq).poll(count - len(found))[1])
            return len(found) == count
        within(more, f"{count} completions")
        return found

    def good(self, count=1, cq=None):
        """The same, and all of them are successes."""
        found = self.poll(count, cq)
        for wc in found:
            assert wc.status == e.IBV_WC_SUCCESS, str(wc)
        return found

    def quiet(self, milliseconds=20):
        """Checks that no completion comes."""
        deadline = time.monotonic() + milliseconds / 1000
        while time.monotonic() < deadline:
            count, found = self.cq.poll()
            assert count == 0, str(found[0])

    def state(self):
        return self.qp.query(e.IBV_QP_STATE)[0].qp_state

    def ended(self):
        """Checks that the stream ends, and that the QP is in ERR then."""
        within(lambda: self.state() == e.IBV_QPS_ERR, "ERR")

    def settle(self, to):
        """Returns when everything that this side has written is placed."""
        self.post(e.IBV_WR_RDMA_READ, SGE(0, 0, 0), to=to, wr_id=0x5e771e)
        wc = self.good()[0]
        assert wc.wr_id == 0x5e771e, str(wc)


class Pair:
    """Two sides of one process, connected."""

    def __init__(self, reads=16, left=None, right=None, **options):
        self.left = left or Side(**options)
        self.right = right or Side(**options)
        # A connection ends with its identities, so the sides hold them.
        self.connection = Connection(self.left.qp, self.right.qp, reads=reads)
        self.left.connection = self.right.connection = self.connection

    def __iter__(self):
        return iter((self.left, self.right))


class Case(unittest.TestCase):
    """Assertions for verbs."""

    def refused(self, code, function, *args, **kwargs):
        """Checks that the call fails with that errno."""
        with self.assertRaises(PyverbsRDMAError) as caught:
            function(*args, **kwargs)
        self.assertEqual(errno.errorcode.get(caught.exception.error_code),
                         errno.errorcode[code], str(caught.exception))

    def status(self, wc, wanted, wr_id=None):
        self.assertEqual(e.ibv_wc_status(wc.status), wanted, str(wc))
        if wr_id is not None:
            self.assertEqual(wc.wr_id, wr_id)

    def event(self, side, kind):
        """The next asynchronous event of a side's context."""
        event = side.ctx.get_async_event()
        self.assertEqual(e.ibv_event_type(event.event_type), kind)
        event.ack()

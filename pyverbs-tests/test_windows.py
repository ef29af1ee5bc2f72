# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Memory windows of both types, and invalidated keys."""
import errno

import pyverbs.enums as e
from pyverbs.mr import MR, MW, MWBind, MWBindInfo
from pyverbs.wr import SendWR

import rig
from rig import Pair, Side, shows

BIND = "IBV_WR_BIND_MW, ibv_bind_mw: windows of type 1 and 2"
RIGHTS = rig.REMOTE
WITH_BIND = rig.ALL | e.IBV_ACCESS_MW_BIND


class Windows(rig.Case):
    def setUp(self):
        self.left, self.right = Pair(access=WITH_BIND)

    def bind1(self, mw, at, length, rights=RIGHTS):
        info = MWBindInfo(self.right.mr, self.right.mr.buf + at, length,
                          rights)
        self.right.qp.bind_mw(mw, MWBind(info, e.IBV_SEND_SIGNALED))
        wc = self.right.good()[0]
        self.assertEqual(wc.opcode, e.IBV_WC_BIND_MW)

    def bind2(self, mw, at, length, rights=RIGHTS):
        """Return: the key for the peer."""
        wr = SendWR(opcode=e.IBV_WR_BIND_MW)
        wr.set_bind_wr(mw, MWBindInfo(self.right.mr, self.right.mr.buf + at,
                                      length, rights))
        self.right.qp.post_send(wr)
        wc = self.right.good()[0]
        self.assertEqual(wc.opcode, e.IBV_WC_BIND_MW)
        return wr.rkey

    def read(self, rkey, at, length=8):
        """The status of a READ through that key."""
        self.left.post(e.IBV_WR_RDMA_READ, self.left.sge(length),
                       to=self.right, at=at, rkey=rkey)
        return self.left.poll()[0].status

    @shows(BIND)
    def test_type_1(self):
        mw = MW(self.right.pd, e.IBV_MW_TYPE_1)
        self.bind1(mw, 4096, 64)
        first = mw.rkey
        self.right.fill(b"window 1", 4096)
        self.assertEqual(self.read(first, 4096), e.IBV_WC_SUCCESS)
        self.assertEqual(self.left.read(8), b"window 1")
        self.bind1(mw, 8192, 64)
        self.right.fill(b"elsewher", 8192)
        self.assertNotEqual(mw.rkey, first)
        self.assertEqual(self.read(mw.rkey, 8192), e.IBV_WC_SUCCESS)
        self.assertEqual(self.left.read(8), b"elsewher")
        self.assertEqual(self.read(first, 4096), e.IBV_WC_REM_ACCESS_ERR)

    @shows(BIND)
    def test_type_2(self):
        mw = MW(self.right.pd, e.IBV_MW_TYPE_2)
        rkey = self.bind2(mw, 4096, 64)
        self.right.fill(b"window 2", 4096)
        self.assertEqual(self.read(rkey, 4096), e.IBV_WC_SUCCESS)
        self.assertEqual(self.left.read(8), b"window 2")
        self.assertEqual(self.read(rkey, 4096 + 60),
                         e.IBV_WC_REM_ACCESS_ERR)

    def test_rights_of_the_window(self):
        mw = MW(self.right.pd, e.IBV_MW_TYPE_2)
        rkey = self.bind2(mw, 0, 64, e.IBV_ACCESS_REMOTE_WRITE)
        self.left.post(e.IBV_WR_RDMA_WRITE, self.left.sge(8), to=self.right,
                       rkey=rkey)
        self.left.good()
        self.assertEqual(self.read(rkey, 0), e.IBV_WC_REM_ACCESS_ERR)

    @shows("IBV_WR_LOCAL_INV")
    def test_local_invalidation(self):
        mw = MW(self.right.pd, e.IBV_MW_TYPE_2)
        rkey = self.bind2(mw, 0, 64)
        self.assertEqual(self.read(rkey, 0), e.IBV_WC_SUCCESS)
        self.right.post(e.IBV_WR_LOCAL_INV, imm=rkey)
        self.assertEqual(self.right.good()[0].opcode, e.IBV_WC_LOCAL_INV)
        self.assertEqual(self.read(rkey, 0), e.IBV_WC_REM_ACCESS_ERR)

    @shows("IBV_WR_SEND_WITH_INV",
           "IBV_WC_WITH_IMM and IBV_WC_WITH_INV in wc_flags")
    def test_remote_invalidation(self):
        mw = MW(self.right.pd, e.IBV_MW_TYPE_2)
        rkey = self.bind2(mw, 0, 64)
        self.assertEqual(self.read(rkey, 0), e.IBV_WC_SUCCESS)
        self.right.recv(self.right.sge(8))
        self.left.post(e.IBV_WR_SEND_WITH_INV, self.left.sge(8), imm=rkey)
        self.left.good()
        wc = self.right.good()[0]
        self.assertEqual(wc.wc_flags, e.IBV_WC_WITH_INV)
        self.assertEqual(wc.imm_data, rkey)
        self.assertEqual(self.read(rkey, 0), e.IBV_WC_REM_ACCESS_ERR)

    def test_not_to_be_bound(self):
        """Memory that does not allow windows."""
        side = Side(access=rig.ALL)
        mw = MW(side.pd, e.IBV_MW_TYPE_1)
        left, right = Pair(access=rig.ALL)
        mw = MW(right.pd, e.IBV_MW_TYPE_2)
        wr = SendWR(opcode=e.IBV_WR_BIND_MW)
        wr.set_bind_wr(mw, MWBindInfo(right.mr, right.mr.buf, 64, RIGHTS))
        right.qp.post_send(wr)
        self.status(right.poll()[0], e.IBV_WC_MW_BIND_ERR)

    def test_memory_in_use_by_a_window(self):
        mw = MW(self.right.pd, e.IBV_MW_TYPE_2)
        memory = MR(self.right.pd, 64, WITH_BIND)
        wr = SendWR(opcode=e.IBV_WR_BIND_MW)
        wr.set_bind_wr(mw, MWBindInfo(memory, memory.buf, 64, RIGHTS))
        self.right.qp.post_send(wr)
        self.right.good()
        self.refused(errno.EBUSY, memory.close)
        mw.close()
        memory.close()

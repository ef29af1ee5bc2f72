# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Registered memory that is not mapped: on demand, and unmapped later."""
import ctypes
import os
import tempfile

import pyverbs.enums as e
from pyverbs.mr import MR
from pyverbs.wr import SGE

import rig
from rig import Pair, Side, shows

DEMAND = "on-demand paging, implicit too; ibv_advise_mr"
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                      ctypes.c_int, ctypes.c_int, ctypes.c_long]
PAGE = 4096
NONE, READ_WRITE = 0, 3


def map_pages(protection=READ_WRITE, flags=0x22, fd=-1):
    return LIBC.mmap(None, PAGE, protection, flags, fd, 0)


class OnDemand(rig.Case):
    @shows(DEMAND)
    def test_pages_come_with_the_access(self):
        left, right = Pair()
        self.assertTrue(right.ctx.query_device_ex().odp_caps.general_caps &
                        e.IBV_ODP_SUPPORT)
        place = map_pages()
        there = MR(right.pd, PAGE, rig.ALL | e.IBV_ACCESS_ON_DEMAND,
                   address=place)
        left.fill(b"on demand")
        left.post(e.IBV_WR_RDMA_WRITE, left.sge(9), to=right,
                  at=place - right.mr.buf, rkey=there.rkey)
        left.good()
        left.settle(right)
        self.assertEqual(ctypes.string_at(place, 9), b"on demand")

    @shows(DEMAND)
    def test_implicit(self):
        left, right = Pair()
        self.assertTrue(right.ctx.query_device_ex().odp_caps.general_caps &
                        e.IBV_ODP_SUPPORT_IMPLICIT)
        everything = MR(right.pd, access=rig.ALL | e.IBV_ACCESS_ON_DEMAND,
                        implicit=True)
        place = map_pages()  # not mapped when it was registered
        ctypes.memmove(place, b"implicit!", 9)
        left.post(e.IBV_WR_RDMA_READ, left.sge(9), to=right,
                  at=place - right.mr.buf, rkey=everything.rkey)
        left.good()
        self.assertEqual(left.read(9), b"implicit!")
        # Also as local memory of a send.
        left.recv(left.sge(9, 512))
        right.post(e.IBV_WR_SEND, SGE(place, 9, everything.lkey))
        right.good()
        left.good()
        self.assertEqual(left.read(9, 512), b"implicit!")

    @shows(DEMAND)
    def test_advice(self):
        side = Side()
        place = map_pages()
        mr = MR(side.pd, PAGE, rig.ALL | e.IBV_ACCESS_ON_DEMAND,
                address=place)
        for advice in (e._IBV_ADVISE_MR_ADVICE_PREFETCH,
                       e._IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE):
            side.pd.advise_mr(advice, e._IBV_ADVISE_MR_FLAG_FLUSH,
                              [SGE(place, PAGE, mr.lkey)])
        other = SGE(place, PAGE, mr.lkey ^ 0x5500)
        with self.assertRaises(Exception):
            side.pd.advise_mr(e._IBV_ADVISE_MR_ADVICE_PREFETCH,
                              e._IBV_ADVISE_MR_FLAG_FLUSH, [other])


class Gone:
    """The peer gets a Terminate, the process an event and no signal."""

    CRC = None
    LOCAL = "off"
    KINDS = ("unmapped", "closed", "truncated")

    def setUp(self):
        # each test is a process, so this is early enough
        os.environ["USIW_CRC"] = self.CRC
        os.environ["USIW_LOCAL"] = self.LOCAL

    def lose(self, kind, make):
        """Makes a page inaccessible after @make has used it. Return: the page
        and the object."""
        if kind == "truncated":
            self.file = tempfile.TemporaryFile()
            self.file.truncate(PAGE)
            place = map_pages(flags=1, fd=self.file.fileno())
        else:
            place = map_pages()
        result = make(place)
        if kind == "unmapped":
            LIBC.munmap(ctypes.c_void_p(place), PAGE)
        elif kind == "closed":
            LIBC.mprotect(ctypes.c_void_p(place), PAGE, NONE)
        else:
            os.ftruncate(self.file.fileno(), 0)
        return place, result

    def each(self, function):
        for kind in self.KINDS:
            with self.subTest(kind=kind):
                function(kind)

    def remote(self, post):
        def one(kind):
            left, right = Pair()
            place, mr = self.lose(kind, lambda place: MR(
                right.pd, PAGE, rig.ALL, address=place))
            post(left, right, place - right.mr.buf, mr.rkey)
            event = right.ctx.get_async_event()
            self.assertIn(e.ibv_event_type(event.event_type),
                          (e.IBV_EVENT_QP_ACCESS_ERR, e.IBV_EVENT_QP_FATAL,
                           e.IBV_EVENT_QP_REQ_ERR))
            event.ack()
            left.ended()
            right.ended()
            # The process continues, and another connection works.
            other_left, other_right = Pair()
            other_left.post(e.IBV_WR_RDMA_READ, other_left.sge(8),
                            to=other_right)
            other_left.good()
        self.each(one)

    def test_read_by_a_peer(self):
        def post(left, right, at, rkey):
            left.post(e.IBV_WR_RDMA_READ, left.sge(64), to=right, at=at,
                      rkey=rkey)
            self.assertNotEqual(left.poll()[0].status, e.IBV_WC_SUCCESS)
        self.remote(post)

    def test_written_by_a_peer(self):
        def post(left, right, at, rkey):
            left.post(e.IBV_WR_RDMA_WRITE, left.sge(PAGE), to=right, at=at,
                      rkey=rkey)
            left.poll()
        self.remote(post)

    def test_own_memory_of_a_send(self):
        def one(kind):
            left, right = Pair()
            place, mr = self.lose(kind, lambda place: MR(
                left.pd, PAGE, rig.ALL, address=place))
            right.recv(right.sge(PAGE))
            left.post(e.IBV_WR_SEND, SGE(place, PAGE, mr.lkey))
            self.assertNotEqual(left.poll()[0].status, e.IBV_WC_SUCCESS)
            self.status(right.poll()[0], e.IBV_WC_WR_FLUSH_ERR)
        self.each(one)

    def test_own_memory_of_a_receive(self):
        def one(kind):
            left, right = Pair()
            place, mr = self.lose(kind, lambda place: MR(
                right.pd, PAGE, rig.ALL, address=place))
            right.recv(SGE(place, PAGE, mr.lkey))
            left.post(e.IBV_WR_SEND, left.sge(PAGE))
            left.poll()
            self.assertNotEqual(right.poll()[0].status, e.IBV_WC_SUCCESS)
        self.each(one)


class GoneCrcOn(Gone, rig.Case):
    CRC = "on"


class GoneCrcOff(Gone, rig.Case):
    CRC = "off"


class GoneLocal(Gone, rig.Case):
    CRC = "on"
    LOCAL = "auto"

# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Atomic operations: their effect, their atomicity, and refused ones."""
import ctypes
import threading

import pyverbs.enums as e
from pyverbs.wr import SGE

import rig
from rig import Pair, Side, shows

SWAP, ADD = e.IBV_WR_ATOMIC_CMP_AND_SWP, e.IBV_WR_ATOMIC_FETCH_AND_ADD
TITLE = "IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD"
MOST = (1 << 64) - 1


def word(side, offset=0):
    return ctypes.c_uint64.from_address(side.mr.buf + offset)


class Atomics(rig.Case):
    def one(self, left, right, opcode, was, add, swap=0):
        """The word before and after."""
        word(right, 64).value = was
        left.atomic(opcode, left.sge(8), right, 64, add, swap)
        wc = left.good()[0]
        self.assertEqual(wc.opcode, e.IBV_WC_FETCH_ADD if opcode == ADD
                         else e.IBV_WC_COMP_SWAP)
        self.assertEqual(wc.byte_len, 8)
        self.assertEqual(word(left).value, was)
        return word(right, 64).value

    @shows(TITLE)
    def test_fetch_and_add(self):
        left, right = Pair()
        for was, add in ((0, 1), (5, 1 << 40), (MOST, 1), (7, MOST), (9, 0)):
            self.assertEqual(self.one(left, right, ADD, was, add),
                             (was + add) & MOST)

    @shows(TITLE)
    def test_compare_and_swap(self):
        left, right = Pair()
        for was, compare, swap in ((0, 0, 1), (5, 6, 7), (MOST, MOST, 0),
                                   (1 << 63, 1 << 63, 3)):
            self.assertEqual(self.one(left, right, SWAP, was, compare, swap),
                             swap if was == compare else was)

    @shows(TITLE)
    def test_many_queue_pairs_one_word(self):
        """Four connections to one memory, and the CPU of the target."""
        target = Side()
        pairs = [Pair(left=Side(), right=Side(ctx=target.ctx))
                 for _ in range(3)]
        # One region for all. The domains of the right sides differ, so each
        # registers the same address.
        from pyverbs.mr import MR
        keys = []
        for _, right in pairs:
            right.shared = MR(right.pd, 4096, rig.ALL, address=target.mr.buf)
            keys.append(right.shared)
        rounds = 300

        def work(left, mr):
            for _ in range(rounds):
                left.atomic(ADD, left.sge(8), target, 0, 1, rkey=mr.rkey)
                left.good()
        threads = [threading.Thread(target=work, args=(left, mr))
                   for (left, _), mr in zip(pairs, keys)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(word(target).value, rounds * len(pairs))

    def test_in_flight_to_the_limit(self):
        left, right = Pair(reads=2)
        for _ in range(40):
            left.atomic(ADD, left.sge(8), right, 0, 1)
        left.good(40)
        self.assertEqual(word(right).value, 40)

    def refuse(self, status, opcode=ADD, length=8, event=None, left=None,
               at=0, rkey=None, **options):
        left, right = Pair(left=left or Side(), right=Side(**options))
        left.atomic(opcode, left.sge(length), right, at, 1,
                    rkey=rkey and rkey(right))
        self.status(left.poll()[0], status)
        self.assertEqual(word(right).value, 0)
        if event:
            self.event(right, event)

    def test_target_mistakes(self):
        access = e.IBV_EVENT_QP_ACCESS_ERR
        wrong = e.IBV_WC_REM_ACCESS_ERR
        for opcode in (ADD, SWAP):
            self.refuse(wrong, opcode, rkey=lambda s: s.mr.rkey ^ 0x5500,
                        event=access)
            self.refuse(wrong, opcode, at=rig.ROOM, event=access)
            self.refuse(wrong, opcode, at=rig.ROOM - 4)
            self.refuse(wrong, opcode, access=e.IBV_ACCESS_LOCAL_WRITE |
                        e.IBV_ACCESS_REMOTE_WRITE |
                        e.IBV_ACCESS_REMOTE_READ, event=access)
            self.refuse(wrong, opcode, rights=e.IBV_ACCESS_REMOTE_WRITE |
                        e.IBV_ACCESS_REMOTE_READ, event=access)

    def test_not_aligned(self):
        for at in (1, 4):
            left, right = Pair()
            left.atomic(ADD, left.sge(8), right, at, 1)
            self.assertIn(left.poll()[0].status,
                          (e.IBV_WC_REM_INV_REQ_ERR,
                           e.IBV_WC_REM_ACCESS_ERR))
            self.assertEqual(word(right).value, 0)

    def test_sink_mistakes(self):
        left, right = Pair()
        left.atomic(ADD, SGE(left.mr.buf, 8, left.mr.lkey ^ 0x5500), right,
                    0, 1)
        self.status(left.poll()[0], e.IBV_WC_LOC_PROT_ERR)
        self.assertEqual(word(right).value, 0)

# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""rdma-core's suite takes a completed WRITE for a placed one, and a completed
SEND for one that the target has accepted.

InfiniBand has it so.  With iWARP completion says that the buffer may be used
again; who wants to know what became of the octets sends a READ behind them
(RFC 5040 5.5), and the suite is taught to: a READ of nothing, which needs no
rights, before it looks into the target's memory or expects its refusal.
"""
import time

import pyverbs.enums as e
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QPCap
from pyverbs.wr import SGE, SendWR

WR_ID = 0x5e771e
PATIENCE_S = 10
# These wait for a refusal of the target, some of them of a SEND.
REFUSALS = {
    "MRTest": ("test_mr_rereg_addr", "test_mr_rereg_pd",
               "test_mr_rereg_access_bad_flow"),
    "MWTest": ("test_invalidate_mw_type1", "test_mw_type2_invalidate_local",
               "test_mw_type2_invalidate_remote",
               "test_mw_type2_invalidate_dealloc")}


class Barrier:
    """A barrier before which the WRITEs of an rdma_cm identity are placed."""

    def __init__(self, barrier, resources):
        self.barrier = barrier
        self.resources = resources

    def wait(self):
        cmid = self.resources.cmid
        cmid.post_read(self.resources.mr, 0, 0, 0, flags=e.IBV_SEND_SIGNALED)
        cmid.get_send_comp()
        return self.barrier.wait()


class Settler:
    """Stands in for three functions of the suite."""

    def __init__(self, utils, connection):
        self.utils = utils
        self.send, self.poll_cq = utils.send, utils.poll_cq
        self.remote_traffic = connection.remote_traffic
        self.senders = {}  # queue pairs that have sent, by number
        self.follower = None  # of each request, in one list with it
        self.is_followed = False

    @staticmethod
    def read_of_nothing():
        wr = SendWR(wr_id=WR_ID, opcode=e.IBV_WR_RDMA_READ, num_sge=1,
                    sg=[SGE(0, 0, 0)])
        wr.set_wr_rdma(0, 0)
        return wr

    def wait(self, cq):
        """Returns when that READ has completed, or fails as poll_cq() does."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            count, wcs = cq.poll()
            if count:
                assert wcs[0].wr_id == WR_ID, str(wcs[0])
                if wcs[0].status != e.IBV_WC_SUCCESS:
                    status = self.utils.wc_status_to_str(wcs[0].status)
                    raise PyverbsRDMAError(f"Completion status is {status}")
                return
        raise AssertionError("no answer to the READ behind a request")

    def settled_poll_cq(self, cq, *args, **kwargs):
        wcs = self.poll_cq(cq, *args, **kwargs)
        opcode, qp = wcs[-1].opcode, self.senders.get(wcs[-1].qp_num)
        if qp and opcode == e.IBV_WC_RDMA_WRITE and not self.follower:
            qp.post_send(self.read_of_nothing())
            self.wait(cq)
        if opcode in (e.IBV_WC_SEND, e.IBV_WC_RDMA_WRITE) and \
                self.is_followed:
            self.is_followed = False
            self.wait(cq)
        return wcs

    def noted_send(self, player, wr, *args, **kwargs):
        self.senders.update((qp.qp_num, qp)
                            for qp in getattr(player, "qps", ()))
        if self.follower:
            # In one list, or else the refusal may be there before the READ.
            wr.next_wr = self.follower
            self.is_followed = True
        return self.send(player, wr, *args, **kwargs)

    def settled_remote_traffic(self, connection, passive, remote_op="write"):
        if not passive and remote_op == "write":
            connection.syncer = Barrier(connection.syncer, connection.cm_res)
        self.remote_traffic(connection, passive, remote_op)

    def refused(self, test):
        def run(case):
            from tests.base import TrafficResources
            self.follower = self.read_of_nothing()
            TrafficResources.create_qp_cap = lambda res: \
                QPCap(max_send_wr=2, max_recv_wr=res.num_msgs)
            test(case)
        return run


def install():
    """Between loading the suite's modules and running its tests."""
    from tests import test_mr, utils
    from tests.rdmacm_utils import CMConnection
    settler = Settler(utils, CMConnection)
    utils.send = settler.noted_send
    utils.poll_cq = settler.settled_poll_cq
    CMConnection.remote_traffic = lambda *args, **kwargs: \
        settler.settled_remote_traffic(*args, **kwargs)
    for kind, names in REFUSALS.items():
        case = getattr(test_mr, kind)
        for name in names:
            setattr(case, name, settler.refused(getattr(case, name)))

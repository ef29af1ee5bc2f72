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
from pyverbs.wr import SGE, SendWR

WR_ID = 0x5e771e
PATIENCE_S = 10
# These expect the same of SENDs: what the target says of its receive.
ABOUT_SENDS = ("test_mr_rereg_addr", "test_mr_rereg_pd")


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
        self.opcodes = [e.IBV_WC_RDMA_WRITE]

    def settle(self, cq, qp):
        """Returns, or fails as poll_cq() does, when the target has dealt
        with what @qp has sent."""
        wr = SendWR(wr_id=WR_ID, opcode=e.IBV_WR_RDMA_READ, num_sge=1,
                    sg=[SGE(0, 0, 0)])
        wr.set_wr_rdma(0, 0)
        qp.post_send(wr)
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            count, wcs = cq.poll()
            if count:
                assert wcs[0].wr_id == WR_ID, str(wcs[0])
                if wcs[0].status != e.IBV_WC_SUCCESS:
                    status = self.utils.wc_status_to_str(wcs[0].status)
                    raise PyverbsRDMAError(f"Completion status is {status}")
                return
        raise AssertionError("no answer to the READ behind a WRITE")

    def settled_poll_cq(self, cq, *args, **kwargs):
        wcs = self.poll_cq(cq, *args, **kwargs)
        if wcs[-1].opcode in self.opcodes and wcs[-1].qp_num in self.senders:
            self.settle(cq, self.senders[wcs[-1].qp_num])
        return wcs

    def noted_send(self, player, *args, **kwargs):
        self.senders.update((qp.qp_num, qp)
                            for qp in getattr(player, "qps", ()))
        return self.send(player, *args, **kwargs)

    def settled_remote_traffic(self, connection, passive, remote_op="write"):
        if not passive and remote_op == "write":
            connection.syncer = Barrier(connection.syncer, connection.cm_res)
        self.remote_traffic(connection, passive, remote_op)

    def about_sends(self, test):
        def run(case):
            self.opcodes.append(e.IBV_WC_SEND)
            test(case)
        return run


def install():
    """Between loading the suite's modules and running its tests."""
    from tests import utils
    from tests.rdmacm_utils import CMConnection
    from tests.test_mr import MRTest
    settler = Settler(utils, CMConnection)
    utils.send = settler.noted_send
    utils.poll_cq = settler.settled_poll_cq
    CMConnection.remote_traffic = lambda *args, **kwargs: \
        settler.settled_remote_traffic(*args, **kwargs)
    for name in ABOUT_SENDS:
        setattr(MRTest, name, settler.about_sends(getattr(MRTest, name)))

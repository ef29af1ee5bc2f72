# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""rdma-core's suite takes a completed WRITE for a placed one.

InfiniBand has it so.  With iWARP a completed WRITE says that its buffer may be
used again; who wants to know that the octets are placed sends a READ behind
them (RFC 5040 5.5), and the suite is taught to: a READ of nothing, which needs
no rights, before it looks into the target's memory.  A WRITE that the target
refuses is told by that READ; so is a SEND whose receive turns out to be bad,
in the tests that wait for this.
"""
import time

import pyverbs.enums as e
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.wr import SGE, SendWR

WR_ID = 0x5e771e
PATIENCE_S = 10
settled = {e.IBV_WC_RDMA_WRITE}  # each test runs in a process of its own
senders = {}  # queue pairs that have sent, by number


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


def settle(cq, qp):
    """Returns when what @qp has written is placed."""
    from tests.utils import wc_status_to_str
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
                raise PyverbsRDMAError("Completion status is " +
                                       wc_status_to_str(wcs[0].status))
            return
    raise AssertionError("no answer to the READ behind a WRITE")


def install():
    """Between loading the suite's modules and running its tests."""
    from tests import utils
    from tests.rdmacm_utils import CMConnection
    from tests.test_mr import MRTest
    remote_traffic = CMConnection.remote_traffic
    send, poll_cq = utils.send, utils.poll_cq

    def settled_remote_traffic(self, passive, remote_op="write"):
        if not passive and remote_op == "write":
            self.syncer = Barrier(self.syncer, self.cm_res)
        remote_traffic(self, passive, remote_op)

    def bad_receive(test):
        def run(self):
            settled.add(e.IBV_WC_SEND)
            test(self)
        return run

    def noted_send(player, *args, **kwargs):
        senders.update((qp.qp_num, qp) for qp in getattr(player, "qps", ()))
        return send(player, *args, **kwargs)

    def settled_poll_cq(cq, *args, **kwargs):
        wcs = poll_cq(cq, *args, **kwargs)
        if wcs[-1].opcode in settled and wcs[-1].qp_num in senders:
            settle(cq, senders[wcs[-1].qp_num])
        return wcs

    CMConnection.remote_traffic = settled_remote_traffic
    utils.send, utils.poll_cq = noted_send, settled_poll_cq
    MRTest.test_mr_rereg_pd = bad_receive(MRTest.test_mr_rereg_pd)
    MRTest.test_mr_rereg_addr = bad_receive(MRTest.test_mr_rereg_addr)

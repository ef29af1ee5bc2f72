# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""rdma-core's suite takes a completed WRITE for a placed one.

InfiniBand has it so, and so have queue pairs that ibv_modify_qp() connects on
usiw.  Over rdma_cm it is as iWARP has it: a completed WRITE says that its buffer
may be used again, and who wants to know that the octets are placed sends a
READ behind them (RFC 5040 5.5).  The suite's tests of rdma_cm are taught to: a
READ of nothing, which needs no rights, before the target's memory is looked at.
"""
import pyverbs.enums as e


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


def install():
    """Between loading the suite's modules and running its tests."""
    from tests.rdmacm_utils import CMConnection
    remote_traffic = CMConnection.remote_traffic

    def settled(self, passive, remote_op="write"):
        if not passive and remote_op == "write":
            self.syncer = Barrier(self.syncer, self.cm_res)
        remote_traffic(self, passive, remote_op)

    CMConnection.remote_traffic = settled

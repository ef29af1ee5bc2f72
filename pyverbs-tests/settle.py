# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""rdma-core's suite assumes that a completed WRITE is placed.

That holds for InfiniBand, and for queue pairs that ibv_modify_qp() connects on
usiw. Over rdma_cm iWARP's rule holds: a completed WRITE says that its buffer
may be used again. To know that the octets are placed, a program sends a READ
after them (RFC 5040 5.5). This module adds such a READ to the suite's tests of
rdma_cm before they read the target's memory. The READ is empty and needs no
rights.
"""
try:
    import pyverbs.libibverbs_enums as e
except ImportError:  # its name up to rdma-core 56
    import pyverbs.enums as e


class Barrier:
    """A barrier that first waits until the WRITEs of an rdma_cm identity are
    placed."""

    def __init__(self, barrier, resources):
        self.barrier = barrier
        self.resources = resources

    def wait(self):
        cmid = self.resources.cmid
        cmid.post_read(self.resources.mr, 0, 0, 0, flags=e.IBV_SEND_SIGNALED)
        cmid.get_send_comp()
        return self.barrier.wait()


def install():
    """Call it between loading the suite's modules and running its tests."""
    from tests.rdmacm_utils import CMConnection
    remote_traffic = CMConnection.remote_traffic

    def settled(self, passive, remote_op="write"):
        if not passive and remote_op == "write":
            self.syncer = Barrier(self.syncer, self.cm_res)
        remote_traffic(self, passive, remote_op)

    CMConnection.remote_traffic = settled

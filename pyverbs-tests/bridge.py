# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""rdma-core's suite moves its queue pairs by number; a bridge lets rdma_cm
connect them instead, so that what the suite does on a connection is tested
also while ibv_modify_qp() makes none."""
import pyverbs.enums as e
from pyverbs.qp import QPAttr

from connect import Connection

# By QP number: who waits for a mate.  Connections stay until the test ends.
waiting = {}
connections = []


def join(qp, attr, mate_num):
    """To be called for both QPs; the second call connects them."""
    qp.to_init(attr)
    mate = waiting.pop(mate_num, None)
    if mate is None:
        waiting[qp.qp_num] = qp
        return
    connections.append(Connection(qp, mate,
                                  reads=max(1, attr.max_rd_atomic)))


def to_rts(self):
    """In place of RCResources.to_rts()."""
    for i in range(self.qp_count):
        attr = self.create_qp_attr()
        attr.max_rd_atomic = 1
        join(self.qps[i], attr, self.rqps_num[i])


def restate_qps(self):
    """In place of MRTest.restate_qps(): from ERR by RESET to RTS."""
    for qp in (self.server.qp, self.client.qp):
        qp.modify(QPAttr(qp_state=e.IBV_QPS_RESET), e.IBV_QP_STATE)
    for player, mate in ((self.server, self.client),
                         (self.client, self.server)):
        join(player.qp, player.create_qp_attr(), mate.qp.qp_num)


def install():
    from tests.base import RCResources
    from tests.test_mr import MRTest
    RCResources.to_rts = to_rts
    MRTest.restate_qps = restate_qps

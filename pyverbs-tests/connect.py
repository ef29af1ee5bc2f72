# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Connects two queue pairs of one process by rdma_cm, in one thread."""
import pyverbs.cm_enums as ce
import pyverbs.enums as e
from pyverbs.cmid import (CMID, AddrInfo, CMEvent, CMEventChannel, ConnParam)

LIMIT_MS = 5000


def expect(channel, kind):
    """The next event of the channel, which must be of that type."""
    event = CMEvent(channel)
    if event.event_type != kind:
        raise AssertionError(f"event {event.event_str()} came instead of "
                             f"{kind}")
    return event


def move(identity, qp):
    """Moves to RTS in rdma_cm's steps, with the rights of the QP."""
    for state in (e.IBV_QPS_RTR, e.IBV_QPS_RTS):
        attr, mask = identity.init_qp_attr(state)
        qp.modify(attr, mask & ~e.IBV_QP_ACCESS_FLAGS)


class Connection:
    """Holds the identities. The streams belong to the queue pairs."""

    def __init__(self, active, passive, address="127.0.0.1", reads=1,
                 port="7471"):
        """@active, @passive: QPs in INIT. @reads: number of RDMA Reads and
        atomics that either side may have outstanding."""
        here, there = CMEventChannel(), CMEventChannel()
        self.channels = (here, there)
        listener = CMID(creator=there)
        listener.bind_addr(AddrInfo(src=address, src_service=port,
                                    port_space=ce.RDMA_PS_TCP,
                                    flags=ce.RAI_PASSIVE))
        listener.listen()
        self.active = CMID(creator=here)
        self.active.resolve_addr(AddrInfo(
            dst=address, dst_service=port, port_space=ce.RDMA_PS_TCP),
            LIMIT_MS)
        expect(here, ce.RDMA_CM_EVENT_ADDR_RESOLVED).ack_cm_event()
        self.active.resolve_route(LIMIT_MS)
        expect(here, ce.RDMA_CM_EVENT_ROUTE_RESOLVED).ack_cm_event()
        self.active.connect(self.param(active, reads))
        request = expect(there, ce.RDMA_CM_EVENT_CONNECT_REQUEST)
        self.passive = CMID(creator=request, listen_id=listener)
        request.ack_cm_event()
        move(self.passive, passive)
        self.passive.accept(self.param(passive, reads))
        expect(here, ce.RDMA_CM_EVENT_CONNECT_RESPONSE).ack_cm_event()
        move(self.active, active)
        self.active.establish()
        expect(there, ce.RDMA_CM_EVENT_ESTABLISHED).ack_cm_event()
        listener.close()

    @staticmethod
    def param(qp, reads):
        return ConnParam(resources=reads, depth=reads, qp_num=qp.qp_num)

    def close(self):
        self.active.close()
        self.passive.close()
        for channel in self.channels:
            channel.close()

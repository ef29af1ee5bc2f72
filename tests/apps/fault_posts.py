#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Posts ten Sends from one queue pair to another, and tries once more what is
refused for a while: for tests of faults."""
import errno

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

COUNT, SIZE = 10, 64
ctx = Context(name="usiw_lo")
pd, cq = PD(ctx), CQ(ctx, 2 * COUNT)
mr = MR(pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE)
cap = QPCap(max_send_wr=COUNT, max_recv_wr=COUNT)
qps = [QP(pd, QPInitAttr(scq=cq, rcq=cq, cap=cap, qp_type=e.IBV_QPT_RC))
       for _ in range(2)]
attr = QPAttr(port_num=1)
for qp in qps:
    qp.to_init(attr)
for qp, peer in (qps, qps[::-1]):
    attr = QPAttr(port_num=1)
    attr.path_mtu = e.IBV_MTU_1024
    attr.dest_qp_num = peer.qp_num
    attr.ah_attr = AHAttr(port_num=1, is_global=1, gr=GlobalRoute(
        dgid=ctx.query_gid(1, 0), sgid_index=0))
    qp.to_rts(attr)


def post(number):
    try:
        qps[0].post_send(SendWR(wr_id=number, num_sge=1, sg=[
            SGE(mr.buf, SIZE, mr.lkey)]))
    except PyverbsRDMAError as refused:
        name = errno.errorcode[refused.error_code]
        print(f"Send {number}: {name}")
        if refused.error_code not in (errno.EAGAIN, errno.ENOMEM):
            raise
        post(number)


for n in range(COUNT):
    qps[1].post_recv(RecvWR(num_sge=1, sg=[SGE(mr.buf, SIZE, mr.lkey)]))
for n in range(1, COUNT + 1):
    post(n)
done = 0
while done < 2 * COUNT:
    _, wcs = cq.poll(COUNT)
    for wc in wcs:
        if wc.status != e.IBV_WC_SUCCESS:
            raise SystemExit(f"a completion has status {wc.status}")
    done += len(wcs)
print(f"{COUNT} Sends have arrived")
for qp in qps:
    qp.close()

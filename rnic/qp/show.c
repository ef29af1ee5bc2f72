/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What other processes see of QPs. */
#include "show.h"

#include "mem/context.h"
#include "transport.h"

_Static_assert((int)RNIC_QPT_UC == (int)USIW_RES_QPT_UC &&
		       (int)RNIC_QPT_UD == (int)USIW_RES_QPT_UD,
	       "types");
_Static_assert((int)RNIC_QPS_RTS == (int)USIW_RES_QPS_RTS &&
		       (int)RNIC_QPS_ERROR == (int)USIW_RES_QPS_ERROR,
	       "states");

bool rnic_qp_show_init(struct rnic_qp *qp)
{
	qp->res = rnic_res_take(USIW_RES_QP, 0);
	return qp->res != NULL;
}

void rnic_qp_show(const struct rnic_qp *qp)
{
	struct usiw_res_qp *res = qp->res;

	res->head.id = qp->num;
	res->context = qp->ctx->res->head.id;
	res->pd = qp->owner.pd->res->head.id;
	res->send_cq = qp->send_cq->res->head.id;
	res->recv_cq = qp->recv_cq->res->head.id;
	res->srq = qp->srq ? qp->srq->res->head.id : 0;
	res->type = qp->transport->type;
	res->sq_depth = qp->sq.ring.depth;
	res->rq_depth = qp->srq ? 0 : qp->rq.ring.depth;
	res->send_sge = qp->sq.max_sge;
	res->recv_sge = qp->srq ? 0 : qp->rq.max_sge;
	res->inline_max = qp->sq.max_inline;
	rnic_qp_show_state(qp, rnic_qp_state_now(qp));
	rnic_res_close(&res->head);
}

void rnic_qp_show_peer(const struct rnic_qp *qp, uint32_t num,
		       const struct sockaddr_storage *local,
		       const struct sockaddr_storage *peer)
{
	struct usiw_res_qp *res = qp->res;

	rnic_res_open(&res->head);
	if (num || !peer->ss_family)
		res->peer_num = num;
	rnic_res_set_addr(&res->local, local);
	rnic_res_set_addr(&res->peer, peer);
	rnic_res_close(&res->head);
}

void rnic_qp_show_depths(const struct rnic_qp *qp)
{
	struct usiw_res_qp *res = qp->res;

	rnic_res_open(&res->head);
	res->reads_in_max = qp->irq.max;
	res->reads_out_max = qp->sq.orq.limit;
	rnic_res_close(&res->head);
}

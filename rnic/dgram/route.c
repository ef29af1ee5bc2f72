/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which QP of this host a packet of UDP is for. */
#include "route.h"

#include "deliver.h"
#include "engine/engine.h"
#include "os/stat.h"
#include "qp/end.h"
#include "qp/qp-table.h"
#include "qp/transport.h"

/* A QP of the engine that this thread leads. */
static void route_here(struct rnic_qp *qp, struct rnic_host_head *head,
		       uint32_t len)
{
	void *link = qp->link;

	rnic_ud_deliver(link, head, len);
	rnic_qp_end(qp);
	if (!qp->link)
		qp->transport->step(link);
}

static bool route_away(int host_fd, struct rnic_host_head *head, uint32_t len)
{
	struct iovec iov = { head, sizeof(*head) + len };

	return rnic_host_send(host_fd, head->dest_num, &iov, 1) == 0;
}

void rnic_ud_route(struct rnic_engine *engine, int host_fd,
		   struct rnic_host_head *head, uint32_t len)
{
	struct rnic_qp *qp = rnic_qp_get(head->dest_num);
	bool is_here = qp && qp->engine == engine;
	bool is_ud = is_here && qp->transport->type == RNIC_QPT_UD;

	if (is_ud && !rnic_qp_is_over(qp))
		route_here(qp, head, len);
	else if (is_here || !route_away(host_fd, head, len))
		rnic_stat_count(engine->stat, RNIC_STAT_ud_lost, 1);
	rnic_qp_put(qp);
}

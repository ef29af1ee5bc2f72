/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who on this host a packet of UDP is for. */
#include "route.h"

#include <errno.h>

#include "deliver.h"
#include "engine/engine.h"
#include "group.h"
#include "os/stat.h"
#include "qp/end.h"
#include "qp/qp-table.h"
#include "qp/transport.h"
#include "udp-send.h"

/* A QP of the engine that this thread leads. */
static void route_here(struct rnic_qp *qp, struct rnic_host_head *head,
		       uint32_t len)
{
	void *link = qp->link;

	rnic_ud_deliver(link, USIW_CARRIER_UDP, head, head + 1, len);
	rnic_qp_end(qp);
	if (!qp->link)
		qp->transport->step(link);
}

/* @name: who has it.  Return: 0: it has taken the datagram; -errno. */
static int route_away(int host_fd, const struct rnic_host_name *name,
		      struct rnic_host_head *head, uint32_t len)
{
	struct iovec iov = { head, sizeof(*head) + len };

	return rnic_host_send(host_fd, name, &iov, 1);
}

/* Connection management.  Return: false: nobody is to have this MAD. */
static bool mad_name(const struct rnic_host_head *head, uint32_t len,
		     struct rnic_host_name *ret_name)
{
	const uint8_t *mad = (const uint8_t *)(head + 1);
	struct sib_sidr_req req;
	uint16_t space, port;
	struct sib_cm cm;

	if (head->qkey != SIB_QKEY_GSI ||
	    sib_cm_decode(mad, len, &cm) != SIB_OK)
		return false;
	switch (cm.attr) {
	case SIB_CM_SIDR_REQ:
		if (sib_sidr_req_decode(mad, len, &req) != SIB_OK ||
		    !sib_service_id_decode(req.service_id, &space, &port))
			return false;
		*ret_name = rnic_host_name_service(space, port);
		return true;
	case SIB_CM_SIDR_REP:
		*ret_name = rnic_host_name_asker((uint32_t)(cm.tid >> 32));
		return true;
	default:
		return false;
	}
}

/* Nobody listens: the peer is told so, as InfiniBand's manager does it. */
static void mad_refuse(const struct rnic_host_head *head, uint32_t ifindex)
{
	const uint8_t *mad = (const uint8_t *)(head + 1);
	struct sib_path path = { .src_port = SIB_UDP_PORT,
				 .dst_port = SIB_UDP_PORT };
	struct sib_sidr_rep rep = { .status = SIB_SIDR_NO_SERVICE };
	uint8_t answer[SIB_MAD_SIZE];
	struct sib_sidr_req req;

	if (sib_sidr_req_decode(mad, SIB_MAD_SIZE, &req) != SIB_OK ||
	    !sib_grh_gids(head->grh, &path.dst, &path.src))
		return;
	rep.tid = req.tid;
	rep.request_id = req.request_id;
	rep.service_id = req.service_id;
	if (sib_sidr_rep_encode(&rep, answer, sizeof(answer)) > 0)
		(void)rnic_udp_send_mad(&path, ifindex, answer);
}

static bool route_mad(int host_fd, uint32_t ifindex,
		      struct rnic_host_head *head, uint32_t len)
{
	struct rnic_host_name name;
	int rc;

	if (!mad_name(head, len, &name))
		return false;
	rc = route_away(host_fd, &name, head, len);
	if (rc == -ECONNREFUSED)
		mad_refuse(head, ifindex);
	return rc == 0;
}

/* Return: 0: a QP gets it; -EAGAIN: its process is full; other -errno. */
static int route_qp(struct rnic_engine *engine, int host_fd,
		    struct rnic_host_head *head, uint32_t len)
{
	struct rnic_host_name name = rnic_host_name_qp(head->dest_num);
	struct rnic_qp *qp = rnic_qp_get(head->dest_num);
	bool is_here = qp && qp->engine == engine;
	int rc = -ENOENT;

	if (!is_here) {
		rc = route_away(host_fd, &name, head, len);
	} else if (qp->transport->type == RNIC_QPT_UD && !rnic_qp_is_over(qp)) {
		route_here(qp, head, len);
		rc = 0;
	}
	rnic_qp_put(qp);
	return rc;
}

/*
 * Each process of the host that has joined gets the packet from the kernel.  A
 * QP that is full does not hold up the others of the group.
 */
static int route_group(struct rnic_engine *engine, int host_fd,
		       uint32_t ifindex, const struct sib_gid *mgid,
		       struct rnic_host_head *head, uint32_t len)
{
	uint32_t num[RNIC_GROUP_QP_MAX];
	uint32_t cnt = rnic_group_members(mgid, ifindex, num);
	int rc = cnt ? 0 : -ENOENT;

	for (uint32_t i = 0; i < cnt; i++) {
		head->dest_num = num[i];
		if (route_qp(engine, host_fd, head, len) < 0)
			rc = -ENOENT;
	}
	return rc;
}

static int route(struct rnic_engine *engine, int host_fd, uint32_t ifindex,
		 struct rnic_host_head *head, uint32_t len)
{
	struct sib_gid src, dst;
	bool is_group = head->dest_num == SIB_QPN_MULTICAST;

	/* Both say that it is for a group, or neither. */
	if (!sib_grh_gids(head->grh, &src, &dst) ||
	    sib_gid_is_multicast(&dst) != is_group)
		return -ENOENT;
	if (is_group)
		return route_group(engine, host_fd, ifindex, &dst, head, len);
	if (head->dest_num == SIB_QPN_GSI)
		return route_mad(host_fd, ifindex, head, len) ? 0 : -ENOENT;
	return route_qp(engine, host_fd, head, len);
}

int rnic_ud_route(struct rnic_engine *engine, int host_fd, uint32_t ifindex,
		  struct rnic_host_head *head, uint32_t len)
{
	int rc = route(engine, host_fd, ifindex, head, len);

	if (rc == -EAGAIN)
		return rc;
	if (rc < 0)
		rnic_stat_add(RNIC_STAT_ud_lost, 1);
	return 0;
}

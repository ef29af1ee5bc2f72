/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The active side of datagrams.  A request is repeated as InfiniBand's manager
 * does it: the answer may be late because the peer's program decides, or lost.
 */
#include "sidr-request.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "util/log.h"
#include "event.h"
#include "loop/loop.h"
#include "mad.h"
#include "os/addr.h"
#include "os/stat.h"
#include "reason.h"
#include "rnic-cm-ud.h"
#include "sidr.h"
#include "state.h"
#include "way.h"

/* 4.096 us * 2^20 (IBA 12.7.16), and that many requests in all. */
#define AGAIN_NS (4295 * NS_PER_MS)
#define SENT_MAX 16u
#define PASS_MAX 64

/* ---- the outcome --------------------------------------------------------- */

static void request_end(struct cm_sidr *sidr, enum rnic_cm_event_type type,
			int status)
{
	struct cm_event *event = sidr->outcome;

	util_info("cm", "%s: request: event %d, status %d",
		  CM_ID_NAME(sidr->id), type, status);
	sidr->outcome = NULL;
	sidr->is_decided = true;
	if (type != RNIC_CM_ESTABLISHED)
		cm_id_set_state(sidr->id, RNIC_CM_S_DISCONNECT);
	cm_event_post(event, type, status);
	cm_sidr_release(sidr);
}

/* ---- answers ------------------------------------------------------------- */

static void reply_take(struct cm_sidr *sidr, const struct sib_sidr_rep *rep)
{
	struct rnic_cm_event *ev = &sidr->outcome->ev;

	ev->pd_len = (uint8_t)rep->private_len;
	memcpy(ev->pd, rep->private_data, rep->private_len);
	if (rep->status != SIB_SIDR_VALID) {
		request_end(sidr, RNIC_CM_UNREACHABLE, rep->status);
		return;
	}
	if (rep->qkey != RNIC_CM_QKEY) {
		request_end(sidr, RNIC_CM_ADDR_ERROR, -EINVAL);
		return;
	}
	ev->qp_num = rep->qpn;
	ev->qkey = rep->qkey;
	cm_event_set_way(ev, sidr->id, &sidr->way.path.dst);
	request_end(sidr, RNIC_CM_ESTABLISHED, 0);
}

/* Answers to what is decided come late, or twice. */
static void reply_ready(const struct cm_mad *mad)
{
	struct sib_sidr_rep rep;
	struct cm_sidr *sidr;

	if (sib_sidr_rep_decode(mad->octets, sizeof(mad->octets), &rep) !=
	    SIB_OK) {
		rnic_stat_add(RNIC_STAT_mads_bad, 1);
		return;
	}
	sidr = cm_sidr_find(true, rep.request_id, rep.tid, &mad->path.src);
	if (sidr && !sidr->is_decided)
		reply_take(sidr, &rep);
}

void cm_sidr_replies_ready(void)
{
	struct cm_mad mad;
	int ret = 0;

	for (int i = 0;
	     i < PASS_MAX && cm.mads.user_cnt && (ret == 0 || ret == -EBADMSG);
	     i++) {
		ret = cm_mad_recv(&cm.mads.sock, &mad);
		if (ret == 0)
			reply_ready(&mad);
	}
}

/* ---- requests ------------------------------------------------------------ */

/* A process of this host that is not there has no service. */
static void request_send(struct cm_sidr *sidr)
{
	int ret = cm_sidr_send(sidr);

	if (ret == -EAGAIN)
		return;
	if (ret == -ECONNREFUSED) {
		request_end(sidr, RNIC_CM_UNREACHABLE, SIB_SIDR_NO_SERVICE);
		return;
	}
	sidr->sent_cnt++;
	rnic_timer_start(&sidr->timer, RNIC_TIMER_CM_SIDR, AGAIN_NS);
}

void cm_sidr_request_again(struct rnic_timer *timer)
{
	struct cm_sidr *sidr = RNIC_OWNER(timer, struct cm_sidr, timer);

	if (sidr->sent_cnt < SENT_MAX)
		request_send(sidr);
	else
		request_end(sidr, RNIC_CM_UNREACHABLE, -ETIMEDOUT);
}

void cm_sidr_request_full(struct cm_sidr *sidr)
{
	request_send(sidr);
}

#define CONNECT "rdma_connect"

static int request_encode(struct cm_sidr *sidr,
			  const struct rnic_cm_conn_param *param)
{
	const struct sockaddr *local = (struct sockaddr *)&sidr->id->local;
	struct sib_ip_cm ip = {
		.src = sidr->way.path.src,
		.dst = sidr->way.path.dst,
		.src_port = ntohs(rnic_addr_port_be(local)),
	};
	uint8_t pd[SIB_SIDR_REQ_PRIVATE] = { 0 };
	struct sib_sidr_req req = {
		.tid = sidr->tid,
		.request_id = sidr->request_id,
		.pkey = SIB_PKEY_DEFAULT,
		.service_id = sidr->service_id,
		.private_data = pd,
		.private_len = sizeof(pd),
	};
	int ret = sib_ip_cm_encode(&ip, pd, sizeof(pd));

	if (ret < 0)
		return ret;
	memcpy(pd + SIB_IP_CM_SIZE, param->pd, param->pd_len);
	ret = sib_sidr_req_encode(&req, sidr->mad, sizeof(sidr->mad));
	return ret < 0 ? ret : 0;
}

static int request_fill(struct cm_sidr *sidr,
			const struct rnic_cm_conn_param *param)
{
	struct cm_id *id = sidr->id;
	uint16_t port = ntohs(rnic_addr_port_be((struct sockaddr *)&id->peer));
	struct sib_gid src, dst;
	int ret;

	cm_gid_of(&id->local, &src);
	cm_gid_of(&id->peer, &dst);
	cm_way_set(&sidr->way, &src, &dst, id->dev->ifindex);
	sidr->way.path.tclass = id->tos;
	sidr->name = rnic_host_name_service(id->ud.ps, port);
	sidr->is_asker = true;
	sidr->tid = cm_mads_tid();
	sidr->request_id = (uint32_t)sidr->tid;
	sidr->service_id = sib_service_id(id->ud.ps, port);
	ret = request_encode(sidr, param);
	return ret < 0 ? cm_refuse(id, -ret, CONNECT,
				   "one address is of IPv4, and one of IPv6")
		       : 0;
}

int cm_sidr_request(struct cm_id *id, const struct rnic_cm_conn_param *param)
{
	struct cm_sidr *sidr;
	int ret;

	if (id->state != RNIC_CM_S_ROUTE)
		return cm_refuse_state(id, CONNECT, "ROUTE");
	if (param->pd_len > CM_SIDR_REQ_PD)
		return cm_refuse(id, EINVAL, CONNECT,
				 "%u octets of private data, more than %u",
				 param->pd_len, (unsigned int)CM_SIDR_REQ_PD);
	ret = cm_sidr_new(id, &sidr);
	if (ret < 0)
		return cm_refuse(
			id, -ret, CONNECT,
			"the process gets no socket for answers, or no "
			"memory");
	sidr->outcome = cm_event_new(id);
	ret = sidr->outcome ? request_fill(sidr, param)
			    : util_refuse_memory("cm", CONNECT);
	if (ret < 0) {
		cm_sidr_free(sidr);
		return ret;
	}
	cm_sidr_add(sidr);
	cm_id_set_state(id, RNIC_CM_S_CONNECT);
	request_send(sidr);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The passive side of datagrams.  A request that comes again is the same one:
 * it is ignored until the application has decided, and then gets the same
 * answer.  There is no more state than the backlog allows, and what the
 * application has accepted.
 */
#include "sidr-answer.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "util/log.h"
#include "dgram/udp-send.h"
#include "event.h"
#include "id.h"
#include "loop/loop.h"
#include "mad.h"
#include "os/addr.h"
#include "os/stat.h"
#include "reason.h"
#include "rnic-cm-ud.h"
#include "sidr.h"
#include "state.h"
#include "way.h"

#define PASS_MAX 64

/* A request, taken apart. */
struct request {
	const struct cm_mad *mad;
	struct sib_sidr_req req;
	struct sib_ip_cm ip; /* dst: our address */
};

/* ---- answers ------------------------------------------------------------- */

static void answer_sent(struct cm_sidr *sidr, int ret)
{
	if (ret != -EAGAIN)
		cm_sidr_release(sidr);
}

void cm_sidr_answer_full(struct cm_sidr *sidr)
{
	answer_sent(sidr, cm_sidr_send(sidr));
}

static void answer_again(struct cm_sidr *sidr)
{
	if (rnic_timer_runs(&sidr->timer) || cm_mads_hold(&sidr->has_mads) < 0)
		return;
	answer_sent(sidr, cm_sidr_send(sidr));
}

/* The application has decided, by @call.  Return: 0; -EINVAL. */
static int answer(struct cm_id *id, const char *call, struct sib_sidr_rep *rep)
{
	struct cm_sidr *sidr = id->ud.sidr;
	struct cm_id *listener;
	int ret;

	if (id->state != RNIC_CM_S_REQUEST)
		return cm_refuse_state(id, call, "REQUEST");
	rep->tid = sidr->tid;
	rep->request_id = sidr->request_id;
	rep->service_id = sidr->service_id;
	ret = sib_sidr_rep_encode(rep, sidr->mad, sizeof(sidr->mad));
	if (ret < 0)
		return cm_refuse(id, -ret, call,
				 "qp_num is 0x%x, above 0xffffff, or there are "
				 "%zu octets of private data, more than %u",
				 rep->qpn, rep->private_len, CM_SIDR_REP_PD);
	sidr->is_decided = true;
	listener = rnic_ref_get(&rnic_loop.noted, sidr->listener_ref);
	if (listener)
		listener->ud.undecided_cnt--;
	cm_id_set_state(id,
			rep->status ? RNIC_CM_S_DISCONNECT : RNIC_CM_S_CONNECT);
	rnic_stat_add(rep->status ? RNIC_STAT_rejects : RNIC_STAT_accepts, 1);
	answer_sent(sidr, cm_sidr_send(sidr));
	return 0;
}

int cm_sidr_accept(struct cm_id *id, const struct rnic_cm_conn_param *param)
{
	struct sib_sidr_rep rep = {
		.status = SIB_SIDR_VALID,
		.qpn = param->qp_num,
		.qkey = RNIC_CM_QKEY,
		.private_data = param->pd,
		.private_len = param->pd_len,
	};

	return answer(id, "rdma_accept", &rep);
}

int cm_sidr_reject(struct cm_id *id, const void *pd, uint8_t pd_len)
{
	struct sib_sidr_rep rep = {
		.status = SIB_SIDR_REJECTED,
		.private_data = pd,
		.private_len = pd_len,
	};

	return answer(id, "rdma_reject", &rep);
}

/* Without an identity. */
static void request_refuse(const struct request *request, uint32_t ifindex,
			   enum sib_sidr_status status)
{
	struct sib_sidr_rep rep = {
		.tid = request->req.tid,
		.request_id = request->req.request_id,
		.status = (uint8_t)status,
		.service_id = request->req.service_id,
	};
	struct rnic_host_name name =
		rnic_host_name_asker((uint32_t)(rep.tid >> 32));
	uint8_t mad[SIB_MAD_SIZE];
	struct cm_way way;

	rnic_stat_add(RNIC_STAT_rejects, 1);
	cm_way_set(&way, &request->mad->path.dst, &request->mad->path.src,
		   ifindex);
	if (sib_sidr_rep_encode(&rep, mad, sizeof(mad)) > 0)
		(void)cm_mad_send(&way, &name, mad);
}

/* ---- requests ------------------------------------------------------------ */

/*
 * A listener at any address takes both families, but for AFONLY, which is the
 * default at that of IPv4, as in the kernel.
 */
static bool listener_takes(const struct cm_id *id, const struct sib_ip_cm *ip)
{
	const struct sockaddr *local = (const struct sockaddr *)&id->local;
	bool is_ipv4 = local->sa_family == AF_INET;
	bool is_afonly = id->has_afonly ? id->is_afonly : is_ipv4;
	struct sib_gid gid;

	if (rnic_addr_is_any(local))
		return !is_afonly || is_ipv4 == sib_gid_is_ipv4(&ip->dst);
	cm_gid_of(&id->local, &gid);
	return memcmp(&gid, &ip->dst, sizeof(gid)) == 0;
}

/* The device that has our address. */
static struct rnic_device *request_device(const struct cm_id *listener,
					  const struct sib_ip_cm *ip)
{
	struct sockaddr_storage addr;

	if (listener->dev)
		return listener->dev;
	rnic_udp_addr(&ip->dst, 0, 0, &addr);
	return rnic_device_by_addr((struct sockaddr *)&addr);
}

static void child_fill(struct cm_id *child, const struct cm_id *listener,
		       struct rnic_device *dev, const struct request *request)
{
	const struct sib_sidr_req *req = &request->req;
	const struct sib_ip_cm *ip = &request->ip;
	struct cm_sidr *sidr = child->ud.sidr;

	child->dev = dev;
	child->ud.ps = listener->ud.ps;
	rnic_udp_addr(&ip->dst,
		      ntohs(rnic_addr_port_be(
			      (const struct sockaddr *)&listener->local)),
		      dev->ifindex, &child->local);
	rnic_udp_addr(&ip->src, ip->src_port, dev->ifindex, &child->peer);
	cm_id_set_state(child, RNIC_CM_S_REQUEST);
	sidr->tid = req->tid;
	sidr->request_id = req->request_id;
	sidr->service_id = req->service_id;
	sidr->name = rnic_host_name_asker((uint32_t)(req->tid >> 32));
	sidr->listener_ref = listener->ref;
	cm_way_set(&sidr->way, &request->mad->path.dst, &request->mad->path.src,
		   dev->ifindex);
}

/* A child identity on the listener's channel, not known by number until the
 * event is fetched. */
static int request_report(struct cm_id *listener, struct rnic_device *dev,
			  const struct request *request)
{
	struct cm_event *event = cm_event_new(listener);
	struct cm_sidr *sidr;
	struct cm_id *child;
	int ret;

	if (!event)
		return -ENOMEM;
	ret = cm_id_new(listener->chan, 0, &child);
	if (ret < 0)
		goto free_event;
	ret = cm_sidr_new(child, &sidr);
	if (ret < 0)
		goto free_child;
	child_fill(child, listener, dev, request);
	cm_sidr_add(sidr);
	listener->ud.undecided_cnt++;
	event->child = child;
	event->ev.pd_len = CM_SIDR_REQ_PD;
	memcpy(event->ev.pd, request->req.private_data + SIB_IP_CM_SIZE,
	       CM_SIDR_REQ_PD);
	cm_event_post(event, RNIC_CM_CONNECT_REQUEST, 0);
	return 0;

free_child:
	rnic_ref_remove(&rnic_loop.noted, child->ref);
	TAILQ_REMOVE(&listener->chan->ids, child, chan_link);
	cm_id_show_fini(child);
	free(child);
free_event:
	free(event);
	return ret;
}

static bool request_decode(const struct cm_id *listener,
			   const struct cm_mad *mad, struct request *ret)
{
	uint16_t port = ntohs(
		rnic_addr_port_be((const struct sockaddr *)&listener->local));
	struct sib_sidr_req *req = &ret->req;

	ret->mad = mad;
	return sib_sidr_req_decode(mad->octets, sizeof(mad->octets), req) ==
		       SIB_OK &&
	       req->service_id == sib_service_id(listener->ud.ps, port) &&
	       sib_pkey_match(req->pkey, SIB_PKEY_DEFAULT) &&
	       sib_ip_cm_decode(req->private_data, req->private_len,
				&ret->ip) == SIB_OK;
}

static void request_ready(struct cm_id *listener, const struct cm_mad *mad)
{
	struct rnic_device *dev;
	struct request request;
	struct cm_sidr *sidr;

	if (!request_decode(listener, mad, &request)) {
		rnic_stat_add(RNIC_STAT_mads_bad, 1);
		return;
	}
	sidr = cm_sidr_find(false, request.req.request_id, request.req.tid,
			    &mad->path.src);
	if (sidr) {
		if (sidr->is_decided)
			answer_again(sidr);
		return;
	}
	dev = request_device(listener, &request.ip);
	if (!dev || !listener_takes(listener, &request.ip) ||
	    listener->ud.undecided_cnt >= listener->listener.backlog ||
	    request_report(listener, dev, &request) < 0)
		request_refuse(&request, dev ? dev->ifindex : 0,
			       SIB_SIDR_REJECTED);
}

void cm_service_ready(struct cm_id *id)
{
	struct cm_mad mad;
	int ret = 0;

	for (int i = 0; i < PASS_MAX && (ret == 0 || ret == -EBADMSG); i++) {
		ret = cm_mad_recv(&id->ud.sock, &mad);
		if (ret == 0)
			request_ready(id, &mad);
	}
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * UD queue pairs: they begin and end, and what comes from processes of this
 * host.  A UD QP has its link from RTR on.
 */
#include "ud.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "util/alloc.h"
#include "util/log.h"
#include "deliver.h"
#include "engine/engine.h"
#include "engine/thread.h"
#include "mem/context.h"
#include "os/fd.h"
#include "os/stat.h"
#include "os/stranger.h"
#include "qp/end.h"
#include "qp/qp.h"
#include "qp/rq.h"
#include "qp/state.h"
#include "rnic-ud.h"
#include "send.h"

/* Datagrams that one pass takes: others have their turn. */
#define UD_PASS_MAX 64
/* How often a shared receive queue is looked at that was empty. */
#define UD_SRQ_NS (200 * NS_PER_US)

static struct rnic_ud *ud_of(struct rnic_source *source)
{
	return RNIC_CONTAINER_OF(source, struct rnic_ud, source);
}

static void ud_detach(struct rnic_ud *ud)
{
	ud->qp->link = NULL;
	ud->qp = NULL;
}

/* The QP has let go of it. */
static void ud_free(struct rnic_ud *ud)
{
	rnic_engine_remove(ud->engine, &ud->source);
	rnic_stranger_close(ud->source.fd);
	free(ud);
}

/* Acts on the end of the QP, if it has failed.  @ud may be freed. */
static void ud_settle(struct rnic_ud *ud)
{
	if (ud->qp)
		rnic_qp_end(ud->qp);
	if (!ud->qp)
		ud_free(ud);
}

/* ---- what comes ---------------------------------------------------------- */

/* Threads that post receives ring from now on, or do not any more. */
static void ud_await_recv(struct rnic_ud *ud, bool is_awaited)
{
	atomic_store_explicit(&ud->qp->is_rnr, is_awaited,
			      memory_order_relaxed);
	/* Pairs with the fence in rnic_qp_ring_rq(). */
	atomic_thread_fence(memory_order_seq_cst);
	rnic_engine_set_events(ud->engine, &ud->source,
			       is_awaited ? 0 : EPOLLIN);
}

/*
 * A datagram is there, and no receive.  The receiver may be about to post one:
 * processes of one host wait for each other, for a bounded time.
 * Return: whether it waits; else it is lost.
 */
static bool ud_holds(struct rnic_ud *ud)
{
	uint64_t now_ns = rnic_engine_now_ns(ud->engine);

	if (!ud->held_ns) {
		ud->held_ns = now_ns + RNIC_UD_FULL_NS;
		ud_await_recv(ud, true);
		if (rnic_rq_next_len(ud->qp))
			return false; /* it has come in between */
	}
	if (now_ns >= ud->held_ns)
		return false;
	rnic_engine_deadline(ud->engine, &ud->source.due,
			     ud->qp->srq ? now_ns + UD_SRQ_NS : ud->held_ns);
	return true;
}

/* Return: whether a datagram may be received now. */
static bool ud_has_recv(struct rnic_ud *ud)
{
	if (!rnic_rq_next_len(ud->qp))
		return rnic_host_has_news(ud->source.fd) && !ud_holds(ud);
	if (ud->held_ns) {
		ud->held_ns = 0;
		ud_await_recv(ud, false);
	}
	return true;
}

static void ud_pass(struct rnic_source *source, uint32_t events)
{
	struct rnic_ud *ud = ud_of(source);
	_Alignas(struct rnic_host_head) uint8_t buf[RNIC_HOST_MAX];
	ssize_t len = 0;

	(void)events;
	for (int i = 0; i < UD_PASS_MAX && !rnic_qp_is_over(ud->qp); i++) {
		if (!ud_has_recv(ud))
			break;
		len = rnic_host_recv(source->fd, buf);
		if (len >= 0)
			rnic_ud_deliver(
				ud, (const void *)buf,
				(uint32_t)((size_t)len -
					   sizeof(struct rnic_host_head)));
		else if (len == -EBADMSG)
			rnic_stat_count(ud->engine->stat, RNIC_STAT_ud_bad, 1);
		else
			break;
		source->quiet_cnt = 0;
	}
	if (len == -EPROTO) {
		util_warn("rnic",
			  "%s: a process of this host passes descriptors; "
			  "datagrams of this host do not reach the QP any more",
			  RNIC_QP_NAME(ud->qp));
		rnic_engine_set_events(ud->engine, source, 0);
	}
	ud_settle(ud);
}

static void ud_mr_gone(struct rnic_source *source, uint32_t stag,
		       const void *addr, size_t len)
{
	/* Memory is used under the lead only. */
	(void)source;
	(void)stag;
	(void)addr;
	(void)len;
}

static void ud_addr_gone(struct rnic_source *source)
{
	(void)source; /* a datagram names its own address */
}

/* All that could be sent is sent. */
static void ud_abort(struct rnic_source *source)
{
	struct rnic_ud *ud = ud_of(source);

	rnic_qp_fail(ud->qp, RNIC_QPS_ERROR, USIW_WC_WR_FLUSH_ERR,
		     RNIC_QP_EV_CNT);
	ud_settle(ud);
}

static const struct rnic_source_ops ud_source_ops = {
	.pass = ud_pass,
	.mr_gone = ud_mr_gone,
	.addr_gone = ud_addr_gone,
	.drain = ud_abort,
	.abort = ud_abort,
};

/* A receiver was full, or there was no receive. */
static void ud_due(struct rnic_due *due, uint64_t now_ns)
{
	struct rnic_ud *ud = RNIC_CONTAINER_OF(due, struct rnic_ud, source.due);

	(void)now_ns;
	rnic_ud_send(ud);
	ud_pass(&ud->source, 0);
}

/* ---- begin --------------------------------------------------------------- */

/* Without the name, only other hosts reach the QP. */
static int ud_open(struct rnic_ud *ud, const struct rnic_qp *qp)
{
	struct rnic_host_name name = rnic_host_name_qp(qp->num);
	int fd = rnic_host_open(&name);

	if (fd != -EADDRINUSE) {
		ud->source.fd = fd;
		return fd < 0 ? fd : 0;
	}
	util_warn("rnic",
		  "%s: another process has its AF_UNIX name: datagrams of this "
		  "host do not reach it",
		  RNIC_QP_NAME(qp));
	ud->source.fd = rnic_host_open_sender();
	return ud->source.fd < 0 ? ud->source.fd : 0;
}

/* Under the lead. */
static int ud_attach(struct rnic_qp *qp, struct rnic_ud *ud)
{
	int rc;

	if (rnic_qp_state_now(qp) != RNIC_QPS_IDLE)
		return -EINVAL;
	rc = rnic_engine_thread_start(qp->engine);
	if (rc == 0)
		rc = rnic_engine_add(qp->engine, &ud->source);
	if (rc < 0)
		return rc;
	ud->qp = qp;
	qp->link = ud;
	rnic_qp_set_state(qp, RNIC_QPS_RTS);
	return 0;
}

int rnic_qp_ud_start(struct rnic_qp *qp, const struct rnic_ud_options *opt)
{
	struct rnic_ud *ud = util_alloc_lines(1, sizeof(*ud));
	struct rnic_device_attr dev;
	int rc;

	if (!ud)
		return -ENOMEM;
	ud->source.ops = &ud_source_ops;
	ud->source.due.serve = ud_due;
	ud->engine = qp->engine;
	ud->qkey = opt->qkey;
	ud->psn = opt->psn;
	rc = rnic_device_query(qp->ctx->dev, &dev);
	ud->mtu = rc < 0 ? 0 : rnic_device_ud_mtu(&dev);
	rc = ud_open(ud, qp);
	if (rc < 0) {
		free(ud);
		return rc;
	}
	rnic_engine_lead(qp->engine);
	rc = ud_attach(qp, ud);
	rnic_engine_unlead(qp->engine);
	if (rc < 0) {
		rnic_stranger_close(ud->source.fd);
		free(ud);
	}
	return rc;
}

void rnic_qp_ud_set(struct rnic_qp *qp, const struct rnic_ud_options *opt)
{
	struct rnic_ud *ud;

	rnic_engine_lead(qp->engine);
	ud = rnic_qp_ud(qp);
	if (ud) {
		ud->qkey = opt->qkey;
		ud->psn = opt->psn;
	}
	rnic_engine_unlead(qp->engine);
}

/* ---- the transport ------------------------------------------------------- */

/* The parts for messages and answers are those of a connection. */

static bool transport_uses(const struct rnic_qp *qp, const void *addr,
			   size_t len)
{
	(void)qp;
	(void)addr;
	(void)len;
	return false;
}

static bool transport_open_segment(const struct rnic_qp *qp,
				   struct smpa_event *ret_ev)
{
	(void)qp;
	(void)ret_ev;
	return false;
}

static void transport_terminate(struct rnic_qp *qp, uint16_t fault)
{
	(void)qp; /* there is nobody to be told */
	(void)fault;
}

static void transport_transmit(struct rnic_qp *qp)
{
	struct rnic_ud *ud = rnic_qp_ud(qp);

	rnic_ud_send(ud);
	if (ud->held_ns)
		ud_pass(&ud->source, 0);
	else
		ud_settle(ud);
}

static void transport_close(struct rnic_qp *qp)
{
	ud_abort(&rnic_qp_ud(qp)->source);
}

static void transport_failed(struct rnic_qp *qp)
{
	ud_settle(rnic_qp_ud(qp));
}

static void transport_detach(struct rnic_qp *qp, int status)
{
	(void)status;
	ud_detach(rnic_qp_ud(qp));
}

static void transport_step(void *link)
{
	struct rnic_ud *ud = link;

	if (!ud->qp)
		ud_free(ud);
}

static void transport_names(const struct rnic_qp *qp,
			    struct sockaddr_storage *ret_local,
			    struct sockaddr_storage *ret_peer)
{
	(void)qp;
	ret_local->ss_family = AF_UNSPEC;
	ret_peer->ss_family = AF_UNSPEC;
}

const struct rnic_transport rnic_ud_transport = {
	.type = RNIC_QPT_UD,
	.open_segment = transport_open_segment,
	.uses = transport_uses,
	.terminate = transport_terminate,
	.transmit = transport_transmit,
	.close = transport_close,
	.failed = transport_failed,
	.detach = transport_detach,
	.step = transport_step,
	.names = transport_names,
};

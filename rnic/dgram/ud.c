/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* UD queue pairs: how they begin and end.  A UD QP has its link from RTR on. */
#include "ud.h"

#include <errno.h>
#include <stdlib.h>

#include "util/alloc.h"
#include "util/log.h"
#include "util/reason.h"
#include "engine/engine.h"
#include "engine/thread.h"
#include "mem/context.h"
#include "os/fd.h"
#include "os/stat.h"
#include "os/stranger.h"
#include "peer.h"
#include "qp/end.h"
#include "qp/qp.h"
#include "qp/state.h"
#include "rnic-ud.h"
#include "send.h"
#include "take.h"

static struct rnic_ud *ud_of(struct rnic_source *source)
{
	return RNIC_CONTAINER_OF(source, struct rnic_ud, source);
}

static void ud_detach(struct rnic_ud *ud)
{
	rnic_res_set(&ud->qp->res->carrier, USIW_RES_CARRIER_NONE);
	ud->qp->link = NULL;
	ud->qp = NULL;
}

/* The QP has let go of it. */
static void ud_free(struct rnic_ud *ud)
{
	bool had_wake = ud->source.has_wake;
	bool was_watched = ud->source.wake_fd >= 0;

	rnic_inbox_leave(&ud->inbox);
	rnic_engine_remove(ud->engine, &ud->source);
	rnic_stranger_close(ud->source.fd);
	rnic_peers_free(ud);
	free(ud->batch);
	rnic_fd_close(ud->inbox_fd);
	/* Else a thread still looks at the inbox. */
	if (had_wake && (!was_watched || ud->source.wake_fd >= 0)) {
		rnic_stranger_close(ud->waker_fd);
		rnic_inbox_unmap(&ud->inbox);
	}
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

/* A message in the socket, or room in an epoll set. */
static void ud_pass(struct rnic_source *source, uint32_t events)
{
	struct rnic_ud *ud = ud_of(source);

	(void)events;
	ud->is_socket_due = true;
	rnic_ud_take(ud);
	ud_settle(ud);
}

static void ud_look(struct rnic_source *source, bool is_woken)
{
	struct rnic_ud *ud = ud_of(source);

	if (is_woken && source->wake_fd >= 0 &&
	    rnic_host_recv_wakes(source->wake_fd) < 0)
		rnic_ud_drop_wakes(ud);
	rnic_ud_take(ud);
	ud_settle(ud);
}

static bool ud_sleep(struct rnic_source *source)
{
	return rnic_ud_sleep(ud_of(source));
}

static void ud_stay_awake(struct rnic_source *source)
{
	rnic_inbox_stay_awake(&ud_of(source)->inbox);
}

static void ud_unwakeable(struct rnic_source *source)
{
	(void)source; /* who sends wakes at once */
}

static bool ud_handover(struct rnic_source *source,
			struct rnic_handover *ret_handover)
{
	(void)source;
	(void)ret_handover;
	return false;
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
	.look = ud_look,
	.sleep = ud_sleep,
	.stay_awake = ud_stay_awake,
	.unwakeable = ud_unwakeable,
	.handover = ud_handover,
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
	rnic_ud_resume(ud);
	rnic_ud_send(ud);
	ud_pass(&ud->source, 0);
}

/* ---- begin --------------------------------------------------------------- */

#define MODIFY "ibv_modify_qp"

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
		  "host do not reach it before that ends",
		  RNIC_QP_NAME(qp));
	ud->is_nameless = true;
	ud->source.fd = rnic_host_open_sender();
	return ud->source.fd < 0 ? ud->source.fd : 0;
}

/* Under the lead. */
static int ud_attach(struct rnic_qp *qp, struct rnic_ud *ud)
{
	int rc;

	if (rnic_qp_state_now(qp) != RNIC_QPS_IDLE)
		return util_refuse("verbs", EINVAL, MODIFY,
				   "QP 0x%06x is not in INIT", qp->num);
	rc = rnic_engine_thread_start(qp->engine);
	if (rc < 0)
		return rc;
	rc = rnic_engine_add(qp->engine, &ud->source);
	if (rc < 0)
		return util_refuse("verbs", -rc, MODIFY,
				   "no thread can wait for the socket of QP "
				   "0x%06x",
				   qp->num);
	ud->qp = qp;
	qp->link = ud;
	rnic_res_set(&qp->res->carrier, USIW_RES_CARRIER_UDP);
	rnic_ud_resume(ud);
	rnic_qp_set_state(qp, RNIC_QPS_RTS);
	return 0;
}

int rnic_qp_ud_start(struct rnic_qp *qp, const struct rnic_ud_options *opt)
{
	struct rnic_ud *ud = util_alloc_lines(1, sizeof(*ud));
	struct rnic_device_attr dev;
	int rc;

	if (!ud)
		return util_refuse_memory("verbs", MODIFY);
	ud->source.ops = &ud_source_ops;
	ud->source.due.serve = ud_due;
	ud->engine = qp->engine;
	ud->inbox_fd = -1;
	ud->qkey = opt->qkey;
	ud->psn = opt->psn;
	rc = rnic_device_query(qp->ctx->dev, &dev);
	ud->mtu = rc < 0 ? 0 : rnic_device_ud_mtu(&dev);
	rc = ud_open(ud, qp);
	if (rc < 0) {
		free(ud);
		return util_refuse("verbs", -rc, MODIFY,
				   "QP 0x%06x gets no AF_UNIX socket", qp->num);
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
	if (ud->recv == RNIC_UD_WAIT)
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

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The passive side: Request, child identity, accept or reject. */
#include "passive.h"

#include "util/addr-text.h"
#include "util/env.h"
#include "util/log.h"
#include "bare.h"
#include "close.h"
#include "conn.h"
#include "event.h"
#include "id.h"
#include "os/addr.h"
#include "os/fd.h"
#include "os/stat.h"
#include "outcome.h"
#include "port.h"
#include "qp/qp-table.h"
#include "qp/qp.h"
#include "qp/state.h"
#include "reason.h"
#include "state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

/* For as long InfiniBand's manager repeats its Reply. */
#define ANSWERED_NS (60000 * NS_PER_MS)

static int passive_open(struct cm_conn *conn)
{
	const struct cm_id *listener = cm_conn_listener(conn);
	struct smpa_options opt = SMPA_OPTIONS_INIT;
	int ret;

	rnic_addr_of_socket(conn->start.fd, &conn->start.local,
			    &conn->start.peer);
	conn->dev = rnic_device_by_addr((struct sockaddr *)&conn->start.local);
	if (!conn->dev)
		return -ENODEV;
	if (listener->is_moved) {
		uint16_t port_be = rnic_addr_port_be(&listener->local);

		rnic_addr_set_port_be(&conn->start.local, port_be);
		ret = cm_port_send_sign(conn->start.fd, port_be);
		if (ret < 0)
			return ret;
	}
	opt.role = SMPA_RESPONDER;
	opt.rev = (uint8_t)util_settings()->mpa_rev;
	opt.ird = rnic_stream_depth_min(util_settings()->ird, UINT8_MAX);
	opt.ord = rnic_stream_depth_min(util_settings()->ord, UINT8_MAX);
	rnic_stream_start_options(&conn->start.peer, &opt);
	return rnic_start_open(&conn->start, &opt, NULL, 0);
}

/*
 * The Request is read when epoll reports it, even if it has come.  epoll
 * reports in the order of arrival: what another connection of the peer has sent
 * before, such as its RTR, comes first.
 */
void cm_passive_accepted(struct cm_id *listener, int fd)
{
	struct cm_conn *conn = cm_conn_new(CM_PHASE_STARTING);
	int ret;

	if (!conn) {
		rnic_fd_close(fd);
		return;
	}
	conn->start.fd = fd;
	rnic_half_open_add(&listener->listener.acceptor, &conn->start);
	ret = passive_open(conn);
	if (ret == 0)
		ret = rnic_start_watch(&conn->start, EPOLLIN);
	if (ret < 0) {
		util_warn("cm", "id %u: connection%s dropped: %s",
			  cm_id_num(listener),
			  UTIL_ADDR_PAIR_TEXT(&conn->start.local,
					      &conn->start.peer),
			  strerror(-ret));
		cm_conn_free(conn);
	}
}

/* What the peer wants and can, inside what we can; revision 1 says nothing. */
static void request_set_depths(struct rnic_cm_event *rev,
			       const struct cm_id *child,
			       const struct smpa_event *ev)
{
	uint32_t want_ird = SMPA_IRD_NONE, want_ord = SMPA_IRD_NONE;

	if (ev->start.is_enhanced) {
		want_ird = ev->start.ord;
		want_ord = ev->start.ird;
	} else {
		util_info("cm",
			  "%s: the Request, of revision %u, names no depths: "
			  "IRD and ORD are as we can",
			  CM_ID_NAME(child), ev->start.rev);
	}
	rev->ird = rnic_stream_depth_min(want_ird, util_settings()->ird);
	rev->ord = rnic_stream_depth_min(want_ord, util_settings()->ord);
}

/* A child identity on the listener's channel, not known by number until the
 * event is fetched. */
static int request_report(struct cm_conn *conn, const struct smpa_event *ev)
{
	struct cm_id *listener = cm_conn_listener(conn), *child;
	struct cm_event *event;
	int ret;

	if (listener->listener.unfetched_cnt >= listener->listener.backlog)
		return -EAGAIN;
	event = cm_event_new(listener);
	if (!event)
		return -ENOMEM;
	ret = cm_id_new(listener->chan, 0, &child);
	if (ret < 0) {
		free(event);
		return ret;
	}
	child->dev = conn->dev;
	child->local = conn->start.local;
	child->peer = conn->start.peer;
	cm_id_set_state(child, RNIC_CM_S_REQUEST);
	cm_conn_detach(conn);
	cm_conn_enter(conn, CM_PHASE_REQUEST, 0);
	conn->id = child;
	child->conn = conn;
	event->child = child;
	cm_event_set_start(event, ev);
	request_set_depths(&event->ev, child, ev);
	if (cm_id_is_ca(child)) {
		child->has_start = true;
		child->ird = event->ev.ird;
		child->ord = event->ev.ord;
		event->ev.qp_num = cm_id_peer_num(child);
	}
	cm_event_post(event, RNIC_CM_CONNECT_REQUEST, 0);
	return 0;
}

/* Until the application has decided, only the peer's leaving is of interest. */
void cm_passive_request(struct cm_conn *conn, const struct smpa_event *ev)
{
	int ret = request_report(conn, ev);

	if (ret == 0)
		ret = rnic_start_watch(&conn->start, EPOLLRDHUP);
	if (ret < 0)
		cm_conn_reject(conn, NULL, 0);
}

void cm_conn_reject(struct cm_conn *conn, const void *pd, uint8_t pd_len)
{
	rnic_stat_add(RNIC_STAT_rejects, 1);
	if (smpa_conn_reject(conn->start.stream->conn, pd, pd_len) < 0)
		cm_conn_free(conn);
	else
		cm_conn_close_behind_peer(conn);
}

/* The Reply is under way.  Return: 0; -errno. */
static int accept_reply(struct cm_conn *conn,
			const struct rnic_cm_conn_param *param,
			struct smpa_event *ret_ev)
{
	int ret;

	ret = smpa_conn_accept(
		conn->start.stream->conn, param->pd, param->pd_len,
		rnic_stream_depth_min(param->ird, util_settings()->ird),
		rnic_stream_depth_min(param->ord, util_settings()->ord));
	if (ret < 0)
		return ret;
	/* From here on there is no way back. */
	if (rnic_start_established(&conn->start, ret_ev) == 0)
		return 0;
	cm_conn_free(conn);
	return -ECONNRESET;
}

/* *@event is posted on success, and the caller's on failure. */
static int accept_attach(struct cm_conn *conn, struct rnic_qp *qp,
			 struct cm_event *event)
{
	struct cm_id *id = conn->id;
	int ret;

	if (qp)
		id->qp_num = rnic_qp_num(qp);
	ret = qp ? cm_conn_attach(conn, id, qp) : cm_bare_stand(conn);
	conn->qp_life = 0;
	if (ret < 0)
		return ret;
	event->ev.ird = rnic_stream_depth_min(conn->start.ird, UINT8_MAX);
	event->ev.ord = rnic_stream_depth_min(conn->start.ord, UINT8_MAX);
	if (qp)
		cm_conn_free(conn);
	rnic_stat_add(RNIC_STAT_accepts, 1);
	cm_event_post(event, RNIC_CM_ESTABLISHED, 0);
	return 0;
}

/*
 * InfiniBand's third step: the peer's application has moved its QP, and says
 * so by its RTR.  The QP gets the stream then, and the application its event.
 */
static int accept_await(struct cm_conn *conn, struct rnic_qp *qp,
			const struct rnic_cm_conn_param *param,
			struct cm_event *event)
{
	int ret = rnic_start_watch(&conn->start, EPOLLIN);

	if (ret < 0) {
		cm_conn_free(conn);
		return ret;
	}
	cm_conn_enter(conn, CM_PHASE_ANSWERED, ANSWERED_NS);
	conn->outcome = event;
	conn->param.qp_num = param->qp_num;
	conn->qp_life = qp ? rnic_qp_life(qp) : 0;
	cm_id_set_state(conn->id, RNIC_CM_S_CONNECT);
	conn->id->ird = rnic_stream_depth_min(conn->start.ird, UINT8_MAX);
	conn->id->ord = rnic_stream_depth_min(conn->start.ord, UINT8_MAX);
	return 0;
}

/* Return: 0: @event is taken; -errno. */
static int accept_stream(struct cm_id *id, struct rnic_qp *qp,
			 const struct rnic_cm_conn_param *param,
			 struct cm_event *event)
{
	struct cm_conn *conn = id->conn;
	struct smpa_event ev;
	int ret = accept_reply(conn, param, &ev);

	if (ret < 0)
		return ret;
	conn->param.rnr_retry = param->rnr_retry;
	/* Without an RTR nothing tells: the peer may wait for us. */
	if (cm_id_is_ca(id) && ev.start.is_peer_to_peer)
		return accept_await(conn, qp, param, event);
	ret = accept_attach(conn, qp, event);
	if (ret < 0)
		cm_conn_free(conn);
	return ret;
}

/* The QP may have had another life meanwhile, or none. */
static int answered_attach(struct cm_conn *conn)
{
	struct cm_event *event = conn->outcome;
	struct rnic_qp *qp = rnic_qp_get(conn->param.qp_num);
	int ret = -EINVAL;

	if (!qp && !conn->is_bare)
		return -EINVAL;
	if (!qp || rnic_qp_life(qp) == conn->qp_life) {
		conn->outcome = NULL;
		ret = accept_attach(conn, qp, event);
		if (ret < 0)
			conn->outcome = event;
	}
	if (qp)
		rnic_qp_put(qp);
	return ret;
}

void cm_passive_answered(struct cm_conn *conn)
{
	int ret = rnic_stream_start_is_heard(conn->start.stream);

	if (ret > 0)
		ret = answered_attach(conn);
	if (ret < 0)
		cm_conn_abort(conn, ret);
}

/* Its FIN may be there although the loop has not come to it yet. Behind a Reply
 * the application would get a connection that has never been. */
static bool peer_has_left(const struct cm_id *id)
{
	if (id->conn && rnic_stream_start_is_heard(id->conn->start.stream) < 0)
		cm_conn_free(id->conn);
	return !id->conn;
}

#define ACCEPT "rdma_accept"

int cm_passive_accept(struct cm_id *id, const struct rnic_cm_conn_param *param)
{
	struct cm_event *event;
	struct rnic_qp *qp;
	int ret;

	if (id->state != RNIC_CM_S_REQUEST)
		return cm_refuse_state(id, ACCEPT, "REQUEST");
	if (peer_has_left(id))
		return cm_refuse(id, ECONNRESET, ACCEPT, "the peer has left");
	ret = cm_conn_get_qp(id, param->qp_num, ACCEPT, &qp);
	if (ret < 0)
		return ret;
	id->conn->is_bare = !qp;
	event = cm_event_new(id);
	if (!event || !cm_id_reserve_end(id)) {
		ret = util_refuse_memory("cm", ACCEPT);
		goto free_event;
	}
	ret = accept_stream(id, qp, param, event);
	if (ret == 0)
		goto put_qp;
	ret = cm_refuse(id, -ret, ACCEPT,
			"the Reply cannot be sent, or QP 0x%06x cannot take "
			"the stream",
			param->qp_num);
free_event:
	free(event);
put_qp:
	if (qp)
		rnic_qp_put(qp);
	return ret;
}

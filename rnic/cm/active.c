/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The active side: dial, Request, and what came of it. */
#include "active.h"

#include "util/env.h"
#include "util/log.h"
#include "ask.h"
#include "bare.h"
#include "bind.h"
#include "conn.h"
#include "event.h"
#include "fault.h"
#include "id.h"
#include "loop/loop.h"
#include "os/addr.h"
#include "os/fd.h"
#include "os/stat.h"
#include "outcome.h"
#include "qp/qp-table.h"
#include "qp/state.h"
#include "reason.h"
#include "state.h"
#include "start/dial.h"

#include <errno.h>
#include <sys/epoll.h>

/*
 * A server that listens anew for each connection (perftest -R does) is without
 * a listener for a moment.  Behind a kernel's RNIC the client is too slow to
 * see it; here it is not, so a refusal is final only after a while.
 */
#define REFUSED_NS (300 * NS_PER_MS)
#define REDIAL_NS (20 * NS_PER_MS)
/* Private Data that Linux's siw takes; it drops a peer that sends more. */
#define SIW_PD_MAX 256

static void conn_refused(struct cm_conn *conn)
{
	if (util_now_ns() >= conn->refused_ns) {
		cm_conn_abort(conn, -ECONNREFUSED);
		return;
	}
	rnic_start_close(&conn->start);
	cm_conn_enter(conn, CM_PHASE_REFUSED, REDIAL_NS);
}

/*
 * Return: 0; -errno of socket() or bind(); what connect() says at once comes in
 * *ret_status, as from rnic_dial_result().
 */
static int conn_dial(struct cm_conn *conn, int *ret_status)
{
	struct cm_id *id = conn->id;
	int fd = id->fd;

	*ret_status = 0;
	if (fd < 0)
		fd = cm_id_open_source(id);
	if (fd < 0)
		return fd;
	id->fd = -1;
	conn->start.fd = fd;
	*ret_status = rnic_dial_connect(fd, &id->peer);
	if (*ret_status == 0)
		*ret_status = rnic_dial_result(&conn->start);
	if (*ret_status != 0)
		return 0;
	return rnic_start_watch(&conn->start, EPOLLOUT);
}

/* The Reply is read when epoll reports it: what has happened before comes
 * first (rnic_loop_order). */
static int active_send_request(struct cm_conn *conn)
{
	struct rnic_stream *stream = conn->start.stream;
	int ret = rnic_stream_start_flush(stream);

	return ret < 0 ? ret
		       : rnic_start_watch(&conn->start,
					  rnic_stream_start_wants(stream));
}

/* The TCP connection stands.  Return: whether to step it. */
static bool active_start(struct cm_conn *conn)
{
	struct smpa_options opt = SMPA_OPTIONS_INIT;
	int ret;

	opt.role = SMPA_INITIATOR;
	opt.rev = conn->rev;
	opt.ird = rnic_stream_depth_min(conn->param.ird, util_settings()->ird);
	opt.ord = rnic_stream_depth_min(conn->param.ord, util_settings()->ord);
	rnic_stream_start_options(&conn->start.peer, &opt);
	ret = rnic_start_open(&conn->start, &opt, conn->param.pd,
			      conn->param.pd_len);
	if (ret < 0) {
		cm_conn_abort(conn, ret);
		return false;
	}
	cm_conn_await_reply(conn);
	/* A step finds the error again, and acts on it. */
	return active_send_request(conn) < 0;
}

/* @status: as from rnic_dial_result(). */
static bool conn_dialled(struct cm_conn *conn, int status)
{
	if (status > 0)
		return active_start(conn);
	if (status == -ECONNREFUSED)
		conn_refused(conn);
	else if (status < 0)
		cm_conn_abort(conn, status);
	return false;
}

bool cm_active_dial_port(struct cm_conn *conn)
{
	int status, ret;

	ret = conn_dial(conn, &status);
	return conn_dialled(conn, ret < 0 ? ret : status);
}

bool cm_active_redial(struct cm_conn *conn)
{
	cm_conn_begin(conn);
	return !cm_ask_begin(conn) && cm_active_dial_port(conn);
}

/* D-27: one more try with revision 1, on a new TCP connection. */
bool cm_active_retry(struct cm_conn *conn)
{
	bool is_long = conn->param.pd_len + SMPA_PD_ENHANCED > SIW_PD_MAX;

	util_info("cm", "%s: no Reply to revision 2, trying revision 1%s",
		  CM_ID_NAME(conn->id),
		  is_long ? "; Linux's siw takes 256 octets of private data, "
			    "4 of them revision 2's own"
			  : "");
	rnic_start_close(&conn->start);
	cm_conn_begin(conn);
	conn->rev = 1;
	if (conn->is_beside && cm_ask_begin(conn))
		return false;
	return cm_active_dial_port(conn);
}

/* On success the connection is the QP's, and the conn gone, or bare. */
static int active_attach(struct cm_conn *conn)
{
	struct cm_id *id = conn->id;
	struct rnic_qp *qp = rnic_qp_get(conn->param.qp_num);
	int ret = -EINVAL;

	if (conn->is_bare) {
		ret = cm_bare_stand(conn);
	} else if (qp) {
		id->qp_num = conn->param.qp_num;
		ret = cm_conn_attach(conn, id, qp);
	}
	if (qp)
		rnic_qp_put(qp);
	if (ret < 0)
		return ret;
	rnic_stat_add(RNIC_STAT_connects, 1);
	if (!conn->is_bare)
		cm_conn_free(conn);
	return 0;
}

/*
 * InfiniBand's steps: librdmacm, or the application, moves the QP now, and says
 * when it is ready.  A peer that leaves meanwhile has accepted all the same:
 * the QP gets what it sent, and the application DISCONNECTED behind that.  So
 * the socket is not looked at before; the time limit is the peer's.
 */
static void active_respond(struct cm_conn *conn)
{
	struct cm_event *response = conn->outcome;
	struct cm_id *id = conn->id;

	conn->outcome = cm_event_new(id);
	if (!conn->outcome) {
		conn->outcome = response;
		response->ev.pd_len = 0;
		cm_conn_abort(conn, -ENOMEM);
		return;
	}
	rnic_start_watch(&conn->start, 0);
	cm_conn_enter(conn, CM_PHASE_RESPONSE, 0);
	id->has_start = true;
	id->ird = rnic_stream_depth_min(conn->start.ird, UINT8_MAX);
	id->ord = rnic_stream_depth_min(conn->start.ord, UINT8_MAX);
	response->ev.qp_num = cm_id_is_ca(id) ? cm_id_peer_num(id) : 0;
	cm_event_post(response, RNIC_CM_CONNECT_RESPONSE, 0);
}

void cm_active_established(struct cm_conn *conn, const struct smpa_event *ev)
{
	struct cm_event *outcome = conn->outcome;
	struct cm_id *id = conn->id;
	int ret;

	if (!ev->start.is_enhanced)
		util_info("cm",
			  "%s: the Reply, of revision %u, names no depths; "
			  "a Linux siw has IRD and ORD 0 then, unless its "
			  "application says otherwise",
			  CM_ID_NAME(id), ev->start.rev);
	cm_ask_note_own_port(conn);
	cm_event_set_start(outcome, ev);
	if (ev->start.is_enhanced) {
		cm_event_set_reply_depths(outcome, ev);
	} else {
		outcome->ev.ird =
			rnic_stream_depth_min(ev->start.ird, UINT8_MAX);
		outcome->ev.ord =
			rnic_stream_depth_min(ev->start.ord, UINT8_MAX);
	}
	if (cm_id_is_ca(id) || conn->param.wants_response) {
		active_respond(conn);
		return;
	}
	conn->outcome = NULL;
	ret = active_attach(conn);
	if (ret < 0) {
		conn->outcome = outcome;
		outcome->ev.pd_len = 0;
		cm_conn_abort(conn, ret);
		return;
	}
	cm_event_post(outcome, RNIC_CM_ESTABLISHED, 0);
}

#define ESTABLISH "rdma_establish"

/*
 * No event of ours: librdmacm makes its own of CONNECT_RESPONSE, and an
 * application that is refused here knows it by that.
 */
int cm_active_establish(struct cm_id *id)
{
	struct cm_conn *conn = id->conn;
	uint32_t num;
	int ret;

	if (!conn || conn->phase != CM_PHASE_RESPONSE)
		return id->state == RNIC_CM_S_DISCONNECT && id->has_start
			       ? cm_refuse(id, ECONNRESET, ESTABLISH,
					   "the peer has left")
			       : cm_refuse(id, EINVAL, ESTABLISH,
					   "there is no connect response");
	num = conn->param.qp_num;
	ret = active_attach(conn);
	if (ret == 0)
		return 0;
	cm_id_set_state(id, RNIC_CM_S_DISCONNECT);
	cm_conn_free(conn);
	return cm_refuse(id, -ret, ESTABLISH,
			 "QP 0x%06x cannot take the stream", num);
}

/* The identity knows the peer by the port that it dialled. */
bool cm_active_found(struct cm_conn *conn)
{
	struct cm_id *id = conn->id;

	rnic_fd_close(id->fd);
	id->fd = -1;
	rnic_addr_set_port_be(&conn->start.peer, rnic_addr_port_be(&id->peer));
	return active_start(conn);
}

bool cm_active_connected(struct cm_conn *conn)
{
	return conn_dialled(conn, rnic_dial_result(&conn->start));
}

/* ---- connect --------------------------- */

#define CONNECT "rdma_connect"

/* Is the peer not to be asked (USIW_FAULT)?  The connection may be gone. */
static bool active_fault(struct cm_conn *conn)
{
	const struct util_fault_rule *rule = cm_fault(
		(struct sockaddr *)&conn->id->peer,
		RNIC_FAULT_BIT(CM_UNREACHABLE) | RNIC_FAULT_BIT(CM_REJECT) |
			RNIC_FAULT_BIT(CM_TIMEOUT));

	if (!rule && !rnic_fault_port_down_ns())
		return false;
	cm_id_set_state(conn->id, RNIC_CM_S_CONNECT);
	if (!rule || rule->fault == UTIL_FAULT_CM_UNREACHABLE)
		cm_conn_abort(conn, -EHOSTUNREACH);
	else if (rule->fault == UTIL_FAULT_CM_REJECT)
		cm_conn_abort(conn, -ECONNREFUSED);
	return true; /* CM_TIMEOUT: its time is up some day */
}

int cm_active_connect(struct cm_id *id, const struct rnic_cm_conn_param *param,
		      struct cm_conn **ret_conn)
{
	struct cm_conn *conn;
	struct rnic_qp *qp;
	int ret, status = 0;
	bool is_bare;

	*ret_conn = NULL;
	if (id->state != RNIC_CM_S_ROUTE)
		return cm_refuse_state(id, CONNECT, "ROUTE");
	ret = cm_conn_get_qp(id, param->qp_num, CONNECT, &qp);
	if (ret < 0)
		return ret;
	is_bare = !qp;
	rnic_qp_put(qp);
	ret = rnic_loop_start();
	if (ret < 0)
		return cm_refuse(id, -ret, CONNECT, CM_NO_THREAD);
	if (!cm_id_reserve_end(id))
		return util_refuse_memory("cm", CONNECT);
	conn = cm_conn_new(CM_PHASE_CONNECTING);
	if (!conn)
		return util_refuse_memory("cm", CONNECT);
	conn->outcome = cm_event_new(id);
	if (!conn->outcome) {
		cm_conn_free(conn);
		return util_refuse_memory("cm", CONNECT);
	}
	conn->id = id;
	conn->rev = (uint8_t)util_settings()->mpa_rev;
	conn->refused_ns = util_now_ns() + REFUSED_NS;
	conn->param = *param;
	conn->is_bare = is_bare;
	id->conn = conn;
	if (id->fd >= 0) /* the question comes from the same port */
		rnic_sock_set_flag(id->fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (active_fault(conn))
		return 0;
	if (cm_ask_begin(conn)) {
		cm_id_set_state(id, RNIC_CM_S_CONNECT);
		return 0;
	}
	ret = conn_dial(conn, &status);
	if (ret < 0) {
		cm_conn_free(conn);
		return cm_refuse(id, -ret, CONNECT,
				 "a TCP socket cannot be opened, bound to the "
				 "own address, or waited for");
	}
	cm_id_set_state(id, RNIC_CM_S_CONNECT);
	if (conn_dialled(conn, status))
		*ret_conn = conn;
	return 0;
}

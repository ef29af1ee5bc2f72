/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections in the making: the object, its lists and its socket. */
#include "conn.h"

#include "../../util/env.h"
#include "loop/loop.h"
#include "os/fd.h"
#include "qp/qp-table.h"
#include "stream/modify.h"
#include "stream/start.h"

#include <stdlib.h>

/*
 * The Reply comes when the peer's program has accepted, and that makes its
 * queues and registers its memory before.  A minute with the default, which is
 * what iWARP adapters of others wait; and InfiniBand's connection manager has
 * its peer wait for 68 s once the Request has come.
 */
#define REPLY_FACTOR 6

int cm_conn_fd(const struct cm_conn *conn)
{
	return conn->stream ? rnic_stream_fd(conn->stream) : conn->fd;
}

int cm_conn_watch(struct cm_conn *conn, uint32_t events)
{
	return rnic_loop_watch(cm_conn_fd(conn), RNIC_LOOP_CONN, conn->ref,
			       events, &conn->epoll_events);
}

struct cm_conn *cm_conn_new(enum cm_phase phase)
{
	struct cm_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	if (rnic_ref_add(&cm.conns, conn, &conn->ref) < 0) {
		free(conn);
		return NULL;
	}
	conn->fd = -1;
	conn->phase = phase;
	cm_conn_begin(conn);
	return conn;
}

void cm_conn_begin(struct cm_conn *conn)
{
	rnic_timer_start(&conn->timer, RNIC_TIMER_CM_STARTING,
			 util_settings()->start_ms * NS_PER_MS);
}

void cm_conn_await_reply(struct cm_conn *conn)
{
	conn->phase = CM_PHASE_ASKED;
	rnic_timer_start(&conn->timer, RNIC_TIMER_CM_ASKED,
			 util_settings()->start_ms * REPLY_FACTOR * NS_PER_MS);
}

/* Without time limit, away from identity and listener. */
void cm_conn_detach(struct cm_conn *conn)
{
	rnic_timer_stop(&conn->timer);
	if (conn->listener) {
		TAILQ_REMOVE(&conn->listener->listener.half_open, conn,
			     half_open_link);
		conn->listener->listener.half_open_cnt--;
	}
	conn->listener = NULL;
	if (conn->id)
		conn->id->conn = NULL;
	conn->id = NULL;
}

/* Unregistered by hand: a forked child may hold the socket open. */
void cm_conn_drop_socket(struct cm_conn *conn)
{
	if (cm_conn_fd(conn) >= 0)
		cm_conn_watch(conn, 0);
	conn->epoll_events = 0;
	if (conn->stream)
		rnic_stream_free(conn->stream);
	else
		rnic_fd_close(conn->fd);
	conn->stream = NULL;
	conn->fd = -1;
}

/* It waits for a stream that does not come: what is posted ends. */
static void conn_drop_qp(const struct cm_conn *conn)
{
	struct rnic_qp *qp;

	if (!conn->qp_life)
		return;
	qp = rnic_qp_get(conn->param.qp_num);
	if (!qp)
		return;
	rnic_qp_not_coming(qp, conn->qp_life);
	rnic_qp_put(qp);
}

void cm_conn_free(struct cm_conn *conn)
{
	conn_drop_qp(conn);
	cm_conn_detach(conn);
	cm_conn_drop_socket(conn);
	free(conn->outcome);
	rnic_ref_remove(&cm.conns, conn->ref);
	free(conn);
}

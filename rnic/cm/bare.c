/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Connections without a QP.  InfiniBand's manager does not ask whether a number
 * is a QP's, and programs measure connecting with numbers of their own
 * (cmtime). Here such a connection stays with the manager: the start exchange,
 * RTR included, and its end.
 */
#include "bare.h"

#include "close.h"
#include "conn.h"
#include "id.h"

#include <sys/epoll.h>

/* Return: 0; -errno. */
static int bare_watch(struct cm_conn *conn)
{
	int ret = rnic_stream_start_flush(conn->start.stream);
	bool has_more = rnic_stream_start_wants(conn->start.stream) & EPOLLOUT;

	if (ret < 0)
		return ret;
	return rnic_start_watch(&conn->start,
				has_more ? EPOLLRDHUP | EPOLLOUT : EPOLLRDHUP);
}

int cm_bare_stand(struct cm_conn *conn)
{
	struct cm_id *id = conn->id;
	int ret = bare_watch(conn);

	if (ret < 0)
		return ret;
	cm_conn_enter(conn, CM_PHASE_BARE, 0);
	id->qp_num = 0;
	cm_conn_stands(conn, id);
	return 0;
}

void cm_bare_end(struct cm_conn *conn)
{
	cm_id_stream_ended(conn->id, 0);
	cm_conn_close(conn);
}

void cm_bare_ready(struct cm_conn *conn, uint32_t events)
{
	/* What a peer sends to a QP that there is not is left unread. */
	if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) ||
	    bare_watch(conn) < 0)
		cm_bare_end(conn);
}

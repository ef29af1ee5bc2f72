/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The stream of a connection: opened, and taken by a QP. */
#include "attach.h"

#include "conn.h"
#include "os/addr.h"
#include "qp/qp.h"
#include "qp/rnr.h"
#include "stream/attach.h"
#include "stream/start.h"
#include "state.h"

/* rnr_retry_count without limit; a kernel takes larger ones for the same. */
#define RNR_FOR_EVER 7

int cm_conn_open_stream(struct cm_conn *conn, struct smpa_options *opt)
{
	int ret;

	rnic_stream_start_options(&conn->peer, opt);
	ret = rnic_stream_new(conn->fd, opt, &conn->stream);
	if (ret < 0)
		return ret;
	conn->fd = -1; /* the stream's now */
	return 0;
}

void cm_conn_stands(struct cm_conn *conn, struct cm_id *id)
{
	if (id->is_moved)
		rnic_addr_set_port_be(
			&conn->local,
			rnic_addr_port_be((struct sockaddr *)&id->local));
	id->local = conn->local;
	id->peer = conn->peer;
	cm_id_set_state(id, RNIC_CM_S_ESTABLISHED);
}

/*
 * rnr_retry_count is for the peer's Sends, and those are held here: nothing
 * need travel.  A kernel's iWARP manager does not look at the count, and
 * librdmacm says 7 where the application says nothing.
 */
static void conn_set_rnr_time(const struct cm_conn *conn,
			      const struct cm_id *id, struct rnic_qp *qp)
{
	rnic_rnr_set_cm_time(qp, cm_id_is_ca(id) &&
					 conn->param.rnr_retry >= RNR_FOR_EVER);
}

int cm_conn_attach(struct cm_conn *conn, struct cm_id *id, struct rnic_qp *qp,
		   uint16_t ird, uint16_t ord)
{
	int ret;

	cm_conn_watch(conn, 0);
	if (id->ack_timeout)
		rnic_sock_set_ack_timeout(cm_conn_fd(conn), id->ack_timeout);
	conn_set_rnr_time(conn, id, qp);
	ret = rnic_qp_attach_stream(qp, conn->stream, ird, ord, id->ref);
	if (ret < 0)
		return ret;
	conn->stream = NULL;
	rnic_qp_set_timeout(qp, id->ack_timeout);
	cm_conn_stands(conn, id);
	return 0;
}

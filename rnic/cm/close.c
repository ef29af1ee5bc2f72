/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The orderly end of a connection that no QP took: the Reply with R=1 (or a
 * Terminate) goes out, then FIN, then the peer's input is read to its FIN:
 * closing with unread input would send RST and may throw the Reply away.
 * Behind a Reply with R=1 our FIN first waits a while for the peer's.
 */
#include "close.h"

#include "util/env.h"
#include "conn.h"
#include "stream/carrier.h"

#include <sys/epoll.h>

/*
 * How long our FIN waits for that of a peer which was rejected: the kernel's
 * siw loses the Reply's private data when the FIN comes right behind it.
 */
#define REJECTED_NS (200 * NS_PER_MS)

/* Return: 1: all is out; 0: TCP is full; -errno. */
static int close_flush(struct rnic_stream *stream)
{
	struct smpa_event ev;
	int ret;

	if (!(rnic_stream_start_wants(stream) & EPOLLOUT))
		return 1;
	ret = rnic_stream_start_step(stream, &ev);
	if (ret < 0)
		return ret;
	return !(rnic_stream_start_wants(stream) & EPOLLOUT);
}

void cm_conn_close_ready(struct cm_conn *conn)
{
	struct rnic_stream *stream = conn->start.stream;
	int ret = close_flush(stream);

	if (ret > 0 && conn->phase == CM_PHASE_CLOSING && !conn->is_shut) {
		stream->carrier->fin(stream);
		conn->is_shut = true;
	}
	if (ret < 0 || (ret > 0 && rnic_stream_discard(stream) != 0) ||
	    rnic_start_watch(&conn->start, ret ? EPOLLIN : EPOLLIN | EPOLLOUT) <
		    0)
		cm_conn_free(conn);
}

uint32_t cm_conn_closing_cnt(void)
{
	return rnic_timer_cnt(RNIC_TIMER_CM_REJECTED) +
	       rnic_timer_cnt(RNIC_TIMER_CM_CLOSING);
}

static void conn_end(struct cm_conn *conn, enum cm_phase phase,
		     uint64_t limit_ns)
{
	/* Bounded like half-open ones: these, too, are unexpected peers. */
	if (cm_conn_closing_cnt() >= util_settings()->half_open_max) {
		cm_conn_free(conn);
		return;
	}
	cm_conn_detach(conn);
	cm_conn_enter(conn, phase, limit_ns);
	cm_conn_close_ready(conn);
}

void cm_conn_close(struct cm_conn *conn)
{
	conn_end(conn, CM_PHASE_CLOSING, util_settings()->drain_ms * NS_PER_MS);
}

void cm_conn_close_behind_peer(struct cm_conn *conn)
{
	conn_end(conn, CM_PHASE_REJECTED, REJECTED_NS);
}

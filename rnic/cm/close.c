/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The orderly end of a connection that no QP took: the Reply with R=1 (or a
 * Terminate) goes out, then FIN, then the peer's input is read to its FIN:
 * closing with unread input would send RST and may throw the Reply away.
 * Behind a Reply with R=1 our FIN first waits a while for the peer's.
 */
#include "close.h"

#include "../../util/env.h"
#include "conn.h"
#include "os/tcp.h"

#include <errno.h>
#include <sys/epoll.h>

#define CLOSE_DISCARD_SIZE (1u << 16)
#define CLOSE_DISCARDS 16
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

/* Return: true: the peer's FIN has come, or the connection is gone. */
static bool close_drain(int fd)
{
	for (int i = 0; i < CLOSE_DISCARDS; i++) {
		ssize_t len = rnic_tcp_discard(fd, CLOSE_DISCARD_SIZE);

		if (len <= 0)
			return len != -EAGAIN;
	}
	return false;
}

void cm_conn_close_ready(struct cm_conn *conn)
{
	int fd = rnic_stream_fd(conn->start.stream);
	int ret = close_flush(conn->start.stream);

	if (ret > 0 && conn->phase == CM_PHASE_CLOSING && !conn->is_shut) {
		rnic_tcp()->shutdown(fd, SHUT_WR);
		conn->is_shut = true;
	}
	if (ret < 0 || (ret > 0 && close_drain(fd)) ||
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
		     enum rnic_timer_list list, uint64_t limit_ns)
{
	/* Bounded like half-open ones: these, too, are unexpected peers. */
	if (cm_conn_closing_cnt() >= util_settings()->half_open_max) {
		cm_conn_free(conn);
		return;
	}
	cm_conn_detach(conn);
	conn->phase = phase;
	rnic_timer_start(&conn->start.timer, list, limit_ns);
	cm_conn_close_ready(conn);
}

void cm_conn_close(struct cm_conn *conn)
{
	conn_end(conn, CM_PHASE_CLOSING, RNIC_TIMER_CM_CLOSING,
		 util_settings()->drain_ms * NS_PER_MS);
}

void cm_conn_close_behind_peer(struct cm_conn *conn)
{
	conn_end(conn, CM_PHASE_REJECTED, RNIC_TIMER_CM_REJECTED, REJECTED_NS);
}

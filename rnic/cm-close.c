/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The orderly end of a connection that no QP took: the Reply with R=1 (or a
 * Terminate) goes out, then FIN, then the peer's input is read to its FIN:
 * closing with unread input would send RST and may throw the Reply away.
 * Behind a Reply with R=1 our FIN first waits a while for the peer's.
 */
#include "cm-internal.h"

#include "os/tcp.h"

#include <errno.h>
#include <sys/epoll.h>

#define CLOSE_DISCARD_SIZE (1u << 16)
#define CLOSE_DISCARDS 16

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
	int fd = rnic_stream_fd(conn->stream);
	int ret = close_flush(conn->stream);

	if (ret > 0 && conn->phase == CM_PHASE_CLOSING && !conn->is_shut) {
		rnic_tcp()->shutdown(fd, SHUT_WR);
		conn->is_shut = true;
	}
	if (ret < 0 || (ret > 0 && close_drain(fd)) ||
	    cm_thread_watch(fd, CM_TAG_CONN, conn->ref,
			    ret ? EPOLLIN : EPOLLIN | EPOLLOUT,
			    &conn->epoll_events) < 0)
		cm_conn_free(conn);
}

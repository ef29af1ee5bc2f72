/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A stream's TCP socket: its first carrier, and beside any other one. */
#include "tcp.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "os/addr.h"
#include "os/stat.h"
#include "os/tcp.h"

ssize_t rnic_stream_tcp_send(struct rnic_stream *stream,
			     const struct iovec *iov, int cnt, int flags)
{
	ssize_t len = rnic_tcp_send(stream->source.fd, iov, cnt, flags);

	if (len >= 0 && stream->engine)
		rnic_stat_count(stream->engine->stat, RNIC_STAT_tx_calls, 1);
	return len;
}

ssize_t rnic_stream_tcp_recv(struct rnic_stream *stream,
			     const struct iovec *iov, int cnt, size_t max)
{
	int fd = stream->source.fd;
	ssize_t len = cnt ? rnic_tcp_recv(fd, iov, cnt)
			  : rnic_tcp_discard(fd, max);

	if (len > 0)
		stream->rx_octets += (uint64_t)len;
	return len;
}

static ssize_t tcp_recv(struct rnic_stream *stream, const struct iovec *iov,
			int cnt)
{
	return rnic_stream_tcp_recv(stream, iov, cnt, RNIC_STREAM_DISCARD);
}

void rnic_stream_tcp_fin(struct rnic_stream *stream)
{
	rnic_tcp()->shutdown(stream->source.fd, SHUT_WR);
}

static uint32_t tcp_watch(struct rnic_stream *stream, bool wants_in)
{
	return (wants_in ? EPOLLIN : 0) |
	       (stream->is_tx_blocked ? EPOLLOUT : 0);
}

static void tcp_close(struct rnic_stream *stream)
{
	(void)stream;
}

/* As a call would return it. */
int rnic_stream_tcp_error(const struct rnic_stream *stream)
{
	socklen_t len = sizeof(int);
	int err = 0;

	rnic_tcp()->getsockopt(stream->source.fd, SOL_SOCKET, SO_ERROR, &err,
			       &len);
	return err ? -err : -ECONNRESET;
}

uint32_t rnic_stream_tcp_emss(const struct rnic_stream *stream)
{
	return rnic_tcp_emss(stream->source.fd);
}

uint64_t rnic_stream_tcp_acked(const struct rnic_stream *stream)
{
	struct tcp_info info;

	return rnic_stream_tcp_info(stream, &info) ? info.tcpi_bytes_acked : 0;
}

const struct rnic_carrier rnic_tcp_carrier = {
	.kind = RNIC_PROBE_TCP,
	.send = rnic_stream_tcp_send,
	.recv = tcp_recv,
	.fin = rnic_stream_tcp_fin,
	.watch = tcp_watch,
	.close = tcp_close,
	.error = rnic_stream_tcp_error,
	.emss = rnic_stream_tcp_emss,
	.acked = rnic_stream_tcp_acked,
};

/* ---- what the socket says ------------------------------------------------ */

int rnic_stream_tcp_peek(const struct rnic_stream *stream)
{
	uint8_t octet;
	ssize_t len = rnic_tcp()->recv(stream->source.fd, &octet, 1,
				       MSG_PEEK | MSG_DONTWAIT);

	if (len >= 0)
		return (int)len;
	return errno == EWOULDBLOCK || errno == EINTR ? -EAGAIN : -errno;
}

bool rnic_stream_tcp_info(const struct rnic_stream *stream,
			  struct tcp_info *ret_info)
{
	socklen_t len = sizeof(*ret_info);

	memset(ret_info, 0, sizeof(*ret_info));
	return rnic_tcp()->getsockopt(stream->source.fd, IPPROTO_TCP, TCP_INFO,
				      ret_info, &len) == 0;
}

const char *rnic_stream_name(const struct rnic_stream *stream,
			     char buf[RNIC_QP_NAME_LEN])
{
	struct sockaddr_storage local, peer;

	if (stream->qp)
		return rnic_qp_name(stream->qp, buf);
	rnic_addr_of_socket(stream->source.fd, &local, &peer);
	snprintf(buf, RNIC_QP_NAME_LEN, "stream%s",
		 UTIL_ADDR_PAIR_TEXT(&local, &peer));
	return buf;
}

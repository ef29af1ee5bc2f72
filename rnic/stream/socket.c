/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The socket of a stream: every octet enters and leaves the stream here. */
#include "socket.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "os/tcp.h"

#define DISCARD_SIZE (1u << 20)
/* Reads in a row that throw away; then the next stream has its turn. */
#define DISCARD_MAX 16

ssize_t rnic_stream_send(struct rnic_stream *stream, const struct iovec *iov,
			 int cnt, int flags)
{
	ssize_t len = rnic_tcp_send(stream->source.fd, iov, cnt, flags);

	if (len > 0)
		stream->tx_octets += (uint64_t)len;
	return len;
}

ssize_t rnic_stream_recv(struct rnic_stream *stream, const struct iovec *iov,
			 int cnt)
{
	if (cnt == 0)
		return rnic_tcp_discard(stream->source.fd, DISCARD_SIZE);
	return rnic_tcp_recv(stream->source.fd, iov, cnt);
}

int rnic_stream_discard(struct rnic_stream *stream)
{
	ssize_t len = 1;

	for (int i = 0; i < DISCARD_MAX && len > 0; i++)
		len = rnic_stream_recv(stream, NULL, 0);
	if (len < 0)
		return len == -EAGAIN ? 0 : (int)len;
	if (len == 0)
		stream->has_peer_fin = true;
	return len == 0;
}

bool rnic_stream_tcp_info(const struct rnic_stream *stream,
			  struct tcp_info *ret_info)
{
	socklen_t len = sizeof(*ret_info);

	memset(ret_info, 0, sizeof(*ret_info));
	return rnic_tcp()->getsockopt(stream->source.fd, IPPROTO_TCP, TCP_INFO,
				      ret_info, &len) == 0;
}

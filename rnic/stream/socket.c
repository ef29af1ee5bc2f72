/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The socket of a stream: every octet enters and leaves the stream here. */
#include "socket.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "carrier.h"
#include "local/local.h"
#include "local/ring.h"
#include "os/stat.h"
#include "os/tcp.h"

#define DISCARD_SIZE (1u << 20)
/* Reads in a row that throw away; then the next stream has its turn. */
#define DISCARD_MAX 16

/* Where it is counted. In START no engine guards the stream. */
static struct rnic_stat_part stream_part(const struct rnic_stream *stream)
{
	return stream->engine ? stream->engine->stat
			      : (struct rnic_stat_part){ .num = 0 };
}

ssize_t rnic_stream_send(struct rnic_stream *stream, const struct iovec *iov,
			 int cnt, int flags)
{
	ssize_t len = -EPIPE;

	if (stream->local && rnic_local_sends(stream->local)) {
		len = rnic_local_send(stream->local, iov, cnt);
		if (len > 0)
			rnic_stat_count(stream_part(stream),
					RNIC_STAT_local_tx_octets,
					(uint64_t)len);
		if (stream->local->is_wake_due)
			rnic_stream_carrier_wake(stream);
	}
	/* Never sent by the ring, or not any more. */
	if (len == -EPIPE)
		len = rnic_tcp_send(stream->source.fd, iov, cnt, flags);
	if (len > 0)
		stream->tx_octets += (uint64_t)len;
	return len;
}

/* What the socket holds for a stream whose octets come by the ring.  Return: 1:
 * octets; 0: FIN; -EAGAIN: nothing; other -errno: it has failed. */
static int socket_peek(const struct rnic_stream *stream)
{
	uint8_t octet;
	ssize_t len = rnic_tcp()->recv(stream->source.fd, &octet, 1,
				       MSG_PEEK | MSG_DONTWAIT);

	if (len >= 0)
		return (int)len;
	return errno == EWOULDBLOCK || errno == EINTR ? -EAGAIN : -errno;
}

/*
 * The ring is empty.  What the peer wrote there before its FIN, or before it
 * went back to TCP, is seen by one more look behind the look at the socket.
 * Return: as rnic_stream_recv(); -EPIPE: read the socket.
 */
static ssize_t local_recv_end(struct rnic_stream *stream,
			      const struct iovec *iov, int cnt)
{
	struct rnic_local *local = stream->local;
	ssize_t len;
	int status;

	if (!local->is_tcp_due)
		return local->tcp_status < 0 ? local->tcp_status : -EAGAIN;
	status = socket_peek(stream);
	if (status == -EAGAIN) {
		local->is_tcp_due = false;
		return local->tcp_status < 0 ? local->tcp_status : -EAGAIN;
	}
	if (status < 0) /* recv() says it once */
		local->tcp_status = status;
	len = rnic_local_recv(local, iov, cnt);
	if (len != -EAGAIN)
		return len;
	if (local->state == RNIC_LOCAL_OFFERED)
		return -EPIPE;
	if (local->tcp_status < 0)
		return local->tcp_status;
	return status > 0 ? -EPROTO : 0;
}

static ssize_t local_recv(struct rnic_stream *stream, const struct iovec *iov,
			  int cnt)
{
	struct rnic_local *local = stream->local;
	ssize_t len = rnic_local_recv(local, iov, cnt);

	if (len == -EAGAIN)
		len = local_recv_end(stream, iov, cnt);
	if (len > 0) {
		rnic_stat_count(stream_part(stream), RNIC_STAT_local_rx_octets,
				(uint64_t)len);
		if (local->state == RNIC_LOCAL_OFFERED)
			rnic_stream_carrier_agreed(stream);
	} else if (len == -EPIPE && local->state == RNIC_LOCAL_OFFERED) {
		rnic_stream_carrier_refused(stream);
	}
	return len;
}

ssize_t rnic_stream_recv(struct rnic_stream *stream, const struct iovec *iov,
			 int cnt)
{
	ssize_t len = -EPIPE;

	if (stream->local)
		len = local_recv(stream, iov, cnt);
	if (len != -EPIPE)
		return len;
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

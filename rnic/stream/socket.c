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

static ssize_t socket_recv(struct rnic_stream *stream, const struct iovec *iov,
			   int cnt, size_t max)
{
	int fd = stream->source.fd;
	ssize_t len = cnt ? rnic_tcp_recv(fd, iov, cnt)
			  : rnic_tcp_discard(fd, max);

	if (len > 0)
		stream->rx_octets += (uint64_t)len;
	return len;
}

/* What comes by TCP before the octets of the ring, and nothing behind it. */
static ssize_t socket_recv_rest(struct rnic_stream *stream,
				const struct iovec *iov, int cnt)
{
	struct rnic_local *local = stream->local;
	struct iovec part[SMPA_IOV_MAX + 1];
	size_t left = local->tcp_rest < DISCARD_SIZE ? (size_t)local->tcp_rest
						     : DISCARD_SIZE;
	size_t max = left;
	ssize_t len;

	for (int i = 0; i < cnt; i++) {
		part[i] = iov[i];
		if (part[i].iov_len > left)
			part[i].iov_len = left;
		left -= part[i].iov_len;
	}
	len = socket_recv(stream, part, cnt, max);
	if (len > 0)
		local->tcp_rest -= (uint64_t)len;
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
	if (len > 0)
		rnic_stat_count(stream_part(stream), RNIC_STAT_local_rx_octets,
				(uint64_t)len);
	return len;
}

/* Once the peer sends by the ring.  It may have gone back to TCP since, even
 * before anybody has looked. */
static ssize_t ring_recv(struct rnic_stream *stream, const struct iovec *iov,
			 int cnt)
{
	ssize_t len;

	if (stream->local->tcp_rest > 0)
		return socket_recv_rest(stream, iov, cnt);
	len = local_recv(stream, iov, cnt);
	if (len != -EPIPE)
		return len;
	if (stream->local->tcp_status < 0)
		return stream->local->tcp_status;
	return socket_recv(stream, iov, cnt, DISCARD_SIZE);
}

/* The ring has been offered. */
static ssize_t offered_recv(struct rnic_stream *stream, const struct iovec *iov,
			    int cnt)
{
	struct rnic_local *local = stream->local;
	int rc = rnic_stream_carrier_listen(stream);
	ssize_t len;

	if (rc < 0)
		return rc;
	if (local->is_rx_on)
		return ring_recv(stream, iov, cnt);
	len = socket_recv(stream, iov, cnt, DISCARD_SIZE);
	/* -EFAULT is none of the socket. */
	if (len > 0 || len == -EAGAIN || len == -EFAULT)
		return len;
	/* The peer's end, and perhaps octets in the ring before it. */
	rc = rnic_stream_carrier_listen(stream);
	if (rc < 0 || !local->is_rx_on)
		return rc < 0 ? rc : len;
	local->tcp_status = (int)len;
	return ring_recv(stream, iov, cnt);
}

ssize_t rnic_stream_recv(struct rnic_stream *stream, const struct iovec *iov,
			 int cnt)
{
	if (!stream->local)
		return socket_recv(stream, iov, cnt, DISCARD_SIZE);
	if (!stream->local->is_rx_on)
		return offered_recv(stream, iov, cnt);
	return ring_recv(stream, iov, cnt);
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

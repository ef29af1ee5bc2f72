/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Every octet enters and leaves a stream here, whatever carries it. */
#include "carrier.h"

#include <errno.h>

#include "os/observer.h"
#include "tap.h"

/* Reads in a row that throw away; then the next stream has its turn. */
#define DISCARD_MAX 16

/* Before RDMA mode, and once the QP has let go of it, there is no QP. */
static uint32_t stream_qp_num(const struct rnic_stream *stream)
{
	return stream->qp ? stream->qp->num : 0;
}

static inline ssize_t stream_send(struct rnic_stream *stream,
				  const struct iovec *iov, int cnt, int flags)
{
	ssize_t len = stream->carrier->send(stream, iov, cnt, flags);

	if (len > 0)
		stream->tx_octets += (uint64_t)len;
	return len;
}

static inline ssize_t stream_recv(struct rnic_stream *stream,
				  const struct iovec *iov, int cnt)
{
	return stream->carrier->recv(stream, iov, cnt);
}

/* ---- where a command captures, or a tracer listens ----------------------- */

static __attribute__((noinline)) ssize_t send_watched(
	struct rnic_stream *stream, const struct iovec *iov, int cnt, int flags)
{
	bool is_captured = rnic_observed(USIW_OBSERVE_PACKETS);
	struct rnic_tap_look look;
	ssize_t len;

	if (is_captured)
		rnic_tap_begin(stream, true, &look);
	len = stream_send(stream, iov, cnt, flags);
	if (is_captured)
		rnic_tap_end(stream, true, &look, iov, cnt, len);
	if (len > 0 && UTIL_PROBE_IS_ON(octets_out))
		rnic_probe_octets_out(stream_qp_num(stream),
				      stream->carrier->kind, (uint64_t)len);
	return len;
}

static __attribute__((noinline)) ssize_t
recv_watched(struct rnic_stream *stream, const struct iovec *iov, int cnt)
{
	bool is_captured = rnic_observed(USIW_OBSERVE_PACKETS);
	struct rnic_tap_look look;
	ssize_t len;

	if (is_captured)
		rnic_tap_begin(stream, false, &look);
	len = stream_recv(stream, iov, cnt);
	if (is_captured)
		rnic_tap_end(stream, false, &look, iov, cnt, len);
	if (len > 0 && UTIL_PROBE_IS_ON(octets_in))
		rnic_probe_octets_in(stream_qp_num(stream),
				     stream->carrier->kind, (uint64_t)len);
	return len;
}

/* ---- the wrapper --------------------------------------------------------- */

ssize_t rnic_stream_send(struct rnic_stream *stream, const struct iovec *iov,
			 int cnt, int flags)
{
	if (rnic_observed(USIW_OBSERVE_PACKETS) || UTIL_PROBE_IS_ON(octets_out))
		return send_watched(stream, iov, cnt, flags);
	return stream_send(stream, iov, cnt, flags);
}

ssize_t rnic_stream_recv(struct rnic_stream *stream, const struct iovec *iov,
			 int cnt)
{
	if (rnic_observed(USIW_OBSERVE_PACKETS) || UTIL_PROBE_IS_ON(octets_in))
		return recv_watched(stream, iov, cnt);
	return stream_recv(stream, iov, cnt);
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

void rnic_stream_show(const struct rnic_stream *stream,
		      enum usiw_res_carrier carrier)
{
	if (!stream->qp)
		return;
	rnic_res_set(&stream->qp->res->carrier, carrier);
	rnic_res_set(&stream->qp->res->crc, stream->crc);
}

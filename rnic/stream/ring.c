/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory that both ends share carries a stream's octets, beside TCP. */
#include "ring.h"

#include <errno.h>
#include <sys/epoll.h>

#include "util/log.h"
#include "engine/engine.h"
#include "engine/hot.h"
#include "local/local.h"
#include "local/ring.h"
#include "os/stat.h"
#include "qp/state.h"
#include "tcp.h"

/* Where it is counted. */
static struct rnic_stat_part ring_part(const struct rnic_stream *stream)
{
	return stream->engine ? stream->engine->stat
			      : (struct rnic_stat_part){ .num = 0 };
}

static void ring_log(const struct rnic_stream *stream, const char *what)
{
	util_info("rnic", "%s: %s", RNIC_STREAM_NAME(stream), what);
}

/* ---- from TCP to the rings --------------------------------------------- */

static void ring_show(const struct rnic_stream *stream)
{
	rnic_stream_show(stream,
			 stream->local && rnic_local_sends(stream->local)
				 ? USIW_RES_CARRIER_RING
				 : USIW_RES_CARRIER_TCP);
}

/* If this end sends by TCP again, the peer has to look there. */
static void ring_note_left(struct rnic_stream *stream)
{
	struct rnic_local *local = stream->local;

	if (!local->has_left_tx || local->is_left_told)
		return;
	local->is_left_told = true;
	stream->is_notice_due = true;
	ring_show(stream);
	rnic_stat_add(RNIC_STAT_local_left, 1);
	ring_log(stream, "back from shared memory to TCP");
}

/* This end sends by the ring now. */
static void ring_tx_begin(struct rnic_stream *stream)
{
	struct rnic_local *local = stream->local;

	if (rnic_local_tx_begin(local, stream->tx_octets) < 0)
		return; /* reading finds that out, too */
	stream->is_tx_blocked = false;
	stream->meet_tries = 0;
	/* Octets that go by TCP after all are checked there. */
	if (!local->has_left_tx && smpa_conn_tx_drop_crc(stream->conn) == 0)
		stream->crc &= (uint8_t)~USIW_RES_CRC_TX;
	ring_show(stream);
	rnic_stat_add(RNIC_STAT_local_opened, 1);
	ring_log(stream, "octets go through shared memory");
	ring_note_left(stream);
}

static void ring_free(struct rnic_stream *stream)
{
	rnic_local_free(stream->local);
	stream->local = NULL;
	stream->carrier = &rnic_tcp_carrier;
	ring_show(stream);
}

int rnic_stream_ring_begin(struct rnic_stream *stream, struct rnic_local *local)
{
	int rc;

	stream->local = local;
	stream->carrier = &rnic_ring_carrier;
	rc = rnic_engine_add_wake(stream->engine, &stream->source,
				  local->wake_fd);
	local->wakes_later = rc == 0;
	if (!stream->is_initiator) {
		if (rc < 0) /* the other end may have it already */
			rnic_stream_ring_lost(stream);
		return rc;
	}
	/* Until this end has begun, the other one does not. */
	if (rc < 0)
		ring_free(stream);
	else
		ring_tx_begin(stream);
	return rc;
}

/* The other end sends by the ring, or will when TCP is read so far. */
static int ring_rx_begin(struct rnic_stream *stream, uint64_t tcp_octets)
{
	struct rnic_local *local = stream->local;

	if (tcp_octets < stream->rx_octets)
		return -EPROTO;
	local->tcp_rest = tcp_octets - stream->rx_octets;
	stream->is_socket_due = true;
	/* What comes by TCP has its CRC, which is not looked at any more. */
	if (smpa_conn_rx_drop_crc(stream->conn) == 0)
		stream->crc &= (uint8_t)~USIW_RES_CRC_RX;
	ring_show(stream);
	if (!local->is_tx_on && local->wake_fd >= 0 &&
	    stream->phase == RNIC_STREAM_RUN)
		ring_tx_begin(stream);
	return 0;
}

/* Has the other end begun?  This end does the same then. */
static int ring_listen(struct rnic_stream *stream)
{
	uint64_t tcp_octets;
	int rc = rnic_local_rx_begin(stream->local, &tcp_octets);

	return rc > 0 ? ring_rx_begin(stream, tcp_octets) : rc;
}

/* ---- and back ---------------------------------------------------------- */

void rnic_stream_ring_lost(struct rnic_stream *stream)
{
	struct rnic_source *source = &stream->source;
	struct rnic_local *local = stream->local;
	bool had_wake = source->has_wake;

	rnic_engine_remove_wake(stream->engine, source);
	if (had_wake) /* the same, or -1 */
		local->wake_fd = source->wake_fd;
	if (local->is_tx_on)
		rnic_local_leave_tx(local);
	ring_note_left(stream);
	/* Behind this the other end does not begin any more, or is seen to have
	 * begun. */
	rnic_local_leave_rx(local);
	source->wake_fd = -1;
	if (!local->is_tx_on && !local->is_rx_on &&
	    !rnic_ring_has_octets(&local->rx))
		ring_free(stream);
}

static void ring_close(struct rnic_stream *stream)
{
	stream->local->wake_fd = stream->source.wake_fd; /* the same, or -1 */
	ring_free(stream);
}

/* ---- send -------------------------------------------------------------- */

void rnic_stream_ring_wake(struct rnic_stream *stream)
{
	stream->local->is_wake_due = false;
	if (!rnic_engine_wake_later(stream->engine, &stream->source))
		rnic_local_wake(stream->local);
}

static ssize_t ring_send(struct rnic_stream *stream, const struct iovec *iov,
			 int cnt, int flags)
{
	struct rnic_local *local = stream->local;
	ssize_t len = -EPIPE;

	if (rnic_local_sends(local)) {
		len = rnic_local_send(local, iov, cnt);
		if (len > 0)
			rnic_stat_count(ring_part(stream),
					RNIC_STAT_local_tx_octets,
					(uint64_t)len);
		if (local->is_wake_due)
			rnic_stream_ring_wake(stream);
		ring_note_left(stream);
	}
	/* Never sent by the ring, or not any more. */
	return len == -EPIPE ? rnic_stream_tcp_send(stream, iov, cnt, flags)
			     : len;
}

static uint64_t ring_acked(const struct rnic_stream *stream)
{
	return rnic_local_acked(stream->local) + rnic_stream_tcp_acked(stream);
}

/* ---- receive ----------------------------------------------------------- */

/* What comes by TCP before the octets of the ring, and nothing behind it. */
static ssize_t ring_recv_rest(struct rnic_stream *stream,
			      const struct iovec *iov, int cnt)
{
	struct rnic_local *local = stream->local;
	struct iovec part[SMPA_IOV_MAX + 1];
	size_t left = local->tcp_rest < RNIC_STREAM_DISCARD
			      ? (size_t)local->tcp_rest
			      : RNIC_STREAM_DISCARD;
	size_t max = left;
	ssize_t len;

	for (int i = 0; i < cnt; i++) {
		part[i] = iov[i];
		if (part[i].iov_len > left)
			part[i].iov_len = left;
		left -= part[i].iov_len;
	}
	len = rnic_stream_tcp_recv(stream, part, cnt, max);
	if (len > 0)
		local->tcp_rest -= (uint64_t)len;
	return len;
}

/*
 * The ring is empty.  What the peer wrote there before its FIN, or before it
 * went back to TCP, is seen by one more look behind the look at the socket.
 * Return: as ring_recv(); -EPIPE: read the socket.
 */
static ssize_t ring_recv_end(struct rnic_stream *stream,
			     const struct iovec *iov, int cnt)
{
	struct rnic_local *local = stream->local;
	ssize_t len;
	int status;

	if (!stream->is_socket_due)
		return local->tcp_status < 0 ? local->tcp_status : -EAGAIN;
	status = rnic_stream_tcp_peek(stream);
	if (status == -EAGAIN) {
		stream->is_socket_due = false;
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

static ssize_t ring_recv_own(struct rnic_stream *stream,
			     const struct iovec *iov, int cnt)
{
	ssize_t len = rnic_local_recv(stream->local, iov, cnt);

	if (len == -EAGAIN)
		len = ring_recv_end(stream, iov, cnt);
	if (len > 0)
		rnic_stat_count(ring_part(stream), RNIC_STAT_local_rx_octets,
				(uint64_t)len);
	return len;
}

/* Once the peer sends by the ring.  It may have gone back to TCP since, even
 * before anybody has looked. */
static ssize_t ring_recv_begun(struct rnic_stream *stream,
			       const struct iovec *iov, int cnt)
{
	ssize_t len;

	if (stream->local->tcp_rest > 0)
		return ring_recv_rest(stream, iov, cnt);
	len = ring_recv_own(stream, iov, cnt);
	if (len != -EPIPE)
		return len;
	if (stream->local->tcp_status < 0)
		return stream->local->tcp_status;
	return rnic_stream_tcp_recv(stream, iov, cnt, RNIC_STREAM_DISCARD);
}

/* The ring has been offered. */
static ssize_t ring_recv_offered(struct rnic_stream *stream,
				 const struct iovec *iov, int cnt)
{
	struct rnic_local *local = stream->local;
	int rc = ring_listen(stream);
	ssize_t len;

	if (rc < 0)
		return rc;
	if (local->is_rx_on)
		return ring_recv_begun(stream, iov, cnt);
	len = rnic_stream_tcp_recv(stream, iov, cnt, RNIC_STREAM_DISCARD);
	/* -EFAULT is none of the socket. */
	if (len > 0 || len == -EAGAIN || len == -EFAULT)
		return len;
	/* The peer's end, and perhaps octets in the ring before it. */
	rc = ring_listen(stream);
	if (rc < 0 || !local->is_rx_on)
		return rc < 0 ? rc : len;
	local->tcp_status = (int)len;
	return ring_recv_begun(stream, iov, cnt);
}

static ssize_t ring_recv(struct rnic_stream *stream, const struct iovec *iov,
			 int cnt)
{
	return stream->local->is_rx_on ? ring_recv_begun(stream, iov, cnt)
				       : ring_recv_offered(stream, iov, cnt);
}

/* ---- what the engine looks at ------------------------------------------ */

static uint32_t ring_watch(struct rnic_stream *stream, bool wants_in)
{
	struct rnic_source *source = &stream->source;
	struct rnic_local *local = stream->local;
	bool is_full = stream->is_tx_blocked && rnic_local_sends(local);
	const _Atomic uint64_t *in = NULL, *out = NULL;
	uint32_t events = wants_in ? EPOLLIN : 0;
	bool is_more;

	if (stream->is_tx_blocked && !is_full)
		events |= EPOLLOUT;
	if (!source->has_wake)
		return events;
	/* Until the rest has come by TCP, the socket tells. */
	if (wants_in && !local->has_left_rx && !local->tcp_rest)
		in = &local->rx.shared->head;
	if (is_full)
		out = &local->tx.shared->tail;
	is_more = (in && !source->in) || (out && !source->out);
	source->in = in;
	source->out = out;
	source->in_seen = local->rx.own;
	source->out_seen = local->tx.peer;
	if (is_more)
		rnic_engine_await(stream->engine, source);
	return events;
}

static void ring_look(struct rnic_stream *stream, bool is_woken)
{
	if ((is_woken || rnic_local_is_called(stream->local)) &&
	    !rnic_local_woken(stream->local))
		rnic_stream_ring_lost(stream);
}

static bool ring_sleep(struct rnic_stream *stream)
{
	const struct rnic_source *source = &stream->source;

	return rnic_local_sleep(stream->local, source->in != NULL,
				source->out != NULL);
}

static void ring_stay_awake(struct rnic_stream *stream)
{
	rnic_local_stay_awake(stream->local);
}

static void ring_unwakeable(struct rnic_stream *stream)
{
	rnic_local_leave_tx(stream->local);
	ring_note_left(stream);
}

static bool ring_handover(struct rnic_stream *stream,
			  struct rnic_handover *ret_handover)
{
	return rnic_local_handover(stream->local, ret_handover);
}

const struct rnic_carrier rnic_ring_carrier = {
	.kind = RNIC_PROBE_MEMORY,
	.send = ring_send,
	.recv = ring_recv,
	.fin = rnic_stream_tcp_fin,
	.watch = ring_watch,
	.close = ring_close,
	.error = rnic_stream_tcp_error,
	.emss = rnic_stream_tcp_emss,
	.acked = ring_acked,
	.keeps_octets = true,
	.look = ring_look,
	.sleep = ring_sleep,
	.stay_awake = ring_stay_awake,
	.unwakeable = ring_unwakeable,
	.handover = ring_handover,
};

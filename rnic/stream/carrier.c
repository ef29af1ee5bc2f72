/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What carries a stream's octets: TCP, or the local path. */
#include "carrier.h"

#include <errno.h>
#include <string.h>

#include "../../util/env.h"
#include "../../util/log.h"
#include "engine/engine.h"
#include "engine/hot.h"
#include "local/local.h"
#include "local/meet.h"
#include "local/ring.h"
#include "os/stranger.h"
#include "os/stat.h"
#include "qp/object.h"
#include "qp/state.h"

/* The number of FPDUs doubles from try to try. */
#define MEET_TRIES 12

/* ---- from TCP to the rings ---- */

void rnic_stream_carrier_begin(struct rnic_stream *stream)
{
	if (util_settings()->local == UTIL_LOCAL_OFF)
		return;
	stream->meet_at = util_settings()->local_after;
	stream->meet_tries = MEET_TRIES;
}

/* This end sends by the ring now. */
static void carrier_tx_begin(struct rnic_stream *stream)
{
	struct rnic_local *local = stream->local;

	if (rnic_local_tx_begin(local, stream->tx_octets) < 0)
		return; /* reading finds that out, too */
	stream->is_tx_blocked = false;
	stream->meet_tries = 0;
	/* Octets that go by TCP after all are checked there. */
	if (!local->has_left_tx)
		(void)smpa_conn_tx_drop_crc(stream->conn);
	rnic_stat_add(RNIC_STAT_local_opened, 1);
	util_info("rnic", "%s: octets go through shared memory",
		  stream->qp ? RNIC_QP_NAME(stream->qp) : "a stream");
}

/* Return: 0; -errno: the engine cannot be woken by it. */
static int carrier_add(struct rnic_stream *stream)
{
	int rc = rnic_engine_add_wake(stream->engine, &stream->source,
				      stream->local->wake_fd);

	if (rc == 0)
		stream->local->wakes_later = true;
	return rc;
}

static void carrier_free(struct rnic_stream *stream)
{
	rnic_local_free(stream->local);
	stream->local = NULL;
}

static void carrier_unlisten(struct rnic_stream *stream)
{
	rnic_stranger_close_listener(stream->meet_fd);
	stream->meet_fd = -1;
}

/* Initiator.  Until this end has begun, the other one does not. */
static int carrier_take(struct rnic_stream *stream)
{
	int rc = rnic_meet_take(stream->meet_fd, &stream->local);

	if (rc == -EAGAIN)
		return rc;
	carrier_unlisten(stream);
	if (rc < 0)
		return rc;
	rc = carrier_add(stream);
	if (rc < 0)
		carrier_free(stream);
	else
		carrier_tx_begin(stream);
	return rc;
}

/* Responder. */
static int carrier_offer(struct rnic_stream *stream)
{
	int rc = rnic_meet_offer(stream->source.fd, &stream->local);

	if (rc < 0)
		return rc;
	rc = carrier_add(stream);
	if (rc < 0) /* the other end may have it already */
		rnic_stream_carrier_lost(stream);
	return rc;
}

static int carrier_step(struct rnic_stream *stream)
{
	if (!stream->is_initiator)
		return carrier_offer(stream);
	if (stream->meet_fd >= 0)
		return carrier_take(stream);
	stream->meet_fd = rnic_meet_listen(stream->source.fd);
	return stream->meet_fd < 0 ? stream->meet_fd : -EAGAIN;
}

static uint64_t carrier_fpdu_cnt(const struct rnic_stream *stream)
{
	const struct smpa_counters *cnt = smpa_conn_counters(stream->conn);

	return cnt->tx_fpdu + cnt->rx_fpdu;
}

static void carrier_meet(struct rnic_stream *stream)
{
	bool was_listening = stream->meet_fd >= 0;
	int rc = carrier_step(stream);
	uint64_t cnt = carrier_fpdu_cnt(stream);

	stream->meet_tries--;
	/* Both ends count the same FPDUs.  The Initiator takes between two
	 * tries of the Responder: if it finds that one connected, and without
	 * an offer yet, it hangs up. */
	stream->meet_at = 2 * cnt + 1;
	if (!was_listening && stream->meet_fd >= 0)
		stream->meet_at = cnt + cnt / 2 + 1;
	/* The peer is elsewhere, or its user is another one: for good. */
	if (rc == -EREMOTE || rc == -EACCES)
		stream->meet_tries = 0;
	if (!stream->meet_tries && stream->meet_fd >= 0)
		carrier_unlisten(stream);
	if (rc < 0 && rc != -EREMOTE && rc != -ECONNREFUSED && rc != -EAGAIN &&
	    rc != -EPIPE)
		util_info("rnic",
			  "%s: no shared memory with the peer: %s; TCP "
			  "is used",
			  stream->qp ? RNIC_QP_NAME(stream->qp) : "a stream",
			  strerror(-rc));
}

void rnic_stream_carrier_check(struct rnic_stream *stream)
{
	/* What has been offered may be declined. */
	if (!stream->local && stream->phase == RNIC_STREAM_RUN &&
	    carrier_fpdu_cnt(stream) >= stream->meet_at)
		carrier_meet(stream);
}

/* The other end sends by the ring, or will when TCP is read so far. */
static int carrier_rx_begin(struct rnic_stream *stream, uint64_t tcp_octets)
{
	struct rnic_local *local = stream->local;

	if (tcp_octets < stream->rx_octets)
		return -EPROTO;
	local->tcp_rest = tcp_octets - stream->rx_octets;
	local->is_tcp_due = true;
	/* What comes by TCP has its CRC, which is not looked at any more. */
	(void)smpa_conn_rx_drop_crc(stream->conn);
	if (!local->is_tx_on && local->wake_fd >= 0 &&
	    stream->phase == RNIC_STREAM_RUN)
		carrier_tx_begin(stream);
	return 0;
}

int rnic_stream_carrier_listen(struct rnic_stream *stream)
{
	uint64_t tcp_octets;
	int rc = rnic_local_rx_begin(stream->local, &tcp_octets);

	return rc > 0 ? carrier_rx_begin(stream, tcp_octets) : rc;
}

/* ---- and back ---- */

void rnic_stream_carrier_remove(struct rnic_stream *stream)
{
	bool has_wake = stream->source.has_wake;

	rnic_engine_remove_wake(stream->engine, &stream->source);
	if (has_wake) /* the same, or -1 */
		stream->local->wake_fd = stream->source.wake_fd;
}

void rnic_stream_carrier_lost(struct rnic_stream *stream)
{
	struct rnic_local *local = stream->local;

	rnic_stream_carrier_remove(stream);
	if (local->is_tx_on)
		rnic_local_leave_tx(local);
	/* Behind this the other end does not begin any more, or is seen to have
	 * begun. */
	rnic_local_leave_rx(local);
	if (!local->is_tx_on && !local->is_rx_on &&
	    !rnic_ring_has_octets(&local->rx))
		carrier_free(stream);
}

bool rnic_stream_carrier_tell(struct rnic_stream *stream)
{
	struct rnic_local *local = stream->local;
	/* As pass.c's probe: the STag means nothing. */
	struct smpa_msg msg = {
		.opcode = SMPA_OP_WRITE,
		.quiet = true,
		.stag = 1,
	};

	local->is_left_told = true;
	rnic_stat_add(RNIC_STAT_local_left, 1);
	util_info("rnic", "%s: back from shared memory to TCP",
		  stream->qp ? RNIC_QP_NAME(stream->qp) : "a stream");
	/* If it cannot be submitted, octets or FIN follow anyway. */
	return smpa_conn_submit(stream->conn, &msg) == 0;
}

void rnic_stream_carrier_wake(struct rnic_stream *stream)
{
	stream->local->is_wake_due = false;
	if (!rnic_engine_wake_later(stream->engine, &stream->source))
		rnic_local_wake(stream->local);
}

void rnic_stream_carrier_unwakeable(struct rnic_stream *stream)
{
	rnic_local_leave_tx(stream->local);
}

/* ---- what the engine looks at ---- */

void rnic_stream_carrier_watch(struct rnic_stream *stream, bool wants_in)
{
	struct rnic_source *source = &stream->source;
	struct rnic_local *local = stream->local;
	bool wants_out = stream->is_tx_blocked && rnic_local_sends(local);
	const _Atomic uint64_t *in = NULL, *out = NULL;
	bool is_more;

	if (!source->has_wake)
		return;
	/* Until the rest has come by TCP, the socket tells. */
	if (wants_in && !local->has_left_rx && !local->tcp_rest)
		in = &local->rx.shared->head;
	if (wants_out)
		out = &local->tx.shared->tail;
	is_more = (in && !source->in) || (out && !source->out);
	source->in = in;
	source->out = out;
	source->in_seen = local->rx.own;
	source->out_seen = local->tx.peer;
	if (is_more)
		rnic_engine_await(stream->engine, source);
}

bool rnic_stream_carrier_sleep(struct rnic_stream *stream)
{
	const struct rnic_source *source = &stream->source;

	return rnic_local_sleep(stream->local, source->in != NULL,
				source->out != NULL);
}

void rnic_stream_carrier_stay_awake(struct rnic_stream *stream)
{
	rnic_local_stay_awake(stream->local);
}

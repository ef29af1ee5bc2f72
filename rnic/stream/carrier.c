/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What carries a stream's octets: TCP, or the local path. */
#include "carrier.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "../../util/log.h"
#include "engine/engine.h"
#include "engine/hot.h"
#include "local/local.h"
#include "local/meet.h"
#include "local/ring.h"
#include "os/fd.h"
#include "os/stat.h"
#include "os/tcp.h"
#include "qp/object.h"

/* ---- while MPA starts ---- */

/* That a peer is elsewhere, or speaks no such thing, is as usual as can be. */
static void meet_log(const char *what, int rc)
{
	if (rc != -EOPNOTSUPP && rc != -EREMOTE && rc != -ECONNREFUSED &&
	    rc != -EAGAIN)
		util_info("rnic", "local path: cannot %s: %s; TCP is used",
			  what, strerror(-rc));
}

void rnic_stream_meet(struct rnic_stream *stream)
{
	int fd = rnic_meet_listen(stream->source.fd);

	if (fd < 0)
		meet_log("listen for the peer", fd);
	else
		stream->meet_fd = fd;
}

void rnic_stream_offer(struct rnic_stream *stream)
{
	int rc = rnic_meet_offer(stream->source.fd, &stream->local);

	if (rc < 0)
		meet_log("offer it", rc);
}

int rnic_stream_wake_fd(const struct rnic_stream *stream)
{
	return stream->local ? stream->local->wake_fd : -1;
}

bool rnic_stream_offer_is_declined(const struct rnic_stream *stream)
{
	uint8_t octet;

	return stream->local && !rnic_ring_has_octets(&stream->local->rx) &&
	       rnic_tcp()->recv(stream->local->wake_fd, &octet, 1,
				MSG_PEEK | MSG_DONTWAIT) == 0;
}

void rnic_stream_offer_end(struct rnic_stream *stream)
{
	rnic_local_free(stream->local);
	stream->local = NULL;
}

/* ---- with a QP ---- */

/* From here on no CRC is computed or checked: both ends know. */
static void carrier_on(struct rnic_stream *stream)
{
	stream->local->state = RNIC_LOCAL_ON;
	(void)smpa_conn_tx_drop_crc(stream->conn);
	(void)smpa_conn_rx_drop_crc(stream->conn);
	rnic_stat_add(RNIC_STAT_local_opened, 1);
	util_info("rnic", "qp 0x%06x: octets go through shared memory",
		  stream->qp ? stream->qp->num : 0);
}

/* Return: 0; -errno: the engine cannot be woken by it. */
static int carrier_add(struct rnic_stream *stream)
{
	int rc = rnic_engine_add_wake(stream->engine, &stream->source,
				      stream->local->wake_fd);

	if (rc < 0)
		rnic_local_leave_rx(stream->local);
	else
		stream->local->wakes_later = true;
	return rc;
}

void rnic_stream_carrier_begin(struct rnic_stream *stream)
{
	int rc;

	if (stream->meet_fd >= 0) {
		rc = rnic_meet_take(stream->meet_fd, &stream->local);
		rnic_fd_close(stream->meet_fd);
		stream->meet_fd = -1;
		if (rc < 0)
			meet_log("take it", rc);
		else
			carrier_on(stream);
	}
	if (!stream->local)
		return;
	rc = carrier_add(stream);
	if (rc < 0)
		meet_log("wait for it", rc);
}

void rnic_stream_carrier_agreed(struct rnic_stream *stream)
{
	carrier_on(stream);
}

void rnic_stream_carrier_remove(struct rnic_stream *stream)
{
	bool has_wake = stream->source.has_wake;

	rnic_engine_remove_wake(stream->engine, &stream->source);
	if (!has_wake)
		return;
	/* The same, or -1. */
	stream->local->wake_fd = stream->source.wake_fd;
	stream->local->wakes_later = false;
}

static void carrier_drop(struct rnic_stream *stream)
{
	if (stream->engine)
		rnic_stream_carrier_remove(stream);
	rnic_local_free(stream->local);
	stream->local = NULL;
}

void rnic_stream_carrier_refused(struct rnic_stream *stream)
{
	carrier_drop(stream);
}

void rnic_stream_carrier_lost(struct rnic_stream *stream)
{
	struct rnic_local *local = stream->local;

	if (local->state == RNIC_LOCAL_OFFERED &&
	    !rnic_ring_has_octets(&local->rx)) {
		carrier_drop(stream);
		return;
	}
	rnic_stream_carrier_remove(stream);
	rnic_local_leave_tx(local);
	rnic_local_leave_rx(local);
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

	if (local->state != RNIC_LOCAL_ON)
		return false;
	local->is_left_told = true;
	rnic_stat_add(RNIC_STAT_local_left, 1);
	util_info("rnic", "qp 0x%06x: back from shared memory to TCP",
		  stream->qp ? stream->qp->num : 0);
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
	if (wants_in && !local->has_left_rx)
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

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A stream on TCP and its peer come to share memory, step by step. */
#include "meet.h"

#include <errno.h>
#include <string.h>

#include "util/env.h"
#include "util/log.h"
#include "local/meet.h"
#include "os/stranger.h"
#include "ring.h"
#include "tcp.h"

/* The number of FPDUs doubles from try to try. */
#define MEET_TRIES 12

void rnic_stream_meet_begin(struct rnic_stream *stream)
{
	if (util_settings()->local == UTIL_LOCAL_OFF)
		return;
	stream->meet_at = util_settings()->local_after;
	stream->meet_tries = MEET_TRIES;
}

void rnic_stream_meet_end(struct rnic_stream *stream)
{
	rnic_stranger_close_listener(stream->meet_fd);
	stream->meet_fd = -1;
}

static int meet_take(struct rnic_stream *stream)
{
	struct rnic_local *local;
	int rc = rnic_meet_take(stream->meet_fd, &local);

	if (rc == -EAGAIN)
		return rc;
	rnic_stream_meet_end(stream);
	return rc < 0 ? rc : rnic_stream_ring_begin(stream, local);
}

static int meet_offer(struct rnic_stream *stream)
{
	struct rnic_local *local;
	int rc = rnic_meet_offer(stream->source.fd, &local);

	return rc < 0 ? rc : rnic_stream_ring_begin(stream, local);
}

static int meet_step(struct rnic_stream *stream)
{
	if (!stream->is_initiator)
		return meet_offer(stream);
	if (stream->meet_fd >= 0)
		return meet_take(stream);
	stream->meet_fd = rnic_meet_listen(stream->source.fd);
	return stream->meet_fd < 0 ? stream->meet_fd : -EAGAIN;
}

static uint64_t meet_fpdu_cnt(const struct rnic_stream *stream)
{
	const struct smpa_counters *cnt = smpa_conn_counters(stream->conn);

	return cnt->tx_fpdu + cnt->rx_fpdu;
}

static void meet_try(struct rnic_stream *stream)
{
	bool was_listening = stream->meet_fd >= 0;
	int rc = meet_step(stream);
	uint64_t cnt = meet_fpdu_cnt(stream);

	if (stream->meet_tries)
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
		rnic_stream_meet_end(stream);
	if (rc < 0 && rc != -EREMOTE && rc != -ECONNREFUSED && rc != -EAGAIN &&
	    rc != -EPIPE)
		util_info("rnic",
			  "%s: no shared memory with the peer: %s; TCP "
			  "is used",
			  RNIC_STREAM_NAME(stream), strerror(-rc));
}

void rnic_stream_meet_check(struct rnic_stream *stream)
{
	/* What has been offered may be declined. */
	if (stream->carrier == &rnic_tcp_carrier &&
	    stream->phase == RNIC_STREAM_RUN &&
	    meet_fpdu_cnt(stream) >= stream->meet_at)
		meet_try(stream);
}

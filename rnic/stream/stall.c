/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The rest of an FPDU that does not come.
 *
 * If a length was changed on the way, or a peer stops within an FPDU and keeps
 * its connection, the stream waits for octets that no peer will send.  Neither
 * TCP nor MPA has a limit for that.  One FPDU may take USIW_STALL_MS, however
 * its octets trickle in.  Between FPDUs a stream may be silent for ever.  The
 * time is long, because a peer that is stopped or debugged may stop anywhere.
 *
 * The time is divided into looks, and each has to find the same FPDU.  If this
 * process was stopped itself, all its times are over at once when it continues,
 * and only then does it read what has come.
 */
#include "stall.h"

#include "util/env.h"
#include "util/log.h"
#include "engine/engine.h"
#include "util/clock.h"
#include "qp/rnr.h"
#include "qp/state.h"

#define STALL_LOOKS 4u

static void stall_set(struct rnic_stream *stream, uint64_t now_ns)
{
	uint64_t look_ns = util_settings()->stall_ms * NS_PER_MS / STALL_LOOKS;

	stream->stall.fpdu = smpa_conn_counters(stream->conn)->rx_fpdu;
	stream->stall.next_ns = now_ns + look_ns;
	rnic_engine_deadline(stream->engine, &stream->source.due,
			     stream->stall.next_ns);
}

/* A stream that is not read is not delayed by its peer. */
static bool stall_is_possible(const struct rnic_stream *stream)
{
	return stream->qp && !stream->has_peer_fin &&
	       smpa_conn_rx_is_midway(stream->conn) &&
	       util_settings()->stall_ms && !rnic_rnr_is_full(stream->qp);
}

void rnic_stall_begin(struct rnic_stream *stream)
{
	if (stream->stall.next_ns || !stall_is_possible(stream))
		return;
	stream->stall.same_cnt = 0;
	stall_set(stream, util_now_ns());
}

bool rnic_stall_is_over(struct rnic_stream *stream, uint64_t now_ns)
{
	bool is_same = stream->stall.fpdu ==
		       smpa_conn_counters(stream->conn)->rx_fpdu;

	stream->stall.next_ns = 0;
	if (!stall_is_possible(stream))
		return false; /* the next pass begins again */
	stream->stall.same_cnt = is_same ? stream->stall.same_cnt + 1 : 0;
	if (stream->stall.same_cnt < STALL_LOOKS) {
		stall_set(stream, now_ns);
		return false;
	}
	util_warn("rnic",
		  "%s: the rest of an FPDU has not come for %u ms "
		  "(USIW_STALL_MS): its length was changed under way, or the "
		  "peer has stopped",
		  RNIC_QP_NAME(stream->qp), util_settings()->stall_ms);
	return true;
}

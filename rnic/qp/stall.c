/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The rest of an FPDU that does not come.
 *
 * A length that was changed under way, or a peer that breaks off in the midst
 * of an FPDU and keeps its connection, leaves a stream that waits for octets
 * which no peer will send: neither TCP nor MPA has a limit for that.  One FPDU
 * takes as long as USIW_STALL_MS, whatever trickles in; between FPDUs a stream
 * may be silent for ever.  The time is long, since a peer that is stopped or
 * debugged may have stopped anywhere.
 *
 * It is divided into looks, and each has to find the same FPDU: a process that
 * was stopped itself finds all its times over at once, and then what came.
 */
#include "stall.h"

#include "../../util/env.h"
#include "../../util/log.h"
#include "engine/engine.h"
#include "os/clock.h"
#include "rnr.h"

#define STALL_LOOKS 4u

static void stall_set(struct rnic_stream *stream, uint64_t now_ns)
{
	uint64_t look_ns = util_settings()->stall_ms * NS_PER_MS / STALL_LOOKS;

	stream->stall.fpdu = smpa_conn_counters(stream->conn)->rx_fpdu;
	stream->stall.next_ns = now_ns + look_ns;
	rnic_engine_deadline(stream->engine, stream->stall.next_ns);
}

/* What we do not read ourselves is not the peer's delay. */
static bool stall_is_possible(const struct rnic_stream *stream)
{
	return stream->qp && !stream->has_peer_fin &&
	       util_settings()->stall_ms &&
	       smpa_conn_rx_is_midway(stream->conn) &&
	       !rnic_rnr_is_full(stream->qp);
}

void rnic_stall_begin(struct rnic_stream *stream)
{
	if (stream->stall.next_ns || !stall_is_possible(stream))
		return;
	stream->stall.same_cnt = 0;
	stall_set(stream, rnic_now_ns());
}

bool rnic_stall_is_over(struct rnic_stream *stream, uint64_t now_ns)
{
	bool is_same = stream->stall.fpdu ==
		       smpa_conn_counters(stream->conn)->rx_fpdu;

	stream->stall.next_ns = 0;
	if (!stall_is_possible(stream))
		return false; /* the next pass begins anew */
	stream->stall.same_cnt = is_same ? stream->stall.same_cnt + 1 : 0;
	if (stream->stall.same_cnt < STALL_LOOKS) {
		stall_set(stream, now_ns);
		return false;
	}
	util_warn("rnic",
		  "qp 0x%06x: the rest of an FPDU has not come for %u ms "
		  "(USIW_STALL_MS): its length was changed under way, or the "
		  "peer has stopped",
		  stream->qp->num, util_settings()->stall_ms);
	return true;
}

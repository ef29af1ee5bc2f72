/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A peer that stops answering: timeout and retry_cnt of a QP that connected
 * without rdma_cm; USIW_RETRY_MS or RDMA_OPTION_ID_ACK_TIMEOUT with it.
 *
 * TCP itself gives up after a quarter of an hour.  TCP_USER_TIMEOUT ends the
 * connection sooner, but also when the peer's window stays closed.  A peer
 * without a posted receive keeps its window closed while rnr_retry says for
 * ever, and so does a process that gets no processor: an adapter would
 * acknowledge on its own.  So while octets are under way, the engine looks now
 * and then whether TCP has any outstanding, and whether the peer's TCP
 * acknowledges any.  TCP probes a closed window, and a peer that exists
 * answers.
 */
#include "retry.h"

#include <errno.h>
#include <linux/tcp.h>

#include "util/log.h"
#include "engine/engine.h"
#include "fault.h"
#include "util/clock.h"
#include "qp/sq-done.h"
#include "qp/state.h"
#include "tcp.h"

/* The retry time is divided into so many looks.  The first one notes what the
 * others have to find unchanged. */
#define RETRY_LOOKS 4u
/* Looks fall on this grid, so that the engine wakes once for many streams. */
#define RETRY_GRID_NS (100 * NS_PER_MS)
/* So many probes of a closed window may stay without an answer: one is under
 * way, or was lost.  The interval between them doubles while the window is
 * closed, up to two minutes. */
#define RETRY_PROBES_MAX 1u
/* Linux answers two probes a second (tcp_invalid_ratelimit); where routes have
 * a short rto_min, more are sent. */
#define RETRY_PROBE_MS 1000u

static void retry_set(struct rnic_stream *stream, uint64_t now_ns)
{
	uint64_t look_ns = now_ns + stream->qp->retry_ns / RETRY_LOOKS;

	look_ns += RETRY_GRID_NS - look_ns % RETRY_GRID_NS;
	stream->look.next_ns = look_ns;
	rnic_engine_deadline(stream->engine, &stream->source.due, look_ns);
}

/*
 * With rdma_cm a Send is complete when TCP has it, and an answer is no work,
 * but their octets are outstanding.  Where the peer acknowledges messages, its
 * own work is all that a QP waits for, as on InfiniBand.
 */
static bool retry_ends_with_work(const struct rnic_qp *qp)
{
	return qp->sq.ack.is_on;
}

void rnic_retry_start(struct rnic_stream *stream)
{
	const struct rnic_qp *qp = stream->qp;

	if (stream->look.next_ns ||
	    (rnic_sq_is_empty(qp) && retry_ends_with_work(qp)))
		return;
	stream->look.same_cnt = 0;
	stream->look.acked = UINT64_MAX;
	retry_set(stream, util_now_ns());
}

enum look {
	LOOK_EMPTY,  /* TCP has no octets */
	LOOK_CLOSED, /* the peer says that its window is closed */
	LOOK_MOVES,
	LOOK_SAME, /* none was acknowledged since the last look */
};

/* Opening it may have been the last that the peer sent, and lost. */
static bool look_has_no_answer(const struct tcp_info *info)
{
	return info->tcpi_probes > RETRY_PROBES_MAX &&
	       info->tcpi_last_ack_recv >= RETRY_PROBE_MS;
}

/* Octets are outstanding, or could be sent if there were a route to the peer,
 * or the peer's TCP does not even say that its window is closed. */
static bool look_is_due(const struct tcp_info *info)
{
	return info->tcpi_unacked ||
	       (info->tcpi_notsent_bytes &&
		info->tcpi_snd_wnd >= info->tcpi_snd_mss) ||
	       look_has_no_answer(info);
}

static enum look look_take(struct rnic_stream *stream)
{
	struct tcp_info info;
	bool is_same;

	if (rnic_stream_fault_is_silent(stream))
		return LOOK_SAME;
	if (!rnic_stream_tcp_info(stream, &info) ||
	    (!info.tcpi_unacked && !info.tcpi_notsent_bytes))
		return LOOK_EMPTY;
	if (!look_is_due(&info))
		return LOOK_CLOSED;
	is_same = stream->look.acked == info.tcpi_bytes_acked;
	stream->look.acked = info.tcpi_bytes_acked;
	return is_same ? LOOK_SAME : LOOK_MOVES;
}

bool rnic_retry_is_over(struct rnic_stream *stream, uint64_t now_ns)
{
	struct rnic_qp *qp = stream->qp;
	enum look look;

	stream->look.next_ns = 0;
	if (!qp || !qp->retry_ns)
		return false;
	look = look_take(stream);
	if (rnic_sq_is_empty(qp) &&
	    (look == LOOK_EMPTY || retry_ends_with_work(qp)))
		return false; /* the next work begins again */
	if (look == LOOK_SAME)
		stream->look.same_cnt++;
	else
		stream->look.same_cnt = 0;
	if (stream->look.same_cnt < RETRY_LOOKS - 1) {
		retry_set(stream, now_ns);
		return false;
	}
	util_warn("rnic",
		  "%s: the peer acknowledges nothing for %u ms: "
		  "retries exhausted",
		  RNIC_QP_NAME(qp), (unsigned int)(qp->retry_ns / NS_PER_MS));
	rnic_qp_note_error(qp, ETIMEDOUT);
	return true;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A peer that stops answering: timeout and retry_cnt of a QP that connected
 * without rdma_cm; USIW_RETRY_MS with it.
 *
 * TCP itself gives up after a quarter of an hour.  TCP_USER_TIMEOUT ends the
 * connection sooner, but also when the peer's window stays closed: and a peer
 * without a posted receive keeps its window closed while rnr_retry says for
 * ever.  So while work is under way, the engine looks now and then whether TCP
 * has octets outstanding, and whether the peer's TCP acknowledges any.
 */
#include "retry.h"

#include <errno.h>
#include <linux/tcp.h>

#include "../../util/log.h"
#include "engine/engine.h"
#include "os/clock.h"
#include "qp/sq-done.h"
#include "qp/state.h"
#include "socket.h"

/* The retry time is divided into so many looks.  The first one notes what the
 * others have to find unchanged. */
#define RETRY_LOOKS 4u
/* Looks fall on this grid, so that the engine wakes once for many streams. */
#define RETRY_GRID_NS (100 * NS_PER_MS)

static void retry_set(struct rnic_stream *stream, uint64_t now_ns)
{
	uint64_t look_ns = now_ns + stream->qp->retry_ns / RETRY_LOOKS;

	look_ns += RETRY_GRID_NS - look_ns % RETRY_GRID_NS;
	stream->look.next_ns = look_ns;
	rnic_engine_deadline(stream->engine, &stream->source.due, look_ns);
}

void rnic_retry_start(struct rnic_stream *stream)
{
	if (stream->look.next_ns || rnic_sq_is_empty(stream->qp))
		return;
	stream->look.same_cnt = 0;
	stream->look.acked = UINT64_MAX;
	retry_set(stream, rnic_now_ns());
}

/* Octets are outstanding, or could be sent if there were a route to the peer.
 */
static bool look_is_due(const struct tcp_info *info)
{
	return info->tcpi_unacked || (info->tcpi_notsent_bytes &&
				      info->tcpi_snd_wnd >= info->tcpi_snd_mss);
}

/* Return: octets are due, and none was acknowledged since the last look. */
static bool look_is_same(struct rnic_stream *stream)
{
	struct tcp_info info;
	bool is_same;

	if (!rnic_stream_tcp_info(stream, &info) || !look_is_due(&info))
		return false;
	is_same = stream->look.acked == info.tcpi_bytes_acked;
	stream->look.acked = info.tcpi_bytes_acked;
	return is_same;
}

bool rnic_retry_is_over(struct rnic_stream *stream, uint64_t now_ns)
{
	struct rnic_qp *qp = stream->qp;

	stream->look.next_ns = 0;
	if (!qp || !qp->retry_ns || rnic_sq_is_empty(qp))
		return false; /* the next work begins again */
	if (look_is_same(stream))
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
	/* release: pairs with rnic_qp_error() */
	atomic_store_explicit(&qp->tcp_error, ETIMEDOUT, memory_order_release);
	return true;
}

/*
 * A QP of InfiniBand does not hear that its peer has gone.  A program may post
 * more than its peer waits for, and end before the retries are exhausted.
 */
bool rnic_retry_gone(struct rnic_qp *qp)
{
	if (!qp->gone_ns || rnic_qp_has_ended(qp))
		return false;
	if (qp->gone.ns)
		return true; /* the first work counts */
	rnic_engine_deadline(qp->engine, &qp->gone,
			     rnic_now_ns() + qp->gone_ns);
	util_info("rnic",
		  "%s: work is left, and its peer has gone: it fails in "
		  "%u ms",
		  RNIC_QP_NAME(qp), (unsigned int)(qp->gone_ns / NS_PER_MS));
	return true;
}

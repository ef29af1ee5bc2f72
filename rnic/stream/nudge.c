/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * An event without a completion, for a program that hangs without it.
 *
 * On an iWARP device the receiver of perftest's ib_send_bw writes credits, of
 * four octets, into the sender's memory.  With -e the sender looks for them
 * only after an event of its send CQ.  When it has consumed all completions and
 * has no credit left, it waits for an event that nothing causes.  This can
 * happen on any device, and it does happen where Sends complete as fast as
 * here.  Verbs allow an event without a completion, but some programs take each
 * event for a completion.  So the event is raised only if no completion can
 * come, for a QP that is used as that program uses it.
 */
#include "nudge.h"

#include "engine/engine.h"
#include "util/clock.h"
#include "qp/cq.h"
#include "qp/rq.h"

/* A thread that is about to post, or to poll, has done so by then. */
#define NUDGE_NS (10 * NS_PER_MS)
/* One that is about to arm may be kept from running for longer.  So there are
 * several looks, each after twice the time of the last, 2.5 s in all. */
#define NUDGE_LOOKS 8
#define NUDGE_CREDIT_LEN 4u

/* The length of a Write after which an event may be missing; 0: none. */
static uint32_t nudge_len(const struct rnic_stream *stream)
{
	const struct rnic_qp *qp = stream->qp;

	return qp->send_cq->chan && rnic_device_persona(qp->ctx->dev) ==
					    RNIC_PERSONA_RNIC
		       ? NUDGE_CREDIT_LEN
		       : 0;
}

/* Sends, Writes beside them, and nothing else. */
static bool qp_sends(const struct rnic_qp *qp)
{
	const uint32_t sends = 1u << USIW_WR_SEND;
	const uint32_t all = sends | 1u << USIW_WR_WRITE;

	return qp->sq.used_ops & sends && !(qp->sq.used_ops & ~all);
}

static void nudge_set(struct rnic_stream *stream)
{
	stream->nudge.ns = util_now_ns() + (NUDGE_NS << stream->nudge.cnt++);
	rnic_engine_deadline(stream->engine, &stream->source.due,
			     stream->nudge.ns);
}

void rnic_nudge_written(struct rnic_stream *stream, uint32_t len)
{
	if (!len || len != nudge_len(stream) || !qp_sends(stream->qp))
		return;
	stream->nudge.cnt = 0;
	if (!stream->nudge.ns)
		nudge_set(stream);
}

/* May something that is posted on @qp complete into @cq? */
static bool qp_expects(const struct rnic_qp *qp, const struct rnic_cq *cq)
{
	const struct usiw_ring *sq = &qp->sq.ring;

	if (qp->recv_cq == cq &&
	    (qp->rq.current.is_open || usiw_ring_peek(rnic_rq_ring(qp), 0)))
		return true;
	if (qp->send_cq != cq)
		return false;
	for (uint32_t i = qp->sq.done_idx; usiw_ring_slot_pending(sq, i); i++) {
		const struct usiw_sqe *slot = usiw_ring_slot(sq, i);

		if (slot->flags & USIW_SQE_SIGNALED)
			return true;
	}
	return false;
}

static bool cq_expects(const struct rnic_cq *cq)
{
	const struct rnic_cq_user *user;

	LIST_FOREACH(user, &cq->users, link)
	{
		if (qp_expects(user->qp, cq))
			return true;
	}
	return false;
}

void rnic_nudge_fire(struct rnic_stream *stream)
{
	struct rnic_cq *cq;

	stream->nudge.ns = 0;
	if (!stream->qp)
		return;
	cq = stream->qp->send_cq;
	if (usiw_ring_peek(&cq->ring, 0) || cq_expects(cq))
		return;
	if (rnic_cq_is_awaited(cq))
		rnic_cq_nudge(cq);
	else if (stream->nudge.cnt < NUDGE_LOOKS)
		nudge_set(stream);
}

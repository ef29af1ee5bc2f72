/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How far a poll reads ahead of the receives that are posted. */
#include "read-ahead.h"

#include "carrier.h"
#include "engine/engine.h"
#include "qp/rq.h"

/* The peer is ahead if one read brings so many FPDUs. */
#define AHEAD_FPDUS 8u

/* Octets are left only from one pass to the next one of a program that takes
 * its completions in between: what follows the Sends, as an answer to a READ,
 * may be what it waits for. */
static bool ahead_may_leave(struct rnic_stream *stream)
{
	const struct rnic_qp *qp = stream->qp;
	uint32_t turn = stream->engine->turn.poll_no;
	uint32_t taken_idx = usiw_ring_cons_idx(&qp->recv_cq->ring);

	if (!rnic_rq_is_unread(qp))
		return false;
	/* A post, or a second look of the same poll. */
	if (!turn || stream->ahead.left_turn == turn)
		return true;
	if (stream->ahead.left_turn && stream->ahead.taken_idx == taken_idx)
		return false;
	stream->ahead.left_turn = turn;
	stream->ahead.taken_idx = taken_idx;
	return true;
}

size_t rnic_read_ahead_limit(struct rnic_stream *stream)
{
	const struct rnic_qp *qp = stream->qp;
	uint32_t room;

	/* After a failed send all that has come is read at once. */
	if (!stream->ahead.fpdu_len || !stream->carrier->keeps_octets ||
	    !stream->engine->turn.may_leave || stream->send_error ||
	    !qp->arrival.is_received || qp->rq.current.is_open)
		return SIZE_MAX;
	room = rnic_rq_room(qp);
	if (room) {
		stream->ahead.left_turn = 0;
		return (size_t)room * stream->ahead.fpdu_len;
	}
	if (!ahead_may_leave(stream))
		return SIZE_MAX;
	rnic_polls_leave(&stream->engine->sched.polls);
	return 0;
}

void rnic_read_ahead_note(struct rnic_stream *stream, size_t len,
			  uint64_t fpdu_cnt, size_t limit)
{
	if (fpdu_cnt >= AHEAD_FPDUS)
		stream->ahead.fpdu_len = (uint32_t)(len / fpdu_cnt);
	else if (!fpdu_cnt || len < limit)
		stream->ahead.fpdu_len = 0;
}

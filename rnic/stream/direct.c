/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Writes that go directly into the peer's memory. */
#include "direct.h"

#include "engine/alone.h"
#include "engine/wake.h"
#include "mem/mw.h"
#include "nudge.h"
#include "os/stat.h"
#include "qp/object.h"
#include "qp/sq.h"

/* ---- to the peer --------------------------------------------------------- */

static bool direct_put(void *arg, const struct rnic_sq_write *sq_write)
{
	const struct rnic_direct_write write = {
		.stag = sq_write->stag,
		.to = sq_write->to,
		.base = sq_write->base,
		.len = sq_write->len,
	};
	struct rnic_stream *stream = arg;
	struct rnic_engine *engine = stream->engine;
	struct rnic_local *local = stream->local;
	struct rnic_stat_part part = engine->stat;

	if (!rnic_alone_ask(&engine->alone) ||
	    !rnic_direct_put(&local->direct, &write))
		return false;
	rnic_alone_note_served(&engine->alone);
	rnic_engine_note_direct(engine);
	rnic_stat_count(part, RNIC_STAT_local_direct, 1);
	rnic_stat_count(part, RNIC_STAT_local_direct_octets, write.len);
	rnic_stat_count(part, RNIC_STAT_tx_payload, write.len);
	return true;
}

void rnic_stream_direct_put(struct rnic_stream *stream)
{
	/* Most peers are awake, so that is checked first. */
	if (stream->qp && rnic_local_is_drained(stream->local) &&
	    smpa_conn_tx_is_idle(stream->conn))
		(void)rnic_sq_put(stream->qp, direct_put, stream);
}

/* ---- from the peer ------------------------------------------------------- */

static void direct_grant(struct rnic_stream *stream,
			 const struct smpa_event *ev)
{
	struct rnic_local *local = stream->local;
	struct rnic_direct_region region;
	const struct rnic_mr *mr;

	/* The rights of the QP have been checked for this Write. */
	mr = rnic_mw_find(&stream->qp->owner, ev->msg.stag, ev->msg.to, 1,
			  RNIC_ACCESS_REMOTE_WRITE);
	if (!mr)
		return; /* deregistered meanwhile */
	region = (struct rnic_direct_region){
		.stag = mr->stag,
		.iova = mr->iova,
		.len = mr->len,
		.addr = (uint64_t)(uintptr_t)mr->addr,
	};
	rnic_direct_grant(&local->direct, &region, rnic_nudge_len(stream));
}

void rnic_stream_direct_written(struct rnic_stream *stream,
				const struct smpa_event *ev)
{
	if (!stream->qp->arrival.written_len || !stream->local ||
	    !rnic_direct_is_wanted(&stream->local->direct))
		return;
	if (!rnic_direct_is_granted(&stream->local->direct, ev->msg.stag))
		direct_grant(stream, ev);
}

void rnic_stream_direct_region_gone(struct rnic_stream *stream, uint32_t stag)
{
	if (stream->local)
		rnic_direct_revoke(&stream->local->direct, stag);
}

void rnic_stream_direct_revoke(struct rnic_stream *stream)
{
	if (stream->local)
		rnic_direct_revoke_all(&stream->local->direct);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the engine calls for the streams of its context. */
#include "stream-serve.h"

#include "inbound.h"
#include "mem/context.h"
#include "nudge.h"
#include "qp-table.h"
#include "retry.h"
#include "rnr.h"
#include "stall.h"
#include "stream-end.h"
#include "stream-io.h"
#include "stream-pass.h"

static struct rnic_stream *stream_of(struct rnic_source *source)
{
	return RNIC_CONTAINER_OF(source, struct rnic_stream, source);
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	if (!a_ns || (b_ns && b_ns < a_ns))
		return b_ns;
	return a_ns;
}

static void serve_due(struct rnic_engine *engine, uint64_t now_ns)
{
	struct rnic_source *source, *next;
	uint64_t earliest = 0;
	bool is_probing = false;

	/* Anew: from what is left, and from what expiry itself sets. */
	engine->deadline_ns = 0;
	for (source = LIST_FIRST(&engine->sources); source; source = next) {
		struct rnic_stream *stream = stream_of(source);

		next = LIST_NEXT(source, link);
		if (stream->deadline_ns && stream->deadline_ns <= now_ns) {
			rnic_stream_expire(stream);
			continue; /* it may be gone */
		}
		if (stream->rnr_ns && stream->rnr_ns <= now_ns) {
			rnic_stream_rnr(stream);
			continue; /* nor is it sure here */
		}
		if (stream->look.next_ns && stream->look.next_ns <= now_ns &&
		    rnic_retry_is_over(stream, now_ns)) {
			rnic_stream_abort(stream);
			continue;
		}
		if (stream->stall.next_ns && stream->stall.next_ns <= now_ns &&
		    rnic_stall_is_over(stream, now_ns)) {
			rnic_stream_stalled(stream);
			continue;
		}
		if (stream->nudge_ns && stream->nudge_ns <= now_ns)
			rnic_nudge_fire(stream);
		stream->is_probing = rnic_stream_probe_is_due(stream, now_ns);
		is_probing |= stream->is_probing;
		earliest = earlier(earliest, stream->probe_ns);
		earliest = earlier(earliest, stream->deadline_ns);
		earliest = earlier(earliest, stream->rnr_ns);
		earliest = earlier(earliest, stream->nudge_ns);
		earliest = earlier(earliest, stream->look.next_ns);
		earliest = earlier(earliest, stream->stall.next_ns);
	}
	engine->deadline_ns = earlier(engine->deadline_ns, earliest);
	/* Sending can end a stream, or set a deadline. */
	source = is_probing ? LIST_FIRST(&engine->sources) : NULL;
	for (; source; source = next) {
		next = LIST_NEXT(source, link);
		if (stream_of(source)->is_probing)
			rnic_stream_probe(stream_of(source));
	}
}

static void serve_pass(struct rnic_source *source, uint32_t events)
{
	rnic_stream_pass(stream_of(source), events);
}

static void serve_mr_gone(struct rnic_source *source, uint32_t stag,
			  const void *addr, size_t len)
{
	rnic_stream_mr_gone(stream_of(source), stag, addr, len);
}

static void serve_drain(struct rnic_source *source)
{
	rnic_stream_drain(stream_of(source));
}

static void serve_abort(struct rnic_source *source)
{
	rnic_stream_abort(stream_of(source));
}

static void serve_broken(struct rnic_engine *engine)
{
	rnic_context_fatal(engine->ctx);
	rnic_qp_table_ctx_gone(engine->ctx);
}

const struct rnic_engine_ops rnic_stream_ops = {
	.pass = serve_pass,
	.due = serve_due,
	.mr_gone = serve_mr_gone,
	.drain = serve_drain,
	.abort = serve_abort,
	.broken = serve_broken,
};

/* ---- Sends that were kept, and their receives -----------------------------
 */

/* Something was delivered: the stream goes on, or ends. */
static void serve_go_on(struct rnic_qp *qp, struct rnic_stream *stream)
{
	struct smpa_event ev;

	if (!rnic_rnr_take_waiting(qp, &ev)) {
		rnic_stream_end_step(stream);
		return;
	}
	if (rnic_inbound_event(qp, stream->conn, &ev))
		rnic_stream_refuse(stream);
	rnic_stream_resume(stream);
}

void rnic_stream_serve_rnr(struct rnic_qp *qp)
{
	struct rnic_stream *stream = qp->stream;
	bool has_delivered = false;

	while (qp->rnr && rnic_rnr_deliver(qp))
		has_delivered = true;
	if (has_delivered)
		serve_go_on(qp, stream);
}

void rnic_stream_serve_srq(struct rnic_srq *srq)
{
	uint32_t idle_cnt = 0;

	/* One message each, in turn. */
	while (idle_cnt < srq->rnr_cnt && usiw_ring_peek(&srq->ring, 0)) {
		struct rnic_qp *qp = rnic_rnr_next_turn(srq);
		struct rnic_stream *stream = qp->stream;

		idle_cnt++;
		if (rnic_rnr_deliver(qp)) {
			serve_go_on(qp, stream);
			idle_cnt = 0;
		}
	}
}

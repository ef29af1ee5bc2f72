/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the engine calls: for its streams, and for the bells of QPs and SRQs. */
#include "serve.h"

#include "carrier.h"
#include "end.h"
#include "engine/engine.h"
#include "io.h"
#include "local/local.h"
#include "mem/context.h"
#include "nudge.h"
#include "pass.h"
#include "qp/inbound.h"
#include "qp/qp-table.h"
#include "qp/rnr.h"
#include "qp/rq.h"
#include "qp/sq-done.h"
#include "qp/state.h"
#include "retry.h"
#include "stall.h"

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

static uint64_t rnr_end_ns(const struct rnic_stream *stream)
{
	return stream->qp ? stream->qp->rnr_end_ns : 0;
}

/* Work that has waited long enough for peers that have gone.  Return: when the
 * next one is due; 0: none. */
static uint64_t serve_expiries(struct rnic_engine *engine, uint64_t now_ns)
{
	struct rnic_expiry *expiry, *next;
	uint64_t earliest = 0;

	for (expiry = LIST_FIRST(&engine->expiries); expiry; expiry = next) {
		next = LIST_NEXT(expiry, link);
		if (expiry->end_ns > now_ns) {
			earliest = earlier(earliest, expiry->end_ns);
			continue;
		}
		rnic_engine_expiry_stop(expiry);
		rnic_qp_unreached(
			RNIC_CONTAINER_OF(expiry, struct rnic_qp, gone));
	}
	return earliest;
}

static void serve_due(struct rnic_engine *engine, uint64_t now_ns)
{
	struct rnic_source *source, *next;
	uint64_t earliest = 0;
	bool is_probing = false;

	/* Computed anew: from what is left, and from what expiry sets. */
	engine->deadline_ns = 0;
	for (source = LIST_FIRST(&engine->sources); source; source = next) {
		struct rnic_stream *stream = stream_of(source);

		next = LIST_NEXT(source, link);
		if (stream->deadline_ns && stream->deadline_ns <= now_ns) {
			rnic_stream_expire(stream);
			continue; /* it may be freed, as below */
		}
		if (rnr_end_ns(stream) && rnr_end_ns(stream) <= now_ns) {
			rnic_stream_rnr(stream);
			continue;
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
		earliest = earlier(earliest, rnr_end_ns(stream));
		earliest = earlier(earliest, stream->nudge_ns);
		earliest = earlier(earliest, stream->look.next_ns);
		earliest = earlier(earliest, stream->stall.next_ns);
	}
	earliest = earlier(earliest, serve_expiries(engine, now_ns));
	engine->deadline_ns = earlier(engine->deadline_ns, earliest);
	/* In a walk of its own: sending may end a stream, or set a deadline. */
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

static void serve_look(struct rnic_source *source, bool is_woken)
{
	rnic_stream_look(stream_of(source), is_woken);
}

static bool serve_sleep(struct rnic_source *source)
{
	struct rnic_stream *stream = stream_of(source);

	if (!rnic_stream_carrier_sleep(stream))
		return false;
	rnic_stream_return_staging(stream);
	return true;
}

static void serve_unwakeable(struct rnic_source *source)
{
	rnic_stream_unwakeable(stream_of(source));
}

static bool serve_handover(struct rnic_source *source,
			   struct rnic_handover *ret_handover)
{
	return rnic_local_handover(stream_of(source)->local, ret_handover);
}

static void serve_stay_awake(struct rnic_source *source)
{
	rnic_stream_carrier_stay_awake(stream_of(source));
}

static void serve_mr_gone(struct rnic_source *source, uint32_t stag,
			  const void *addr, size_t len)
{
	rnic_stream_mr_gone(stream_of(source), stag, addr, len);
}

static void serve_drain(struct rnic_source *source)
{
	if (stream_of(source)->phase == RNIC_STREAM_RUN)
		rnic_stream_close(stream_of(source));
}

static void serve_abort(struct rnic_source *source)
{
	rnic_stream_abort(stream_of(source));
}

static void serve_broken(struct rnic_engine *engine)
{
	rnic_context_fatal(engine->ctx);
	rnic_qp_table_ctx_gone(engine->ctx);
	rnic_engines_flush(&engine->ctx->engines);
}

static void serve_all_due(struct rnic_engine *engine)
{
	rnic_engines_lead(engine->engines);
	rnic_engines_unlead(engine->engines);
}

const struct rnic_engine_ops rnic_stream_ops = {
	.pass = serve_pass,
	.look = serve_look,
	.sleep = serve_sleep,
	.wake = rnic_local_wake_fd,
	.unwakeable = serve_unwakeable,
	.handover = serve_handover,
	.stay_awake = serve_stay_awake,
	.due = serve_due,
	.mr_gone = serve_mr_gone,
	.drain = serve_drain,
	.abort = serve_abort,
	.broken = serve_broken,
	.all_due = serve_all_due,
};

/* ---- bells --------------------------------------------------------------- */

/* A held Send was delivered: the stream goes on, or ends. */
static void serve_go_on(struct rnic_qp *qp, struct rnic_stream *stream)
{
	struct smpa_event ev;

	if (!rnic_rnr_take_waiting(qp, &ev)) {
		rnic_stream_end_step(stream);
		return;
	}
	if (rnic_inbound_event(qp, &ev))
		rnic_stream_refuse(stream);
	rnic_stream_resume(stream);
}

static void serve_rnr(struct rnic_qp *qp)
{
	struct rnic_stream *stream = qp->stream;
	bool has_delivered = false;

	while (qp->rnr && rnic_rnr_deliver(qp))
		has_delivered = true;
	if (has_delivered)
		serve_go_on(qp, stream);
}

/* A CQ of the QP is overrun, or the engine is broken. */
static void serve_cq_gone(struct rnic_qp *qp)
{
	struct rnic_stream *stream = qp->stream;

	rnic_qp_overrun(qp);
	rnic_qp_end(qp);
	if (stream && !qp->stream)
		rnic_stream_end_step(stream);
}

void rnic_stream_serve_qp(struct rnic_bell *bell)
{
	struct rnic_qp *qp = RNIC_CONTAINER_OF(bell, struct rnic_qp, bell);

	/* One that is IDLE fails with its first completion. */
	if (atomic_load_explicit(&qp->is_cq_gone, memory_order_relaxed) &&
	    rnic_qp_state_now(qp) != RNIC_QPS_IDLE)
		serve_cq_gone(qp);
	if (qp->rnr && !qp->srq)
		serve_rnr(qp);
	if (qp->stream) {
		rnic_stream_tx(qp->stream);
	} else if (rnic_qp_has_ended(qp)) {
		rnic_sq_flush(qp, USIW_WC_WR_FLUSH_ERR);
		rnic_rq_flush(qp);
	} else if (rnic_qp_is_orphan(qp) && !rnic_sq_is_empty(qp) &&
		   !rnic_retry_gone(qp)) {
		rnic_qp_unreached(qp);
	}
}

void rnic_stream_serve_srq(struct rnic_bell *bell)
{
	struct rnic_srq *srq = RNIC_CONTAINER_OF(bell, struct rnic_srq, bell);
	uint32_t idle_cnt = 0;

	/* One message of each QP, in turn. */
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

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How streams end.  FIN goes out behind everything that TCP has taken.  Input
 * is read until the peer's FIN: closing a socket with unread input sends RST,
 * and RST may discard data whose completion was reported.
 */
#include "end.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/env.h"
#include "util/log.h"
#include "carrier.h"
#include "dev/device.h"
#include "engine/engine.h"
#include "engine/staging.h"
#include "io.h"
#include "loop/ref.h"
#include "meet.h"
#include "util/clock.h"
#include "os/fd.h"
#include "os/observer.h"
#include "os/stat.h"
#include "qp/region.h"
#include "qp/rnr.h"
#include "qp/rq.h"
#include "qp/sq-done.h"
#include "qp/sq.h"
#include "qp/state.h"
#include "qp/transport.h"
#include "retry.h"
#include "tap.h"
#include "tcp.h"

/* A peer that takes so many octets within the drain limit gets another one:
 * about the longest FPDU. */
#define STREAM_PACE 65536u

/* Adds what happened since the last call to the counter page. */
static void stream_count(struct rnic_stream *stream)
{
	const struct smpa_counters *now = smpa_conn_counters(stream->conn);
	struct rnic_stat_part part = stream->engine->stat;
	struct usiw_res_device_count *dev =
		rnic_device_count(stream->engine->ctx->dev, part);
	struct smpa_counters *told = &stream->told;
	uint64_t payload;

	payload = now->tx_inplace + now->tx_copied - told->tx_inplace -
		  told->tx_copied;
	if (payload)
		rnic_stat_count(part, RNIC_STAT_tx_payload, payload);
	/* The device's counters, and those of that name in the page. */
#define COUNT(field)                                                           \
	if (now->field != told->field) {                                       \
		rnic_stat_grow(&dev->field, part, now->field - told->field);   \
		rnic_stat_count(part, RNIC_STAT_##field,                       \
				now->field - told->field);                     \
		told->field = now->field;                                      \
	}
	RNIC_DEVICE_STAT_LIST(COUNT)
#undef COUNT
}

static void stream_free(struct rnic_stream *stream)
{
	struct rnic_engine *engine = stream->engine;

	stream_count(stream);
	rnic_tap_free(stream);
	rnic_engine_remove(engine, &stream->source);
	rnic_fd_close(stream->source.fd);
	rnic_stream_meet_end(stream);
	stream->carrier->close(stream);
	smpa_conn_free(stream->conn);
	rnic_staging_put(&engine->rx_pool, stream->rx_staging);
	rnic_staging_put(&engine->tx_pool, stream->tx_staging);
	free(stream->start_rx);
	free(stream->start_tx);
	free(stream);
	rnic_stat_add(RNIC_STAT_streams_ended, 1);
}

static void stream_fin(struct rnic_stream *stream)
{
	if (stream->is_fin_sent)
		return;
	stream->carrier->fin(stream);
	if (rnic_observed(USIW_OBSERVE_PACKETS))
		rnic_tap_fin(stream);
	stream->is_fin_sent = true;
	stream->is_tx_blocked = false;
}

static void stream_limit(struct rnic_stream *stream)
{
	stream->paced_acked = stream->carrier->acked(stream);
	stream->deadline_ns =
		util_now_ns() + util_settings()->drain_ms * NS_PER_MS;
	stream->paced_octets = stream->tx_octets;
	rnic_engine_deadline(stream->engine, &stream->source.due,
			     stream->deadline_ns);
}

static void stream_tell(struct rnic_stream *stream, int status)
{
	uint64_t cm_ref = stream->cm_ref;

	stream->cm_ref = 0;
	if (cm_ref)
		rnic_loop_note(cm_ref, status);
}

void rnic_stream_detach(struct rnic_stream *stream, int status)
{
	if (!stream->qp)
		return;
	/* TERMINATE and what stands before it is sent now: after this call the
	 * WRs are flushed, and their memory is the application's. */
	rnic_stream_flush(stream);
	if (!stream->qp)
		return; /* a completion overran its CQ: detached already */
	rnic_stream_show(stream, USIW_RES_CARRIER_NONE);
	stream->qp->link = NULL;
	stream->qp->due = NULL;
	stream->qp->rnr_end_ns = 0;
	stream->qp = NULL;
	rnic_stream_enter(stream, RNIC_STREAM_DRAIN);
	if (status < 0 || stream->has_peer_fin)
		stream_tell(stream, status);
	if (smpa_conn_uses(stream->conn, NULL, SIZE_MAX) ||
	    smpa_conn_tx_is_held(stream->conn)) {
		/* TCP did not take all: the WRs are flushed now, so that the
		 * FPDU stays cut.  Or it must not be sent (MPA-134).  What is
		 * in staging is still sent. */
		stream_fin(stream);
	}
	stream_limit(stream);
}

/*
 * InfiniBand has no connection that could end: the QP stays, with its receives,
 * and only work of its own fails, when it has been tried for long enough.
 * -ETIMEDOUT: it has been.
 */
static bool qp_stays(struct rnic_qp *qp, int status)
{
	if (qp->transport->is_lossy) {
		rnic_qp_unreached(qp);
		return true;
	}
	return rnic_sq_is_empty(qp) ||
	       (status != -ETIMEDOUT && rnic_qp_waits_for_peer(qp));
}

/* Detach and fail, unless it is a QP like InfiniBand's that stays. */
static void qp_part(struct rnic_qp *qp, int status)
{
	bool may_stay = (qp->sq.ack.is_on || qp->transport->is_lossy) &&
			rnic_qp_state_now(qp) == RNIC_QPS_RTS;
	enum usiw_wc_status first = may_stay || status == -ETIMEDOUT
					    ? USIW_WC_RETRY_EXC_ERR
					    : USIW_WC_WR_FLUSH_ERR;

	if (status == 0)
		rnic_sq_peer_closed(qp);
	rnic_qp_end(qp); /* a completion may have overrun its CQ */
	if (qp->link)
		rnic_stream_detach(rnic_qp_stream(qp), status);
	if (!may_stay || !qp_stays(qp, status))
		rnic_qp_fail(qp, RNIC_QPS_ERROR, first, RNIC_QP_EV_CNT);
	rnic_qp_end(qp);
}

void rnic_stream_close(struct rnic_stream *stream)
{
	rnic_stream_enter(stream, RNIC_STREAM_CLOSING);
	stream_limit(stream);
	rnic_stream_end_step(stream);
}

void rnic_stream_part(struct rnic_stream *stream, int status)
{
	if (stream->qp)
		qp_part(stream->qp, status);
}

/*
 * MPA-134: the accepting side must not send first.  If the peer offered no RTR
 * and stays silent, posted work would wait for ever.  It waits for as long as a
 * start may take.
 */
static void stream_check_held(struct rnic_stream *stream)
{
	if (!smpa_conn_tx_is_held(stream->conn) ||
	    rnic_sq_is_empty(stream->qp)) {
		stream->deadline_ns = 0;
		return;
	}
	if (stream->deadline_ns)
		return;
	stream->deadline_ns =
		util_now_ns() + util_settings()->start_ms * NS_PER_MS;
	rnic_engine_deadline(stream->engine, &stream->source.due,
			     stream->deadline_ns);
}

static void stream_starve(struct rnic_stream *stream)
{
	struct rnic_qp *qp = stream->qp;

	util_err("rnic",
		 "%s: work waits, but the side that accepted may not send "
		 "first (RFC 5044 7.1.2), and the peer, which offered no RTR, "
		 "has sent nothing for %u ms",
		 RNIC_QP_NAME(qp), util_settings()->start_ms);
	rnic_stream_detach(stream, -ETIMEDOUT);
	rnic_qp_fail(qp, RNIC_QPS_ERROR, USIW_WC_RESP_TIMEOUT_ERR,
		     RNIC_QP_EV_REQ_ERR);
	rnic_qp_end(qp);
	rnic_stream_end_step(stream);
}

/* Posted work is still sent: only a peer that stalls meets the limit. */
static void stream_pace(struct rnic_stream *stream)
{
	if (stream->tx_octets - stream->paced_octets >= STREAM_PACE)
		stream_limit(stream);
}

static bool stream_is_out(const struct rnic_stream *stream)
{
	if (stream->qp &&
	    (!rnic_sq_is_empty(stream->qp) || stream->qp->irq.cnt))
		return false;
	return smpa_conn_tx_is_idle(stream->conn);
}

/*
 * The peer has closed its half.  Ours goes on until the peer's requests are
 * answered and what was posted is sent (DDP-45).  A pass has tried to submit
 * everything.  So a WR that is still queued when nothing is under way cannot be
 * sent: it needs an answer, or follows one that does.
 */
static void stream_half_step(struct rnic_stream *stream)
{
	struct rnic_qp *qp = stream->qp;

	if (!stream->is_half_closed) {
		stream->is_half_closed = true;
		stream->deadline_ns = 0;
		rnic_sq_peer_closed(qp);
		rnic_qp_end(qp);
		if (!stream->qp)
			return; /* a completion overran its CQ */
	}
	if (stream->phase == RNIC_STREAM_RUN && rnic_rnr_delays_end(qp))
		return;
	if ((!qp->irq.cnt && smpa_conn_tx_is_idle(stream->conn)) ||
	    smpa_conn_tx_is_held(stream->conn)) /* MPA-134: for ever now */
		rnic_stream_part(stream, 0);
	else if (!stream->deadline_ns)
		stream_limit(stream);
	else
		stream_pace(stream);
}

void rnic_stream_end_step(struct rnic_stream *stream)
{
	if (stream->qp && stream->qp->refusal.is_waiting)
		rnic_stream_refuse(stream);
	if (stream->qp)
		rnic_qp_end(stream->qp);
	switch (stream->phase) {
	case RNIC_STREAM_START:
		return;
	case RNIC_STREAM_RUN:
		if (stream->has_peer_fin)
			stream_half_step(stream);
		else
			stream_check_held(stream);
		break;
	case RNIC_STREAM_CLOSING:
		if (stream->has_peer_fin)
			stream_half_step(stream);
		else if (stream_is_out(stream))
			stream_fin(stream);
		else
			stream_pace(stream);
		break;
	case RNIC_STREAM_DRAIN:
		if (stream->has_peer_fin)
			stream_tell(stream, 0);
		break;
	}
	if (stream->phase == RNIC_STREAM_DRAIN) {
		if (stream_is_out(stream))
			stream_fin(stream);
		if (stream->is_fin_sent && stream->has_peer_fin) {
			stream_free(stream);
			return;
		}
	}
	rnic_stream_settle(stream);
	stream_count(stream);
}

void rnic_stream_lost(struct rnic_stream *stream, int status)
{
	struct rnic_qp *qp = stream->qp;

	if (qp)
		rnic_qp_end(qp);
	qp = stream->qp;
	if (qp) {
		util_info("rnic", "%s: stream lost: %s", RNIC_QP_NAME(qp),
			  strerror(-status));
		rnic_stream_part(stream, status);
	}
	stream_tell(stream, status);
	stream_free(stream);
}

void rnic_stream_addr_gone(struct rnic_source *source)
{
	struct rnic_stream *stream = rnic_stream_of(source);
	struct rnic_qp *qp = stream->qp;

	if (qp) {
		util_warn("rnic",
			  "%s: its address, or its interface, is gone: "
			  "the connection ends",
			  RNIC_QP_NAME(qp));
		rnic_qp_note_error(qp, ETIMEDOUT);
		rnic_stream_detach(stream, -ENETDOWN);
		rnic_qp_fail(qp, RNIC_QPS_ERROR, USIW_WC_WR_FLUSH_ERR,
			     RNIC_QP_EV_CNT);
		rnic_qp_end(qp);
	}
	stream_tell(stream, -ENETDOWN);
	stream_free(stream);
}

void rnic_stream_stalled(struct rnic_stream *stream)
{
	struct rnic_qp *qp = stream->qp;

	smpa_conn_terminate(stream->conn,
			    (struct smpa_fault){ SMPA_F_RDMAP_STREAM_CATA });
	rnic_stat_add(RNIC_STAT_term_sent, 1);
	rnic_qp_fail(qp, RNIC_QPS_TERMINATE,
		     qp->sq.ack.is_on ? USIW_WC_RETRY_EXC_ERR
				      : USIW_WC_WR_FLUSH_ERR,
		     RNIC_QP_EV_FATAL);
	rnic_stream_end_step(stream);
}

void rnic_stream_expire(struct rnic_stream *stream)
{
	stream->deadline_ns = 0;
	if (stream->phase == RNIC_STREAM_RUN && !stream->has_peer_fin) {
		stream_starve(stream);
		return;
	}
	/* epoll reports a writable socket only when much of its buffer is
	 * free; meanwhile the peer may have taken octets. */
	if (stream->phase != RNIC_STREAM_DRAIN &&
	    stream->carrier->acked(stream) - stream->paced_acked >=
		    STREAM_PACE) {
		stream_limit(stream);
		return;
	}
	util_info("rnic", "%s: the peer did not %s within %u ms",
		  RNIC_STREAM_NAME(stream),
		  stream->has_peer_fin ? "read what it is owed" : "close",
		  util_settings()->drain_ms);
	rnic_stream_lost(stream, -ETIMEDOUT);
}

void rnic_stream_rnr(struct rnic_stream *stream)
{
	if (stream->qp)
		rnic_rnr_expire(stream->qp);
	rnic_stream_end_step(stream);
}

void rnic_stream_failed(struct rnic_stream *stream)
{
	rnic_qp_end(stream->qp);
	/* A later pass frees the stream: the caller may be a pass. */
	if (stream_is_out(stream))
		stream_fin(stream);
	rnic_stream_watch(stream);
}

void rnic_stream_mr_gone(struct rnic_source *source, uint32_t stag,
			 const void *addr, size_t len)
{
	struct rnic_stream *stream = rnic_stream_of(source);
	struct rnic_qp *qp = stream->qp;

	/* Without a QP nothing is sent from the application's memory. */
	if (!qp || !rnic_qp_uses_region(qp, stag, addr, len))
		return;
	util_warn("rnic", "%s: memory taken away while in use",
		  RNIC_QP_NAME(qp));
	rnic_qp_region_gone(qp, stag);
	rnic_stream_failed(stream);
}

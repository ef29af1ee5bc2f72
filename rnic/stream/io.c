/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Octets go from the socket to the protocol engine, its events to the QP, and
 * messages of the QP to the socket.
 */
#include "io.h"

#include <errno.h>
#include <stdlib.h>

#include "util/log.h"
#include "util/iov.h"
#include "carrier.h"
#include "engine/engine.h"
#include "engine/sockets.h"
#include "engine/staging.h"
#include "engine/wake.h"
#include "fault-message.h"
#include "fault/rules.h"
#include "nudge.h"
#include "os/probe.h"
#include "os/stat.h"
#include "qp/inbound.h"
#include "qp/irq.h"
#include "qp/rnr.h"
#include "qp/sq-done.h"
#include "qp/sq.h"
#include "qp/state.h"
#include "read-ahead.h"
#include "retry.h"
#include "stall.h"

/* Reads of one stream in a row; then the next stream has its turn. */
#define STREAM_READ_MAX 16

/* ---- staging ------------------------------------------------------------ */

static int stream_lend_rx(struct rnic_stream *stream)
{
	struct rnic_staging_pool *pool = &stream->engine->rx_pool;

	stream->rx_staging = rnic_staging_get(pool);
	if (!stream->rx_staging)
		return -ENOMEM;
	return smpa_conn_rx_lend(stream->conn, stream->rx_staging, pool->size);
}

int rnic_stream_lend_tx(struct rnic_stream *stream)
{
	struct rnic_staging_pool *pool = &stream->engine->tx_pool;
	int rc;

	if (stream->tx_staging)
		return 0;
	if (stream->start_tx) {
		/* The last start frame must leave before we can change. */
		rc = smpa_conn_tx_lend(stream->conn, NULL, 0);
		if (rc < 0)
			return rc;
		free(stream->start_tx);
		stream->start_tx = NULL;
	}
	stream->tx_staging = rnic_staging_get(pool);
	if (!stream->tx_staging)
		return -ENOMEM;
	return smpa_conn_tx_lend(stream->conn, stream->tx_staging, pool->size);
}

void rnic_stream_return_staging(struct rnic_stream *stream)
{
	if (stream->rx_staging && smpa_conn_rx_is_idle(stream->conn)) {
		smpa_conn_rx_lend(stream->conn, NULL, 0);
		rnic_staging_put(&stream->engine->rx_pool, stream->rx_staging);
		stream->rx_staging = NULL;
	}
	if (stream->tx_staging && smpa_conn_tx_is_idle(stream->conn)) {
		smpa_conn_tx_lend(stream->conn, NULL, 0);
		rnic_staging_put(&stream->engine->tx_pool, stream->tx_staging);
		stream->tx_staging = NULL;
	}
}

/* ---- what TCP takes ------------------------------------------------------ */

/* MSG_EOR where a new TCP segment has to begin.  The peer of a QP that
 * connected without rdma_cm is a usiw, which needs no alignment. */
static int stream_send_flags(const struct rnic_stream *stream)
{
	if (stream->qp && rnic_qp_has_usiw_peer(stream->qp))
		return 0;
	return smpa_conn_tx_ends_segment(stream->conn) ? MSG_EOR : 0;
}

/* Return: 1: all that was prepared is sent; 0: nothing was prepared, or TCP is
 * full; -EFAULT: what comes next cannot be read; other -errno: the socket
 * failed. */
static int stream_put(struct rnic_stream *stream)
{
	const struct iovec *iov;
	size_t want;
	ssize_t len;
	int cnt;

	cnt = smpa_conn_tx_prepare(stream->conn, &iov);
	if (cnt <= 0)
		return cnt == -EFAULT ? cnt : 0;
	want = util_iov_len(iov, cnt);
	len = rnic_stream_send(stream, iov, cnt, stream_send_flags(stream));
	if (len == -EFAULT) {
		/* The next smpa_conn_tx_prepare() says what is left to send. */
		(void)smpa_conn_tx_fault(stream->conn);
		return 1;
	}
	if (len == -EAGAIN) {
		stream->is_tx_blocked = true;
		return 0;
	}
	if (len < 0) {
		stream->send_error = (int)len;
		return (int)len;
	}
	rnic_stat_count(stream->engine->stat, RNIC_STAT_tx_octets,
			(uint64_t)len);
	if (stream->qp)
		rnic_res_grow(&stream->qp->res->tx.stream_octets,
			      (uint64_t)len);
	smpa_conn_tx_commit(stream->conn, (size_t)len);
	stream->is_tx_blocked = (size_t)len < want;
	return !stream->is_tx_blocked;
}

/* ---- events ------------------------------------------------------------- */

/*
 * Before a message of the peer is refused: answer its earlier requests, as far
 * as TCP takes the answers at once.  The QP may be over afterwards.
 */
static void stream_answer(struct rnic_stream *stream)
{
	bool has_submitted = true;
	int rc = 1;

	if (!rnic_irq_is_waiting(stream->qp) || stream->is_tx_blocked ||
	    rnic_stream_lend_tx(stream) < 0)
		return;
	/* Without events: the caller handles one just now. */
	while (has_submitted || rc > 0) {
		has_submitted = rnic_irq_advance(stream->qp);
		if (rnic_qp_is_over(stream->qp))
			return;
		rc = stream_put(stream);
	}
}

/* A peer that breaks the protocol is not waited for: it may read no answer. */
static bool refusal_is_of_violation(const struct rnic_qp *qp)
{
	switch (qp->refusal.fault) {
	case SMPA_F_RDMAP_OPCODE:
	case SMPA_F_RDMAP_UNSPEC:
		return true;
	case SMPA_F_DDP_U_NO_BUFFER: /* more requests than IRD */
		return qp->irq.cnt >= qp->irq.max;
	default:
		return false;
	}
}

/* Waits for what came before the refused message; a Send that is held, for the
 * RNR time at most.  Return: false: there is nothing. */
static bool refusal_waits(struct rnic_stream *stream)
{
	struct rnic_qp *qp = stream->qp;

	if (refusal_is_of_violation(qp) ||
	    (!rnic_rnr_delays_end(qp) && !qp->irq.cnt))
		return false;
	qp->refusal.is_waiting = true;
	smpa_conn_refuse_later(stream->conn);
	return true;
}

void rnic_stream_refuse(struct rnic_stream *stream)
{
	struct rnic_qp *qp = stream->qp;
	struct smpa_fault fault = { qp->refusal.fault };

	if (!qp->refusal.is_due)
		return;
	if (!qp->refusal.is_waiting) {
		util_info("rnic", "%s: peer's message refused: %s",
			  RNIC_QP_NAME(qp), smpa_fault_str(fault));
		stream_answer(stream);
	}
	if (rnic_qp_is_over(qp))
		return; /* an answer's memory cannot be read */
	if (refusal_waits(stream))
		return;
	qp->refusal.is_due = false;
	smpa_conn_refuse(stream->conn, fault);
	rnic_stat_add(RNIC_STAT_term_sent, 1);
	rnic_qp_fail(qp, RNIC_QPS_TERMINATE, USIW_WC_WR_FLUSH_ERR,
		     qp->refusal.event);
}

static void stream_sent(struct rnic_qp *qp, uint64_t cookie)
{
	if (cookie != RNIC_COOKIE_RESPONSE) {
		rnic_sq_sent(qp, (uint32_t)cookie);
		return;
	}
	rnic_irq_sent(qp);
	if (qp->rnr)
		rnic_rnr_read_answered(qp);
}

/* A peer's message is placed.  Only a WRITE is not seen by a completion. */
static void stream_message(struct rnic_stream *stream,
			   const struct smpa_event *ev)
{
	if (ev->type != SMPA_EV_MESSAGE || ev->msg.opcode != SMPA_OP_WRITE)
		return;
	rnic_nudge_written(stream, stream->qp->arrival.written_len);
}

static void stream_probe_segment(const struct rnic_qp *qp,
				 const struct smpa_event *ev)
{
	unsigned int opcode, len = 0;

	switch (ev->type) {
	case SMPA_EV_SEGMENT:
		opcode = ev->seg.opcode;
		len = ev->seg.len;
		break;
	case SMPA_EV_READ:
		opcode = SMPA_OP_READ_REQUEST;
		break;
	case SMPA_EV_ATOMIC:
		opcode = SMPA_OP_ATOMIC_REQUEST;
		break;
	case SMPA_EV_ATOMIC_DONE:
		opcode = SMPA_OP_ATOMIC_RESPONSE;
		break;
	case SMPA_EV_TERMINATE:
		opcode = SMPA_OP_TERMINATE;
		break;
	default:
		return;
	}
	rnic_probe_segment_in(qp->num, opcode, len);
}

/* Once the QP is over, only SENT counts. */
void rnic_stream_events(struct rnic_stream *stream)
{
	struct smpa_event ev;

	while (smpa_conn_next_event(stream->conn, &ev) > 0) {
		if (!stream->qp) {
			if (ev.type != SMPA_EV_SENT)
				return;
			continue;
		}
		if (UTIL_PROBE_IS_ON(segment_in))
			stream_probe_segment(stream->qp, &ev);
		if (ev.type == SMPA_EV_SENT)
			stream_sent(stream->qp, ev.sent.cookie);
		else if (ev.type == SMPA_EV_CLOSED)
			stream->has_peer_fin = true;
		else if (rnic_qp_is_over(stream->qp))
			return;
		else if (rnic_fault_is_on(RNIC_FAULT_AT_STREAM) &&
			 rnic_stream_fault_event(stream, &ev))
			continue;
		else if (rnic_inbound_event(stream->qp, &ev))
			rnic_stream_refuse(stream);
		else
			stream_message(stream, &ev);
	}
}

/* ---- receive ------------------------------------------------------------ */

/* The kernel could not write into an open sink.  No octet is lost, and those
 * before the fault may be placed. */
static int stream_unwritable(struct rnic_stream *stream)
{
	struct smpa_event ev;

	if (!smpa_conn_open_segment(stream->conn, &ev))
		return -EFAULT;
	(void)rnic_inbound_unwritable(stream->qp, &ev);
	rnic_stream_refuse(stream);
	return 0;
}

int rnic_stream_read(struct rnic_stream *stream)
{
	struct iovec iov[SMPA_IOV_MAX + 1];
	size_t want, limit = rnic_read_ahead_limit(stream);
	const struct smpa_counters *told = smpa_conn_counters(stream->conn);
	uint64_t fpdu_cnt = told->rx_fpdu;
	ssize_t len;
	int cnt, rc;

	if (!limit)
		return 0;
	cnt = smpa_conn_rx_prepare(stream->conn, iov, SMPA_IOV_MAX + 1);
	if (cnt == -ENOBUFS) {
		rc = stream_lend_rx(stream);
		if (rc < 0)
			return rc;
		cnt = smpa_conn_rx_prepare(stream->conn, iov, SMPA_IOV_MAX + 1);
	}
	if (cnt <= 0)
		return cnt;
	/* A single iovec may be filled in part. */
	if (cnt == 1 && iov[0].iov_len > limit)
		iov[0].iov_len = limit;
	want = util_iov_len(iov, cnt);
	len = rnic_stream_recv(stream, iov, cnt);
	if (len == -EAGAIN)
		return 0;
	rnic_stat_count(stream->engine->stat, RNIC_STAT_rx_calls, 1);
	if (len == -EFAULT)
		return stream_unwritable(stream);
	if (len < 0)
		return (int)len;
	/* A send took the socket's error; recv() says only EOF after that. */
	if (len == 0 && stream->send_error < 0)
		return stream->send_error;
	if (len == 0) {
		stream->has_peer_fin = true;
		smpa_conn_rx_eof(stream->conn);
		rnic_stream_events(stream);
		return 0;
	}
	stream->probe.ns = 0;
	rnic_engine_note_octets(stream->engine, &stream->source);
	rnic_stat_count(stream->engine->stat, RNIC_STAT_rx_octets,
			(uint64_t)len);
	if (stream->qp)
		rnic_res_grow(&stream->qp->res->rx.stream_octets,
			      (uint64_t)len);
	smpa_conn_rx_commit(stream->conn, (size_t)len);
	rnic_stream_events(stream);
	rnic_read_ahead_note(stream, (size_t)len, told->rx_fpdu - fpdu_cnt,
			     limit);
	return (size_t)len == want;
}

bool rnic_stream_is_full(const struct rnic_stream *stream)
{
	return stream->qp && rnic_rnr_is_full(stream->qp);
}

int rnic_stream_rx(struct rnic_stream *stream)
{
	int rc = 1;

	for (int i = 0; i < STREAM_READ_MAX && rc > 0; i++) {
		if (stream->has_peer_fin || !stream->qp ||
		    rnic_qp_is_over(stream->qp))
			return 0;
		rc = rnic_stream_read(stream);
	}
	return rc < 0 ? rc : 0;
}

/* ---- transmit ----------------------------------------------------------- */

/* Memory that is to be sent cannot be read: that ends the stream. */
static void stream_unreadable(struct rnic_stream *stream)
{
	if (stream->qp && !rnic_qp_is_over(stream->qp))
		rnic_sq_unreadable(stream->qp,
				   smpa_conn_tx_unreadable(stream->conn));
	else /* the QP is over */
		smpa_conn_terminate(
			stream->conn,
			(struct smpa_fault){ SMPA_F_RDMAP_STREAM_CATA });
}

/* stream_put(), and the events that follow from it. */
static int stream_send(struct rnic_stream *stream)
{
	uint64_t sent = stream->tx_octets;
	int rc = stream_put(stream);

	if (stream->tx_octets != sent)
		rnic_stream_events(stream);
	if (rc != -EFAULT)
		return rc;
	stream_unreadable(stream);
	return 1; /* TERMINATE is next */
}

bool rnic_stream_has_work(const struct rnic_stream *stream)
{
	const struct rnic_qp *qp = stream->qp;

	return qp && !rnic_qp_is_over(qp) &&
	       (rnic_irq_is_waiting(qp) || rnic_sq_is_waiting(qp));
}

int rnic_stream_submit_empty(struct rnic_stream *stream)
{
	/* The STag of an empty Write means nothing (DDP-32); 1, like that of
	 * the RTR. */
	const struct smpa_msg msg = {
		.opcode = SMPA_OP_WRITE,
		.quiet = true,
		.stag = 1,
	};

	return smpa_conn_submit(stream->conn, &msg);
}

/* If it cannot be submitted, octets or FIN follow anyway.  Return: whether it
 * is. */
static bool stream_notice(struct rnic_stream *stream)
{
	stream->is_notice_due = false;
	return rnic_stream_submit_empty(stream) == 0;
}

int rnic_stream_transmit(struct rnic_stream *stream)
{
	int rc = 1;

	if (stream->is_fin_sent)
		return 0;
	while (rc > 0) {
		if (rnic_stream_has_work(stream)) {
			rc = rnic_stream_lend_tx(stream);
			if (rc < 0 && rc != -EBUSY)
				return rc;
			if (rc == 0 && rnic_sq_advance(stream->qp))
				rnic_retry_begin(stream);
		}
		rc = stream_send(stream);
		if (rc == 0 && stream->is_notice_due &&
		    rnic_stream_lend_tx(stream) == 0)
			rc = stream_notice(stream);
	}
	return rc;
}

void rnic_stream_watch(struct rnic_stream *stream)
{
	bool wants_in = !stream->has_peer_fin && !rnic_stream_is_full(stream);
	uint32_t events = stream->carrier->watch(stream, wants_in);

	if (events != stream->source.events)
		rnic_engine_set_events(stream->engine, &stream->source, events);
}

void rnic_stream_settle(struct rnic_stream *stream)
{
	rnic_stall_begin(stream);
	/* One that is looked at needs it again soon. */
	if (!stream->source.is_hot || stream->source.is_asleep)
		rnic_stream_return_staging(stream);
	rnic_stream_watch(stream);
}

int rnic_stream_flush(struct rnic_stream *stream)
{
	int rc = 1;

	while (rc > 0)
		rc = stream_send(stream);
	return rc;
}

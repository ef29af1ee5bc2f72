/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Chooses the next work, and handles completed work.
 */
#include <errno.h>
#include <string.h>

#include "conn/end.h"
#include "conn/move.h"
#include "conn/queue.h"
#include "conn/hello.h"
#include "conn/state.h"
#include "conn/tx-control.h"
#include "conn/tx-data.h"
#include "conn/tx.h"
#include "flow/seq.h"

typedef bool (*step_fn)(struct sdp_conn *conn, struct sdp_work *work);

/*
 * In order of priority: answers that the peer waits for, then requests, then
 * the ULP's octets. SinkCancelAck precedes all payload (3.5). SinkAvail
 * precedes Data, so that the answer to the data finds its buffer.
 */
static const step_fn open_steps[] = {
	sdp_tx_rd_compl,       sdp_tx_wr_compl,	  sdp_tx_sink_cancel_ack,
	sdp_tx_read, /* may find that a SendSm is due */
	sdp_tx_send_sm,	       sdp_tx_resize_ack, sdp_tx_mode,
	sdp_tx_leave_buffered, sdp_tx_src_cancel, sdp_tx_sink_cancel,
	sdp_tx_ask_size,       sdp_tx_write,	  sdp_tx_sink_avail,
	sdp_tx_payload,	       sdp_tx_discon,	  sdp_tx_update,
};

/* Starts nothing new: completes what is in progress, then sends SuspComm or
 * SuspCommAck. */
static const step_fn moving_steps[] = {
	sdp_tx_rd_compl, sdp_tx_wr_compl, sdp_tx_read,
	sdp_tx_write,	 sdp_tx_susp,	  sdp_tx_update,
};

/* The moving peer gives no more credit (SDP-237). */
static const step_fn moved_steps[] = {
	sdp_tx_rd_compl,
	sdp_tx_wr_compl,
	sdp_tx_susp_ack,
};

static bool run_steps(struct sdp_conn *conn, const step_fn *steps, size_t cnt,
		      struct sdp_work *work)
{
	for (size_t i = 0; i < cnt; i++) {
		if (steps[i](conn, work))
			return true;
	}
	return false;
}

static bool open_work(struct sdp_conn *conn, struct sdp_work *work)
{
	const struct sdp_moving *m = &conn->moving;

	if (!conn->is_carrier_up)
		return false;
	sdp_queue_cut_cancelled(conn);
	/* After SuspComm only the answer to a crossing SuspComm follows. After
	 * the answer nothing follows (SDP-237, SDP-238). */
	if (m->is_ack_sent)
		return false;
	if (m->is_sent)
		return sdp_tx_susp_ack(conn, work);
	if (m->is_rcvd)
		return run_steps(conn, moved_steps,
				 sizeof(moved_steps) / sizeof(*moved_steps),
				 work);
	if (sdp_conn_is_moving(conn))
		return run_steps(conn, moving_steps,
				 sizeof(moving_steps) / sizeof(*moving_steps),
				 work);
	return run_steps(conn, open_steps,
			 sizeof(open_steps) / sizeof(*open_steps), work);
}

static bool end_work(struct sdp_conn *conn, enum sdp_work_type type,
		     struct sdp_work *work)
{
	work->type = type;
	conn->stage = SDP_STAGE_DOWN;
	return true;
}

int sdp_conn_next_work(struct sdp_conn *conn, struct sdp_work *ret_work)
{
	memset(ret_work, 0, sizeof(*ret_work));
	if (sdp_tx_post(conn, ret_work))
		return 1;
	switch (conn->stage) {
	case SDP_STAGE_DISCONNECT:
		return end_work(conn, SDP_WORK_DISCONNECT, ret_work);
	case SDP_STAGE_TERMINATE:
		return end_work(conn, SDP_WORK_TERMINATE, ret_work);
	case SDP_STAGE_SUSPENDED:
		if (!conn->moving.is_llp_ending)
			break;
		conn->moving.is_llp_ending = false;
		ret_work->type = SDP_WORK_DISCONNECT;
		return 1;
	default:
		break;
	}
	if (!sdp_tx_has_room(conn))
		return 0;
	switch (conn->stage) {
	case SDP_STAGE_HELLO:
	case SDP_STAGE_ACCEPT:
		return sdp_start_next_work(conn, ret_work);
	case SDP_STAGE_OPEN:
		return open_work(conn, ret_work);
	case SDP_STAGE_ABORTING:
		return sdp_tx_abort(conn, ret_work);
	default:
		return 0;
	}
}

/* ---- completions ---- */

/* All Reads of this part have completed: the octets are in the buffer. */
static void check_reading(struct sdp_conn *conn)
{
	struct sdp_reading *r = &conn->reading;

	if (r->len && r->issued == r->len && !r->out_cnt)
		r->is_compl_due = true;
}

/* Whether the work and everything before it has completed. */
static bool is_done(const struct sdp_conn *conn, uint32_t id)
{
	return sdp_seq_is_reached(conn->done_id, id + 1);
}

/* Continues with what waits for the completion of a message. */
static void check_awaited(struct sdp_conn *conn)
{
	struct sdp_closing *c = &conn->closing;
	struct sdp_moving *m = &conn->moving;

	if (conn->stage == SDP_STAGE_ABORTING) {
		if (c->is_abort_sent && is_done(conn, c->work))
			conn->stage = SDP_STAGE_DISCONNECT;
		return;
	}
	if (!sdp_conn_is_open(conn))
		return;
	if (c->is_sent && !c->is_done && is_done(conn, c->work)) {
		c->is_done = true;
		sdp_end_check(conn);
	}
	if (m->is_ack_sent && is_done(conn, m->work)) { /* SDP-239 */
		sdp_move_suspend(conn);
		m->is_llp_ending = true;
	}
}

int sdp_conn_work_done(struct sdp_conn *conn, uint32_t id, bool is_ok,
		       uint64_t now)
{
	conn->now = now;
	if (conn->stage == SDP_STAGE_CLOSED)
		return 0;
	if (id - conn->done_id >= conn->next_id - conn->done_id ||
	    *sdp_conn_work_kind(conn, id) == SDP_WORK_NONE)
		return -EINVAL;
	/* Between two carriers the old carrier's work is flushed. This is not a
	 * fault. */
	if (!is_ok && conn->stage != SDP_STAGE_SUSPENDED) {
		sdp_end_fail(conn, SDP_FAULT_LLP);
		/* AbortConn was not delivered either. */
		if (conn->stage == SDP_STAGE_ABORTING)
			conn->stage = SDP_STAGE_TERMINATE;
	}
	for (uint32_t i = conn->done_id; i != id; i++) {
		if (*sdp_conn_work_kind(conn, i) != SDP_WORK_READ)
			*sdp_conn_work_kind(conn, i) = SDP_WORK_NONE;
	}
	if (*sdp_conn_work_kind(conn, id) == SDP_WORK_READ && is_ok)
		conn->reading.out_cnt--;
	*sdp_conn_work_kind(conn, id) = SDP_WORK_NONE;
	while (conn->done_id != conn->next_id &&
	       *sdp_conn_work_kind(conn, conn->done_id) == SDP_WORK_NONE)
		conn->done_id++;
	if (is_ok) {
		check_reading(conn);
		check_awaited(conn);
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Connections in the making: the steps of the MPA start exchange, up to the
 * moment when a QP takes the stream over.
 *
 * Active:  ASKING -> (REFUSED ->) CONNECTING -> ASKED -> (QP) or an event
 * that says why not. Passive: STARTING -> REQUEST -> accept: (QP); reject:
 * CLOSING.
 *
 * Persona ca has one step more on either side, for InfiniBand's RTU.  Active
 * (persona rnic as well, when the application moves its QP itself):
 * ASKED -> RESPONSE -> establish: (QP).  Passive: REQUEST -> accept:
 * ANSWERED -> the peer's RTR: (QP).
 */
#include "steps.h"

#include "util/addr-text.h"
#include "util/env.h"
#include "util/log.h"
#include "active.h"
#include "ask.h"
#include "bare.h"
#include "close.h"
#include "conn.h"
#include "id.h"
#include "os/stat.h"
#include "outcome.h"
#include "passive.h"
#include "reason.h"

#include <errno.h>

/* The connection went away, or the peer does not speak MPA.  Return: whether to
 * step it again: it begins anew.  Else it is gone, or waits. */
static bool conn_lost(struct cm_conn *conn, int status)
{
	if (!conn->id)
		cm_conn_free(conn);
	else if (status == -ECONNRESET && conn->rev == 2)
		return cm_active_retry(conn);
	else
		cm_conn_abort(conn, status);
	return false;
}

static void conn_rejected(struct cm_conn *conn, const struct smpa_event *ev)
{
	util_info("cm", "%s: the peer rejects, %zu octets say why%s",
		  CM_ID_NAME(conn->id), (size_t)ev->start.pd_len,
		  util_settings()->markers
			  ? "; Linux's siw rejects a Request that asks for "
			    "markers (USIW_MARKERS=on)"
			  : "");
	cm_event_set_start(conn->outcome, ev);
	if (ev->start.is_enhanced)
		cm_event_set_reply_depths(conn->outcome, ev);
	cm_conn_post_outcome(conn, -ECONNREFUSED);
	cm_conn_close(conn);
}

/* MPA-164: an invalid start frame ends the connection; what the engine has to
 * say about it goes out first. */
static void conn_fault(struct cm_conn *conn, const struct smpa_event *ev)
{
	util_warn("cm", "MPA start%s: %s",
		  UTIL_ADDR_PAIR_TEXT(&conn->start.local, &conn->start.peer),
		  smpa_fault_str(ev->fault.fault));
	if (conn->id)
		cm_conn_post_outcome(conn, -EPROTO);
	cm_conn_close(conn);
}

/* It may be gone. */
static void conn_event(struct cm_conn *conn, const struct smpa_event *ev)
{
	switch (ev->type) {
	case SMPA_EV_REQUEST:
		cm_passive_request(conn, ev);
		break;
	case SMPA_EV_ESTABLISHED:
		cm_active_established(conn, ev);
		break;
	case SMPA_EV_REJECTED:
		conn_rejected(conn, ev);
		break;
	default:
		conn_fault(conn, ev);
	}
}

/* Return: whether to step it again: it begins anew.  Else it may be gone. */
static bool conn_step(struct cm_conn *conn)
{
	struct smpa_event ev;
	int ret = rnic_start_step(&conn->start, &ev);

	if (ret > 0)
		conn_event(conn, &ev);
	else if (ret == 0)
		ret = rnic_start_watch(
			&conn->start,
			rnic_stream_start_wants(conn->start.stream));
	return ret < 0 && conn_lost(conn, ret);
}

/* Return: whether to step it. */
static bool conn_asked(struct cm_conn *conn, enum cm_ask_answer answer)
{
	switch (answer) {
	case CM_ASK_NONE:
		break;
	case CM_ASK_HERE:
		return cm_active_found(conn);
	case CM_ASK_DIRECT:
		return cm_active_dial_port(conn);
	}
	return false;
}

/* Return: whether to step it. */
static bool conn_ready(struct cm_conn *conn, uint32_t events)
{
	switch (conn->phase) {
	case CM_PHASE_ASKING:
		return conn_asked(conn, cm_ask_ready(conn));
	case CM_PHASE_REFUSED: /* has no socket */
		break;
	case CM_PHASE_CONNECTING:
		return cm_active_connected(conn);
	case CM_PHASE_STARTING:
	case CM_PHASE_ASKED:
		return true;
	case CM_PHASE_REQUEST:
		/* The application learns it when it tries to accept. */
		cm_conn_free(conn);
		break;
	case CM_PHASE_RESPONSE: /* not watched */
		break;
	case CM_PHASE_ANSWERED:
		cm_passive_answered(conn);
		break;
	case CM_PHASE_BARE:
		cm_bare_ready(conn, events);
		break;
	case CM_PHASE_REJECTED:
	case CM_PHASE_CLOSING:
		cm_conn_close_ready(conn);
		break;
	}
	return false;
}

static void conn_go_on(struct cm_conn *conn, bool is_due)
{
	while (is_due)
		is_due = conn_step(conn);
}

void cm_conn_ready(struct cm_conn *conn, uint32_t events)
{
	conn_go_on(conn, conn_ready(conn, events));
}

/* Return: whether to step it. */
static bool conn_expire(struct cm_conn *conn)
{
	switch (conn->phase) {
	case CM_PHASE_CLOSING:
		cm_conn_free(conn);
		return false;
	case CM_PHASE_REJECTED:
		cm_conn_close(conn);
		return false;
	case CM_PHASE_ASKING:
		return conn_asked(conn, cm_ask_expire(conn));
	case CM_PHASE_REFUSED:
		return cm_active_redial(conn);
	default:
		break;
	}
	rnic_stat_add(RNIC_STAT_start_timeouts, 1);
	if (conn->id)
		cm_conn_abort(conn, -ETIMEDOUT);
	else
		cm_conn_free(conn);
	return false;
}

void cm_conn_expire(struct rnic_timer *timer)
{
	struct cm_conn *conn = RNIC_OWNER(timer, struct cm_conn, start.timer);

	conn_go_on(conn, conn_expire(conn));
}

/* Its socket will never be reported ready. */
static void conn_drop(struct cm_conn *conn)
{
	if (conn->phase == CM_PHASE_BARE) {
		cm_id_stream_ended(conn->id, -EIO);
		cm_conn_free(conn);
	} else if (conn->id && conn->outcome) {
		cm_conn_abort(conn, -EIO);
	} else {
		cm_conn_free(conn);
	}
}

void cm_conns_broken(void)
{
	struct rnic_start *start;
	uint32_t slot = 0;

	while ((start = rnic_ref_next(&rnic_starts, &slot)))
		if (start->tag == RNIC_LOOP_CONN)
			conn_drop((struct cm_conn *)start);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the loop serves: identities and connections, QPs that connect out of
 * band, ports. */
#include "cm/close.h"
#include "cm/conn.h"
#include "cm/id.h"
#include "cm/listen.h"
#include "cm/mad.h"
#include "cm/sidr-answer.h"
#include "cm/sidr-request.h"
#include "cm/steps.h"
#include "dgram/udp.h"
#include "fault-time.h"
#include "loop/loop.h"
#include "oob/link.h"
#include "oob/oob.h"
#include "port.h"
#include "start/start.h"

static void manager_dispatch(enum rnic_loop_tag tag, uint64_t ref,
			     uint32_t events)
{
	struct oob_link *link;
	struct cm_conn *conn;
	struct cm_id *id;

	switch (tag) {
	case RNIC_LOOP_INBOX: /* the loop's own */
		break;
	case RNIC_LOOP_LISTENER:
		id = rnic_ref_get(&rnic_loop.noted, ref);
		if (id)
			rnic_listen_ready(id);
		break;
	case RNIC_LOOP_CONN:
		conn = rnic_ref_get(&rnic_starts, ref);
		if (conn)
			cm_conn_ready(conn, events);
		break;
	case RNIC_LOOP_OOB_LISTENER:
		rnic_oob_listener_ready((uint32_t)ref << 8);
		break;
	case RNIC_LOOP_OOB_LINK:
		link = rnic_ref_get(&rnic_starts, ref);
		if (link)
			oob_link_ready(link);
		break;
	case RNIC_LOOP_PORT:
		rnic_port_ready();
		break;
	case RNIC_LOOP_UDP:
		rnic_udp_ready((unsigned int)ref);
		break;
	case RNIC_LOOP_SERVICE:
		id = rnic_ref_get(&rnic_loop.noted, ref);
		if (id)
			cm_service_ready(id);
		break;
	case RNIC_LOOP_MAD:
		cm_sidr_replies_ready();
		break;
	}
}

/*
 * A peer whose program has done one thing after the other: the RTR of a
 * connection, then the end of another, then the start of a third or the Reply
 * to one.  Each is in a socket of its own, and streams are the engines'.
 */
static enum rnic_loop_order manager_order(enum rnic_loop_tag tag, uint64_t ref)
{
	const struct cm_conn *conn;

	if (tag != RNIC_LOOP_CONN)
		return RNIC_LOOP_ANY;
	conn = rnic_ref_get(&rnic_starts, ref);
	if (!conn)
		return RNIC_LOOP_ANY;
	if (conn->phase == CM_PHASE_ANSWERED)
		return RNIC_LOOP_FIRST;
	return conn->phase == CM_PHASE_STARTING || conn->phase == CM_PHASE_ASKED
		       ? RNIC_LOOP_BEHIND
		       : RNIC_LOOP_ANY;
}

static void manager_note(void *object, int status)
{
	cm_id_stream_ended(object, status);
}

static void manager_sidr_full(struct rnic_timer *timer)
{
	struct cm_sidr *sidr = RNIC_OWNER(timer, struct cm_sidr, timer);

	if (sidr->is_asker)
		cm_sidr_request_full(sidr);
	else
		cm_sidr_answer_full(sidr);
}

static rnic_timer_expired *const manager_expire[RNIC_TIMER_CNT] = {
	[RNIC_TIMER_CM_STARTING... RNIC_TIMER_CM_CLOSING] = cm_conn_expire,
	[RNIC_TIMER_CM_PAUSED] = rnic_listen_resume,
	[RNIC_TIMER_CM_UNREAD] = cm_id_end_unread,
	[RNIC_TIMER_CM_TIMEWAIT] = cm_id_timewait_exit,
	[RNIC_TIMER_CM_SIDR] = cm_sidr_request_again,
	[RNIC_TIMER_CM_SIDR_FULL] = manager_sidr_full,
	[RNIC_TIMER_CM_MAD] = cm_mad_sock_resume,
	[RNIC_TIMER_OOB_STARTING] = oob_link_expire,
	[RNIC_TIMER_OOB_PARKED] = oob_link_expire,
	[RNIC_TIMER_OOB_PAUSED] = oob_listeners_resume,
	[RNIC_TIMER_OOB_TICK] = rnic_oob_tick,
	[RNIC_TIMER_OOB_REDIAL... RNIC_TIMER_OOB_REDIAL_LAST] = rnic_oob_redial,
	[RNIC_TIMER_PORT_AGAIN] = rnic_port_look_again,
	[RNIC_TIMER_PORT_LOST] = rnic_port_lost,
	[RNIC_TIMER_PORT_REMOVED] = rnic_port_removed,
	[RNIC_TIMER_FAULT] = rnic_fault_time_expire,
};

/* What a peer was told last still is to arrive. */
static bool manager_is_closing(void)
{
	return cm_conn_closing_cnt() > 0;
}

static void manager_close_all(void)
{
	struct rnic_start *start;
	uint32_t slot = 0;

	rnic_oob_close_all();
	while ((start = rnic_ref_next(&rnic_starts, &slot)))
		if (start->tag == RNIC_LOOP_CONN)
			cm_conn_free((struct cm_conn *)start);
		else
			oob_link_free((struct oob_link *)start);
	rnic_ports_close();
	cm_ids_close();
}

static const struct rnic_loop_ops manager_ops = {
	.dispatch = manager_dispatch,
	.order = manager_order,
	.catch_up = rnic_port_catch_up,
	.note = manager_note,
	.expire = manager_expire,
	.look = cm_ids_look,
	.broken = cm_conns_broken,
	.is_closing = manager_is_closing,
	.close_all = manager_close_all,
};

__attribute__((constructor)) static void manager_start(void)
{
	rnic_loop.ops = &manager_ops;
}

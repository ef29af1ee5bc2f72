/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the loop serves: identities and connections, QPs that connect out of
 * band, ports. */
#include "cm/close.h"
#include "cm/id.h"
#include "cm/listen.h"
#include "cm/serve.h"
#include "cm/start.h"
#include "loop/loop.h"
#include "oob/link.h"
#include "oob/oob.h"
#include "port.h"

static void manager_dispatch(enum rnic_loop_tag tag, uint64_t ref,
			     uint32_t events)
{
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
		conn = rnic_ref_get(&cm.conns, ref);
		if (conn)
			cm_conn_ready(conn, events);
		break;
	case RNIC_LOOP_OOB_LISTENER:
		rnic_oob_listener_ready((uint32_t)ref << 8);
		break;
	case RNIC_LOOP_OOB_LINK:
		rnic_oob_link_ready(ref);
		break;
	case RNIC_LOOP_PORT:
		rnic_port_ready();
		break;
	}
}

static void manager_note(void *object, int status)
{
	cm_id_stream_ended(object, status);
}

static void manager_expire(enum rnic_timer_list list, struct rnic_timer *timer,
			   uint64_t now_ns)
{
	if (list == RNIC_TIMER_PORT_AGAIN)
		rnic_port_look();
	else if (list >= RNIC_TIMER_OOB_STARTING)
		rnic_oob_expire(list, timer, now_ns);
	else
		cm_serve_expire(list, timer, now_ns);
}

/* What a peer was told last still is to arrive. */
static bool manager_is_closing(void)
{
	return cm_conn_closing_cnt() > 0;
}

static void manager_close_all(void)
{
	rnic_oob_close_all();
	rnic_port_close_all();
	cm_serve_close_all();
}

static const struct rnic_loop_ops manager_ops = {
	.dispatch = manager_dispatch,
	.note = manager_note,
	.expire = manager_expire,
	.broken = cm_serve_broken,
	.is_closing = manager_is_closing,
	.close_all = manager_close_all,
};

__attribute__((constructor)) static void manager_start(void)
{
	rnic_loop_set_ops(&manager_ops);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections in the making: the object, its lists and its socket. */
#include "conn.h"
#include "state.h"

#include "util/env.h"
#include "os/addr.h"
#include "qp/qp-table.h"
#include "qp/qp.h"
#include "qp/rnr.h"
#include "qp/modify.h"
#include "qp/state.h"
#include "reason.h"

#include <stdlib.h>

/*
 * The Reply comes when the peer's program has accepted, and that makes its
 * queues and registers its memory before.  A minute with the default, which is
 * what iWARP adapters of others wait; and InfiniBand's connection manager has
 * its peer wait for 68 s once the Request has come.
 */
#define REPLY_FACTOR 6
/* rnr_retry_count without limit; a kernel takes larger ones for the same. */
#define RNR_FOR_EVER 7
/* InfiniBand's: the first try and seven more. */
#define ACK_TRIES 8
#define ACK_UNIT_NS 4096ull
#define ACK_MIN_NS (1000 * NS_PER_MS)

/* Others have no time limit. */
static const enum rnic_timer_list phase_timers[] = {
	[CM_PHASE_ASKING] = RNIC_TIMER_CM_ASKING,
	[CM_PHASE_REFUSED] = RNIC_TIMER_CM_REFUSED,
	[CM_PHASE_CONNECTING] = RNIC_TIMER_CM_STARTING,
	[CM_PHASE_STARTING] = RNIC_TIMER_CM_STARTING,
	[CM_PHASE_ASKED] = RNIC_TIMER_CM_ASKED,
	[CM_PHASE_ANSWERED] = RNIC_TIMER_CM_ANSWERED,
	[CM_PHASE_REJECTED] = RNIC_TIMER_CM_REJECTED,
	[CM_PHASE_CLOSING] = RNIC_TIMER_CM_CLOSING,
};

int cm_conn_get_qp(const struct cm_id *id, uint32_t qp_num, const char *call,
		   struct rnic_qp **ret_qp)
{
	struct rnic_qp *qp = rnic_qp_get(qp_num);
	int ret = 0;

	if (!qp && !qp_num)
		return cm_refuse(id, EINVAL, call, "there is no QP");
	if (qp)
		ret = rnic_qp_state(qp) == RNIC_QPS_IDLE
			      ? rnic_qp_meet_check(qp, call)
			      : cm_refuse(id, EINVAL, call,
					  "QP 0x%06x is connected, or has "
					  "failed",
					  qp_num);
	if (ret < 0)
		rnic_qp_put(qp);
	else
		*ret_qp = qp;
	return ret;
}

static uint64_t start_limit_ns(void)
{
	return util_settings()->start_ms * NS_PER_MS;
}

void cm_conn_enter(struct cm_conn *conn, enum cm_phase phase, uint64_t limit_ns)
{
	conn->phase = phase;
	if (phase_timers[phase] != RNIC_TIMER_NONE)
		rnic_timer_start(&conn->start.timer, phase_timers[phase],
				 limit_ns);
	else
		rnic_timer_stop(&conn->start.timer);
}

struct cm_conn *cm_conn_new(enum cm_phase phase)
{
	struct cm_conn *conn = rnic_start_new(sizeof(*conn), RNIC_LOOP_CONN);

	if (conn)
		cm_conn_enter(conn, phase, start_limit_ns());
	return conn;
}

void cm_conn_begin(struct cm_conn *conn)
{
	cm_conn_enter(conn, CM_PHASE_CONNECTING, start_limit_ns());
}

void cm_conn_await_reply(struct cm_conn *conn)
{
	cm_conn_enter(conn, CM_PHASE_ASKED, start_limit_ns() * REPLY_FACTOR);
}

/* Without time limit, away from identity and listener. */
void cm_conn_detach(struct cm_conn *conn)
{
	rnic_timer_stop(&conn->start.timer);
	rnic_half_open_remove(&conn->start);
	if (conn->id)
		conn->id->conn = NULL;
	conn->id = NULL;
}

/* It waits for a stream that does not come: what is posted ends. */
static void conn_drop_qp(const struct cm_conn *conn)
{
	struct rnic_qp *qp;

	if (!conn->qp_life)
		return;
	qp = rnic_qp_get(conn->param.qp_num);
	if (!qp)
		return;
	rnic_qp_not_coming(qp, conn->qp_life);
	rnic_qp_put(qp);
}

void cm_conn_free(struct cm_conn *conn)
{
	conn_drop_qp(conn);
	cm_conn_detach(conn);
	free(conn->outcome);
	rnic_start_free(&conn->start);
}

/* ---- established --------------------------------------------------------- */

void cm_conn_stands(struct cm_conn *conn, struct cm_id *id)
{
	if (id->is_moved)
		rnic_addr_set_port_be(&conn->start.local,
				      rnic_addr_port_be(&id->local));
	id->local = conn->start.local;
	id->peer = conn->start.peer;
	cm_id_set_state(id, RNIC_CM_S_ESTABLISHED);
}

/*
 * rnr_retry_count is for the peer's Sends, and those are held here: nothing
 * need travel.  A kernel's iWARP manager does not look at the count, and
 * librdmacm says 7 where the application says nothing.
 */
static void conn_set_rnr_time(const struct cm_conn *conn,
			      const struct cm_id *id, struct rnic_qp *qp)
{
	rnic_rnr_set_cm_time(qp, cm_id_is_ca(id) &&
					 conn->param.rnr_retry >= RNR_FOR_EVER);
}

/* The peer's TCP may acknowledge nothing for so long.  At least a second: after
 * a loss TCP waits for 200 ms, then for twice as long each time. */
static uint64_t conn_retry_ns(const struct cm_id *id)
{
	uint64_t ns = ACK_TRIES * (ACK_UNIT_NS << id->ack_timeout);

	if (!id->ack_timeout)
		return util_settings()->retry_ms * NS_PER_MS;
	return ns < ACK_MIN_NS ? ACK_MIN_NS : ns;
}

int cm_conn_attach(struct cm_conn *conn, struct cm_id *id, struct rnic_qp *qp)
{
	int ret;

	conn_set_rnr_time(conn, id, qp);
	rnic_qp_set_timeout(qp, id->ack_timeout, conn_retry_ns(id));
	ret = rnic_start_attach(&conn->start, qp, id->ref);
	if (ret < 0)
		return ret;
	cm_conn_stands(conn, id);
	return 0;
}

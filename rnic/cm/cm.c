/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The connection manager's public calls: find the identity, lock, act. */
#include "object.h"

#include "active.h"
#include "bare.h"
#include "bind.h"
#include "event.h"
#include "fork.h"
#include "id.h"
#include "listen.h"
#include "os/addr.h"
#include "outcome.h"
#include "passive.h"
#include "qp/qp-table.h"
#include "reason.h"
#include "rnic-cm-ud.h"
#include "sidr-answer.h"
#include "sidr-request.h"
#include "state.h"
#include "steps.h"
#include "stream/attach.h"
#include "teardown.h"

#include <errno.h>
#include <string.h>

#define CREATE "rdma_create_id"

static int id_create(struct rnic_cm_chan *chan, uint64_t uid, uint16_t ps,
		     uint32_t *ret_id)
{
	struct cm_id *id;
	int ret = cm_id_new(chan, uid, &id);

	if (ret < 0)
		return util_refuse("cm", -ret, CREATE,
				   "a million ids are in use, or the process "
				   "has no memory");
	id->ud.ps = ps;
	cm_id_show(id);
	*ret_id = cm_id_num(id);
	return 0;
}

int rnic_cm_create(struct rnic_cm_chan *chan, uint64_t uid, uint32_t *ret_id)
{
	CM_LOCK_STATUS status = cm_chan_lock(chan);

	return status < 0 ? status : id_create(chan, uid, 0, ret_id);
}

int rnic_cm_create_ud(struct rnic_cm_chan *chan, uint64_t uid, uint16_t ps,
		      uint32_t *ret_id)
{
	CM_LOCK_STATUS status = cm_chan_lock_ud(chan, CREATE);

	return status < 0 ? status : id_create(chan, uid, ps, ret_id);
}

int rnic_cm_destroy(struct rnic_cm_chan *chan, uint32_t num,
		    uint32_t *ret_events_reported)
{
	struct cm_id *id;
	CM_LOCK_STATUS status = cm_id_lock(chan, num, &id);

	if (status < 0)
		return status;
	*ret_events_reported = id->events_reported;
	cm_id_free(id);
	return 0;
}

int rnic_cm_set_uid(struct rnic_cm_chan *chan, uint32_t num, uint64_t uid)
{
	struct cm_id *id;
	CM_LOCK_STATUS status = cm_id_lock(chan, num, &id);

	if (status == 0)
		id->uid = uid;
	return status;
}

int rnic_cm_bind(struct rnic_cm_chan *chan, uint32_t num,
		 const struct sockaddr *addr)
{
	struct cm_id *id;
	CM_LOCK_STATUS status = cm_id_lock(chan, num, &id);

	return status < 0 ? status : cm_id_bind(id, addr);
}

int rnic_cm_query(struct rnic_cm_chan *chan, uint32_t num,
		  struct rnic_cm_info *ret_info)
{
	struct cm_id *id;
	CM_LOCK_STATUS status = cm_id_lock(chan, num, &id);

	if (status < 0)
		return status;
	ret_info->dev = id->dev;
	ret_info->local = id->local;
	ret_info->peer = id->peer;
	ret_info->state = id->state;
	ret_info->ud_ps = id->ud.ps;
	ret_info->tos = id->tos;
	ret_info->ack_timeout = id->ack_timeout;
	ret_info->ird = id->ird;
	ret_info->ord = id->ord;
	ret_info->persona = cm_id_is_ca(id) ? RNIC_PERSONA_CA
					    : RNIC_PERSONA_RNIC;
	ret_info->peer_num = id->has_start ? cm_id_peer_num(id) : 0;
	ret_info->has_qp = id->has_qp;
	return 0;
}

int rnic_cm_listen(struct rnic_cm_chan *chan, uint32_t num, int backlog)
{
	struct cm_id *id;
	CM_LOCK_STATUS status = cm_id_lock(chan, num, &id);

	return status < 0 ? status : rnic_listen_start(id, backlog);
}

int rnic_cm_note_qp(struct rnic_cm_chan *chan, uint32_t num)
{
	struct cm_id *id;
	CM_LOCK_STATUS status = cm_id_lock(chan, num, &id);

	if (status == 0)
		id->has_qp = true;
	return status;
}

int rnic_cm_connect(struct rnic_cm_chan *chan, uint32_t num,
		    const struct rnic_cm_conn_param *param)
{
	struct cm_conn *conn;
	struct cm_id *id;
	CM_LOCK_STATUS status = cm_id_lock(chan, num, &id);
	int ret;

	if (status < 0)
		return status;
	if (cm_id_is_ud(id))
		return cm_sidr_request(id, param);
	ret = cm_active_connect(id, param, &conn);
	if (conn)
		cm_conn_ready(conn, 0);
	return ret;
}

int rnic_cm_accept(struct rnic_cm_chan *chan, uint32_t num,
		   const struct rnic_cm_conn_param *param)
{
	struct cm_id *id;
	CM_LOCK_STATUS status = cm_id_lock(chan, num, &id);

	if (status < 0)
		return status;
	return cm_id_is_ud(id) ? cm_sidr_accept(id, param)
			       : cm_passive_accept(id, param);
}

int rnic_cm_establish(struct rnic_cm_chan *chan, uint32_t num)
{
	struct cm_id *id;
	CM_LOCK_STATUS status = cm_id_lock(chan, num, &id);

	return status < 0 ? status : cm_active_establish(id);
}

static int id_reject(struct cm_id *id, const void *pd, uint8_t pd_len)
{
	if (id->state != RNIC_CM_S_REQUEST)
		return cm_refuse_state(id, "rdma_reject", "REQUEST");
	if (!id->conn)
		return cm_refuse(id, ECONNRESET, "rdma_reject",
				 "the peer has left");
	cm_id_set_state(id, RNIC_CM_S_DISCONNECT);
	cm_conn_reject(id->conn, pd, pd_len);
	return 0;
}

int rnic_cm_reject(struct rnic_cm_chan *chan, uint32_t num, const void *pd,
		   uint8_t pd_len)
{
	struct cm_id *id;
	CM_LOCK_STATUS status = cm_id_lock(chan, num, &id);

	if (status < 0)
		return status;
	return cm_id_is_ud(id) ? cm_sidr_reject(id, pd, pd_len)
			       : id_reject(id, pd, pd_len);
}

/*
 * What is to happen, decided under the lock; the QP is ended outside it.
 * Return: 0; -EINVAL: there never was a connection.
 */
static int id_disconnect(struct cm_id *id, struct rnic_qp **ret_qp,
			 uint64_t *ret_ref)
{
	switch (id->state) {
	case RNIC_CM_S_ESTABLISHED:
		if (id->conn) {
			cm_id_disconnected(id);
			cm_bare_end(id->conn);
			return 0;
		}
		*ret_qp = rnic_qp_get(id->qp_num);
		*ret_ref = id->ref;
		cm_id_disconnected(id);
		return 0;
	case RNIC_CM_S_CONNECT:
		if (!cm_id_is_ud(id)) /* which has no connection */
			cm_conn_abort(id->conn, -ECONNRESET);
		return 0;
	case RNIC_CM_S_DISCONNECT:
		cm_id_disconnected(id);
		return 0;
	case RNIC_CM_S_REQUEST:
		return 0;
	default:
		return cm_refuse_state(id, "rdma_disconnect", "ESTABLISHED");
	}
}

int rnic_cm_disconnect(struct rnic_cm_chan *chan, uint32_t num)
{
	struct rnic_qp *qp = NULL;
	uint64_t ref = 0;
	struct cm_id *id;
	int ret = cm_id_lock(chan, num, &id);

	if (ret < 0)
		return ret;
	ret = id_disconnect(id, &qp, &ref);
	util_unlock(&rnic_loop.lock);
	if (qp) {
		rnic_qp_disconnect(qp, ref);
		rnic_qp_put(qp);
	}
	return ret;
}

#define WRITE_EVENT "rdma_write_cm_event"

int rnic_cm_write_event(struct rnic_cm_chan *chan, uint32_t num,
			enum rnic_cm_event_type type, int status,
			const void *arg)
{
	struct cm_event *event;
	struct cm_id *id;
	int ret;

	if (type != RNIC_CM_USER && type != RNIC_CM_INTERNAL)
		return util_refuse("cm", EINVAL, WRITE_EVENT,
				   "the event is %d, not "
				   "RDMA_CM_EVENT_USER or _INTERNAL",
				   (int)type);
	ret = cm_id_lock(chan, num, &id);
	if (ret < 0)
		return ret;
	event = cm_event_new(id);
	if (event) {
		event->ev.pd_len = RNIC_CM_ARG_SIZE;
		memcpy(event->ev.pd, arg, RNIC_CM_ARG_SIZE);
		cm_event_post(event, type, status);
	}
	util_unlock(&rnic_loop.lock);
	return event ? 0 : util_refuse_memory("cm", WRITE_EVENT);
}

int rnic_cm_migrate(struct rnic_cm_chan *from, uint32_t num,
		    struct rnic_cm_chan *to, uint32_t *ret_id,
		    uint32_t *ret_events_reported)
{
	struct cm_id *id;
	int ret;

	ret = cm_chan_lock(to);
	if (ret < 0)
		return ret;
	util_unlock(&rnic_loop.lock);
	ret = cm_id_lock(from, num, &id);
	if (ret < 0)
		return ret;
	if (from != to) {
		/* Before the identities that its requests have made: the end
		 * of a channel begins with those who own the events. */
		TAILQ_REMOVE(&from->ids, id, chan_link);
		TAILQ_INSERT_TAIL(&to->ids, id, chan_link);
		cm_event_migrate(id, to);
		id->chan = to;
	}
	*ret_id = num;
	*ret_events_reported = id->events_reported;
	util_unlock(&rnic_loop.lock);
	return 0;
}

/* ---- options ------------------------------------------------------------- */

#define OPTION(name) "rdma_set_option, RDMA_OPTION_ID_" name

static int id_set_reuseaddr(struct cm_id *id, uint32_t value)
{
	bool is_early = id->state == RNIC_CM_S_IDLE;

	if (!is_early && (!value || id->state == RNIC_CM_S_LISTEN))
		return cm_refuse_state(id, OPTION("REUSEADDR"), "IDLE");
	id->is_reuseaddr = value != 0;
	if (id->fd >= 0)
		rnic_sock_set_flag(id->fd, SOL_SOCKET, SO_REUSEADDR, 1);
	return 0;
}

static int id_set_afonly(struct cm_id *id, uint32_t value)
{
	if (id->state != RNIC_CM_S_IDLE && id->state != RNIC_CM_S_BOUND)
		return cm_refuse_state(id, OPTION("AFONLY"), "IDLE or BOUND");
	if (id->has_afonly && id->is_afonly == (value != 0))
		return 0;
	id->has_afonly = true;
	id->is_afonly = value != 0;
	if (id->state == RNIC_CM_S_BOUND && id->local.ss_family == AF_INET6)
		return cm_id_rebind(id);
	return 0;
}

static int id_set_option(struct cm_id *id, enum rnic_cm_option opt,
			 uint32_t value)
{
	switch (opt) {
	case RNIC_CM_OPT_TOS:
		if (value > 255)
			return cm_refuse(id, EINVAL, OPTION("TOS"),
					 "%u is above 255", value);
		id->tos = (uint8_t)value;
		if (id->fd >= 0)
			rnic_sock_set_tos(id->fd, id->local.ss_family, id->tos);
		else if (id->conn && rnic_start_fd(&id->conn->start) >= 0)
			rnic_sock_set_tos(rnic_start_fd(&id->conn->start),
					  id->local.ss_family, id->tos);
		return 0;
	case RNIC_CM_OPT_REUSEADDR:
		return id_set_reuseaddr(id, value);
	case RNIC_CM_OPT_AFONLY:
		return id_set_afonly(id, value);
	case RNIC_CM_OPT_ACK_TIMEOUT:
		if (value > 31)
			return cm_refuse(id, EINVAL, OPTION("ACK_TIMEOUT"),
					 "%u is above 31", value);
		id->ack_timeout = (uint8_t)value;
		return 0;
	}
	return cm_refuse(id, EINVAL, "rdma_set_option", "there is no option %d",
			 (int)opt);
}

int rnic_cm_set_option(struct rnic_cm_chan *chan, uint32_t num,
		       enum rnic_cm_option opt, uint32_t value)
{
	struct cm_id *id;
	CM_LOCK_STATUS status = cm_id_lock(chan, num, &id);

	return status < 0 ? status : id_set_option(id, opt, value);
}

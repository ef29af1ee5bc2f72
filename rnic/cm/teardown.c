/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The end of identities. */
#include "teardown.h"

#include "close.h"
#include "conn.h"
#include "event.h"
#include "join.h"
#include "listen.h"
#include "os/fd.h"
#include "passive.h"
#include "service.h"
#include "sidr-answer.h"
#include "sidr.h"
#include "state.h"
#include "qp/qp-table.h"
#include "stream/attach.h"

#include <stdlib.h>

/*
 * Events of the identity go; with an unfetched CONNECT_REQUEST its child
 * goes too, since its number was never told.
 */
static void id_drop_events(struct cm_id *id)
{
	struct rnic_cm_chan *chan = id->chan;
	struct cm_event *event = TAILQ_FIRST(&chan->events);

	while (event) {
		struct cm_id *child = event->child;

		if (event->owner != id) {
			event = TAILQ_NEXT(event, link);
			continue;
		}
		cm_event_remove(chan, event);
		if (child)
			cm_id_free(child);
		/* The child may have taken events of its own along. */
		event = TAILQ_FIRST(&chan->events);
	}
}

/*
 * The connection goes with the identity, as in the kernel: an application that
 * does not disconnect first tells its peer so.
 */
static void id_drop_stream(const struct cm_id *id)
{
	struct rnic_qp *qp;

	if (id->state != RNIC_CM_S_ESTABLISHED)
		return;
	qp = rnic_qp_get(id->qp_num);
	if (!qp)
		return;
	rnic_qp_disconnect(qp, id->ref);
	rnic_qp_put(qp);
}

/* An asker whose request was not decided hears it. */
static void id_drop_ud(struct cm_id *id)
{
	if (id->state == RNIC_CM_S_REQUEST)
		(void)cm_sidr_reject(id, NULL, 0);
	cm_sidr_free(id->ud.sidr);
	cm_joins_free(id);
	cm_service_close(id);
}

/*
 * What could still refer to it: epoll events, notes on their way and the QP's
 * stream, all by reference number only.
 */
void cm_id_free(struct cm_id *id)
{
	util_lock_assert_held(&rnic_loop.lock);
	id_drop_stream(id);
	rnic_ref_remove(&rnic_loop.noted, id->ref);
	if (id->state == RNIC_CM_S_LISTEN)
		rnic_listen_stop(id);
	id_drop_events(id);
	if (cm_id_is_ud(id))
		id_drop_ud(id);
	if (id->conn && id->state == RNIC_CM_S_REQUEST)
		cm_conn_reject(id->conn, NULL, 0);
	else if (id->conn && id->conn->phase == CM_PHASE_BARE)
		cm_conn_close(id->conn);
	else if (id->conn)
		cm_conn_free(id->conn);
	rnic_fd_close(id->fd);
	rnic_timer_stop(&id->unread);
	rnic_timer_stop(&id->in_timewait);
	free(id->ended);
	free(id->timewait);
	TAILQ_REMOVE(&id->chan->ids, id, chan_link);
	cm_id_show_fini(id);
	free(id);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Identities: made, and the end of their streams. */
#include "id.h"

#include "util/log.h"
#include "event.h"
#include "state.h"
#include "os/fd.h"
#include "qp/qp-table.h"
#include "qp/rq.h"
#include "reason.h"

#include <errno.h>
#include <stdlib.h>

struct cm_manager cm;

int cm_id_new(struct rnic_cm_chan *chan, uint64_t uid, struct cm_id **ret_id)
{
	struct cm_id *id = calloc(1, sizeof(*id));
	int ret;

	if (!id)
		return -ENOMEM;
	ret = rnic_ref_add(&rnic_loop.noted, id, &id->ref);
	if (ret < 0) {
		free(id);
		return ret;
	}
	id->chan = chan;
	id->uid = uid;
	id->fd = -1;
	id->ud.sock.fd = -1;
	if (!cm_id_show_init(id)) {
		rnic_ref_remove(&rnic_loop.noted, id->ref);
		free(id);
		return -ENOMEM;
	}
	cm_id_set_state(id, RNIC_CM_S_IDLE);
	TAILQ_INSERT_TAIL(&chan->ids, id, chan_link);
	*ret_id = id;
	return 0;
}

/* ---- the end --------------------------- */

/*
 * InfiniBand's manager keeps the number of a QP for as long as a packet may
 * live, half a second with RoCE's usual values; TCP has seen to that already.
 */
#define TIMEWAIT_NS (500 * NS_PER_MS)

bool cm_id_reserve_end(struct cm_id *id)
{
	if (!id->ended)
		id->ended = cm_event_new(id);
	if (!id->timewait && cm_id_is_ca(id))
		id->timewait = cm_event_new(id);
	return id->ended && (id->timewait || !cm_id_is_ca(id));
}

/*
 * As InfiniBand's manager, which enters timewait when both sides have said that
 * they disconnect: programs give their last reference back at TIMEWAIT_EXIT.
 */
static void id_enter_timewait(struct cm_id *id)
{
	if (id->timewait && id->has_disconnected &&
	    !rnic_timer_runs(&id->in_timewait))
		rnic_timer_start(&id->in_timewait, RNIC_TIMER_CM_TIMEWAIT,
				 TIMEWAIT_NS);
}

void cm_id_timewait_exit(struct rnic_timer *in_timewait)
{
	struct cm_id *id = RNIC_OWNER(in_timewait, struct cm_id, in_timewait);

	cm_event_post(id->timewait, RNIC_CM_TIMEWAIT_EXIT, 0);
	id->timewait = NULL;
}

/* DISCONNECTED has taken the event that was set aside for it. */
static bool id_was_connected(const struct cm_id *id)
{
	return id->state == RNIC_CM_S_DISCONNECT && !id->ended;
}

/* The event is the same however the stream ended, as the kernel has it. */
static void id_end(struct cm_id *id)
{
	cm_id_set_state(id, RNIC_CM_S_DISCONNECT);
	cm_event_post(id->ended, RNIC_CM_DISCONNECTED, 0);
	id->ended = NULL;
	id_enter_timewait(id);
}

void cm_id_end_unread(struct rnic_timer *unread)
{
	rnic_timer_stop(unread);
	id_end(RNIC_OWNER(unread, struct cm_id, unread));
}

void cm_id_disconnected(struct cm_id *id)
{
	id->has_disconnected = true;
	if (rnic_timer_runs(&id->unread))
		cm_id_end_unread(&id->unread);
	else if (id_was_connected(id))
		id_enter_timewait(id);
}

/*
 * With hardware the peer's disconnect takes the way of the managers, and is
 * long behind the last message.  Here both come in one read.  Programs that
 * read events in a thread of their own (libfabric) destroy the QP at once, and
 * with it the completion of the message; so DISCONNECTED waits until the
 * application has polled what had come before, but no longer than this.  Each
 * round of the loop may be the one after that: programs that end expect the
 * event before they have closed its channel (rping).
 */
#define UNREAD_NS (100 * NS_PER_MS)
#define UNREAD_LOOK_NS NS_PER_MS

static bool id_is_unread(const struct cm_id *id)
{
	struct rnic_qp *qp = rnic_qp_get(id->qp_num);
	bool is_unread = qp && rnic_rq_is_unread(qp);

	rnic_qp_put(qp);
	return is_unread;
}

uint64_t cm_ids_look(uint64_t now_ns)
{
	struct rnic_timer *timer = rnic_timer_first(RNIC_TIMER_CM_UNREAD);

	while (timer) {
		struct rnic_timer *next = TAILQ_NEXT(timer, link);

		if (!id_is_unread(RNIC_OWNER(timer, struct cm_id, unread)))
			cm_id_end_unread(timer);
		timer = next;
	}
	return rnic_timer_cnt(RNIC_TIMER_CM_UNREAD) ? now_ns + UNREAD_LOOK_NS
						    : UINT64_MAX;
}

void cm_id_stream_ended(struct cm_id *id, int status)
{
	if (id->state != RNIC_CM_S_ESTABLISHED || rnic_timer_runs(&id->unread))
		return;
	util_debug("cm", "%s: stream ended, status %d", CM_ID_NAME(id), status);
	if (id->has_disconnected || !id_is_unread(id)) {
		id_end(id);
		return;
	}
	rnic_timer_start(&id->unread, RNIC_TIMER_CM_UNREAD, UNREAD_NS);
	rnic_loop_deadline(util_now_ns() + UNREAD_LOOK_NS);
}

/*
 * An identity without a context of the application (uid) is not known to it
 * yet: a request that was not fetched or not answered.
 */
void cm_ids_removed(const struct rnic_device *dev)
{
	struct cm_event *event;
	struct cm_id *id;
	uint32_t slot = 0;

	while ((id = rnic_ref_next(&rnic_loop.noted, &slot))) {
		if (id->dev != dev || !id->uid || id->is_removed)
			continue;
		event = cm_event_new(id);
		if (!event)
			continue;
		id->is_removed = true;
		cm_event_post(event, RNIC_CM_DEVICE_REMOVAL, 0);
	}
}

void cm_ids_moved(void)
{
	struct cm_event *event;
	struct cm_id *id;
	uint32_t slot = 0;

	while ((id = rnic_ref_next(&rnic_loop.noted, &slot))) {
		if (!id->dev || !id->uid)
			continue;
		event = cm_event_new(id);
		if (event)
			cm_event_post(event, RNIC_CM_ADDR_CHANGE, 0);
	}
}

void cm_ids_close(void)
{
	struct cm_id *id;
	uint32_t slot = 0;

	while ((id = rnic_ref_next(&rnic_loop.noted, &slot))) {
		rnic_fd_close(id->fd);
		rnic_fd_close(id->ud.sock.fd);
		id->fd = id->ud.sock.fd = -1;
	}
}

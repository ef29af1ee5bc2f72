/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Events: a queue per channel behind an eventfd (os/evfd.h). */
#include "event.h"

#include "os/evfd.h"

#include <stdlib.h>

struct cm_event *cm_event_new(struct cm_id *owner)
{
	struct cm_event *event = calloc(1, sizeof(*event));

	if (event)
		event->owner = owner;
	return event;
}

void cm_event_post(struct cm_event *event, enum rnic_cm_event_type type,
		   int status)
{
	struct cm_id *owner = event->owner;

	util_lock_assert_held(&rnic_loop.lock);
	event->ev.type = type;
	event->ev.status = status;
	event->ev.is_ud = cm_id_is_ud(owner);
	if (type == RNIC_CM_CONNECT_REQUEST) {
		event->ev.id = cm_id_num(event->child);
		event->ev.listen_id = cm_id_num(owner);
		owner->listener.unfetched_cnt++;
	} else {
		event->ev.id = event->join_num ? event->join_num
					       : cm_id_num(owner);
	}
	TAILQ_INSERT_TAIL(&owner->chan->events, event, link);
	rnic_evfd_post(owner->chan->fd);
}

void cm_event_unlink(struct rnic_cm_chan *chan, struct cm_event *event)
{
	TAILQ_REMOVE(&chan->events, event, link);
	if (event->ev.type == RNIC_CM_CONNECT_REQUEST)
		event->owner->listener.unfetched_cnt--;
}

void cm_event_remove(struct rnic_cm_chan *chan, struct cm_event *event)
{
	util_lock_assert_held(&rnic_loop.lock);
	cm_event_unlink(chan, event);
	/* Where a reader was faster it finds no event and waits on. */
	rnic_evfd_take(chan->fd);
	free(event);
}

void cm_event_migrate(struct cm_id *id, struct rnic_cm_chan *to)
{
	struct rnic_cm_chan *from = id->chan;
	struct cm_event *event = TAILQ_FIRST(&from->events), *next;

	for (; event; event = next) {
		next = TAILQ_NEXT(event, link);
		if (event->owner != id)
			continue;
		TAILQ_REMOVE(&from->events, event, link);
		rnic_evfd_take(from->fd);
		TAILQ_INSERT_TAIL(&to->events, event, link);
		rnic_evfd_post(to->fd);
		if (event->child) {
			TAILQ_REMOVE(&from->ids, event->child, chan_link);
			TAILQ_INSERT_TAIL(&to->ids, event->child, chan_link);
			event->child->chan = to;
		}
	}
}

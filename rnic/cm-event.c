/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Events: a queue per channel behind an eventfd (evfd.h). */
#include "cm-internal.h"

#include "os/evfd.h"
#include "os/fd.h"
#include "os/stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

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

	util_lock_assert_held(&cm.lock);
	event->ev.type = type;
	event->ev.status = status;
	if (type == RNIC_CM_CONNECT_REQUEST) {
		event->ev.id = cm_id_num(event->child);
		event->ev.listen_id = cm_id_num(owner);
		owner->listener.unfetched_cnt++;
	} else {
		event->ev.id = cm_id_num(owner);
	}
	TAILQ_INSERT_TAIL(&owner->chan->events, event, link);
	rnic_evfd_post(owner->chan->fd);
}

/* Out of the queue; the count in the eventfd is the caller's affair. */
static void event_unlink(struct rnic_cm_chan *chan, struct cm_event *event)
{
	TAILQ_REMOVE(&chan->events, event, link);
	if (event->ev.type == RNIC_CM_CONNECT_REQUEST)
		event->owner->listener.unfetched_cnt--;
}

void cm_event_remove(struct rnic_cm_chan *chan, struct cm_event *event)
{
	util_lock_assert_held(&cm.lock);
	event_unlink(chan, event);
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

/* ---- channels --------------------------- */

int rnic_cm_chan_new(struct rnic_cm_chan **ret_chan)
{
	struct rnic_cm_chan *chan = calloc(1, sizeof(*chan));

	if (!chan)
		return -ENOMEM;
	chan->fd = rnic_evfd_open();
	if (chan->fd < 0) {
		int ret = chan->fd;

		free(chan);
		return ret;
	}
	chan->front_fd = -1;
	atomic_init(&chan->fork_gen, rnic_fork_gen());
	TAILQ_INIT(&chan->events);
	TAILQ_INIT(&chan->ids);
	util_lock(&cm.lock);
	LIST_INSERT_HEAD(&cm.chans, chan, link);
	util_unlock(&cm.lock);
	rnic_stat_init();
	*ret_chan = chan;
	return 0;
}

void rnic_cm_chan_set_file(struct rnic_cm_chan *chan,
			   const struct util_file *file)
{
	chan->file = file;
}

int rnic_cm_chan_fd(const struct rnic_cm_chan *chan)
{
	return chan->fd;
}

void rnic_cm_chan_close(struct rnic_cm_chan *chan)
{
	struct cm_id *id;

	if (!cm_chan_lock_to_close(chan))
		return;
	while ((id = TAILQ_FIRST(&chan->ids)))
		cm_id_free(id);
	util_unlock(&cm.lock);
}

void rnic_cm_chan_free(struct rnic_cm_chan *chan)
{
	if (!chan)
		return;
	/* What a caller made that was inside when it was closed. */
	rnic_cm_chan_close(chan);
	util_lock(&cm.lock);
	if (cm_chan_is_known(chan))
		LIST_REMOVE(chan, link);
	util_unlock(&cm.lock);
	/* The fork handler has closed the parent's. */
	if (!cm_chan_is_forked(chan))
		rnic_fd_close(chan->fd);
	rnic_fd_close(cm_chan_front(chan));
	free(chan);
}

/* ---- reading --------------------------- */

/* Return: false: a destroy was faster. */
static bool chan_pop(struct rnic_cm_chan *chan, struct rnic_cm_event *ret_ev)
{
	struct cm_event *event;

	util_lock(&cm.lock);
	event = TAILQ_FIRST(&chan->events);
	if (event) {
		event_unlink(chan, event);
		event->owner->events_reported++;
		event->ev.uid = event->owner->uid;
		*ret_ev = event->ev;
	}
	util_unlock(&cm.lock);
	free(event);
	return event != NULL;
}

/* O_NONBLOCK is where the application has set it. */
static int chan_wait(struct rnic_cm_chan *chan)
{
	int front_fd = cm_chan_front(chan);

	if (front_fd < 0 ||
	    !(syscall(SYS_fcntl, front_fd, F_GETFL) & O_NONBLOCK))
		return rnic_evfd_wait(chan->fd, &cm.lock);
	return rnic_evfd_take(chan->fd) ? 0 : -EAGAIN;
}

int rnic_cm_get_event(struct rnic_cm_chan *chan, struct rnic_cm_event *ret_ev)
{
	int ret;

	if (cm_chan_is_forked(chan)) {
		ret = cm_chan_lock(chan);
		if (ret < 0)
			return ret;
		util_unlock(&cm.lock);
	}
	do {
		cm_thread_help(&chan->events);
		ret = chan_wait(chan);
		if (ret < 0)
			return ret;
	} while (!chan_pop(chan, ret_ev));
	return 0;
}

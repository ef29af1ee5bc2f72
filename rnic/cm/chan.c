/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Event channels: made, waited on, closed. */
#include "object.h"

#include "util/reason.h"
#include "event.h"
#include "fault/rules.h"
#include "fork.h"
#include "join.h"
#include "loop/loop.h"
#include "os/evfd.h"
#include "os/fd.h"
#include "os/observer.h"
#include "teardown.h"

#include <errno.h>
#include <stdlib.h>

int rnic_cm_chan_new(struct rnic_cm_chan **ret_chan)
{
	struct rnic_cm_chan *chan = calloc(1, sizeof(*chan));

	if (!chan)
		return util_refuse_memory("cm", "rdma_create_event_channel");
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
	util_lock(&rnic_loop.lock);
	LIST_INSERT_HEAD(&cm.chans, chan, link);
	util_unlock(&rnic_loop.lock);
	rnic_observer_start();
	rnic_fault_start();
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
	/* The fork handler has closed the parent's. */
	if (!chan->is_closed && !cm_chan_is_forked(chan)) {
		chan->is_closed = true;
		rnic_evfd_post(chan->fd);
	}
	util_unlock(&rnic_loop.lock);
}

void rnic_cm_chan_free(struct rnic_cm_chan *chan)
{
	if (!chan)
		return;
	/* What a caller made that was inside when it was closed. */
	rnic_cm_chan_close(chan);
	util_lock(&rnic_loop.lock);
	if (cm_chan_is_known(chan))
		LIST_REMOVE(chan, link);
	util_unlock(&rnic_loop.lock);
	/* The fork handler has closed the parent's. */
	if (!cm_chan_is_forked(chan))
		rnic_fd_close(chan->fd);
	rnic_fd_close(cm_chan_front(chan));
	free(chan);
}

/* ---- reading --------------------------- */

/* An event of a group is counted there, and has its cookie. */
static void event_report(struct cm_event *event)
{
	struct cm_join *join = cm_join_of(event);

	if (join) {
		join->events_reported++;
		event->ev.uid = join->uid;
	} else {
		event->owner->events_reported++;
		event->ev.uid = event->owner->uid;
	}
}

/* Return: false: the identity was destroyed meanwhile. */
static bool chan_pop(struct rnic_cm_chan *chan, struct rnic_cm_event *ret_ev)
{
	UTIL_LOCKED(&rnic_loop.lock);
	struct cm_event *event = TAILQ_FIRST(&chan->events);

	if (!event)
		return false;
	cm_event_unlink(chan, event);
	event_report(event);
	*ret_ev = event->ev;
	free(event);
	return true;
}

/* O_NONBLOCK is where the application has set it. */
static bool chan_is_nonblocking(const struct rnic_cm_chan *chan)
{
	int front_fd = cm_chan_front(chan);

	return rnic_evfd_is_nonblocking(front_fd < 0 ? chan->fd : front_fd);
}

static int chan_wait(struct rnic_cm_chan *chan)
{
	int front_fd = cm_chan_front(chan);

	if (front_fd < 0 || !rnic_evfd_is_nonblocking(front_fd))
		return rnic_evfd_wait(chan->fd, &rnic_loop.lock);
	return rnic_evfd_take(chan->fd) ? 0 : -EAGAIN;
}

/* With the manager locked. */
static bool chan_has_event(const void *arg)
{
	const struct rnic_cm_chan *chan = arg;

	return !TAILQ_EMPTY(&chan->events);
}

static bool chan_is_closed(const struct rnic_cm_chan *chan)
{
	UTIL_LOCKED(&rnic_loop.lock);

	return chan->is_closed;
}

/* The next reader leaves, too. */
static int chan_leave(struct rnic_cm_chan *chan)
{
	rnic_evfd_post(chan->fd);
	return chan_is_nonblocking(chan) ? -EAGAIN : -ESHUTDOWN;
}

int rnic_cm_get_event(struct rnic_cm_chan *chan, struct rnic_cm_event *ret_ev)
{
	int ret;

	if (cm_chan_is_forked(chan)) {
		ret = cm_chan_lock(chan);
		if (ret < 0)
			return ret;
		util_unlock(&rnic_loop.lock);
	}
	do {
		rnic_loop_help(chan_has_event, chan);
		ret = chan_wait(chan);
		if (ret < 0)
			return ret;
		if (chan_is_closed(chan))
			return chan_leave(chan);
	} while (!chan_pop(chan, ret_ev));
	return 0;
}

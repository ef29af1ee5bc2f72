/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Events: a queue per channel behind an eventfd in semaphore mode, whose
 * count is the number of queued events, so that read, poll and O_NONBLOCK on
 * the fd are the kernel's own.
 */
#define _GNU_SOURCE /* preadv2 */
#include "cm-internal.h"

#include "fd.h"
#include "stat.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

struct cm_event *cm_event_new(struct cm_id *owner)
{
	struct cm_event *event = calloc(1, sizeof(*event));

	if (event)
		event->owner = owner;
	return event;
}

/* The count cannot overflow: it would take 2^64 events. */
static void chan_count_up(struct rnic_cm_chan *chan)
{
	const uint64_t one = 1;
	ssize_t len;

	do {
		len = write(chan->fd, &one, sizeof(one));
	} while (len < 0 && errno == EINTR);
}

/*
 * Never blocks: where a reader was faster it has taken the count, finds no
 * event and waits on.
 */
static void chan_count_down(struct rnic_cm_chan *chan)
{
	uint64_t one;
	struct iovec iov = { .iov_base = &one, .iov_len = sizeof(one) };
	struct pollfd pfd = { .fd = chan->fd, .events = POLLIN };
	ssize_t len;

	len = preadv2(chan->fd, &iov, 1, -1, RWF_NOWAIT);
	if (len >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
		return;
	/* Kernels before 5.10: the same with a window of a few instructions. */
	if (poll(&pfd, 1, 0) > 0)
		len = read(chan->fd, &one, sizeof(one));
	(void)len;
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
	chan_count_up(owner->chan);
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
	event_unlink(chan, event);
	chan_count_down(chan);
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
		chan_count_down(from);
		TAILQ_INSERT_TAIL(&to->events, event, link);
		chan_count_up(to);
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
	chan->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	if (chan->fd < 0) {
		int ret = -errno;

		free(chan);
		return ret;
	}
	chan->fork_gen = rnic_fork_gen();
	atomic_init(&chan->user_cnt, 1);
	TAILQ_INIT(&chan->events);
	TAILQ_INIT(&chan->ids);
	rnic_stat_init();
	*ret_chan = chan;
	return 0;
}

int rnic_cm_chan_fd(const struct rnic_cm_chan *chan)
{
	return chan->fd;
}

static void chan_put(struct rnic_cm_chan *chan)
{
	/* acq_rel: the last one out sees what the others wrote */
	if (atomic_fetch_sub_explicit(&chan->user_cnt, 1,
				      memory_order_acq_rel) == 1)
		free(chan);
}

void rnic_cm_chan_free(struct rnic_cm_chan *chan)
{
	struct cm_id *id;

	if (!chan)
		return;
	if (chan->fork_gen != rnic_fork_gen()) {
		/* The parent's: its lists are not ours to walk, its fd was
		 * closed by the fork handler. */
		chan_put(chan);
		return;
	}
	util_lock(&cm.lock);
	while ((id = TAILQ_FIRST(&chan->ids)))
		cm_id_free(id);
	chan->is_closed = true;
	/* A thread that still waits in get_event finds the channel closed. */
	chan_count_up(chan);
	util_unlock(&cm.lock);
	close(chan->fd);
	chan_put(chan);
}

/* ---- reading --------------------------- */

/* Return: 1: *ret_ev is filled; 0: a destroy was faster; -EBADF: closed. */
static int chan_pop(struct rnic_cm_chan *chan, struct rnic_cm_event *ret_ev)
{
	struct cm_event *event;
	int ret = 0;

	util_lock(&cm.lock);
	event = TAILQ_FIRST(&chan->events);
	if (chan->is_closed) {
		ret = -EBADF;
	} else if (event) {
		event_unlink(chan, event);
		event->owner->events_reported++;
		event->ev.uid = event->owner->uid;
		*ret_ev = event->ev;
		ret = 1;
	}
	util_unlock(&cm.lock);
	if (ret == 1)
		free(event);
	return ret;
}

int rnic_cm_get_event(struct rnic_cm_chan *chan, struct rnic_cm_event *ret_ev)
{
	uint64_t one;
	int ret;

	if (chan->fork_gen != rnic_fork_gen())
		return -ENODEV;
	/* relaxed: the caller holds a reference */
	atomic_fetch_add_explicit(&chan->user_cnt, 1, memory_order_relaxed);
	do {
		if (read(chan->fd, &one, sizeof(one)) < 0)
			ret = -errno;
		else
			ret = chan_pop(chan, ret_ev);
	} while (ret == 0);
	chan_put(chan);
	return ret == 1 ? 0 : ret;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Events: a queue per channel behind an eventfd in semaphore mode, whose
 * count is the number of queued events, so that read, poll and O_NONBLOCK on
 * the fd are the kernel's own.
 */
#define _GNU_SOURCE /* RWF_NOWAIT, tgkill */
#include "cm-internal.h"

#include "fd.h"
#include "stat.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/*
 * libc's own read(): a cancellation point, on which callers of
 * rdma_get_cm_event() rely, and out of the preload library's reach.
 */
extern ssize_t __read(int fd, void *buf, size_t size);

/* Longest wait of a close for the event thread, in steps of 1 ms. */
#define READER_WAIT_MS 500

struct cm_event *cm_event_new(struct cm_id *owner)
{
	struct cm_event *event = calloc(1, sizeof(*event));

	if (event)
		event->owner = owner;
	return event;
}

/* Raw: write() is the preload library's, which takes it for a command.  The
 * count cannot overflow: it would take 2^64 events. */
static void chan_count_up(struct rnic_cm_chan *chan)
{
	const uint64_t one = 1;

	syscall(SYS_write, chan->fd, &one, sizeof(one));
}

/*
 * Kernels before 5.8 have no RWF_NOWAIT for eventfds: there the fd itself is
 * non-blocking for the moment of the read, and readers that see EAGAIN ask
 * under the lock whether it was meant for them.
 */
static _Atomic bool is_nowait_missing;

static void chan_count_down_old(struct rnic_cm_chan *chan)
{
	long flags = syscall(SYS_fcntl, chan->fd, F_GETFL);
	uint64_t one;

	if (flags < 0 ||
	    syscall(SYS_fcntl, chan->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return;
	syscall(SYS_read, chan->fd, &one, sizeof(one));
	syscall(SYS_fcntl, chan->fd, F_SETFL, flags);
}

/*
 * Never blocks: where a reader was faster it has taken the count, finds no
 * event and waits on.
 */
static void chan_count_down(struct rnic_cm_chan *chan)
{
	uint64_t one;
	struct iovec iov = { .iov_base = &one, .iov_len = sizeof(one) };
	long ret;

	util_lock_assert_held(&cm.lock);
	ret = syscall(SYS_preadv2, chan->fd, &iov, 1, -1L, -1L, RWF_NOWAIT);
	if (ret >= 0 || errno == EAGAIN)
		return;
	atomic_store_explicit(&is_nowait_missing, true, memory_order_relaxed);
	chan_count_down_old(chan);
}

/* A read answered EAGAIN: because the application wants it so? */
static bool chan_is_nonblocking(struct rnic_cm_chan *chan)
{
	long flags;

	if (!atomic_load_explicit(&is_nowait_missing, memory_order_relaxed))
		return true;
	util_lock(&cm.lock);
	flags = syscall(SYS_fcntl, chan->fd, F_GETFL);
	util_unlock(&cm.lock);
	return flags < 0 || (flags & O_NONBLOCK) != 0;
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

/*
 * A thread that fetches events and now closes nothing is about to ask for the
 * next one; rping closes the channel below its event thread in this very
 * moment and exits with the EBADF that the thread would get.  Destroying the
 * identity takes milliseconds in a kernel, so there the thread always waits
 * already.  Bounded: the thread may do something else.
 */
static void chan_await_reader(const struct rnic_cm_chan *chan)
{
	const struct timespec step = { .tv_nsec = 1000000 };
	int tid = atomic_load_explicit(&chan->reader_tid, memory_order_relaxed);

	if (!tid || tid == gettid())
		return;
	for (int i = 0; i < READER_WAIT_MS; i++) {
		/* Waits already, or has ended. */
		if (atomic_load_explicit(&chan->wait_cnt,
					 memory_order_relaxed) ||
		    tgkill(getpid(), tid, 0) < 0)
			return;
		nanosleep(&step, NULL);
	}
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
	chan_await_reader(chan);
	util_lock(&cm.lock);
	while ((id = TAILQ_FIRST(&chan->ids)))
		cm_id_free(id);
	chan->is_closed = true;
	util_unlock(&cm.lock);
	/* A thread that waits in get_event waits on, as with the kernel: its
	 * read() holds the eventfd.  rping closes the channel below its event
	 * thread and would take an error for a failure. */
	rnic_fd_close(chan->fd);
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

static void chan_put_cancelled(void *chan)
{
	chan_put(chan);
}

static void chan_wait_ended(void *arg)
{
	struct rnic_cm_chan *chan = arg;

	atomic_fetch_sub_explicit(&chan->wait_cnt, 1, memory_order_relaxed);
}

/* Return: 0; -errno of the read. */
static int chan_wait(struct rnic_cm_chan *chan)
{
	uint64_t one;
	int ret;

	/* relaxed: a hint for chan_await_reader() */
	atomic_fetch_add_explicit(&chan->wait_cnt, 1, memory_order_relaxed);
	pthread_cleanup_push(chan_wait_ended, chan);
	ret = __read(chan->fd, &one, sizeof(one)) < 0 ? -errno : 0;
	pthread_cleanup_pop(1);
	return ret;
}

/* Return: as chan_pop(); -errno of the read. */
static int chan_wait_pop(struct rnic_cm_chan *chan,
			 struct rnic_cm_event *ret_ev)
{
	int ret = chan_wait(chan);

	if (ret == 0)
		return chan_pop(chan, ret_ev);
	return ret == -EAGAIN && !chan_is_nonblocking(chan) ? 0 : ret;
}

int rnic_cm_get_event(struct rnic_cm_chan *chan, struct rnic_cm_event *ret_ev)
{
	int ret;

	if (chan->fork_gen != rnic_fork_gen())
		return -ENODEV;
	/* relaxed: the caller holds a reference */
	atomic_fetch_add_explicit(&chan->user_cnt, 1, memory_order_relaxed);
	pthread_cleanup_push(chan_put_cancelled, chan);
	do {
		cm_thread_help(&chan->events);
		ret = chan_wait_pop(chan, ret_ev);
	} while (ret == 0);
	if (ret == 1)
		atomic_store_explicit(&chan->reader_tid, gettid(),
				      memory_order_relaxed);
	pthread_cleanup_pop(1);
	return ret == 1 ? 0 : ret;
}

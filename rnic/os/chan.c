/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Event channels: a queue of records behind an eventfd (evfd.h).
 *
 * A reader takes a token first, by a read that the kernel blocks or refuses as
 * the fd's flags say, then a record; between the two a purge may have taken
 * the record, so a reader that comes away empty goes back for another token.
 * A reader that does the work of the channel's host (chan-host.h) needs no
 * token for an event that it posts itself.
 */
#include "chan.h"

#include "util/env.h"
#include "util/thread.h"
#include "chan-host.h"
#include "util/clock.h"
#include "evfd.h"
#include "fd.h"
#include "watch.h"
#include "util/fdtab.h"
#include "guard.h"
#include "util/lock.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A program that waits in rnic_chan_read() arms its CQs so often, at most,
 * before it waits again. */
#define CHAN_ATTENDED_ARMS 4
/* Waits without polls between two with. */
#define CHAN_SPIN_SKIPS 7

struct rnic_chan {
	struct util_file file; /* first: the fd table names it */
	struct util_lock lock;
	size_t record_size;
	uint32_t fork_gen;
	int fd;	      /* ours, as long as the channel is */
	int first_fd; /* the application's, as it was made */

	/* Waits until one polls first, and how many there were; hints. */
	_Atomic uint32_t spin_skip_cnt, spin_gap;
	/* Calls of rnic_chan_set_host() that answer true; a hint. */
	_Atomic uint32_t attended_cnt;
	/* With a reference; NULL: none. Written under the lock. */
	_Atomic(struct rnic_chan_host *) host;

	/* guarded by lock */
	bool is_closed; /* no number is left */
	/* A thread that serves the host, and takes the first event that it
	 * brings without a token. */
	bool has_server;
	bool has_brought; /* it has one */
	pthread_t server;
	TAILQ_HEAD(, rnic_chan_node) queue;
};

static bool chan_is_forked(const struct rnic_chan *chan)
{
	return chan->fork_gen != rnic_fork_gen();
}

/* ---- host ------------------------------------------------------------- */

/* Compared, or with the lock. */
static struct rnic_chan_host *chan_host(const struct rnic_chan *chan)
{
	return atomic_load_explicit(&chan->host, memory_order_relaxed);
}

static void host_put(void *host)
{
	if (host)
		((struct rnic_chan_host *)host)->ops->put(host);
}

/* Return: with a reference; NULL: none. */
static struct rnic_chan_host *chan_host_get(struct rnic_chan *chan)
{
	UTIL_LOCKED(&chan->lock);
	struct rnic_chan_host *host = chan_host(chan);

	if (host)
		host->ops->get(host);
	return host;
}

bool rnic_chan_set_host(struct rnic_chan *chan, struct rnic_chan_host *host)
{
	uint32_t cnt =
		atomic_load_explicit(&chan->attended_cnt, memory_order_relaxed);
	struct rnic_chan_host *old = chan_host(chan);

	if (chan_is_forked(chan))
		return false;
	if (old != host) {
		host->ops->get(host);
		util_lock(&chan->lock);
		old = chan_host(chan);
		atomic_store_explicit(&chan->host, host, memory_order_relaxed);
		util_unlock(&chan->lock);
		host_put(old);
	}
	if (cnt)
		atomic_store_explicit(&chan->attended_cnt, cnt - 1,
				      memory_order_relaxed);
	return cnt;
}

/* ---- life ------------------------------------------------------------- */

/* Threads that are inside a read leave it. */
static void chan_close(struct util_file *file)
{
	struct rnic_chan *chan = (struct rnic_chan *)file;

	util_lock(&chan->lock);
	chan->is_closed = true;
	util_unlock(&chan->lock);
	if (!chan_is_forked(chan))
		rnic_evfd_post(chan->fd);
}

static void chan_free(struct util_file *file)
{
	struct rnic_chan *chan = (struct rnic_chan *)file;

	/* The fork handler has closed the parent's, and its host is not
	 * here. */
	if (!chan_is_forked(chan)) {
		rnic_fd_close(chan->fd);
		host_put(chan_host(chan));
	}
	free(chan);
}

/* Without a number for the application. */
static int chan_make(size_t record_size, struct rnic_chan **ret_chan)
{
	struct rnic_chan *chan;
	int ret;

	if (record_size == 0 || record_size > RNIC_CHAN_RECORD_MAX)
		return -EINVAL;
	if (!rnic_fdtab())
		return -ENOMEM;
	chan = calloc(1, sizeof(*chan));
	if (!chan)
		return -ENOMEM;
	util_file_init(&chan->file, chan_close, chan_free);
	util_lock_init(&chan->lock, UTIL_RANK_CHAN);
	chan->record_size = record_size;
	chan->fork_gen = rnic_fork_gen();
	chan->fd = rnic_evfd_open();
	if (chan->fd < 0) {
		ret = chan->fd;
		free(chan);
		return ret;
	}
	chan->first_fd = -1;
	TAILQ_INIT(&chan->queue);
	*ret_chan = chan;
	return 0;
}

int rnic_chan_new(size_t record_size, struct rnic_chan **ret_chan)
{
	struct util_fdtab *tab = rnic_fdtab();
	struct rnic_chan *chan;
	int ret;

	ret = chan_make(record_size, &chan);
	if (ret < 0)
		return ret;
	ret = rnic_evfd_share(chan->fd);
	if (ret < 0)
		goto put_chan;
	chan->first_fd = ret;
	ret = util_fdtab_install(tab, chan->first_fd, RNIC_FD_CHAN,
				 &chan->file);
	if (ret < 0)
		goto close_first;
	*ret_chan = chan;
	return 0;

close_first:
	rnic_fd_close(chan->first_fd);
put_chan:
	rnic_chan_put(chan);
	return ret;
}

int rnic_chan_renew(size_t record_size, int fd, struct rnic_chan **ret_chan)
{
	struct util_fdtab *tab = rnic_fdtab();
	struct rnic_chan *chan;
	int ret = chan_make(record_size, &chan);

	if (ret < 0)
		return ret;
	if (util_fdtab_lookup(tab, fd, NULL) != RNIC_FD_DEAD) {
		chan->is_closed = true;
	} else {
		ret = rnic_evfd_share_as(chan->fd, fd);
		if (ret < 0) {
			rnic_chan_put(chan);
			return ret;
		}
		chan->first_fd = fd;
		/* Cannot fail: the table has a place for this number. */
		(void)util_fdtab_install(tab, fd, RNIC_FD_CHAN, &chan->file);
	}
	*ret_chan = chan;
	return 0;
}

int rnic_chan_fd(const struct rnic_chan *chan)
{
	return chan->first_fd;
}

void rnic_chan_get(struct rnic_chan *chan)
{
	util_file_get(&chan->file);
}

void rnic_chan_put(struct rnic_chan *chan)
{
	if (chan)
		util_file_put(&chan->file);
}

struct rnic_chan *rnic_chan_get_fd(int fd)
{
	struct util_fdtab *tab = rnic_fdtab();

	return tab ? (struct rnic_chan *)util_fdtab_get(tab, fd, RNIC_FD_CHAN)
		   : NULL;
}

void rnic_chan_close(struct rnic_chan *chan)
{
	struct util_fdtab *tab = rnic_fdtab();

	/* Inherited: no more than a number. */
	if (chan_is_forked(chan) &&
	    util_fdtab_lookup(tab, chan->first_fd, NULL) == RNIC_FD_DEAD)
		rnic_fd_close(chan->first_fd);
	else if (util_fdtab_uninstall(tab, chan->first_fd, &chan->file) !=
		 RNIC_FD_NONE)
		rnic_fd_close(chan->first_fd);
	rnic_chan_put(chan);
}

/* ---- events ----------------------------------------------------------- */

/* Under the lock.  Return: false: nothing is queued. */
static bool queue_pop(struct rnic_chan *chan, void *record)
{
	struct rnic_chan_node *node = TAILQ_FIRST(&chan->queue);

	if (!node)
		return false;
	memcpy(record, node->record, chan->record_size);
	node->reported_cnt++;
	node->pending_cnt--;
	/* A source with more to say goes behind those that wait. */
	TAILQ_REMOVE(&chan->queue, node, link);
	if (node->pending_cnt > 0)
		TAILQ_INSERT_TAIL(&chan->queue, node, link);
	return true;
}

/* Under the lock: is the event the one that this thread waits for? */
static bool is_brought(struct rnic_chan *chan)
{
	if (!chan->has_server || chan->has_brought ||
	    !pthread_equal(chan->server, pthread_self()))
		return false;
	chan->has_brought = true;
	return true;
}

void rnic_chan_post(struct rnic_chan *chan, struct rnic_chan_node *node,
		    const void *record, size_t len)
{
	bool needs_token = false;

	assert(len == chan->record_size);
	if (chan_is_forked(chan))
		return;
	util_lock(&chan->lock);
	if (!chan->is_closed) {
		memcpy(node->record, record, len);
		if (node->pending_cnt++ == 0)
			TAILQ_INSERT_TAIL(&chan->queue, node, link);
		needs_token = !is_brought(chan);
	}
	util_unlock(&chan->lock);
	/* The reader that it wakes may take this CPU at once, and wants the
	 * lock. */
	if (needs_token)
		rnic_evfd_post(chan->fd);
}

uint32_t rnic_chan_purge(struct rnic_chan *chan, struct rnic_chan_node *node)
{
	uint32_t reported_cnt, pending_cnt;

	/* The parent's channel: its eventfd is shared, its lock unknown. */
	if (!chan || chan_is_forked(chan))
		return node->reported_cnt;
	util_lock(&chan->lock);
	reported_cnt = node->reported_cnt;
	pending_cnt = node->pending_cnt;
	node->pending_cnt = 0;
	if (pending_cnt > 0)
		TAILQ_REMOVE(&chan->queue, node, link);
	/* A token that is not there was taken by a reader, or comes later: who
	 * takes it finds no record for it. */
	while (pending_cnt > 0 && rnic_evfd_take(chan->fd))
		pending_cnt--;
	util_unlock(&chan->lock);
	return reported_cnt;
}

/* One thread at a time; the others take tokens. */
static bool server_begin(struct rnic_chan *chan)
{
	UTIL_LOCKED(&chan->lock);

	if (chan->has_server)
		return false;
	chan->has_server = true;
	chan->has_brought = false;
	chan->server = pthread_self();
	return true;
}

static bool server_end(struct rnic_chan *chan)
{
	UTIL_LOCKED(&chan->lock);

	chan->has_server = false;
	return chan->has_brought;
}

/* Return: whether that has brought an event, which has no token. */
static bool chan_serve(struct rnic_chan_host *host, void *arg)
{
	struct rnic_chan *chan = arg;
	bool is_server = server_begin(chan);

	host->ops->serve(host);
	return is_server && server_end(chan);
}

static bool chan_take(struct rnic_chan *chan)
{
	return rnic_evfd_take_unlocked(chan->fd, &chan->lock);
}

/*
 * Polls before it sleeps: a wake-up takes longer than a short answer. If no
 * event comes in that time, the next waits do without, up to CHAN_SPIN_SKIPS
 * of them.  Return: true: the thread may take an event.
 */
static bool chan_spin(struct rnic_chan *chan, struct rnic_chan_host *host)
{
	uint32_t skip_cnt = atomic_load_explicit(&chan->spin_skip_cnt,
						 memory_order_relaxed);
	uint32_t gap =
		atomic_load_explicit(&chan->spin_gap, memory_order_relaxed);
	uint64_t spin_ns = util_settings()->event_spin_us * 1000ull;
	bool has_event = false;
	uint64_t end_ns;

	if (!spin_ns)
		return false;
	if (skip_cnt) {
		atomic_store_explicit(&chan->spin_skip_cnt, skip_cnt - 1,
				      memory_order_relaxed);
		return false;
	}
	end_ns = util_now_ns() + spin_ns;
	do
		has_event = chan_serve(host, chan) || chan_take(chan);
	while (!has_event && util_now_ns() < end_ns);
	gap = has_event ? 0 : 2 * gap + 1;
	gap = gap < CHAN_SPIN_SKIPS ? gap : CHAN_SPIN_SKIPS;
	atomic_store_explicit(&chan->spin_gap, gap, memory_order_relaxed);
	atomic_store_explicit(&chan->spin_skip_cnt, gap, memory_order_relaxed);
	return has_event;
}

/* Waits as rnic_evfd_wait() does, and does the work of the host. A signal that
 * comes before the sleep ends the sleep. */
static int chan_wait_attending(struct rnic_chan *chan,
			       struct rnic_chan_host *host)
{
	sigset_t app_signals;
	int ret = 0;

	if (rnic_evfd_is_nonblocking(chan->fd))
		return -EAGAIN;
	util_signals_block(&app_signals);
	atomic_store_explicit(&chan->attended_cnt, CHAN_ATTENDED_ARMS,
			      memory_order_relaxed);
	if (!chan_spin(chan, host)) {
		do
			ret = rnic_chan_host_attend(
				host, chan->fd, &app_signals, chan_serve, chan);
		while (ret == 0 && !chan_take(chan));
	}
	util_signals_restore(&app_signals);
	return ret < 0 ? ret : 0;
}

/* Return: 0: the thread may take an event; else as rnic_evfd_wait(). */
static int chan_wait(struct rnic_chan *chan)
{
	struct rnic_chan_host *host;
	int ret = -EAGAIN;

	if (chan_host(chan) && chan_take(chan))
		return 0;
	host = chan_host_get(chan);
	if (host) {
		pthread_cleanup_push(host_put, host);
		ret = chan_wait_attending(chan, host);
		pthread_cleanup_pop(1);
	}
	return ret == -EAGAIN ? rnic_evfd_wait(chan->fd, &chan->lock) : ret;
}

/* The next reader leaves, too. */
static int chan_leave(struct rnic_chan *chan)
{
	rnic_evfd_post(chan->fd);
	return rnic_evfd_is_nonblocking(chan->fd) ? -EAGAIN : -ESHUTDOWN;
}

struct chan_copy {
	void *to;
	const void *from;
	size_t len;
};

static void chan_copy(void *arg)
{
	const struct chan_copy *copy = arg;

	memcpy(copy->to, copy->from, copy->len);
}

ssize_t rnic_chan_read(struct rnic_chan *chan, void *buf, size_t size)
{
	const struct rnic_watcher *watcher = rnic_watcher();
	struct chan_copy copy = { .to = buf };
	uint8_t record[RNIC_CHAN_RECORD_MAX];
	bool has_record = false, is_closed = false;
	int ret;

	if (size < chan->record_size)
		return -EINVAL;
	if (watcher)
		watcher->chan_read(chan);
	while (!has_record) {
		if (is_closed)
			return chan_leave(chan);
		if (chan_is_forked(chan))
			return -ENODEV;
		ret = chan_wait(chan);
		if (ret < 0)
			return ret;
		util_lock(&chan->lock);
		has_record = queue_pop(chan, record);
		is_closed = chan->is_closed;
		util_unlock(&chan->lock);
	}
	/* After the lock: @buf is the application's and may fault; the event is
	 * lost then, as a kernel's would be. */
	copy.from = record;
	copy.len = chan->record_size;
	if (rnic_guard(chan_copy, &copy) < 0)
		return -EFAULT;
	return (ssize_t)copy.len;
}

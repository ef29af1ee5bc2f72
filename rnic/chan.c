/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Event channels: a queue of records behind an eventfd in semaphore mode.
 *
 * One token in the eventfd per queued record.  A reader takes a token first,
 * by a read that the kernel blocks or refuses as the fd's flags say, then a
 * record; between the two a purge may have taken the record, so a reader that
 * comes away empty goes back for another token.
 */
#define _GNU_SOURCE /* RWF_NOWAIT */
#include "chan.h"

#include "fd.h"
#include "fdtab.h"
#include "guard.h"
#include "lock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * libc's own read(): a cancellation point, which callers of
 * ibv_get_cq_event() rely on, and out of reach of the preload library, whose
 * read() would bring us back here.
 */
extern ssize_t __read(int fd, void *buf, size_t size);

struct rnic_chan {
	struct util_lock lock;
	_Atomic uint32_t ref_cnt;
	size_t record_size;
	uint32_t fork_gen;
	_Atomic int fd; /* written under lock; -1: closed */

	/* guarded by lock: oldest first */
	struct rnic_chan_node *head, *tail;
};

/* Between "the table names a channel" and "I hold a reference to it" nobody
 * may drop the last one. */
static struct util_lock table_lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF);

void rnic_chan_fork_child(void)
{
	util_lock_init(&table_lock, UTIL_RANK_LEAF);
}

static bool chan_is_alien(const struct rnic_chan *chan)
{
	return chan->fork_gen != rnic_fork_gen();
}

static int chan_fd(const struct rnic_chan *chan)
{
	/* relaxed: the caller keeps the fd from being closed */
	return atomic_load_explicit(&chan->fd, memory_order_relaxed);
}

/* ---- life ------------------------------------------------------------- */

int rnic_chan_new(size_t record_size, struct rnic_chan **ret_chan)
{
	struct util_fdtab *tab = rnic_fdtab();
	struct rnic_chan *chan;
	int ret, fd;

	if (record_size == 0 || record_size > RNIC_CHAN_RECORD_MAX)
		return -EINVAL;
	if (!tab)
		return -ENOMEM;
	chan = calloc(1, sizeof(*chan));
	if (!chan)
		return -ENOMEM;
	fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	if (fd < 0) {
		ret = -errno;
		goto free_chan;
	}
	util_lock_init(&chan->lock, UTIL_RANK_CHAN);
	atomic_init(&chan->ref_cnt, 1);
	atomic_init(&chan->fd, fd);
	chan->record_size = record_size;
	chan->fork_gen = rnic_fork_gen();
	ret = util_fdtab_add(tab, fd, UTIL_FD_CHAN, chan);
	if (ret < 0)
		goto close_fd;
	*ret_chan = chan;
	return 0;

close_fd:
	syscall(SYS_close, fd);
free_chan:
	free(chan);
	return ret;
}

int rnic_chan_fd(const struct rnic_chan *chan)
{
	return chan_fd(chan);
}

void rnic_chan_get(struct rnic_chan *chan)
{
	/* relaxed: the caller has a reference already */
	atomic_fetch_add_explicit(&chan->ref_cnt, 1, memory_order_relaxed);
}

void rnic_chan_put(struct rnic_chan *chan)
{
	if (!chan)
		return;
	/* acq_rel: every other holder's last access comes before free() */
	if (atomic_fetch_sub_explicit(&chan->ref_cnt, 1,
				      memory_order_acq_rel) == 1)
		free(chan);
}

struct rnic_chan *rnic_chan_get_fd(int fd)
{
	struct util_fdtab *tab = rnic_fdtab();
	struct rnic_chan *chan = NULL;
	void *object;

	/* Most fds are not ours and cost no lock. */
	if (!tab || util_fdtab_lookup(tab, fd, NULL) != UTIL_FD_CHAN)
		return NULL;
	util_lock(&table_lock);
	if (util_fdtab_lookup(tab, fd, &object) == UTIL_FD_CHAN) {
		chan = object;
		rnic_chan_get(chan);
	}
	util_unlock(&table_lock);
	return chan;
}

void rnic_chan_close(struct rnic_chan *chan)
{
	struct util_fdtab *tab = rnic_fdtab();
	void *object = NULL;
	int fd;

	/* A parent's lock may have been held by a thread that is not here. */
	if (chan_is_alien(chan))
		util_lock_init(&chan->lock, UTIL_RANK_CHAN);
	util_lock(&chan->lock);
	fd = chan_fd(chan);
	atomic_store_explicit(&chan->fd, -1, memory_order_relaxed);
	util_unlock(&chan->lock);
	if (fd < 0)
		return; /* closed before: the owner's reference is gone */
	util_lock(&table_lock);
	if (tab && util_fdtab_lookup(tab, fd, &object) != UTIL_FD_NONE &&
	    (object == chan || chan_is_alien(chan)))
		util_fdtab_remove(tab, fd);
	util_unlock(&table_lock);
	syscall(SYS_close, fd);
	rnic_chan_put(chan);
}

/* ---- the queue, under the lock ---------------------------------------- */

static void queue_append(struct rnic_chan *chan, struct rnic_chan_node *node)
{
	node->next = NULL;
	node->prev = chan->tail;
	if (chan->tail)
		chan->tail->next = node;
	else
		chan->head = node;
	chan->tail = node;
}

static void queue_unlink(struct rnic_chan *chan, struct rnic_chan_node *node)
{
	if (node->prev)
		node->prev->next = node->next;
	else
		chan->head = node->next;
	if (node->next)
		node->next->prev = node->prev;
	else
		chan->tail = node->prev;
	node->prev = NULL;
	node->next = NULL;
}

/* Return: false: nothing is queued. */
static bool queue_pop(struct rnic_chan *chan, void *record)
{
	struct rnic_chan_node *node = chan->head;

	if (!node)
		return false;
	memcpy(record, node->record, chan->record_size);
	node->reported_cnt++;
	node->pending_cnt--;
	/* A source with more to say goes behind those that wait. */
	queue_unlink(chan, node);
	if (node->pending_cnt > 0)
		queue_append(chan, node);
	return true;
}

/* ---- events ----------------------------------------------------------- */

void rnic_chan_post(struct rnic_chan *chan, struct rnic_chan_node *node,
		    const void *record, size_t len)
{
	const uint64_t token = 1;
	int fd;

	assert(len == chan->record_size);
	if (chan_is_alien(chan))
		return;
	util_lock(&chan->lock);
	fd = chan_fd(chan);
	if (fd >= 0) {
		memcpy(node->record, record, len);
		if (node->pending_cnt++ == 0)
			queue_append(chan, node);
		/* Cannot block: that takes 2^64 - 2 tokens.  Under the lock,
		 * for close() to come before or after. */
		syscall(SYS_write, fd, &token, sizeof(token));
	}
	util_unlock(&chan->lock);
}

/*
 * Kernels before 5.8 have no RWF_NOWAIT for eventfds.  There the fd itself
 * becomes non-blocking for the moment of the read; readers that see EAGAIN
 * then ask under the lock whether it was meant for them.
 */
static _Atomic bool is_nowait_missing;

static bool token_take_old(int fd)
{
	long flags = syscall(SYS_fcntl, fd, F_GETFL);
	uint64_t token;
	long ret;

	if (flags < 0 || syscall(SYS_fcntl, fd, F_SETFL, flags | O_NONBLOCK))
		return false;
	ret = syscall(SYS_read, fd, &token, sizeof(token));
	syscall(SYS_fcntl, fd, F_SETFL, flags);
	return ret == (long)sizeof(token);
}

/* Under the lock.  Take one token if there is one, without ever blocking.
 * Return: false: there is none. */
static bool token_take(int fd)
{
	struct iovec iov;
	uint64_t token;
	long ret;

	iov.iov_base = &token;
	iov.iov_len = sizeof(token);
	ret = syscall(SYS_preadv2, fd, &iov, 1, -1L, -1L, RWF_NOWAIT);
	if (ret >= 0 || errno == EAGAIN)
		return ret >= 0;
	atomic_store_explicit(&is_nowait_missing, true, memory_order_relaxed);
	return token_take_old(fd);
}

/* A read answered EAGAIN: because the application wants it so? */
static bool chan_is_nonblocking(struct rnic_chan *chan)
{
	long flags;

	if (!atomic_load_explicit(&is_nowait_missing, memory_order_relaxed))
		return true;
	util_lock(&chan->lock);
	flags = syscall(SYS_fcntl, chan_fd(chan), F_GETFL);
	util_unlock(&chan->lock);
	return flags < 0 || (flags & O_NONBLOCK) != 0;
}

uint32_t rnic_chan_purge(struct rnic_chan *chan, struct rnic_chan_node *node)
{
	uint32_t reported_cnt, pending_cnt;
	int fd, saved_errno = errno;

	/* The parent's channel: its eventfd is shared, its lock unknown. */
	if (!chan || chan_is_alien(chan))
		return node->reported_cnt;
	util_lock(&chan->lock);
	reported_cnt = node->reported_cnt;
	pending_cnt = node->pending_cnt;
	node->pending_cnt = 0;
	if (pending_cnt > 0)
		queue_unlink(chan, node);
	fd = chan_fd(chan);
	/* A token that is not there any more is in the hands of a reader, who
	 * will find no record for it. */
	while (fd >= 0 && pending_cnt > 0 && token_take(fd))
		pending_cnt--;
	util_unlock(&chan->lock);
	errno = saved_errno;
	return reported_cnt;
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
	struct chan_copy copy = { .to = buf };
	uint8_t record[RNIC_CHAN_RECORD_MAX];
	int saved_errno = errno;
	bool has_record = false;
	uint64_t token;

	if (size < chan->record_size)
		return -EINVAL;
	while (!has_record) {
		ssize_t ret;

		if (chan_is_alien(chan))
			return -ENODEV;
		ret = __read(chan_fd(chan), &token, sizeof(token));
		if (ret < 0) {
			ret = -errno;
			errno = saved_errno;
			if (ret == -EAGAIN && !chan_is_nonblocking(chan))
				continue;
			return ret;
		}
		util_lock(&chan->lock);
		has_record = queue_pop(chan, record);
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

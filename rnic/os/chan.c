/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Event channels: a queue of records behind an eventfd (evfd.h).
 *
 * A reader takes a token first, by a read that the kernel blocks or refuses as
 * the fd's flags say, then a record; between the two a purge may have taken
 * the record, so a reader that comes away empty goes back for another token.
 */
#include "chan.h"

#include "evfd.h"
#include "fd.h"
#include "fdtab.h"
#include "guard.h"
#include "lock.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct rnic_chan {
	struct util_file file; /* first: the fd table names it */
	struct util_lock lock;
	size_t record_size;
	uint32_t fork_gen;
	int fd;	      /* ours, as long as the channel is */
	int first_fd; /* the application's, as it was made */

	/* guarded by lock */
	bool is_closed; /* no number is left */
	TAILQ_HEAD(, rnic_chan_node) queue;
};

static bool chan_is_forked(const struct rnic_chan *chan)
{
	return chan->fork_gen != rnic_fork_gen();
}

/* ---- life ------------------------------------------------------------- */

/* From here on, only threads that are inside a read see what is posted. */
static void chan_close(struct util_file *file)
{
	struct rnic_chan *chan = (struct rnic_chan *)file;

	util_lock(&chan->lock);
	chan->is_closed = true;
	util_unlock(&chan->lock);
}

static void chan_free(struct util_file *file)
{
	struct rnic_chan *chan = (struct rnic_chan *)file;

	/* The fork handler has closed the parent's. */
	if (!chan_is_forked(chan))
		rnic_fd_close(chan->fd);
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
	ret = util_fdtab_install(tab, chan->first_fd, UTIL_FD_CHAN,
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
	if (util_fdtab_lookup(tab, fd, NULL) != UTIL_FD_DEAD) {
		chan->is_closed = true;
	} else {
		ret = rnic_evfd_share_as(chan->fd, fd);
		if (ret < 0) {
			rnic_chan_put(chan);
			return ret;
		}
		chan->first_fd = fd;
		/* Cannot fail: the table has a place for this number. */
		(void)util_fdtab_install(tab, fd, UTIL_FD_CHAN, &chan->file);
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

	return tab ? (struct rnic_chan *)util_fdtab_get(tab, fd, UTIL_FD_CHAN)
		   : NULL;
}

void rnic_chan_close(struct rnic_chan *chan)
{
	struct util_fdtab *tab = rnic_fdtab();

	/* Inherited: no more than a number. */
	if (chan_is_forked(chan) &&
	    util_fdtab_lookup(tab, chan->first_fd, NULL) == UTIL_FD_DEAD)
		rnic_fd_close(chan->first_fd);
	else if (util_fdtab_uninstall(tab, chan->first_fd, &chan->file) !=
		 UTIL_FD_NONE)
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

void rnic_chan_post(struct rnic_chan *chan, struct rnic_chan_node *node,
		    const void *record, size_t len)
{
	assert(len == chan->record_size);
	if (chan_is_forked(chan))
		return;
	util_lock(&chan->lock);
	if (!chan->is_closed) {
		memcpy(node->record, record, len);
		if (node->pending_cnt++ == 0)
			TAILQ_INSERT_TAIL(&chan->queue, node, link);
		rnic_evfd_post(chan->fd);
	}
	util_unlock(&chan->lock);
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
	/* A token that is not there any more was taken by a reader, which will
	 * find no record for it. */
	while (pending_cnt > 0 && rnic_evfd_take(chan->fd))
		pending_cnt--;
	util_unlock(&chan->lock);
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
	bool has_record = false;
	int ret;

	if (size < chan->record_size)
		return -EINVAL;
	while (!has_record) {
		if (chan_is_forked(chan))
			return -ENODEV;
		ret = rnic_evfd_wait(chan->fd, &chan->lock);
		if (ret < 0)
			return ret;
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

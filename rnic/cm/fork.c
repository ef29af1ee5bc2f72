/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The manager in a forked child: a process that becomes a daemon after it
 * listens goes on listening.
 *
 * The child has the identities by number, as librdmacm knows them, and keeps
 * the listening sockets.  Behind the numbers of each channel comes an epoll
 * descriptor, its front, with the sockets that the channel listens at, so that
 * poll and epoll tell of a connection though nothing runs in the child yet.
 * When a channel is used, an eventfd of the child's own takes the place of the
 * sockets in the front, and the child's manager accepts.  Connections, and
 * events that were not fetched, are the parent's.
 */
#include "fork.h"

#include "util/cancel.h"
#include "util/env.h"
#include "util/fdtab.h"
#include "util/log.h"
#include "bind.h"
#include "fault/rules.h"
#include "listen.h"
#include "loop/loop.h"
#include "os/addr.h"
#include "os/evfd.h"
#include "os/fd.h"
#include "os/observer.h"
#include "reason.h"
#include "sidr.h"
#include "state.h"
#include "start/accept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define FORK_TRY_CNT 200
#define FORK_TRY_MS 1

static int id_listen_fd(const struct cm_id *id)
{
	return cm_id_is_ud(id) ? id->ud.sock.fd : id->fd;
}

/* This thread forks, and has locked the manager to do so. */
static _Thread_local bool is_whole;

/* ---- the fork ----------------------------------------------------------- */

/*
 * Nothing may be in the middle of a change when it is copied.  Not for ever: a
 * signal handler that forks may have interrupted the thread that holds the
 * lock.
 */
void rnic_cm_fork_prepare(void)
{
	for (int i = 0; i < FORK_TRY_CNT; i++) {
		is_whole = util_trylock(&rnic_loop.lock);
		if (is_whole)
			return;
		util_sys_poll(NULL, 0, FORK_TRY_MS);
	}
}

void rnic_cm_fork_parent(void)
{
	if (is_whole)
		util_unlock(&rnic_loop.lock);
}

/* Before the fd table's walk closes what is not the application's. */
void rnic_cm_fork_keep(struct util_fdtab *tab)
{
	struct cm_id *id;
	uint32_t slot = 0;

	if (!is_whole)
		return;
	while ((id = rnic_ref_next(&rnic_loop.noted, &slot))) {
		if (id->state == RNIC_CM_S_LISTEN)
			util_fdtab_remove(tab, id_listen_fd(id));
		else
			id->fd = id->ud.sock.fd = -1;
	}
}

bool cm_chan_is_known(const struct rnic_cm_chan *chan)
{
	return atomic_load_explicit(&chan->fork_gen, memory_order_relaxed) >=
	       cm.whole_gen;
}

int cm_chan_front(const struct rnic_cm_chan *chan)
{
	return chan->front_gen == rnic_fork_gen() ? chan->front_fd : -1;
}

static int front_watch(int front_fd, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return epoll_ctl(front_fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

/* Of connections nothing can come: a process that has many, and forks to
 * execute another program, does not pay for their channels. */
static bool chan_has_only_connections(const struct rnic_cm_chan *chan)
{
	const struct cm_id *id;

	TAILQ_FOREACH(id, &chan->ids, chan_link)
	{
		if (id->state == RNIC_CM_S_IDLE ||
		    id->state == RNIC_CM_S_BOUND ||
		    id->state == RNIC_CM_S_LISTEN)
			return false;
	}
	return !TAILQ_EMPTY(&chan->ids);
}

/*
 * From now on the same file is behind the numbers, as an epoll set of the
 * application's wants it.  Without a front they stay with the parent's eventfd
 * until the channel is used.
 */
static void chan_put_front(struct rnic_cm_chan *chan, struct util_fdtab *tab)
{
	/* There is one thread, and most channels have one number. */
	uint32_t left = chan->file ? chan->file->fd_cnt : 0;
	struct cm_id *id;
	int num = -1, front_fd;

	if (!left || chan_has_only_connections(chan))
		return;
	front_fd = rnic_fd_own(epoll_create1(EPOLL_CLOEXEC));
	if (front_fd < 0)
		return;
	TAILQ_FOREACH(id, &chan->ids, chan_link)
	{
		if (id->state == RNIC_CM_S_LISTEN)
			(void)front_watch(front_fd, id_listen_fd(id));
	}
	for (; left; left--) {
		num = util_fdtab_find(tab, num + 1, chan->file);
		(void)rnic_evfd_share_as(front_fd, num);
	}
	chan->front_fd = front_fd;
	chan->front_gen = rnic_fork_gen();
}

/* The parent's threads are not here, and its connections are left where they
 * lie. */
void rnic_cm_fork_child(struct util_fdtab *tab)
{
	const struct cm_chan_list chans = cm.chans;
	struct rnic_cm_chan *chan;
	struct cm_id *id;
	uint32_t slot = 0;
	uint32_t whole_gen = is_whole ? cm.whole_gen : rnic_fork_gen();

	rnic_loop_reset(is_whole);
	cm = (struct cm_manager){
		.whole_gen = whole_gen,
		.is_inherited = true,
		/* The groups that are inherited keep their numbers. */
		.join_last = cm.join_last,
	};
	if (is_whole)
		cm.chans = chans;
	while ((id = rnic_ref_next(&rnic_loop.noted, &slot))) {
		/* Cannot fail: the table has a place for this number. */
		if (id_listen_fd(id) >= 0)
			(void)util_fdtab_add(tab, id_listen_fd(id),
					     RNIC_FD_INTERNAL, NULL);
	}
	LIST_FOREACH(chan, &cm.chans, link)
	chan_put_front(chan, tab);
}

/* ---- the first use ------------------------------------------------------ */

/* The number of an identity whose request was not fetched was never told. */
static void inherit_events(struct rnic_cm_chan *chan)
{
	struct cm_event *event;

	while ((event = TAILQ_FIRST(&chan->events))) {
		struct cm_id *child = event->child;

		TAILQ_REMOVE(&chan->events, event, link);
		if (child) {
			rnic_ref_remove(&rnic_loop.noted, child->ref);
			TAILQ_REMOVE(&chan->ids, child, chan_link);
			cm_sidr_forget(child->ud.sidr);
			cm_id_show_fini(child);
			free(child);
		}
		free(event);
	}
}

static void inherit_id(struct cm_id *id)
{
	id->conn = NULL;
	free(id->ended);
	id->ended = NULL;
	id->unread.list = RNIC_TIMER_NONE;
	free(id->timewait);
	id->timewait = NULL;
	cm_sidr_forget(id->ud.sidr);
	id->ud.sidr = NULL;
	id->ud.sock.watched = 0;
	id->ud.sock.pause.list = RNIC_TIMER_NONE;
	id->ud.has_mads = false;
	id->ud.undecided_cnt = 0;
	id->in_timewait.list = RNIC_TIMER_NONE;
	rnic_acceptor_fork_child(&id->listener.acceptor);
	id->listener.watched = 0;
	id->listener.unfetched_cnt = 0;
	id->is_inherited = true;
	/* Its slot was the parent's.  Without memory others do not see it. */
	(void)cm_id_show_init(id);
	switch (id->state) {
	case RNIC_CM_S_IDLE:
	case RNIC_CM_S_LISTEN:
		return;
	case RNIC_CM_S_BOUND:
	case RNIC_CM_S_ADDR:
	case RNIC_CM_S_ROUTE:
		if (rnic_addr_port_be(&id->local) && cm_id_rebind(id) < 0)
			util_warn("cm", "%s: its port is the parent's",
				  CM_ID_NAME(id));
		return;
	default: /* a connection */
		cm_id_set_state(id, RNIC_CM_S_DISCONNECT);
	}
}

/* Once: what of the parent's the child goes on with. */
static void manager_inherit(void)
{
	struct cm_id *id;
	uint32_t slot = 0;

	util_lock_assert_held(&rnic_loop.lock);
	if (!cm.is_inherited)
		return;
	cm.is_inherited = false;
	rnic_ref_fork_child(&rnic_loop.noted);
	while ((id = rnic_ref_next(&rnic_loop.noted, &slot)))
		inherit_events(id->chan);
	slot = 0;
	while ((id = rnic_ref_next(&rnic_loop.noted, &slot)))
		inherit_id(id);
}

static int chan_listen(const struct rnic_cm_chan *chan)
{
	struct cm_id *id;
	int ret = 0;

	TAILQ_FOREACH(id, &chan->ids, chan_link)
	{
		if (ret == 0 && id->state == RNIC_CM_S_LISTEN)
			ret = rnic_listen_resume_inherited(id);
	}
	return ret;
}

/* The sockets that the channel listens at give way to @fd. */
static int front_turn(const struct rnic_cm_chan *chan, int front_fd, int fd)
{
	struct cm_id *id;
	int ret = front_watch(front_fd, fd);

	if (ret < 0)
		return ret;
	TAILQ_FOREACH(id, &chan->ids, chan_link)
	{
		if (id->state == RNIC_CM_S_LISTEN)
			(void)epoll_ctl(front_fd, EPOLL_CTL_DEL,
					id_listen_fd(id), NULL);
	}
	return 0;
}

static int chan_share(const struct rnic_cm_chan *chan, int fd)
{
	struct util_fdtab *tab = rnic_fdtab();
	int num = -1, ret = 0;

	while (ret == 0 &&
	       (num = util_fdtab_find(tab, num + 1, chan->file)) >= 0)
		ret = rnic_evfd_share_as(fd, num);
	return ret;
}

/* The eventfd is shared with the parent: another one, behind all numbers. */
static int chan_renew(struct rnic_cm_chan *chan)
{
	int front_fd = cm_chan_front(chan);
	int fd = rnic_evfd_open();
	int ret;

	if (fd < 0)
		return fd;
	ret = front_fd >= 0 ? front_turn(chan, front_fd, fd)
			    : chan_share(chan, fd);
	if (ret < 0)
		goto close_fd;
	chan->fd = fd;
	ret = chan_listen(chan);
	if (ret < 0)
		goto close_fd;
	/* release: pairs with the acquire in cm_chan_is_forked() */
	atomic_store_explicit(&chan->fork_gen, rnic_fork_gen(),
			      memory_order_release);
	return 0;

close_fd:
	chan->fd = -1;
	rnic_fd_close(fd);
	return ret;
}

int cm_chan_lock(struct rnic_cm_chan *chan)
{
	int ret = 0;

	util_lock(&rnic_loop.lock);
	if (!cm_chan_is_forked(chan))
		return 0;
	if (!cm_chan_is_known(chan)) {
		ret = -ENODEV;
	} else {
		rnic_observer_start();
		rnic_fault_start();
		manager_inherit();
		ret = chan_renew(chan);
	}
	if (ret < 0) {
		util_unlock(&rnic_loop.lock);
		util_err("cm", "a channel cannot be used after fork: %s",
			 strerror(-ret));
	}
	return ret;
}

bool cm_chan_lock_to_close(const struct rnic_cm_chan *chan)
{
	util_lock(&rnic_loop.lock);
	if (!cm_chan_is_forked(chan))
		return true;
	if (!cm_chan_is_known(chan)) {
		util_unlock(&rnic_loop.lock);
		return false;
	}
	manager_inherit();
	return true;
}

int cm_chan_lock_ud(struct rnic_cm_chan *chan, const char *call)
{
	return util_settings()->persona == UTIL_PERSONA_CA
		       ? cm_chan_lock(chan)
		       : util_refuse_datagrams("cm", call);
}

/* @ret: of the lock, which is given up if there is no such identity. */
static int id_find(int ret, const struct rnic_cm_chan *chan, uint32_t num,
		   struct cm_id **ret_id)
{
	struct cm_id *id;

	if (ret < 0)
		return ret;
	id = rnic_ref_get_slot(&rnic_loop.noted, num);
	if (!id || id->chan != chan) {
		util_unlock(&rnic_loop.lock);
		return -ENOENT;
	}
	*ret_id = id;
	return 0;
}

int cm_id_lock(struct rnic_cm_chan *chan, uint32_t num, struct cm_id **ret_id)
{
	return id_find(cm_chan_lock(chan), chan, num, ret_id);
}

int cm_id_lock_ud(struct rnic_cm_chan *chan, const char *call, uint32_t num,
		  struct cm_id **ret_id)
{
	return id_find(cm_chan_lock_ud(chan, call), chan, num, ret_id);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See epoll.h. */
#include "epoll.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* All lists; epoll_ctl() is rare beside the traffic. */
static struct util_lock watch_lock = UTIL_LOCK_INIT(UTIL_RANK_SDP_WATCH);

static struct util_fdtab *table(void)
{
	/* acquire: pairs with the release in sdp_table_start() */
	return atomic_load_explicit(&sdp_fds, memory_order_acquire);
}

static struct sdp_epoll *set_of(struct util_file *file)
{
	return (struct sdp_epoll *)(void *)file;
}

/* ---- lists, with watch_lock ---------------------------------------------- */

static void unlink_from_sock(struct sdp_watch *watch)
{
	struct sdp_watch **at = &watch->sock->watches;

	while (*at != watch)
		at = &(*at)->sock_next;
	*at = watch->sock_next;
}

static void unlink_from_set(struct sdp_watch *watch)
{
	struct sdp_watch **at = &watch->set->watches;

	while (*at != watch)
		at = &(*at)->set_next;
	*at = watch->set_next;
}

static struct sdp_watch *watch_find(struct sdp_sock *sock,
				    const struct sdp_epoll *set, int fd)
{
	struct sdp_watch *watch = sock->watches;

	while (watch && (watch->set != set || watch->fd != fd))
		watch = watch->sock_next;
	return watch;
}

/* ---- sets ---------------------------------------------------------------- */

/* The last number of a set has gone, and with it the registrations. */
static void set_close(struct util_file *file)
{
	struct sdp_epoll *set = set_of(file);
	struct sdp_watch *watch;

	util_lock(&watch_lock);
	while ((watch = set->watches)) {
		set->watches = watch->set_next;
		unlink_from_sock(watch);
		free(watch);
	}
	util_unlock(&watch_lock);
}

static void set_free(struct util_file *file)
{
	free(set_of(file));
}

void sdp_epoll_add(int set_fd)
{
	struct sdp_epoll *set = calloc(1, sizeof(*set));

	if (!set)
		return;
	util_file_init(&set->file, set_close, set_free);
	util_fdtab_uninstall(table(), set_fd, NULL);
	(void)util_fdtab_install(table(), set_fd, SDP_FD_EPOLL, &set->file);
	util_file_put(&set->file);
}

/* With a reference.  A set that was made behind our back appears here. */
static struct sdp_epoll *set_get(int set_fd)
{
	struct util_file *file;

	if (sdp_fd_kind(set_fd) == UTIL_FD_NONE)
		sdp_epoll_add(set_fd);
	file = util_fdtab_get(table(), set_fd, SDP_FD_EPOLL);
	return file ? set_of(file) : NULL;
}

/* ---- registrations --------------------------------------------------------
 */

static int watch_add(struct sdp_epoll *set, int set_fd, int fd,
		     const struct epoll_event *ev, struct sdp_sock *sock)
{
	struct sdp_watch *watch = malloc(sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	*watch = (struct sdp_watch){
		.sock = sock, .set = set, .set_fd = set_fd, .fd = fd, .ev = *ev
	};
	util_lock(&watch_lock);
	watch->sock_next = sock->watches;
	sock->watches = watch;
	watch->set_next = set->watches;
	set->watches = watch;
	util_unlock(&watch_lock);
	return 0;
}

static void watch_change(struct sdp_epoll *set, int op, int fd,
			 const struct epoll_event *ev, struct sdp_sock *sock)
{
	struct sdp_watch *watch;

	util_lock(&watch_lock);
	watch = watch_find(sock, set, fd);
	if (watch && op == EPOLL_CTL_MOD) {
		watch->ev = *ev;
	} else if (watch) {
		unlink_from_sock(watch);
		unlink_from_set(watch);
		free(watch);
	}
	util_unlock(&watch_lock);
}

int sdp_watch_note(int set_fd, int op, int fd, const struct epoll_event *ev,
		   struct sdp_sock *sock)
{
	struct sdp_epoll *set = set_get(set_fd);
	int ret = 0;

	if (!set)
		return -ENOMEM;
	if (op == EPOLL_CTL_ADD)
		ret = watch_add(set, set_fd, fd, ev, sock);
	else
		watch_change(set, op, fd, ev, sock);
	util_file_put(&set->file);
	return ret;
}

bool sdp_watch_any(struct sdp_sock *sock, bool *ret_edges)
{
	struct sdp_watch *watch;
	bool is_any;

	*ret_edges = false;
	util_lock(&watch_lock);
	is_any = sock->watches != NULL;
	for (watch = sock->watches; watch; watch = watch->sock_next)
		if (watch->ev.events & EPOLLET)
			*ret_edges = true;
	util_unlock(&watch_lock);
	return is_any;
}

/* A number that still stands for the set; the one that was used may have been
 * closed. */
static int set_number(const struct sdp_watch *watch)
{
	void *object = NULL;

	if (util_fdtab_lookup(table(), watch->set_fd, &object) ==
		    SDP_FD_EPOLL &&
	    object == &watch->set->file)
		return watch->set_fd;
	return util_fdtab_find(table(), 0, &watch->set->file);
}

static void kernel_ctl(const struct sdp_watch *watch, int op, int fd)
{
	struct epoll_event ev = watch->ev;

	syscall(SYS_epoll_ctl, set_number(watch), op, fd, &ev);
}

void sdp_watch_twin(struct sdp_sock *sock, int op, int twin_fd)
{
	struct sdp_watch *watch;

	util_lock(&watch_lock);
	for (watch = sock->watches; watch; watch = watch->sock_next)
		kernel_ctl(watch, op, twin_fd);
	util_unlock(&watch_lock);
}

void sdp_watch_leave(struct sdp_sock *sock)
{
	struct sdp_watch *watch;

	util_lock(&watch_lock);
	for (watch = sock->watches; watch; watch = watch->sock_next)
		kernel_ctl(watch, EPOLL_CTL_DEL, watch->fd);
	util_unlock(&watch_lock);
}

void sdp_watch_return(struct sdp_sock *sock)
{
	struct sdp_watch *watch;

	util_lock(&watch_lock);
	for (watch = sock->watches; watch; watch = watch->sock_next)
		kernel_ctl(watch, EPOLL_CTL_ADD, watch->fd);
	util_unlock(&watch_lock);
}

void sdp_watch_forget(struct sdp_sock *sock, int fd)
{
	struct sdp_watch **at = &sock->watches, *watch;

	util_lock(&watch_lock);
	while ((watch = *at)) {
		if (fd >= 0 && watch->fd != fd) {
			at = &watch->sock_next;
			continue;
		}
		*at = watch->sock_next;
		unlink_from_set(watch);
		free(watch);
	}
	util_unlock(&watch_lock);
}

static bool is_reported(const struct sdp_watch *watch,
			const struct epoll_event *ev, int ev_cnt)
{
	for (int i = 0; i < ev_cnt; i++)
		if (ev[i].data.u64 == watch->ev.data.u64)
			return true;
	return false;
}

int sdp_watch_pending(int set_fd, const struct epoll_event *ev, int ev_cnt,
		      struct sdp_wait *ret_waits, int max)
{
	struct util_file *file = util_fdtab_get(table(), set_fd, SDP_FD_EPOLL);
	struct sdp_watch *watch;
	enum sdp_sock_state state;
	int cnt = 0;

	if (!file)
		return 0;
	util_lock(&watch_lock);
	for (watch = set_of(file)->watches; watch && cnt < max;
	     watch = watch->set_next) {
		state = sdp_sock_state(watch->sock);
		if ((state != SDP_SOCK_PENDING &&
		     state != SDP_SOCK_CONNECTING) ||
		    !is_reported(watch, ev, ev_cnt))
			continue;
		util_file_get(&watch->sock->file);
		ret_waits[cnt++] =
			(struct sdp_wait){ .sock = watch->sock,
					   .fd = watch->fd,
					   .data = watch->ev.data.u64 };
	}
	util_unlock(&watch_lock);
	util_file_put(file);
	return cnt;
}

void sdp_watch_fork_prepare(void)
{
	util_lock(&watch_lock);
}

void sdp_watch_fork_parent(void)
{
	util_unlock(&watch_lock);
}

void sdp_watch_fork_child(void)
{
	util_lock_init(&watch_lock, UTIL_RANK_SDP_WATCH);
}

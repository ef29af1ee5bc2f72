/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See epoll.h. */
#include "epoll.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sock/base/events.h"
#include "spent.h"

/* One lock for all lists: epoll_ctl() is rare compared to the traffic. */
static struct util_lock watch_lock = UTIL_LOCK_INIT(UTIL_RANK_SDP_WATCH);

static struct sdp_epoll *set_of(struct util_file *file)
{
	return (struct sdp_epoll *)(void *)file;
}

/* ---- queue; the lock of the set is held ---- */

static void queue_add(struct sdp_watch *watch)
{
	struct sdp_epoll *set = watch->set;

	util_lock_assert_held(&set->lock);
	if (watch->is_queued)
		return;
	watch->is_queued = true;
	watch->ready_next = NULL;
	*set->ready_end = watch;
	set->ready_end = &watch->ready_next;
	/* seq_cst: pairs with sdp_epoll_has_ready() */
	atomic_fetch_add_explicit(&set->ready_cnt, 1, memory_order_seq_cst);
}

static struct sdp_watch *queue_take(struct sdp_epoll *set)
{
	struct sdp_watch *watch = set->ready;

	if (!watch)
		return NULL;
	set->ready = watch->ready_next;
	if (!set->ready)
		set->ready_end = &set->ready;
	watch->is_queued = false;
	atomic_fetch_sub_explicit(&set->ready_cnt, 1, memory_order_relaxed);
	return watch;
}

static void queue_remove(struct sdp_watch *watch)
{
	struct sdp_epoll *set = watch->set;
	struct sdp_watch **at = &set->ready;

	if (!watch->is_queued)
		return;
	while (*at != watch)
		at = &(*at)->ready_next;
	*at = watch->ready_next;
	if (!watch->ready_next)
		set->ready_end = at;
	watch->is_queued = false;
	atomic_fetch_sub_explicit(&set->ready_cnt, 1, memory_order_relaxed);
}

/* Waking one is enough: it wakes the next one if events remain. */
static void wake_one(struct sdp_epoll *set)
{
	struct sdp_sleeper *sleeper = set->sleepers;

	while (sleeper && !sdp_sleeper_wake(sleeper))
		sleeper = sleeper->next;
}

static uint32_t wanted(const struct sdp_watch *watch)
{
	return watch->ev.events | EPOLLERR | EPOLLHUP;
}

static uint32_t events_now(const struct sdp_watch *watch)
{
	short events = sdp_events_norm(sdp_sock_events(watch->sock));

	return (uint16_t)events & wanted(watch);
}

/* A registration was added or changed: queues it at once if it is ready. */
static void watch_look(struct sdp_watch *watch)
{
	util_lock(&watch->set->lock);
	watch->is_spent = false;
	watch->has_edge = true;
	if (events_now(watch)) {
		queue_add(watch);
		wake_one(watch->set);
	}
	util_unlock(&watch->set->lock);
}

void sdp_watch_news(struct sdp_sock *sock, short news)
{
	struct sdp_watch *watch;

	util_lock_assert_held(&sock->shadow.lock);
	for (watch = sock->watches; watch; watch = watch->sock_next) {
		if (!watch->is_ours || !((uint16_t)news & wanted(watch)))
			continue;
		util_lock(&watch->set->lock);
		watch->has_edge = true;
		if (!watch->is_spent) {
			queue_add(watch);
			wake_one(watch->set);
		}
		util_unlock(&watch->set->lock);
	}
}

int sdp_epoll_collect(struct sdp_epoll *set, struct epoll_event *ev, int max)
{
	struct sdp_watch *watch;
	int cnt = 0;

	if (!sdp_epoll_has_ready(set))
		return 0;
	util_lock(&set->lock);
	/* Entries that are put back are not checked a second time. */
	for (uint32_t left = atomic_load_explicit(&set->ready_cnt,
						  memory_order_relaxed);
	     left > 0 && cnt < max; left--) {
		uint32_t events;

		/* Remove it from the queue before the check. A thread that
		 * makes it ready later then adds it again. */
		watch = queue_take(set);
		events = events_now(watch);
		if (!events ||
		    ((watch->ev.events & EPOLLET) && !watch->has_edge))
			continue;
		watch->has_edge = false;
		ev[cnt++] = (struct epoll_event){ .events = events,
						  .data = watch->ev.data };
		watch->is_spent = watch->ev.events & EPOLLONESHOT;
		if (!(watch->ev.events & (EPOLLET | EPOLLONESHOT)))
			queue_add(watch);
	}
	/* As in the kernel: events that remain are for another thread too. */
	if (set->ready)
		wake_one(set);
	util_unlock(&set->lock);
	return cnt;
}

void sdp_epoll_sleep_begin(struct sdp_epoll *set, struct sdp_sleeper *sleeper)
{
	util_lock(&set->lock);
	sleeper->prev = NULL;
	sleeper->next = set->sleepers;
	if (sleeper->next)
		sleeper->next->prev = sleeper;
	set->sleepers = sleeper;
	sleeper->is_listed = true;
	util_unlock(&set->lock);
	sdp_sleeper_begin(sleeper);
}

void sdp_epoll_sleep_end(struct sdp_epoll *set, struct sdp_sleeper *sleeper,
			 bool has_token)
{
	util_lock(&set->lock);
	if (sleeper->prev)
		sleeper->prev->next = sleeper->next;
	else if (sleeper->is_listed)
		set->sleepers = sleeper->next;
	if (sleeper->next)
		sleeper->next->prev = sleeper->prev;
	sleeper->is_listed = false;
	util_unlock(&set->lock);
	sdp_sleeper_end(sleeper, has_token);
}

/* ---- lists; watch_lock is held ---- */

static void link_to_sock(struct sdp_watch *watch)
{
	struct sdp_sock *sock = watch->sock;

	util_lock(&sock->shadow.lock);
	watch->sock_next = sock->watches;
	sock->watches = watch;
	util_unlock(&sock->shadow.lock);
}

/* Removes it from the list of its socket and from the queue. */
static void unlink_from_sock(struct sdp_watch *watch)
{
	struct sdp_watch **at = &watch->sock->watches;

	util_lock(&watch->sock->shadow.lock);
	while (*at != watch)
		at = &(*at)->sock_next;
	*at = watch->sock_next;
	util_unlock(&watch->sock->shadow.lock);
	util_lock(&watch->set->lock);
	queue_remove(watch);
	util_unlock(&watch->set->lock);
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

/* ---- sets ---- */

/* The last number of a set was closed: frees the registrations. */
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

static struct sdp_epoll *set_add(int set_fd)
{
	struct sdp_epoll *set = sdp_table() ? calloc(1, sizeof(*set)) : NULL;

	if (!set)
		return NULL;
	util_file_init(&set->file, set_close, set_free);
	util_lock_init(&set->lock, UTIL_RANK_SDP_READY);
	set->ready_end = &set->ready;
	util_fdtab_uninstall(sdp_table(), set_fd, NULL);
	(void)util_fdtab_install(sdp_table(), set_fd, SDP_FD_EPOLL, &set->file);
	return set;
}

void sdp_epoll_add(int set_fd)
{
	struct sdp_epoll *set = set_add(set_fd);

	if (set)
		util_file_put(&set->file);
}

struct sdp_epoll *sdp_epoll_get(int set_fd)
{
	struct util_file *file =
		util_fdtab_get(sdp_table(), set_fd, SDP_FD_EPOLL);

	return file ? set_of(file) : NULL;
}

/* Returns the set with a reference. A set that was created without the
 * library's knowledge is added here; others may use it too. */
static struct sdp_epoll *set_get(int set_fd)
{
	struct sdp_epoll *set = sdp_epoll_get(set_fd);

	if (set || sdp_fd_kind(set_fd) != SDP_FD_NONE)
		return set;
	set = set_add(set_fd);
	if (set)
		set->is_kernels = true;
	return set;
}

/* ---- registrations ---- */

/* A number that refers to the set now. The number used at registration may have
 * been closed. */
static int set_number(const struct sdp_watch *watch)
{
	void *object = NULL;

	if (util_fdtab_lookup(sdp_table(), watch->set_fd, &object) ==
		    SDP_FD_EPOLL &&
	    object == &watch->set->file)
		return watch->set_fd;
	return util_fdtab_find(sdp_table(), 0, &watch->set->file);
}

static void kernel_ctl(const struct sdp_watch *watch, int op, int fd)
{
	struct epoll_event ev = watch->ev;

	syscall(SYS_epoll_ctl, set_number(watch), op, fd, &ev);
}

static bool is_for_us(struct sdp_epoll *set, const struct sdp_sock *sock)
{
	if (!sdp_sock_is_stream(sock))
		return false;
	/* seq_cst: pairs with the load of is_kernels in epoll_wait() */
	if (atomic_load_explicit(&set->kernel_wait_cnt, memory_order_seq_cst) >
	    0)
		set->is_kernels = true;
	return !set->is_kernels;
}

static void set_ours(struct sdp_watch *watch, bool is_ours)
{
	util_lock(&watch->sock->shadow.lock);
	watch->is_ours = is_ours;
	util_unlock(&watch->sock->shadow.lock);
	util_lock(&watch->set->lock);
	if (!is_ours)
		queue_remove(watch);
	util_unlock(&watch->set->lock);
}

/* From now on the kernel watches it. */
static void give(struct sdp_watch *watch)
{
	set_ours(watch, false);
	kernel_ctl(watch, EPOLL_CTL_ADD, watch->fd);
}

static void take(struct sdp_watch *watch)
{
	set_ours(watch, true);
	watch_look(watch);
}

static struct sdp_watch *watch_new(struct sdp_epoll *set, int set_fd, int fd,
				   const struct epoll_event *ev,
				   struct sdp_sock *sock)
{
	struct sdp_watch *watch = malloc(sizeof(*watch));

	if (!watch)
		return NULL;
	*watch = (struct sdp_watch){
		.sock = sock, .set = set, .set_fd = set_fd, .fd = fd, .ev = *ev
	};
	link_to_sock(watch);
	watch->set_next = set->watches;
	set->watches = watch;
	return watch;
}

/* The kernel has the registration already. */
static int watch_add(struct sdp_epoll *set, int set_fd, int fd,
		     const struct epoll_event *ev, struct sdp_sock *sock)
{
	struct sdp_watch *watch;

	util_lock(&watch_lock);
	watch = watch_new(set, set_fd, fd, ev, sock);
	if (watch && sdp_sock_is_stream(sock))
		kernel_ctl(watch, EPOLL_CTL_DEL, fd);
	if (watch && is_for_us(set, sock))
		take(watch);
	else if (watch && sdp_sock_is_stream(sock))
		kernel_ctl(watch, EPOLL_CTL_ADD, fd);
	util_unlock(&watch_lock);
	return watch ? 0 : -ENOMEM;
}

/*
 * Adds a registration without the kernel, for programs that add and delete one
 * with each request. EPOLLEXCLUSIVE goes to the kernel, which checks its rules.
 * Return: 1; 0: use the kernel; -ENOMEM.
 */
static int watch_add_ours(struct sdp_epoll *set, int set_fd, int fd,
			  const struct epoll_event *ev, struct sdp_sock *sock)
{
	struct sdp_watch *watch;

	if ((ev->events & EPOLLEXCLUSIVE) || !is_for_us(set, sock))
		return 0;
	watch = watch_new(set, set_fd, fd, ev, sock);
	if (!watch)
		return -ENOMEM;
	take(watch);
	return 1;
}

static void watch_remove(struct sdp_watch *watch)
{
	unlink_from_sock(watch);
	unlink_from_set(watch);
	free(watch);
}

/* What was registered has a set that is known; the set is compared only, so it
 * needs no reference. */
static void watch_change(int set_fd, int op, int fd,
			 const struct epoll_event *ev, struct sdp_sock *sock)
{
	struct sdp_watch *watch;
	void *set = NULL;

	if (util_fdtab_lookup(sdp_table(), set_fd, &set) != SDP_FD_EPOLL)
		return;
	util_lock(&watch_lock);
	watch = watch_find(sock, set_of(set), fd);
	if (watch && op == EPOLL_CTL_MOD)
		watch->ev = *ev;
	else if (watch)
		watch_remove(watch);
	util_unlock(&watch_lock);
}

int sdp_watch_note(int set_fd, int op, int fd, const struct epoll_event *ev,
		   struct sdp_sock *sock)
{
	struct sdp_epoll *set;
	int ret;

	if (op != EPOLL_CTL_ADD) {
		watch_change(set_fd, op, fd, ev, sock);
		return 0;
	}
	set = set_get(set_fd);
	if (!set)
		return -ENOMEM;
	ret = watch_add(set, set_fd, fd, ev, sock);
	util_file_put(&set->file);
	return ret;
}

/* Changes a registration as the kernel does. */
static int watch_modify(struct sdp_watch *watch, const struct epoll_event *ev)
{
	if ((ev->events | watch->ev.events) & EPOLLEXCLUSIVE)
		return -EINVAL;
	util_lock(&watch->sock->shadow.lock);
	util_lock(&watch->set->lock);
	watch->ev = *ev;
	util_unlock(&watch->set->lock);
	util_unlock(&watch->sock->shadow.lock);
	watch_look(watch);
	return 1;
}

int sdp_watch_ctl(int set_fd, int op, int fd, const struct epoll_event *ev,
		  struct sdp_sock *sock)
{
	struct sdp_epoll *set = sdp_epoll_get(set_fd);
	struct sdp_watch *watch;
	int ret = 0;

	if (!set)
		return 0;
	util_lock(&watch_lock);
	watch = watch_find(sock, set, fd);
	if (!watch && op == EPOLL_CTL_ADD) {
		ret = watch_add_ours(set, set_fd, fd, ev, sock);
	} else if (watch && watch->is_ours) {
		if (op == EPOLL_CTL_ADD) {
			ret = -EEXIST;
		} else if (op == EPOLL_CTL_MOD) {
			ret = watch_modify(watch, ev);
		} else {
			watch_remove(watch);
			ret = 1;
		}
	}
	util_unlock(&watch_lock);
	util_file_put(&set->file);
	return ret;
}

struct sdp_sock *sdp_epoll_give(struct sdp_epoll *set, int *ret_fd)
{
	struct sdp_watch *watch;
	struct sdp_sock *sock = NULL;

	util_lock(&watch_lock);
	set->is_kernels = true;
	for (watch = set->watches; watch && !watch->is_ours;)
		watch = watch->set_next;
	if (watch) {
		sock = watch->sock;
		*ret_fd = watch->fd;
		util_file_get(&sock->file);
		give(watch);
	}
	util_unlock(&watch_lock);
	return sock;
}

bool sdp_watch_any(struct sdp_sock *sock, uint32_t *ret_events)
{
	struct sdp_watch *watch;
	bool is_any = false;

	*ret_events = 0;
	util_lock(&watch_lock);
	for (watch = sock->watches; watch; watch = watch->sock_next) {
		if (watch->is_ours)
			continue;
		is_any = true;
		*ret_events |= watch->ev.events;
	}
	util_unlock(&watch_lock);
	return is_any;
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
	for (watch = sock->watches; watch; watch = watch->sock_next) {
		if (watch->is_ours) {
			set_ours(watch, false);
			continue;
		}
		watch->is_spent = watch->ev.events & EPOLLONESHOT &&
				  sdp_epoll_is_spent(watch->set_fd, watch->fd);
		kernel_ctl(watch, EPOLL_CTL_DEL, watch->fd);
	}
	util_unlock(&watch_lock);
}

void sdp_watch_return(struct sdp_sock *sock)
{
	struct sdp_watch *watch;

	util_lock(&watch_lock);
	for (watch = sock->watches; watch; watch = watch->sock_next) {
		if (!is_for_us(watch->set, watch->sock))
			kernel_ctl(watch, EPOLL_CTL_ADD, watch->fd);
		else if (watch->is_spent)
			set_ours(watch, true);
		else
			take(watch);
	}
	util_unlock(&watch_lock);
}

void sdp_watch_give(struct sdp_sock *sock)
{
	struct sdp_watch *watch;

	util_lock(&watch_lock);
	for (watch = sock->watches; watch; watch = watch->sock_next)
		if (watch->is_ours)
			give(watch);
	util_unlock(&watch_lock);
}

/* The last number is about to be closed. The kernel removes a registration only
 * then, and would report how the shadow ends. */
static void kernel_forget(const struct sdp_watch *watch)
{
	const struct sdp_sock *sock = watch->sock;

	if (!watch->is_ours && sdp_sock_is_stream(sock) && !sock->is_shared &&
	    sdp_fd_kind(watch->fd) == SDP_FD_NONE)
		kernel_ctl(watch, EPOLL_CTL_DEL, watch->fd);
}

void sdp_watch_forget(struct sdp_sock *sock, int fd)
{
	struct sdp_watch *watch, *next;

	util_lock(&watch_lock);
	for (watch = sock->watches; watch; watch = next) {
		next = watch->sock_next;
		if (fd < 0)
			kernel_forget(watch);
		if (fd < 0 || watch->fd == fd)
			watch_remove(watch);
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
	struct util_file *file =
		util_fdtab_get(sdp_table(), set_fd, SDP_FD_EPOLL);
	struct sdp_watch *watch;
	int cnt = 0;

	if (!file)
		return 0;
	util_lock(&watch_lock);
	for (watch = set_of(file)->watches; watch && cnt < max;
	     watch = watch->set_next) {
		if (sdp_sock_state(watch->sock) != SDP_SOCK_PENDING ||
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

/* The child shares the kernel's sets with its parent. All sockets that used SDP
 * are relays in the child. */
static void set_fork_child(struct util_fdtab *tab, int fd, unsigned int kind,
			   void *object)
{
	struct sdp_epoll *set = object;

	(void)tab;
	(void)fd;
	if (kind != SDP_FD_EPOLL)
		return;
	util_lock_init(&set->lock, UTIL_RANK_SDP_READY);
	set->ready = NULL;
	set->ready_end = &set->ready;
	atomic_store_explicit(&set->ready_cnt, 0, memory_order_relaxed);
	atomic_store_explicit(&set->kernel_wait_cnt, 0, memory_order_relaxed);
	set->sleepers = NULL;
	set->is_kernels = true;
	for (struct sdp_watch *w = set->watches; w; w = w->set_next)
		w->is_ours = w->is_queued = false;
}

void sdp_watch_fork_child(void)
{
	util_lock_init(&watch_lock, UTIL_RANK_SDP_WATCH);
	util_fdtab_each(sdp_table(), set_fork_child);
}

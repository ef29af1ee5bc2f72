/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See ready.h. */
#include "ready.h"

#include <poll.h>
#include <sys/epoll.h>

#include "epoll.h"
#include "shadow.h"
#include "sock/base/signals.h"
#include "sleeper.h"
#include "verbs/sdp-link.h"

/* The caller holds the shadow's lock. A thread that closes a number takes it
 * too. POLLPRI is shown only if a registration requests it, because its octet
 * causes POLLIN too. */
static void show_locked(struct sdp_sock *sock, int fd, short arrival)
{
	short events;

	/* relaxed: with the lock */
	if (sock->relay.is_on || !atomic_load_explicit(&sock->shadow.is_watched,
						       memory_order_relaxed))
		return;
	if (fd >= 0 && !sdp_sock_has_fd(sock, fd))
		fd = -1;
	events = sdp_sock_events(sock);
	if (!sock->shadow.has_pri)
		events &= ~POLLPRI;
	sdp_shadow_show(&sock->shadow, fd, events, arrival);
}

void sdp_sock_show(struct sdp_sock *sock, int fd, short arrival)
{
	util_lock(&sock->shadow.lock);
	show_locked(sock, fd, arrival);
	util_unlock(&sock->shadow.lock);
}

void sdp_sock_watch(struct sdp_sock *sock, int fd)
{
	struct sdp_shadow *shadow = &sock->shadow;
	uint32_t events = 0;
	bool is_any = sdp_watch_any(sock, &events) || sock->is_async;

	util_lock(&shadow->lock);
	/* relaxed: written with the lock; sdp_sock_settle() uses it only as a
	 * hint */
	atomic_store_explicit(&shadow->is_watched, is_any,
			      memory_order_relaxed);
	/* A signal needs edges too. */
	shadow->has_edges = (events & EPOLLET) || sock->is_async;
	shadow->has_pri = events & EPOLLPRI;
	util_unlock(&shadow->lock);
	if (is_any)
		sdp_sock_show(sock, fd, 0);
}

void sdp_ready_give(int set_fd)
{
	struct sdp_epoll *set = sdp_epoll_get(set_fd);
	struct sdp_sock *sock;
	int fd;

	while (set && (sock = sdp_epoll_give(set, &fd))) {
		sdp_sock_watch(sock, fd);
		sdp_sock_put(sock);
	}
	if (set)
		util_file_put(&set->file);
}

/* ---- notification ---- */

static void tell(struct sdp_sock *sock, int fd, short news, short arrival)
{
	struct sdp_poller *poller;

	util_lock(&sock->shadow.lock);
	show_locked(sock, fd, arrival);
	news = sdp_events_norm(news & sdp_sock_events(sock));
	if (sock->watches)
		sdp_watch_news(sock, news);
	for (poller = sock->pollers; poller; poller = poller->next)
		if (news & (poller->events | POLLERR | POLLHUP))
			(void)sdp_sleeper_wake(poller->sleeper);
	util_unlock(&sock->shadow.lock);
}

void sdp_sock_wake(struct sdp_sock *sock)
{
	struct sdp_poller *poller;

	util_lock(&sock->shadow.lock);
	for (poller = sock->pollers; poller; poller = poller->next)
		(void)sdp_sleeper_wake(poller->sleeper);
	util_unlock(&sock->shadow.lock);
}

void sdp_sock_tell(struct sdp_sock *sock, int fd, short news)
{
	tell(sock, fd, news, POLLIN);
}

void sdp_sock_notify(void *arg, unsigned int state, unsigned int news)
{
	struct sdp_sock *sock = arg;
	short events = sdp_events_of(news & state);

	/* As the kernel does for TCP, the signal is sent when the octet is
	 * announced, and POLLPRI is shown when it has arrived (SDP-118). */
	if (news & state & SDP_LINK_URGENT)
		sdp_signals_urgent(sock->tcp_fd);
	/* The thread of a start reports events when it has ended. */
	if (events && sdp_sock_state(sock) != SDP_SOCK_STARTING)
		tell(sock, -1, events,
		     (news & SDP_LINK_IN ? POLLIN : 0) | (events & POLLPRI));
}

void sdp_sock_sleep_begin(struct sdp_sock *sock, struct sdp_poller *poller,
			  short events, struct sdp_sleeper *sleeper)
{
	*poller = (struct sdp_poller){ .events = events };
	util_lock(&sock->shadow.lock);
	poller->sleeper = sleeper;
	poller->next = sock->pollers;
	if (poller->next)
		poller->next->prev = poller;
	sock->pollers = poller;
	util_unlock(&sock->shadow.lock);
}

void sdp_sock_sleep_end(struct sdp_sock *sock, struct sdp_poller *poller)
{
	util_lock(&sock->shadow.lock);
	if (poller->prev)
		poller->prev->next = poller->next;
	else
		sock->pollers = poller->next;
	if (poller->next)
		poller->next->prev = poller->prev;
	poller->sleeper = NULL;
	util_unlock(&sock->shadow.lock);
}

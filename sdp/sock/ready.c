/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See ready.h. */
#include "ready.h"

#include <poll.h>

#include "epoll.h"
#include "shadow.h"
#include "sleeper.h"
#include "verbs/sdp-link.h"

static void show_locked(struct sdp_sock *sock, int fd, bool is_arrival)
{
	if (!sock->is_relay && sock->shadow.is_watched)
		sdp_shadow_show(&sock->shadow, fd, sdp_sock_events(sock),
				is_arrival);
}

void sdp_sock_show(struct sdp_sock *sock, int fd, bool is_arrival)
{
	util_lock(&sock->shadow.lock);
	show_locked(sock, fd, is_arrival);
	util_unlock(&sock->shadow.lock);
}

void sdp_sock_watch(struct sdp_sock *sock, int fd)
{
	struct sdp_shadow *shadow = &sock->shadow;
	bool has_edges, is_any = sdp_watch_any(sock, &has_edges);

	/* A signal is an edge. */
	if (sock->is_async)
		is_any = has_edges = true;
	util_lock(&shadow->lock);
	shadow->is_watched = is_any;
	shadow->has_edges = has_edges;
	util_unlock(&shadow->lock);
	if (is_any)
		sdp_sock_show(sock, fd, false);
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

/* ---- who is told
 * ---------------------------------------------------------------- */

static void tell(struct sdp_sock *sock, int fd, short news, bool is_arrival)
{
	struct sdp_poller *poller;

	util_lock(&sock->shadow.lock);
	show_locked(sock, fd, is_arrival);
	news &= sdp_sock_events(sock);
	if (sock->watches)
		sdp_watch_news(sock, news);
	for (poller = sock->pollers; poller; poller = poller->next)
		if (news & (poller->events | POLLERR | POLLHUP))
			(void)sdp_sleeper_wake(poller->sleeper);
	util_unlock(&sock->shadow.lock);
}

void sdp_sock_tell(struct sdp_sock *sock, int fd, short news)
{
	tell(sock, fd, news, true);
}

void sdp_sock_notify(void *arg, unsigned int state, unsigned int news)
{
	short events = sdp_events_of(news & state);

	/* The thread of a start tells when it has ended. */
	if (events && sdp_sock_state(arg) != SDP_SOCK_STARTING)
		tell(arg, -1, events, news & SDP_LINK_IN);
}

void sdp_sock_sleep_begin(struct sdp_sock *sock, struct sdp_poller *poller,
			  short events, struct sdp_sleeper *sleeper)
{
	*poller = (struct sdp_poller){ .sleeper = sleeper, .events = events };
	util_lock(&sock->shadow.lock);
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
	util_unlock(&sock->shadow.lock);
	poller->sleeper = NULL;
}

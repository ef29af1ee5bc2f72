/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Notifies epoll sets and sleeping threads that a socket over SDP is ready. */
#ifndef SDP_SOCK_READY_H
#define SDP_SOCK_READY_H

#include <stdbool.h>

#include "sock/base/events.h"
#include "sock/base/table.h"

/* Makes the shadow show the current events; @fd, @arrival as in
 * sdp_shadow_show(). */
void sdp_sock_show(struct sdp_sock *sock, int fd, short arrival);

/* The same after each call of the program. Does nothing unless the shadow is
 * watched. */
static inline void sdp_sock_settle(struct sdp_sock *sock, int fd)
{
	/* relaxed: a thread that registers the socket updates the shadow too */
	if (atomic_load_explicit(&sock->shadow.is_watched,
				 memory_order_relaxed))
		sdp_sock_show(sock, fd, 0);
}

/*
 * Something other than the link has changed the events of @sock: notifies epoll
 * sets and sleeping threads. @news: events that may be new; @fd as above.
 */
#define SDP_NEWS_ALL ((short)~0)
void sdp_sock_tell(struct sdp_sock *sock, int fd, short news);

/* The registrations in epoll sets have changed. */
void sdp_sock_watch(struct sdp_sock *sock, int fd);

/* The epoll set @set_fd is used in other ways than by epoll_wait(): the kernel
 * watches its sockets from now on. */
void sdp_ready_give(int set_fd);

/*
 * Call the first before a thread sleeps for @events of @sock, and the second
 * afterwards. Do not touch @poller in between.
 */
struct sdp_sleeper;
void sdp_sock_sleep_begin(struct sdp_sock *sock, struct sdp_poller *poller,
			  short events, struct sdp_sleeper *sleeper);
void sdp_sock_sleep_end(struct sdp_sock *sock, struct sdp_poller *poller);

/* From now on the kernel watches it. Threads that sleep for it check again. */
void sdp_sock_wake(struct sdp_sock *sock);

/* The function for sdp_link_set_notify(). */
void sdp_sock_notify(void *arg, unsigned int state, unsigned int news);

#endif

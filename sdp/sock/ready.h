/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Tells epoll sets and sleeping threads that a socket over SDP is ready. */
#ifndef SDP_SOCK_READY_H
#define SDP_SOCK_READY_H

#include <stdbool.h>

#include "events.h"
#include "table.h"

/* The shadow shows what holds now; @fd, @arrival as in sdp_shadow_show(). */
void sdp_sock_show(struct sdp_sock *sock, int fd, short arrival);

/* The same behind each call of the program's: nothing unless watched. */
static inline void sdp_sock_settle(struct sdp_sock *sock, int fd)
{
	/* relaxed: a thread that registers it shows it, too */
	if (atomic_load_explicit(&sock->shadow.is_watched,
				 memory_order_relaxed))
		sdp_sock_show(sock, fd, 0);
}

/*
 * Something other than the link has changed what @sock is ready for: epoll sets
 * and sleeping threads are told.  @news: what of it may be new; @fd as above.
 */
#define SDP_NEWS_ALL ((short)~0)
void sdp_sock_tell(struct sdp_sock *sock, int fd, short news);

/* The registrations in epoll sets have changed. */
void sdp_sock_watch(struct sdp_sock *sock, int fd);

/* The epoll set @set_fd is looked at by other means than epoll_wait(): it is
 * the kernel's from now on. */
void sdp_ready_give(int set_fd);

/*
 * A thread is going to sleep for @events of @sock, or has slept.  In between
 * @poller is not to be touched.
 */
struct sdp_sleeper;
void sdp_sock_sleep_begin(struct sdp_sock *sock, struct sdp_poller *poller,
			  short events, struct sdp_sleeper *sleeper);
void sdp_sock_sleep_end(struct sdp_sock *sock, struct sdp_poller *poller);

/* The kernel watches it from now on.  Threads that sleep for it check again. */
void sdp_sock_wake(struct sdp_sock *sock);

/* For sdp_link_set_notify(). */
void sdp_sock_notify(void *arg, unsigned int state, unsigned int news);

#endif

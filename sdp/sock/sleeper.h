/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A thread that sleeps in ppoll() until a socket of ours is ready.
 *
 * The thread that sleeps first also serves the device, and finds out by itself.
 * What another thread finds out it is told by a descriptor of its own.
 */
#ifndef SDP_SOCK_SLEEPER_H
#define SDP_SOCK_SLEEPER_H

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sdp_sock;

struct sdp_sleeper {
	struct sdp_sleeper *next, *prev; /* of an epoll set */
	int fd;				 /* an eventfd; -1: none to be had */
	bool is_listed;			 /* in an epoll set */
	_Atomic bool is_asleep;
};

void sdp_sleeper_init(struct sdp_sleeper *sleeper);

/* From now on it is woken.  Then the caller looks at its sockets once more. */
static inline void sdp_sleeper_begin(struct sdp_sleeper *sleeper)
{
	/* seq_cst: pairs with sdp_sleeper_wake() */
	atomic_store_explicit(&sleeper->is_asleep, true, memory_order_seq_cst);
}

/* Return: whether it was asleep. */
bool sdp_sleeper_wake(struct sdp_sleeper *sleeper);

/* Awake: what comes now it finds by itself. */
void sdp_sleeper_end(struct sdp_sleeper *sleeper, bool has_token);

/* In a forked child: the descriptor is the parent's. */
void sdp_sleeper_fork_child(void);

/* One socket that a thread sleeps for; on the list of the socket. */
struct sdp_poller {
	struct sdp_poller *next, *prev;
	struct sdp_sleeper *sleeper; /* NULL: on no list */
	short events;
};

#endif

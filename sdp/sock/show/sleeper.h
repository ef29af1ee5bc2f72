/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A thread that sleeps in ppoll() until a socket of the library is ready.
 *
 * The first thread that sleeps also serves the device, and so detects events
 * itself. Other threads are woken through a descriptor of their own.
 */
#ifndef SDP_SOCK_SLEEPER_H
#define SDP_SOCK_SLEEPER_H

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sdp_sock;

struct sdp_sleeper {
	struct sdp_sleeper *next, *prev; /* in the list of an epoll set */
	int fd;				 /* an eventfd; -1: could not be made */
	bool is_listed;			 /* in an epoll set */
	_Atomic bool is_asleep;
};

void sdp_sleeper_init(struct sdp_sleeper *sleeper);

/* From now on the thread is woken. The caller must check its sockets once more
 * afterwards. */
static inline void sdp_sleeper_begin(struct sdp_sleeper *sleeper)
{
	/* seq_cst: pairs with sdp_sleeper_wake() */
	atomic_store_explicit(&sleeper->is_asleep, true, memory_order_seq_cst);
}

/* Return: whether it was asleep. */
bool sdp_sleeper_wake(struct sdp_sleeper *sleeper);

/* The thread is awake: it detects further events itself. */
void sdp_sleeper_end(struct sdp_sleeper *sleeper, bool has_token);

/* In a forked child: the descriptor belongs to the parent. */
void sdp_sleeper_fork_child(void);

/* One socket that a thread sleeps for. It is in the list of the socket. */
struct sdp_poller {
	struct sdp_poller *next, *prev;
	struct sdp_sleeper *sleeper; /* NULL: in no list */
	short events;
};

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The program's registrations in epoll sets.
 *
 * The kernel stores a registration by (open file, number). When a shadow takes
 * over the number of a TCP socket, the registration must be removed before and
 * made again afterwards. Otherwise it could never be removed, and would
 * continue to report the TCP socket. So the library records all registrations.
 *
 * The library itself watches a socket over SDP. The registration of such a
 * socket is not in the kernel's set. Ready sockets are in a queue of the
 * library, where epoll_wait() finds them without a system call. The
 * registrations go to the kernel when the set is used in other ways than by
 * epoll_wait() of this process: poll(), another set, a forked child.
 *
 * A set also records its sockets that have not started SDP, because waiting for
 * them starts it. epoll_wait() checks them only if there are any.
 */
#ifndef SDP_SOCK_EPOLL_H
#define SDP_SOCK_EPOLL_H

#include <stdbool.h>
#include <sys/epoll.h>

#include "sleeper.h"
#include "sock/base/table.h"

struct sdp_epoll {
	struct util_file file; /* first member */

	/* UTIL_RANK_SDP_WATCH. */
	struct sdp_watch *watches;
	bool is_kernels; /* the kernel has all registrations */

	/* Threads in the kernel's epoll_wait(). Only the kernel can wake
	 * them. */
	_Atomic uint32_t kernel_wait_cnt;

	struct util_lock lock; /* UTIL_RANK_SDP_READY */
	struct sdp_watch *ready, **ready_end;
	_Atomic uint32_t ready_cnt;
	struct sdp_sleeper *sleepers;

	/* Events of the queue alone filled the last answer. */
	_Atomic bool is_kernels_turn;
};

struct sdp_watch {
	struct sdp_watch *sock_next;
	struct sdp_watch *set_next;
	struct sdp_sock *sock;
	struct sdp_epoll *set;
	int set_fd; /* a number of the set */
	int fd;	    /* the registered number */
	bool is_ours;
	struct epoll_event ev;

	/* UTIL_RANK_SDP_READY of the set. */
	struct sdp_watch *ready_next;
	bool is_queued;
	bool has_edge; /* news since the last report */
	bool is_spent; /* EPOLLONESHOT, and reported */
};

/* Adds a new epoll descriptor. A failure is harmless: sets are also found
 * later. */
void sdp_epoll_add(int set_fd);

/*
 * The set of a number, with a reference for util_file_put(); NULL: not in the
 * table.
 */
struct sdp_epoll *sdp_epoll_get(int set_fd);

/*
 * Moves one registration of @set to the kernel. From then on the kernel gets
 * all new ones. Return: its socket, with a reference, and its number: the
 * shadow must be kept up to date; NULL: there was none.
 */
struct sdp_sock *sdp_epoll_give(struct sdp_epoll *set, int *ret_fd);

/*
 * The kernel has accepted epoll_ctl(@set_fd, @op, @fd, @ev) for @sock, perhaps
 * without some events. Afterwards a registration that the library watches is
 * out of the kernel's set; any other is in the kernel's set with all its
 * events.
 * Return: 0; -ENOMEM: undo the call.
 */
int sdp_watch_note(int set_fd, int op, int fd, const struct epoll_event *ev,
		   struct sdp_sock *sock);

/*
 * epoll_ctl() for a registration that the kernel does not have or does not
 * need.
 * Return: 1: done; 0: use the kernel; -EEXIST; -EINVAL; -ENOMEM.
 */
int sdp_watch_ctl(int set_fd, int op, int fd, const struct epoll_event *ev,
		  struct sdp_sock *sock);

/* @sock has just become ready for @news (events of poll(2)). The shadow's lock
 *   is held. */
void sdp_watch_news(struct sdp_sock *sock, short news);

/* Takes ready events from the queue. Return: their number, at most @max. */
int sdp_epoll_collect(struct sdp_epoll *set, struct epoll_event *ev, int max);

static inline bool sdp_epoll_has_ready(const struct sdp_epoll *set)
{
	/* seq_cst: a sleeper publishes that it sleeps, then reads this */
	return atomic_load_explicit(&set->ready_cnt, memory_order_seq_cst) > 0;
}

void sdp_epoll_sleep_begin(struct sdp_epoll *set, struct sdp_sleeper *sleeper);
void sdp_epoll_sleep_end(struct sdp_epoll *set, struct sdp_sleeper *sleeper,
			 bool has_token);

/* Whether the kernel watches @sock for any set; *ret_events: union of their
 * events. */
bool sdp_watch_any(struct sdp_sock *sock, uint32_t *ret_events);

/* Removes @sock from the kernel's sets before dup3() over its numbers, and adds
 * it again. */
void sdp_watch_leave(struct sdp_sock *sock);
void sdp_watch_return(struct sdp_sock *sock);

/* From now on the kernel watches @sock, because it is a relay. */
void sdp_watch_give(struct sdp_sock *sock);

/* Registers a twin's descriptor for the same registrations. */
void sdp_watch_twin(struct sdp_sock *sock, int op, int twin_fd);

/* The number @fd of @sock is closed; -1: all numbers. */
void sdp_watch_forget(struct sdp_sock *sock, int fd);

/*
 * The set @set_fd has reported @ev_cnt events. Returns those of sockets that
 * are PENDING, with a reference each. Return: their number, at
 * most @max.
 */
struct sdp_wait {
	struct sdp_sock *sock;
	int fd;
	uint64_t data; /* of the event */
};
int sdp_watch_pending(int set_fd, const struct epoll_event *ev, int ev_cnt,
		      struct sdp_wait *ret_waits, int max);

void sdp_watch_fork_prepare(void);
void sdp_watch_fork_parent(void);
void sdp_watch_fork_child(void);

#endif

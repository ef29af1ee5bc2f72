/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the program has registered in epoll sets.
 *
 * The kernel keeps a registration by (open file, number).  When a shadow takes
 * over the number of a TCP socket, the registration has to be removed before
 * and made again after.  Afterwards it could not be removed any more, and would
 * continue to report the TCP socket.  So the library records registrations.
 *
 * The library watches a socket over SDP itself.  Its registration is not in the
 * kernel's set.  Ready sockets are in a queue here, where epoll_wait() finds
 * them without a system call.  The kernel gets such registrations when the set
 * is used by other means than epoll_wait() of this process: poll(), another
 * set, a forked child.
 *
 * A set also knows its sockets that have not started SDP, because waiting for
 * them starts it.  epoll_wait() checks them only if there are any.
 */
#ifndef SDP_SOCK_EPOLL_H
#define SDP_SOCK_EPOLL_H

#include <stdbool.h>
#include <sys/epoll.h>

#include "sleeper.h"
#include "table.h"

struct sdp_epoll {
	struct util_file file; /* first */

	/* UTIL_RANK_SDP_WATCH */
	struct sdp_watch *watches;
	bool is_kernels; /* the kernel has all registrations */

	/* Threads in the kernel's epoll_wait(), whom only it can wake. */
	_Atomic uint32_t kernel_wait_cnt;

	struct util_lock lock; /* UTIL_RANK_SDP_READY */
	struct sdp_watch *ready, **ready_end;
	_Atomic uint32_t ready_cnt;
	struct sdp_sleeper *sleepers;

	/* The last answer was full of what the queue had. */
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

	/* UTIL_RANK_SDP_READY of the set */
	struct sdp_watch *ready_next;
	bool is_queued;
	bool has_edge; /* news since it was last reported */
	bool is_spent; /* EPOLLONESHOT, and reported */
};

/* A new epoll descriptor.  Failing is harmless: sets are also found later. */
void sdp_epoll_add(int set_fd);

/*
 * The set behind a number, with a reference for util_file_put(); NULL: it is
 * not in the table.
 */
struct sdp_epoll *sdp_epoll_get(int set_fd);

/*
 * Gives a registration of @set to the kernel, which gets all new ones from then
 * on.  Return: its socket, with a reference, and its number: the shadow has to
 * be kept up to date; NULL: there was none.
 */
struct sdp_sock *sdp_epoll_give(struct sdp_epoll *set, int *ret_fd);

/*
 * The kernel has accepted epoll_ctl(@set_fd, @op, @fd, @ev) for @sock, perhaps
 * without some events: what is ours to watch is out of the kernel's set
 * afterwards, and what is not stands there with all.
 * Return: 0; -ENOMEM: it should be undone.
 */
int sdp_watch_note(int set_fd, int op, int fd, const struct epoll_event *ev,
		   struct sdp_sock *sock);

/*
 * epoll_ctl() with a registration that the kernel has not, or need not get.
 * Return: 1: done; 0: it is not ours; -EEXIST; -EINVAL; -ENOMEM.
 */
int sdp_watch_ctl(int set_fd, int op, int fd, const struct epoll_event *ev,
		  struct sdp_sock *sock);

/* With the shadow's lock: @news of poll(2) are what @sock is ready for, and
 * have come just now. */
void sdp_watch_news(struct sdp_sock *sock, short news);

/* What is ready, out of the queue.  Return: how many, at most @max. */
int sdp_epoll_collect(struct sdp_epoll *set, struct epoll_event *ev, int max);

static inline bool sdp_epoll_has_ready(const struct sdp_epoll *set)
{
	/* seq_cst: a sleeper says that it sleeps, then looks here */
	return atomic_load_explicit(&set->ready_cnt, memory_order_seq_cst) > 0;
}

void sdp_epoll_sleep_begin(struct sdp_epoll *set, struct sdp_sleeper *sleeper);
void sdp_epoll_sleep_end(struct sdp_epoll *set, struct sdp_sleeper *sleeper,
			 bool has_token);

/* The kernel watches @sock for some set; *ret_events: by any. */
bool sdp_watch_any(struct sdp_sock *sock, uint32_t *ret_events);

/* Out of the kernel's sets, before dup3() over the numbers of @sock; and in
 * again. */
void sdp_watch_leave(struct sdp_sock *sock);
void sdp_watch_return(struct sdp_sock *sock);

/* The kernel watches @sock from now on: it is a relay. */
void sdp_watch_give(struct sdp_sock *sock);

/* A second descriptor for the same registrations: a twin. */
void sdp_watch_twin(struct sdp_sock *sock, int op, int twin_fd);

/* The number @fd of @sock is closed; -1: all are. */
void sdp_watch_forget(struct sdp_sock *sock, int fd);

/*
 * The set @set_fd has reported @ev_cnt events: those of sockets that are
 * PENDING or CONNECTING, with a reference each.  Return: how many, at most
 * @max.
 */
struct sdp_wait {
	struct sdp_sock *sock;
	enum sdp_sock_state state;
	int fd;
	uint64_t data; /* of the event */
};
int sdp_watch_pending(int set_fd, const struct epoll_event *ev, int ev_cnt,
		      struct sdp_wait *ret_waits, int max);

void sdp_watch_fork_prepare(void);
void sdp_watch_fork_parent(void);
void sdp_watch_fork_child(void);

#endif

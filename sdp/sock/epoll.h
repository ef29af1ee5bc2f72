/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the program has registered in epoll sets.
 *
 * The kernel keeps a registration by (open file, number).  When a shadow takes
 * the number of a TCP socket over, the registration has to be removed before
 * and made again after; afterwards it could not be removed any more, and would
 * go on reporting the TCP socket.  So we note what was registered.
 *
 * A set also knows its sockets whose SDP has not started, because the wait for
 * them starts it: epoll_wait() asks only when there are any.
 */
#ifndef SDP_SOCK_EPOLL_H
#define SDP_SOCK_EPOLL_H

#include <stdbool.h>
#include <sys/epoll.h>

#include "table.h"

struct sdp_epoll {
	struct util_file file; /* first */
	struct sdp_watch *watches;
};

struct sdp_watch {
	struct sdp_watch *sock_next;
	struct sdp_watch *set_next;
	struct sdp_sock *sock;
	struct sdp_epoll *set;
	int set_fd; /* a number of the set */
	int fd;	    /* the registered number */
	struct epoll_event ev;
};

/* A new epoll descriptor.  Failing is harmless: sets are also found later. */
void sdp_epoll_add(int set_fd);

/*
 * The kernel has accepted epoll_ctl(@set_fd, @op, @fd, @ev) for @sock.
 * Return: 0; -ENOMEM: it should be undone.
 */
int sdp_watch_note(int set_fd, int op, int fd, const struct epoll_event *ev,
		   struct sdp_sock *sock);

/* @sock is watched by some set; *ret_edges: with EPOLLET. */
bool sdp_watch_any(struct sdp_sock *sock, bool *ret_edges);

/* Out of the kernel's sets, before dup3() over the numbers of @sock; and in
 * again. */
void sdp_watch_leave(struct sdp_sock *sock);
void sdp_watch_return(struct sdp_sock *sock);

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
	int fd;
	uint64_t data; /* of the event */
};
int sdp_watch_pending(int set_fd, const struct epoll_event *ev, int ev_cnt,
		      struct sdp_wait *ret_waits, int max);

void sdp_watch_fork_prepare(void);
void sdp_watch_fork_parent(void);
void sdp_watch_fork_child(void);

#endif

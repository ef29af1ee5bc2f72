/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * poll(), select() and epoll_wait() with sockets of the library among the
 * descriptors.
 *
 * A socket over SDP is checked here, without a system call. If nothing is ready
 * the thread polls for a limited time, then sleeps in the kernel. Meanwhile it
 * does the work of the progress thread.
 */
#ifndef SDP_SOCK_WAIT_H
#define SDP_SOCK_WAIT_H

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include "sock/base/table.h"

/* Whether one of them is in the table. */
bool sdp_poll_is_near(const struct pollfd *pfd, nfds_t cnt);
bool sdp_select_is_near(int cnt, const fd_set *in, const fd_set *out,
			const fd_set *except);

/* As ppoll(2); @timeout NULL: for ever.  Return: count; -errno. */
int sdp_wait_poll(struct pollfd *pfd, nfds_t cnt,
		  const struct timespec *timeout, const sigset_t *mask);

/* As pselect(2). */
int sdp_wait_select(int cnt, fd_set *in, fd_set *out, fd_set *except,
		    const struct timespec *timeout, const sigset_t *mask);

/* As epoll_ctl(2), @fd being @sock. */
int sdp_epoll_ctl(int set_fd, int op, int fd, struct epoll_event *ev,
		  struct sdp_sock *sock);

/* As epoll_pwait2(2). */
int sdp_wait_epoll(int set_fd, struct epoll_event *ev, int max,
		   const struct timespec *timeout, const sigset_t *mask);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The stubs of poll(), select() and epoll, and nothing else. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "util/defer.h"
#include "sock/base/real.h"
#include "sock/base/table.h"
#include "sock/io/wait.h"
#include "sock/show/epoll.h"
#include "sock/show/ready.h"
#include "stubs.h"
#include "verbs/sdp-link.h"

static const struct timespec *ms_time(int ms, struct timespec *buf)
{
	if (ms < 0)
		return NULL;
	buf->tv_sec = ms / 1000;
	buf->tv_nsec = ms % 1000 * 1000000l;
	return buf;
}

#define STUB_POLL(name, params, fits, time, mask, args)                        \
	EXPORT int name params                                                 \
	{                                                                      \
		struct timespec buf;                                           \
		(void)buf;                                                     \
		if (!(fits))                                                   \
			__chk_fail();                                          \
		if (!sdp_poll_is_near(pfd, cnt))                               \
			return sdp_real()->name args;                          \
		UTIL_DEFER();                                                  \
		return (int)UTIL_RESULT(sdp_wait_poll(pfd, cnt, time, mask));  \
	}

STUB_POLL(poll, (struct pollfd * pfd, nfds_t cnt, int timeout), true,
	  ms_time(timeout, &buf), NULL, (pfd, cnt, timeout))
STUB_POLL(__poll_chk,
	  (struct pollfd * pfd, nfds_t cnt, int timeout, size_t size),
	  cnt <= size / sizeof(*pfd), ms_time(timeout, &buf), NULL,
	  (pfd, cnt, timeout, size))
STUB_POLL(ppoll,
	  (struct pollfd * pfd, nfds_t cnt, const struct timespec *timeout,
	   const sigset_t *mask),
	  true, timeout, mask, (pfd, cnt, timeout, mask))
STUB_POLL(__ppoll_chk,
	  (struct pollfd * pfd, nfds_t cnt, const struct timespec *timeout,
	   const sigset_t *mask, size_t size),
	  cnt <= size / sizeof(*pfd), timeout, mask,
	  (pfd, cnt, timeout, mask, size))

/* Linux writes back the remaining time. */
static void time_less(struct timeval *time, uint64_t spent_ns)
{
	uint64_t us =
		(uint64_t)time->tv_sec * 1000000u + (uint64_t)time->tv_usec;

	us = us > spent_ns / 1000u ? us - spent_ns / 1000u : 0;
	time->tv_sec = (time_t)(us / 1000000u);
	time->tv_usec = (suseconds_t)(us % 1000000u);
}

EXPORT int select(int cnt, fd_set *in, fd_set *out, fd_set *except,
		  struct timeval *timeout)
{
	struct timespec time;
	uint64_t begin;
	int ret;

	if (!sdp_select_is_near(cnt, in, out, except) ||
	    (timeout && (timeout->tv_sec < 0 || timeout->tv_usec < 0)))
		return sdp_real()->select(cnt, in, out, except, timeout);
	UTIL_DEFER();
	if (timeout) {
		time.tv_sec = timeout->tv_sec + timeout->tv_usec / 1000000;
		time.tv_nsec = timeout->tv_usec % 1000000 * 1000;
	}
	begin = timeout ? sdp_now_ns() : 0;
	ret = sdp_wait_select(cnt, in, out, except, timeout ? &time : NULL,
			      NULL);
	if (timeout)
		time_less(timeout, sdp_now_ns() - begin);
	return (int)UTIL_RESULT(ret);
}

EXPORT int pselect(int cnt, fd_set *in, fd_set *out, fd_set *except,
		   const struct timespec *timeout, const sigset_t *mask)
{
	if (!sdp_select_is_near(cnt, in, out, except))
		return sdp_real()->pselect(cnt, in, out, except, timeout, mask);
	UTIL_DEFER();
	return (int)UTIL_RESULT(
		sdp_wait_select(cnt, in, out, except, timeout, mask));
}

static void set_add(int fd)
{
	UTIL_DEFER();

	sdp_epoll_add(fd);
}

EXPORT int epoll_create(int size)
{
	int fd = sdp_real()->epoll_create(size);

	if (fd >= 0 && !sdp_inside() &&
	    !sdp_caller_is_rnic(__builtin_return_address(0)))
		set_add(fd);
	return fd;
}

int sdp_stub_epoll(int flags, const void *caller)
{
	int fd = sdp_real()->epoll_create1(flags);

	if (fd >= 0 && !sdp_inside() && !sdp_caller_is_rnic(caller))
		set_add(fd);
	return fd;
}

EXPORT int epoll_create1(int flags)
{
	return sdp_stub_epoll(flags, __builtin_return_address(0));
}

EXPORT int epoll_ctl(int set_fd, int op, int fd, struct epoll_event *ev)
{
	struct sdp_stub_brief brief;

	/* The kernel watches an epoll set inside another one. */
	if (sdp_fd_kind(fd) == SDP_FD_EPOLL) {
		UTIL_DEFER();
		sdp_ready_give(fd);
	}
	sdp_stub_begin(&brief, fd);
	if (!brief.sock)
		return sdp_real()->epoll_ctl(set_fd, op, fd, ev);
	sdp_ending_look();
	return sdp_stub_end(&brief, (int)UTIL_RESULT(sdp_epoll_ctl(
					    set_fd, op, fd, ev, brief.sock)));
}

#define STUB_EPOLL(name, params, time, mask, args)                             \
	EXPORT int name params                                                 \
	{                                                                      \
		struct timespec buf;                                           \
		(void)buf;                                                     \
		if (sdp_fd_kind(fd) != SDP_FD_EPOLL)                           \
			return sdp_real()->name args;                          \
		UTIL_DEFER();                                                  \
		return (int)UTIL_RESULT(                                       \
			sdp_wait_epoll(fd, ev, max, time, mask));              \
	}

STUB_EPOLL(epoll_wait, (int fd, struct epoll_event *ev, int max, int timeout),
	   ms_time(timeout, &buf), NULL, (fd, ev, max, timeout))
STUB_EPOLL(epoll_pwait,
	   (int fd, struct epoll_event *ev, int max, int timeout,
	    const sigset_t *mask),
	   ms_time(timeout, &buf), mask, (fd, ev, max, timeout, mask))
STUB_EPOLL(epoll_pwait2,
	   (int fd, struct epoll_event *ev, int max,
	    const struct timespec *timeout, const sigset_t *mask),
	   timeout, mask, (fd, ev, max, timeout, mask))

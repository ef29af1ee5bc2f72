/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See exit.h. */
#include "exit.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "util/defer.h"
#include "util/clock.h"
#include "util/thread.h"
#include "end.h"
#include "relay.h"
#include "sock/enter/enter.h"
#include "sock/show/epoll.h"
#include "sock/start/owed.h"
#include "verbs/sdp-link.h"

/* For links that still have octets, and starts that owe some. TCP in the kernel
 * outlives the process. */
#define EXIT_NS (10 * NS_PER_S)
/* How long a peer may receive nothing before that costs another carrier. */
#define FULL_NS (2 * NS_PER_S)
#define FLUSH_NS (1 * NS_PER_S)

/* ---- sockets and streams ---- */

/* Whether there may be links, and starts. Sockets that are TCP stay TCP,
 * because what began now would be cut off with the process. */
static bool is_begun(void)
{
	/* relaxed: sockets of this thread, or of threads that no longer run */
	if (!atomic_load_explicit(&sdp_begun, memory_order_relaxed))
		sdp_table_each_sock(sdp_enter_never);
	/* relaxed: with the locks of these sockets */
	return atomic_load_explicit(&sdp_begun, memory_order_relaxed);
}

/* Closes the socket with all its numbers at exit. Threads inside a call stay
 * there. */
static void sock_exit(struct sdp_sock *sock)
{
	/* What TCP has taken is the kernel's, and arrives. */
	sdp_enter_never(sock);
	switch (sdp_sock_state(sock)) {
	case SDP_SOCK_LISTENING:
	case SDP_SOCK_STARTING:
	case SDP_SOCK_STREAM:
		sdp_watch_forget(sock, -1);
		sdp_sock_end(sock);
		break;
	default:
		break;
	}
}

static void *flush_thread(void *arg)
{
	(void)fflush(NULL);
	/* release: pairs with streams_flush() */
	atomic_store_explicit((_Atomic bool *)arg, true, memory_order_release);
	return NULL;
}

/*
 * libc flushes its streams at the very end of exit(), when the library no
 * longer accepts octets. So a thread flushes them now. Another thread that
 * reads a stream may hold the stream's lock for ever, so the wait has a limit.
 */
static void streams_flush(void)
{
	static const struct timespec nap = { .tv_nsec = 1000000 };
	static _Atomic bool is_done;
	uint64_t deadline = sdp_now_ns() + FLUSH_NS;

	if (util_thread_run(flush_thread, &is_done, UTIL_THREAD_STACK) < 0)
		return;
	/* acquire: pairs with flush_thread() */
	while (!atomic_load_explicit(&is_done, memory_order_acquire) &&
	       sdp_now_ns() < deadline)
		nanosleep(&nap, NULL);
}

/* ---- what is waited for ---- */

static void owed_wait(uint64_t deadline)
{
	static const struct timespec nap = { .tv_nsec = 1000000 };

	while (sdp_owed_cnt() > 0 && sdp_now_ns() < deadline)
		nanosleep(&nap, NULL);
}

/* Links that are closed. */
static void closed_wait(uint64_t deadline)
{
	if (sdp_verbs_drain(sdp_now_ns() + FULL_NS) > 0 &&
	    sdp_verbs_flush(deadline) > 0)
		(void)sdp_verbs_drain(deadline);
}

/* All links that are left. */
static void sent_wait(uint64_t deadline)
{
	uint64_t end = sdp_now_ns() + FULL_NS;

	(void)sdp_verbs_confirm(end < deadline ? end : deadline);
}

static void relays_wait(uint64_t deadline)
{
	static const struct timespec nap = { .tv_nsec = 1000000 };

	while (sdp_relay_is_owing() && sdp_now_ns() < deadline)
		nanosleep(&nap, NULL);
}

static _Thread_local uint64_t open_deadline;

static void open_wait(struct sdp_sock *sock)
{
	struct sdp_link *link = sdp_sock_link(sock);

	if (!link || sock->relay.is_on)
		return;
	while (sdp_link_wait(link, SDP_LINK_DRAINED | SDP_LINK_CLOSED,
			     open_deadline) == -EINTR)
		;
}

void sdp_exit_exec(void)
{
	/* It nests: no sleep lets a handler run, which might not return. */
	UTIL_DEFER();
	uint64_t deadline;

	/* relaxed: this thread sees what it started itself */
	if (!sdp_is_owner() ||
	    !atomic_load_explicit(&sdp_begun, memory_order_relaxed))
		return;
	/* Nothing ends here: the program goes on if there is no other one. */
	deadline = sdp_now_ns() + EXIT_NS;
	owed_wait(deadline);
	open_deadline = sdp_now_ns() + FULL_NS;
	relays_wait(open_deadline);
	sdp_table_each_sock(open_wait);
	closed_wait(deadline);
	sent_wait(deadline);
}

void sdp_exit_run(bool has_stdio)
{
	uint64_t deadline;

	if (!sdp_is_owner() || !is_begun())
		return;
	/* If two threads exit, only one of them does this, and only once. */
	if (!sdp_ending_begin()) {
		sdp_ending_look();
		return;
	}
	/* Sockets have ended for a handler, while with TCP they are there to
	 * the end of the process. */
	util_defer_for_good();
	deadline = sdp_now_ns() + EXIT_NS;
	if (has_stdio && sdp_relay_is_any())
		streams_flush();
	sdp_relay_end(deadline);
	sdp_verbs_end();
	sdp_table_each_sock(sock_exit);
	owed_wait(deadline);
	closed_wait(deadline);
	sent_wait(deadline);
}

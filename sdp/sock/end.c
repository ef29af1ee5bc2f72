/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See end.h. */
#include "end.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../util/thread.h"
#include "../../util/unwind.h"
#include "count.h"
#include "epoll.h"
#include "listen.h"
#include "owed.h"
#include "relay.h"
#include "shadow.h"
#include "start.h"
#include "verbs/sdp-link.h"

/* TCP in the kernel retries for minutes, and outlives the process. */
#define CLOSE_NS (60 * 1000000000ull)
#define EXIT_NS (10 * 1000000000ull)
#define FLUSH_NS (1 * 1000000000ull)

static void shadow_end(struct sdp_sock *sock)
{
	util_lock(&sock->shadow.lock);
	if (sock->shadow.lib_fd >= 0)
		sdp_shadow_close(&sock->shadow);
	util_unlock(&sock->shadow.lock);
}

static void past_end(struct sdp_sock *sock)
{
	if (sock->past_link)
		sdp_link_close(sock->past_link, 0);
	sock->past_link = NULL;
}

static void rest_end(struct sdp_sock *sock)
{
	past_end(sock);
	shadow_end(sock);
	sdp_private_close(sock->tcp_fd);
	sock->tcp_fd = -1;
	free(sock->early);
	sock->early = NULL;
}

/* close() lingers, and the thread may leave it without returning. */
struct linger_call {
	struct sdp_sock *sock;
	struct sdp_link *link;
};

static void linger_left(void *arg)
{
	const struct linger_call *call = arg;

	sdp_link_close(call->link, sdp_now_ns() + CLOSE_NS);
	rest_end(call->sock);
	/* Owned by the file, as after sdp_sock_end(). During exit it belongs to
	 * the table. */
	if (!atomic_load_explicit(&sdp_is_ending, memory_order_relaxed))
		sdp_sock_drop(call->sock);
}

static void linger(struct sdp_sock *sock, struct sdp_link *link, int seconds)
{
	struct linger_call call = { sock, link };
	struct util_unwind unwind;

	util_unwind_push(&unwind, linger_left, &call);
	(void)sdp_link_linger(link,
			      sdp_now_ns() + (uint64_t)seconds * 1000000000u);
	util_unwind_pop(&unwind);
}

static void link_end(struct sdp_sock *sock)
{
	struct sdp_link *link = sdp_sock_link(sock);
	int seconds = sock->options.linger_s;
	uint64_t now = sdp_now_ns();

	if (!link)
		return;
	sdp_link_set_notify(link, NULL, NULL);
	sdp_count_close(sock);
	/* During exit, other threads may still be inside a call that uses the
	 * link. It must stay in place for them. */
	if (!atomic_load_explicit(&sdp_is_ending, memory_order_relaxed)) {
		/* The thread of the start reports events after the start, with
		 * only this lock held. */
		util_lock(&sock->shadow.lock);
		sdp_sock_link_put(sock, NULL);
		util_unlock(&sock->shadow.lock);
	}
	if (seconds > 0)
		linger(sock, link, seconds);
	sdp_link_close(link, seconds == 0 ? 0 : now + CLOSE_NS);
}

static void stream_close(struct sdp_sock *sock)
{
	/* During exit several threads may end it: one for each number, and the
	 * last thread of a relay. acq_rel: only the first one continues. */
	if (atomic_exchange_explicit(&sock->is_over, true,
				     memory_order_acq_rel))
		return;
	link_end(sock);
	rest_end(sock);
}

void sdp_sock_close(struct util_file *file)
{
	sdp_watch_forget(sdp_sock_of(file), -1);
}

void sdp_sock_end(struct sdp_sock *sock)
{
	if (sdp_relay_keeps(sock))
		return;
	switch (sdp_sock_state(sock)) {
	case SDP_SOCK_TCP:
		past_end(sock);
		break;
	case SDP_SOCK_LISTENING:
		sdp_listen_end(sock);
		break;
	case SDP_SOCK_CONNECTING:
	case SDP_SOCK_PENDING:
		past_end(sock);
		sdp_sock_become(sock, SDP_SOCK_TCP);
		break;
	case SDP_SOCK_STARTING:
		if (sdp_start_abandon(sock)) {
			shadow_end(sock);
			/* As with TCP, the peer must not accept a connection
			 * that was not established before close(). */
			(void)sdp_start_asked(sock, SDP_NEVER);
			break;
		}
		stream_close(sock);
		break;
	case SDP_SOCK_STREAM:
	case SDP_SOCK_RELAY:
		stream_close(sock);
		break;
	}
}

/* ---- the process ---- */

/* Closes the socket with all its numbers at exit. Threads inside a call stay
 * there. */
static void sock_exit(struct sdp_sock *sock)
{
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

static bool has_relay;

static void relay_look(struct sdp_sock *sock)
{
	has_relay |= sock->is_relay && sdp_sock_state(sock) != SDP_SOCK_RELAY;
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

void sdp_end_process(bool has_stdio)
{
	struct timespec nap = { .tv_nsec = 1000000 };
	uint64_t deadline;

	/* relaxed: sockets of this thread, or of threads that no longer run */
	if (!atomic_load_explicit(&sdp_begun, memory_order_relaxed) ||
	    !sdp_is_owner())
		return;
	/* If two threads exit, only one of them does this, and only once. */
	if (!sdp_ending_begin()) {
		sdp_ending_look();
		return;
	}
	deadline = sdp_now_ns() + EXIT_NS;
	sdp_table_each_sock(relay_look);
	if (has_relay && has_stdio)
		streams_flush();
	if (has_relay)
		sdp_relay_end(deadline);
	sdp_verbs_end();
	sdp_table_each_sock(sock_exit);
	while (sdp_owed_cnt() > 0 && sdp_now_ns() < deadline)
		nanosleep(&nap, NULL);
	(void)sdp_verbs_drain(deadline);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See end.h. */
#include "end.h"

#include <errno.h>

#include "util/clock.h"
#include "util/unwind.h"
#include "sock/base/count.h"
#include "sock/enter/enter.h"
#include "sock/show/epoll.h"
#include "sock/listen/listen.h"
#include "relay.h"
#include "sock/show/shadow.h"
#include "sock/start/early.h"
#include "sock/start/start.h"
#include "verbs/sdp-link.h"

/* TCP in the kernel retries for minutes, and outlives the process. */
#define CLOSE_NS (60 * NS_PER_S)

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
	sdp_early_drop(sock);
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

static uint64_t linger_end(int seconds)
{
	return sdp_now_ns() + (uint64_t)seconds * NS_PER_S;
}

static void linger(struct sdp_sock *sock, struct sdp_link *link, int seconds)
{
	struct linger_call call = { sock, link };
	struct util_unwind unwind;

	util_unwind_push(&unwind, linger_left, &call);
	(void)sdp_link_linger(link, linger_end(seconds));
	util_unwind_pop(&unwind);
}

/* close() of a socket whose start owes octets. The thread of the start goes on
 * with them. */
static void start_linger(struct sdp_sock *sock)
{
	int seconds = sock->options.linger_s;

	if (seconds > 0 && sdp_sock_early_len(sock) > 0 &&
	    !atomic_load_explicit(&sdp_is_ending, memory_order_relaxed))
		(void)sdp_start_wait(sock, linger_end(seconds));
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
	sdp_enter_end(sock);
	switch (sdp_sock_state(sock)) {
	case SDP_SOCK_TCP:
		rest_end(sock);
		break;
	case SDP_SOCK_LISTENING:
		sdp_listen_end(sock);
		rest_end(sock);
		break;
	case SDP_SOCK_PENDING:
		rest_end(sock);
		sdp_sock_become(sock, SDP_SOCK_TCP);
		break;
	case SDP_SOCK_STARTING:
		if (sdp_start_abandon(sock)) {
			shadow_end(sock);
			/* As with TCP, the peer must not accept a connection
			 * that was not established before close(). */
			(void)sdp_start_asked(sock, SDP_NEVER);
			start_linger(sock);
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

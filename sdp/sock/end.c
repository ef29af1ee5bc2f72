/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See end.h. */
#include "end.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "count.h"
#include "epoll.h"
#include "listen.h"
#include "relay.h"
#include "shadow.h"
#include "start.h"
#include "verbs/sdp-link.h"

/* TCP's kernel tries for minutes; it outlives the process. */
#define CLOSE_NS (60 * 1000000000ull)
#define EXIT_NS (10 * 1000000000ull)

static void shadow_end(struct sdp_sock *sock)
{
	util_lock(&sock->shadow.lock);
	if (sock->shadow.lib_fd >= 0)
		sdp_shadow_close(&sock->shadow);
	util_unlock(&sock->shadow.lock);
}

static void link_end(struct sdp_sock *sock)
{
	struct sdp_link *link = sock->link;
	int seconds = sock->options.linger_s;
	uint64_t now = sdp_now_ns();

	if (!link)
		return;
	sdp_link_set_notify(link, NULL, NULL);
	sdp_count_close(sock);
	sock->link = NULL;
	if (seconds > 0)
		(void)sdp_link_linger(link,
				      now + (uint64_t)seconds * 1000000000u);
	sdp_link_close(link, seconds == 0 ? 0 : now + CLOSE_NS);
}

static void stream_close(struct sdp_sock *sock)
{
	link_end(sock);
	shadow_end(sock);
	sdp_private_close(sock->tcp_fd);
	sock->tcp_fd = -1;
	free(sock->early);
	sock->early = NULL;
}

void sdp_sock_close(struct util_file *file)
{
	struct sdp_sock *sock = sdp_sock_of(file);

	sdp_watch_forget(sock, -1);
	if (sdp_relay_keeps(sock))
		return;
	switch (sdp_sock_state(sock)) {
	case SDP_SOCK_TCP:
		break;
	case SDP_SOCK_LISTENING:
		sdp_listen_end(sock);
		break;
	case SDP_SOCK_CONNECTING:
	case SDP_SOCK_PENDING:
		sdp_sock_become(sock, SDP_SOCK_TCP);
		break;
	case SDP_SOCK_STARTING:
		if (sdp_start_abandon(sock)) {
			shadow_end(sock);
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

/* The process holds it no more, with all its numbers. */
static void sock_exit(struct sdp_sock *sock)
{
	switch (sdp_sock_state(sock)) {
	case SDP_SOCK_LISTENING:
	case SDP_SOCK_STARTING:
	case SDP_SOCK_STREAM:
		sdp_sock_close(&sock->file);
		break;
	default:
		break;
	}
}

void sdp_end_process(void)
{
	struct timespec nap = { .tv_nsec = 1000000 };
	uint64_t deadline;

	/* relaxed: sockets of this thread's, or of threads that are lost */
	if (!atomic_load_explicit(&sdp_begun, memory_order_relaxed) ||
	    !sdp_is_owner())
		return;
	deadline = sdp_now_ns() + EXIT_NS;
	sdp_table_each_sock(sock_exit);
	while (sdp_start_owed() > 0 && sdp_now_ns() < deadline)
		nanosleep(&nap, NULL);
	(void)sdp_verbs_drain(deadline);
}

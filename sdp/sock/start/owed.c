/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See owed.h. */
#include "owed.h"

#include "sock/base/tcp-state.h"

static _Atomic int cnt;

void sdp_owed_begin(struct sdp_sock *sock)
{
	if (sock->start.is_owing)
		return;
	sock->start.is_owing = true;
	sdp_tcp_end_by_reset(sock->tcp_fd, true);
	sdp_owed_add();
}

void sdp_owed_add(void)
{
	atomic_fetch_add_explicit(&cnt, 1, memory_order_relaxed);
}

void sdp_owed_settle(struct sdp_sock *sock)
{
	sdp_tcp_end_by_reset(sock->tcp_fd, false);
}

void sdp_owed_end(void)
{
	/* release: pairs with sdp_owed_cnt() */
	atomic_fetch_sub_explicit(&cnt, 1, memory_order_release);
}

int sdp_owed_cnt(void)
{
	/* acquire: pairs with the release in sdp_owed_end() */
	return atomic_load_explicit(&cnt, memory_order_acquire);
}

void sdp_owed_fork_child(void)
{
	atomic_store_explicit(&cnt, 0, memory_order_relaxed);
}

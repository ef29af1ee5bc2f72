/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See owed.h. */
#include "owed.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int cnt;

/* The kernel resets a connection at its last close() if the time is 0. */
static void linger_put(int fd, bool is_on)
{
	struct linger linger = { .l_onoff = is_on };

	syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_LINGER, &linger,
		sizeof(linger));
}

void sdp_owed_begin(struct sdp_sock *sock)
{
	linger_put(sock->tcp_fd, true);
	atomic_fetch_add_explicit(&cnt, 1, memory_order_relaxed);
}

void sdp_owed_settle(struct sdp_sock *sock)
{
	linger_put(sock->tcp_fd, false);
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

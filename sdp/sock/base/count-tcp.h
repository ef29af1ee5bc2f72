/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections that begin as TCP, and that SDP may enter: enter.h. */
#ifndef SDP_SOCK_COUNT_TCP_H
#define SDP_SOCK_COUNT_TCP_H

#include "util/env.h"
#include "table.h"

enum sdp_enter_role {
	SDP_ENTER_NEVER, /* stays TCP */
	SDP_ENTER_CONNECTED,
	SDP_ENTER_ACCEPTED,
};

/* SDP enters connections; otherwise it begins with their first octet. */
static inline bool sdp_enter_is_on(void)
{
	return util_settings()->sdp_after > 0;
}

/* The socket is connected by TCP, or was accepted. Nothing was sent. */
static inline void sdp_enter_begin(struct sdp_sock *sock,
				   enum sdp_enter_role role)
{
	uint64_t after = util_settings()->sdp_after;

	if (after == 0)
		return;
	atomic_store_explicit(&sock->enter.tx, 0, memory_order_relaxed);
	atomic_store_explicit(&sock->enter.rx, 0, memory_order_relaxed);
	atomic_store_explicit(&sock->enter.turn_at, 0, memory_order_relaxed);
	/* The connecting side looks for the announcement. */
	if (role == SDP_ENTER_ACCEPTED)
		after -= after / 2;
	atomic_store_explicit(&sock->enter.next_at, after,
			      memory_order_relaxed);
	/* release: publishes them */
	atomic_store_explicit(&sock->enter.role, role, memory_order_release);
}

#endif

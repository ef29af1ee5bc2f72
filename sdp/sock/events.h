/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a socket whose octets go by SDP is ready for. */
#ifndef SDP_SOCK_EVENTS_H
#define SDP_SOCK_EVENTS_H

#include <stdbool.h>

#include "table.h"

/* Octets that are taken before the link stands. */
#define SDP_EARLY_MAX 65536u

/* STARTING, STREAM: what poll(2) says: POLLIN, POLLOUT, POLLPRI, POLLRDHUP,
 * POLLHUP, POLLERR. */
short sdp_sock_events(const struct sdp_sock *sock);

/* The octets go by SDP, and not through the shadow. */
static inline bool sdp_sock_is_stream(const struct sdp_sock *sock)
{
	enum sdp_sock_state state = sdp_sock_state(sock);

	return (state == SDP_SOCK_STARTING || state == SDP_SOCK_STREAM) &&
	       !sock->is_relay;
}

/* TCP's state CLOSE: there is no peer any more. */
bool sdp_sock_is_over(const struct sdp_sock *sock);

/* Bits of a link's state as poll(2) has them. */
short sdp_events_of(unsigned int state);

#endif

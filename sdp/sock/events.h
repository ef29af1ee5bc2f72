/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The events for which a socket over SDP is ready. */
#ifndef SDP_SOCK_EVENTS_H
#define SDP_SOCK_EVENTS_H

#include <stdbool.h>

#include "table.h"

/* Octets that are taken before the link stands. */
#define SDP_EARLY_MAX 65536u

/* STARTING, STREAM: what poll(2) says: POLLIN, POLLOUT, POLLPRI, POLLRDHUP,
 * POLLHUP, POLLERR. */
short sdp_sock_events(const struct sdp_sock *sock);

/* TCP's state CLOSE: there is no peer any more. */
bool sdp_sock_is_over(const struct sdp_sock *sock);

/* Bits of a link's state as poll(2) has them. */
short sdp_events_of(unsigned int state);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Counts what sockets do, for the statistics page. */
#ifndef SDP_SOCK_COUNT_H
#define SDP_SOCK_COUNT_H

#include <stddef.h>

#include "stat/sdp-stat.h"
#include "table.h"

/* SDP begins on @fd. Its options and names were read already. */
void sdp_count_open(struct sdp_sock *sock, int fd);

/* Updates the counters. Every call of the program may come here; most cost one
 * addition. */
void sdp_count_send(struct sdp_sock *sock, size_t octets);
void sdp_count_recv(struct sdp_sock *sock, size_t octets);
void sdp_count_relay(struct sdp_sock *sock, size_t octets, bool is_send);
void sdp_count_update(struct sdp_sock *sock);

/* The last update, before the link is closed. */
void sdp_count_close(struct sdp_sock *sock);

#endif

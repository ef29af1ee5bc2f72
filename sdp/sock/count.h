/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What sockets do, for the statistics page. */
#ifndef SDP_SOCK_COUNT_H
#define SDP_SOCK_COUNT_H

#include <stddef.h>

#include "stat/sdp-stat.h"
#include "table.h"

/* SDP begins on @fd; its options and names have been taken. */
void sdp_count_open(struct sdp_sock *sock, int fd);

/* What the link has counted so far.  Every call of the program's may come
 * here; most cost one addition. */
void sdp_count_send(struct sdp_sock *sock, size_t octets);
void sdp_count_recv(struct sdp_sock *sock, size_t octets);
void sdp_count_relay(struct sdp_sock *sock, size_t octets, bool is_send);
void sdp_count_update(struct sdp_sock *sock);

/* The last: before the link is closed. */
void sdp_count_close(struct sdp_sock *sock);

#endif

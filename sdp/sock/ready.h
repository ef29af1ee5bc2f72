/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a socket whose octets go by SDP is ready for. */
#ifndef SDP_SOCK_READY_H
#define SDP_SOCK_READY_H

#include <stdbool.h>

#include "table.h"

/* Octets that are taken before the link stands. */
#define SDP_EARLY_MAX 65536u

/* STARTING, STREAM: what poll(2) says: POLLIN, POLLOUT, POLLPRI, POLLRDHUP,
 * POLLHUP, POLLERR. */
short sdp_sock_events(const struct sdp_sock *sock);

/* TCP's state CLOSE: there is no peer any more. */
bool sdp_sock_is_over(const struct sdp_sock *sock);

/* The shadow shows what holds now; @fd as in sdp_shadow_show(). */
void sdp_sock_show(struct sdp_sock *sock, int fd, bool is_arrival);

/* The same behind each call of the program's: nothing unless watched. */
static inline void sdp_sock_settle(struct sdp_sock *sock, int fd)
{
	if (sock->shadow.is_watched)
		sdp_sock_show(sock, fd, false);
}

/* From now on, or until _end, the kernel object is looked at. */
void sdp_sock_watch(struct sdp_sock *sock, int fd);
void sdp_sock_sleep_begin(struct sdp_sock *sock, int fd);
void sdp_sock_sleep_end(struct sdp_sock *sock);

/* For sdp_link_set_notify(). */
void sdp_sock_notify(void *arg, unsigned int state, unsigned int news);

#endif

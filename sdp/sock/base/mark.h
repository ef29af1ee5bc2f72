/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Marks a TCP connection to an SDP port that has carried no data yet. The mark
 * is a value of TCP_NOTSENT_LOWAT that is too large to have an effect, so it
 * follows the connection to other processes. It contains the role, the carrier,
 * and the port that the program sees. An accepted connection inherits it from
 * the twin.
 */
#ifndef SDP_SOCK_MARK_H
#define SDP_SOCK_MARK_H

#include <stdbool.h>
#include <stdint.h>

struct sdp_mark {
	uint16_t port;
	bool is_accepting;
	bool is_request; /* connects: begins with an MPA Request */
};

void sdp_mark_put(int fd, const struct sdp_mark *mark);
void sdp_mark_remove(int fd);

/* For any descriptor. Return: whether it has a mark. */
bool sdp_mark_get(int fd, struct sdp_mark *ret_mark);

#endif

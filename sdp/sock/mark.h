/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The mark of a TCP connection to an SDP port on which nothing was said yet.
 * It goes with the connection wherever that goes: a value of TCP_NOTSENT_LOWAT
 * that is too large to have an effect.  It has the role, the carrier and the
 * port of the program's view.  A connection that was accepted has it from the
 * twin.
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

/* Any descriptor.  Return: whether it has one. */
bool sdp_mark_get(int fd, struct sdp_mark *ret_mark);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The state of a link that moves to another address space. */
#ifndef SDP_HANDOVER_H
#define SDP_HANDOVER_H

#include "verbs/link/state.h"

struct sdp_handover_head {
	uint32_t magic;
	uint32_t buf_size;
	uint32_t unread_cnt, unsent_cnt; /* pieces that follow */
	uint16_t ird, ord;
	uint8_t layout;
	bool is_shut;  /* sending direction closed */
	bool has_shut; /* DisConn was sent */
	bool is_peer_closed;
	struct link_oob oob;
	struct sockaddr_storage names[2];
};

/* Zero: a new connection, for which the functions below do nothing. */
struct sdp_handover {
	struct sdp_handover_head head;
	const uint8_t *at, *end; /* the pieces */
};

/* Takes opt->from. *ret_opt: @opt, or the defaults if it is NULL, changed to
 *   what opt->from says. Return: 0; -EINVAL: not valid. */
int sdp_handover_take(struct sdp_handover *from,
		      const struct sdp_link_options *opt,
		      struct sdp_link_options *ret_opt);

/* Whether a connection with @names, ours and the peer's, is the expected one
 * (SDP-236, C18). Return: 0; -EPERM. */
int sdp_handover_admits(const struct sdp_handover *from,
			const struct sockaddr_storage *names);

/* Call it before the Hello is taken: restores unread octets and closed
 * directions.
 * Return: 0; -ENOMEM; -EINVAL. */
int sdp_handover_restore(const struct sdp_handover *from,
			 struct sdp_link *link);

/* Call it after HelloAck: restores octets that the peer has not received.
 * Return: 0; -ENOMEM; -EPIPE ... */
int sdp_handover_resume(const struct sdp_handover *from, struct sdp_link *link);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Octets that have come and were not read yet, and the urgent mark in them.
 * The link's lock is held.
 */
#ifndef SDP_INBOX_H
#define SDP_INBOX_H

#include "state.h"

/*
 * The octets at @off behind those that were read; an urgent octet that a direct
 * receive got, and kept, comes first.  *ret_is_oob: the last of them is urgent.
 * Return: whether there are any.
 */
bool sdp_inbox_peek(const struct sdp_link *link, uint64_t off,
		    const uint8_t **ret_at, uint32_t *ret_len,
		    bool *ret_is_oob);

/* The first @len were read.  @is_oob_end: the last of them was urgent. */
void sdp_inbox_consume(struct sdp_link *link, uint32_t len, bool is_oob_end);

/* The octet in front of which, and behind which, a receive stops: the urgent
 * one that came last. */
bool sdp_inbox_is_mark(const struct sdp_link *link, bool is_oob);

/* Whether it is the next octet. */
bool sdp_inbox_is_at_mark(const struct sdp_link *link);

/* An urgent octet comes while the reader stands before the last one, which is
 * passed over then, as TCP's is. */
void sdp_inbox_pass_mark(struct sdp_link *link);

#endif

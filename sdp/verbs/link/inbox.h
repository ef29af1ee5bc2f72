/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Received octets that were not read yet, and the urgent mark in them. The
 * link's lock is held.
 */
#ifndef SDP_INBOX_H
#define SDP_INBOX_H

#include "state.h"

/* Octets that can be read, with those that are only advertised. */
uint64_t sdp_inbox_len(const struct sdp_link *link);

/*
 * The octets at @off after those that were read. An urgent octet that a receive
 * by zcopy got and kept comes first. *ret_is_oob: the last octet is urgent.
 * Return: whether there are any.
 */
bool sdp_inbox_peek(const struct sdp_link *link, uint64_t off,
		    const uint8_t **ret_at, uint32_t *ret_len,
		    bool *ret_is_oob);

/* The first @len octets were read. @is_oob_end: the last of them was urgent. */
void sdp_inbox_consume(struct sdp_link *link, uint32_t len, bool is_oob_end);

/* Whether a receive must stop before or after this octet: it is the newest
 * urgent octet. */
bool sdp_inbox_is_mark(const struct sdp_link *link, bool is_oob);

/* Whether the urgent octet is the next one. */
bool sdp_inbox_is_at_mark(const struct sdp_link *link);

/* The octets that were fed are no longer needed. */
void sdp_inbox_drop_fed(struct sdp_link *link);

/* A new urgent octet arrives before the reader has reached the last one. The
 * last one becomes ordinary data, as with TCP. */
void sdp_inbox_pass_mark(struct sdp_link *link);

#endif

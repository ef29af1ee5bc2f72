/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Arithmetic of 32-bit sequence numbers that wrap (C5).
 */
#ifndef SDP_SEQ_H
#define SDP_SEQ_H

#include <stdbool.h>
#include <stdint.h>

/* How far @a is ahead of @b; negative if it is behind. */
static inline int32_t sdp_seq_diff(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b);
}

static inline bool sdp_seq_is_reached(uint32_t a, uint32_t b)
{
	return sdp_seq_diff(a, b) >= 0;
}

#endif

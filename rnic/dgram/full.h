/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Receivers of this host that are full.  Who sends waits for one, for a bounded
 * time; then what is for that one is lost at once, until it takes a datagram.
 * So one that does not come back costs the sender that time once.
 */
#ifndef RNIC_DGRAM_FULL_H
#define RNIC_DGRAM_FULL_H

#include <stdbool.h>
#include <stdint.h>

#include "util/clock.h"

#define RNIC_FULL_NS (100 * NS_PER_MS)
/* How often it is tried again: its AF_UNIX socket may hold no more than 10
 * datagrams. */
#define RNIC_FULL_RETRY_NS (50 * NS_PER_US)
/* Of so many it is known that time was lost; of two in one place, the last. */
#define RNIC_FULL_CNT 64u

/* Of one sender.  Zero at first. */
struct rnic_full {
	uint64_t end_ns;	     /* it waits until then; 0: it does not */
	uint32_t num[RNIC_FULL_CNT]; /* that were waited for; 0: none */
};

/* A datagram for @num finds no room.  Return: whether it waits, to be tried
 * again after RNIC_FULL_RETRY_NS; else it is lost. */
static inline bool rnic_full_waits(struct rnic_full *full, uint32_t num,
				   uint64_t now_ns)
{
	uint32_t *known = &full->num[num % RNIC_FULL_CNT];

	if (*known == num)
		return false;
	if (!full->end_ns)
		full->end_ns = now_ns + RNIC_FULL_NS;
	if (now_ns < full->end_ns)
		return true;
	*known = num;
	return false;
}

/* The datagram does not wait any more. */
static inline void rnic_full_end(struct rnic_full *full)
{
	full->end_ns = 0;
}

/* @num has taken one. */
static inline void rnic_full_taken(struct rnic_full *full, uint32_t num)
{
	uint32_t *known = &full->num[num % RNIC_FULL_CNT];

	full->end_ns = 0;
	if (*known == num)
		*known = 0;
}

#endif

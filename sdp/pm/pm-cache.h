/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a Port Mapper's client remembers of answers, and of their absence.  A
 * table of fixed size without locks and clocks; all 0 is empty.
 */
#ifndef SDP_PM_CACHE_H
#define SDP_PM_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "pm/pm-msg.h"

#define SDP_PM_CACHE_SETS 64u
#define SDP_PM_CACHE_WAYS 4u

struct sdp_pm_key {
	uint8_t ipv; /* 4 or 6 */
	uint16_t port;
	uint8_t addr[16]; /* as in struct sdp_pm_msg */
};

enum sdp_pm_cached {
	SDP_PM_CACHED_MAPPED,
	SDP_PM_CACHED_DENIED,
	SDP_PM_CACHED_SILENT, /* of a host: it counts for each port */
};

struct sdp_pm_cache_entry {
	struct sdp_pm_key key;
	enum sdp_pm_cached what;
	uint16_t ap_port; /* the SDP Address, if mapped */
	uint8_t ap_addr[16];
	uint64_t until_ms; /* 0: the entry is empty */
};

struct sdp_pm_cache {
	struct sdp_pm_cache_entry entry[SDP_PM_CACHE_SETS][SDP_PM_CACHE_WAYS];
};

/* Return: true: @ret_entry is what is known of the Conventional Address. */
bool sdp_pm_cache_get(const struct sdp_pm_cache *cache, uint64_t now_ms,
		      const struct sdp_pm_key *key,
		      struct sdp_pm_cache_entry *ret_entry);

/* Remembers @entry until its time.  In a full table it replaces the entry that
 * ends soonest.  An @entry with a past time removes the old one. */
void sdp_pm_cache_put(struct sdp_pm_cache *cache, uint64_t now_ms,
		      const struct sdp_pm_cache_entry *entry);

#endif

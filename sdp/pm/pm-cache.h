/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The cache of a Port Mapper client, for answers and for their absence. A table
 * of fixed size, without locks and clocks. All zeros is an empty table.
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

enum sdp_pm_outcome {
	SDP_PM_MAPPED,	  /* connect to the SDP Address, from local */
	SDP_PM_DENIED,	  /* PMDeny: TCP */
	SDP_PM_NO_ANSWER, /* the host has no Port Mapper, for no port: TCP */
};

struct sdp_pm_cache_entry {
	struct sdp_pm_key key;
	enum sdp_pm_outcome what;
	uint16_t ap_port; /* the SDP Address, if mapped */
	uint8_t ap_addr[16];
	uint64_t until_ms; /* 0: the entry is empty */
};

struct sdp_pm_cache {
	struct sdp_pm_cache_entry entry[SDP_PM_CACHE_SETS][SDP_PM_CACHE_WAYS];
};

/* Return: true: @ret_entry is the entry of the Conventional Address. */
bool sdp_pm_cache_get(const struct sdp_pm_cache *cache, uint64_t now_ms,
		      const struct sdp_pm_key *key,
		      struct sdp_pm_cache_entry *ret_entry);

/* Stores @entry until its time. In a full set it replaces the entry that
 * expires first. An @entry whose time has passed removes the old one. */
void sdp_pm_cache_put(struct sdp_pm_cache *cache, uint64_t now_ms,
		      const struct sdp_pm_cache_entry *entry);

#endif

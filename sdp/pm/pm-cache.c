/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Answers of Port Mappers, by Conventional Address. */
#include "pm/pm-cache.h"

#include <stddef.h>
#include <string.h>

static bool is_same(const struct sdp_pm_key *a, const struct sdp_pm_key *b)
{
	return a->ipv == b->ipv && a->port == b->port &&
	       !memcmp(a->addr, b->addr, sizeof(a->addr));
}

/* The set of a key. The hash spreads the addresses that programs connect to
 * over all sets. */
static size_t set_of(const struct sdp_pm_key *key)
{
	uint32_t hash = 2166136261u ^ key->ipv;

	for (size_t i = 0; i < sizeof(key->addr); i++)
		hash = (hash ^ key->addr[i]) * 16777619u;
	hash = (hash ^ (key->port & 0xffu)) * 16777619u;
	hash = (hash ^ (uint32_t)key->port >> 8) * 16777619u;
	return hash % SDP_PM_CACHE_SETS;
}

static bool find(const struct sdp_pm_cache *cache, uint64_t now_ms,
		 const struct sdp_pm_key *key,
		 struct sdp_pm_cache_entry *ret_entry)
{
	const struct sdp_pm_cache_entry *set = cache->entry[set_of(key)];

	for (size_t i = 0; i < SDP_PM_CACHE_WAYS; i++)
		/* SDP-258: an expired entry is not used. */
		if (set[i].until_ms > now_ms && is_same(&set[i].key, key)) {
			*ret_entry = set[i];
			return true;
		}
	return false;
}

/* The key of a host without Port Mapper has port 0. The entry holds for every
 * port. */
static struct sdp_pm_key host_of(const struct sdp_pm_key *key)
{
	struct sdp_pm_key host = *key;

	host.port = 0;
	return host;
}

bool sdp_pm_cache_get(const struct sdp_pm_cache *cache, uint64_t now_ms,
		      const struct sdp_pm_key *key,
		      struct sdp_pm_cache_entry *ret_entry)
{
	struct sdp_pm_key host = host_of(key);

	return find(cache, now_ms, key, ret_entry) ||
	       find(cache, now_ms, &host, ret_entry);
}

void sdp_pm_cache_put(struct sdp_pm_cache *cache, uint64_t now_ms,
		      const struct sdp_pm_cache_entry *entry)
{
	struct sdp_pm_key key = entry->what == SDP_PM_NO_ANSWER
					? host_of(&entry->key)
					: entry->key;
	struct sdp_pm_cache_entry *set = cache->entry[set_of(&key)];
	struct sdp_pm_cache_entry *place = &set[0];
	bool is_there = false;

	for (size_t i = 0; i < SDP_PM_CACHE_WAYS && !is_there; i++) {
		is_there = set[i].until_ms && is_same(&set[i].key, &key);
		if (is_there || set[i].until_ms < place->until_ms)
			place = &set[i];
	}
	if (entry->until_ms > now_ms) {
		*place = *entry;
		place->key = key;
	} else if (is_there) {
		place->until_ms = 0;
	}
}

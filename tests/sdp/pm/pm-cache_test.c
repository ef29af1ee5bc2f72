/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The client's cache: its content, and how long it is valid. */
#include "test.h"

#include <string.h>

#include "pm/pm-cache.h"

#define NOW 5000

static struct sdp_pm_cache cache;

static int setup(void **state)
{
	memset(&cache, 0, sizeof(cache));
	return 0;
}

static struct sdp_pm_key key_make(unsigned int host, uint16_t port)
{
	return (struct sdp_pm_key){
		.ipv = 4,
		.port = port,
		.addr = { 10, (uint8_t)(host >> 16), (uint8_t)(host >> 8),
			  (uint8_t)host },
	};
}

static void put(unsigned int host, uint16_t port, enum sdp_pm_outcome what,
		uint64_t now_ms, uint64_t until_ms)
{
	struct sdp_pm_cache_entry entry = {
		.key = key_make(host, port),
		.what = what,
		.ap_port = (uint16_t)(port + 1),
		.until_ms = until_ms,
	};

	sdp_pm_cache_put(&cache, now_ms, &entry);
}

/* Return: the stored state, or -1. */
static int get(unsigned int host, uint16_t port, uint64_t now_ms)
{
	struct sdp_pm_key key = key_make(host, port);
	struct sdp_pm_cache_entry entry;

	return sdp_pm_cache_get(&cache, now_ms, &key, &entry) ? (int)entry.what
							      : -1;
}

/* T91, SDP-258 */
CASE_WITH(forgets_in_time, setup, NULL)
{
	assert_int_equal(get(1, 80, NOW), -1);
	put(1, 80, SDP_PM_MAPPED, NOW, NOW + 250);
	put(2, 80, SDP_PM_MAPPED, NOW, NOW);
	put(3, 80, SDP_PM_MAPPED, NOW, UINT64_MAX);
	assert_int_equal(get(1, 80, NOW), SDP_PM_MAPPED);
	assert_int_equal(get(1, 80, NOW + 249), SDP_PM_MAPPED);
	assert_int_equal(get(1, 80, NOW + 250), -1);
	assert_int_equal(get(2, 80, NOW), -1);
	assert_int_equal(get(3, 80, UINT64_MAX - 1), SDP_PM_MAPPED);
	assert_int_equal(get(1, 81, NOW), -1);
	assert_int_equal(get(4, 80, NOW), -1);
}

CASE_WITH(remembers_silence_of_a_whole_host, setup, NULL)
{
	put(1, 80, SDP_PM_NO_ANSWER, NOW, NOW + 9);
	put(2, 80, SDP_PM_DENIED, NOW, NOW + 9);
	assert_int_equal(get(1, 443, NOW), SDP_PM_NO_ANSWER);
	assert_int_equal(get(2, 80, NOW), SDP_PM_DENIED);
	assert_int_equal(get(2, 443, NOW), -1);
	/* The entry of the port takes precedence. */
	put(1, 443, SDP_PM_MAPPED, NOW, NOW + 9);
	assert_int_equal(get(1, 443, NOW), SDP_PM_MAPPED);
}

CASE_WITH(replaces_what_it_knew, setup, NULL)
{
	put(1, 80, SDP_PM_MAPPED, NOW, NOW + 9);
	put(1, 80, SDP_PM_DENIED, NOW, NOW + 9);
	assert_int_equal(get(1, 80, NOW), SDP_PM_DENIED);
	/* "Use once" removes it. */
	put(1, 80, SDP_PM_MAPPED, NOW, 0);
	assert_int_equal(get(1, 80, NOW), -1);
}

CASE_WITH(tells_families_apart, setup, NULL)
{
	struct sdp_pm_key key = key_make(1, 80);
	struct sdp_pm_cache_entry entry;

	put(1, 80, SDP_PM_MAPPED, NOW, NOW + 9);
	assert_true(sdp_pm_cache_get(&cache, NOW, &key, &entry));
	assert_int_equal(entry.ap_port, 81);
	key.ipv = 6;
	assert_false(sdp_pm_cache_get(&cache, NOW, &key, &entry));
}

/* Under many insertions, the newest entry is stored, and of the others those
 * that expire last. */
CASE_WITH(stays_within_its_size, setup, NULL)
{
	unsigned int known = 0;

	put(0, 1, SDP_PM_MAPPED, NOW, UINT64_MAX);
	for (unsigned int i = 1; i <= 100000; i++) {
		put(i, 80, SDP_PM_MAPPED, NOW, NOW + i);
		assert_int_equal(get(i, 80, NOW), SDP_PM_MAPPED);
	}
	for (unsigned int i = 1; i <= 100000; i++)
		known += get(i, 80, NOW) >= 0;
	assert_true(known >= SDP_PM_CACHE_SETS);
	assert_true(known < SDP_PM_CACHE_SETS * SDP_PM_CACHE_WAYS);
	assert_int_equal(get(0, 1, NOW), SDP_PM_MAPPED);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See chaos.h. */
#include "chaos.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/*
 * Rules with up to two numbers, each drawn from its range.  A probability is in
 * units of 0.0001.
 */
struct draw {
	const char *rule;
	uint32_t least[2], most[2];
};

static const struct draw soft[] = {
	{ "verb=post_send,errno=ENOMEM,p=0.%04" PRIu32, { 1 }, { 50 } },
	{ "verb=post_send,errno=EAGAIN,p=0.%04" PRIu32, { 1 }, { 50 } },
	{ "verb=post_recv,errno=ENOMEM,p=0.%04" PRIu32, { 1 }, { 50 } },
	{ "stream=delay,for=%" PRIu32 "ms,p=0.%04" PRIu32,
	  { 1, 10 },
	  { 10, 500 } },
	{ "stream=stall,for=%" PRIu32 "ms,p=0.%04" PRIu32,
	  { 10, 1 },
	  { 200, 20 } },
	{ "stream=stall,dir=in,for=%" PRIu32 "ms,p=0.%04" PRIu32,
	  { 10, 1 },
	  { 200, 20 } },
	{ "receive=rnr,for=%" PRIu32 "ms,p=0.%04" PRIu32,
	  { 1, 1 },
	  { 100, 50 } },
	{ "datagram=lost,p=0.%04" PRIu32, { 10 }, { 500 } },
};

static const struct draw hard[] = {
	{ "completion=RETRY_EXC_ERR,nth=%" PRIu32, { 1 }, { 1000 } },
	{ "completion=REM_ACCESS_ERR,nth=%" PRIu32, { 1 }, { 1000 } },
	{ "completion=LOC_LEN_ERR,opcode=recv,nth=%" PRIu32, { 1 }, { 1000 } },
	{ "cq=overrun,nth=%" PRIu32, { 1 }, { 1000 } },
	{ "stream=reset,nth=%" PRIu32, { 1 }, { 1000 } },
	{ "stream=half-close,nth=%" PRIu32, { 1 }, { 1000 } },
	{ "stream=silent,nth=%" PRIu32, { 1 }, { 1000 } },
	{ "state=error,dir=in,nth=%" PRIu32, { 1 }, { 1000 } },
	{ "message=bad-crc,nth=%" PRIu32, { 1 }, { 1000 } },
	{ "terminate=forged,nth=%" PRIu32, { 1 }, { 1000 } },
	{ "cm=reject,nth=%" PRIu32, { 1 }, { 3 } },
	{ "cm=unreachable,nth=%" PRIu32, { 1 }, { 3 } },
	{ "port=down,at=%" PRIu32 "ms,for=%" PRIu32 "ms",
	  { 0, 100 },
	  { 2000, 5000 } },
};

#define CNT(draws) (sizeof(draws) / sizeof((draws)[0]))

/* SplitMix64. */
static uint64_t random_next(uint64_t *state)
{
	uint64_t n = *state += UINT64_C(0x9e3779b97f4a7c15);

	n = (n ^ n >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	n = (n ^ n >> 27) * UINT64_C(0x94d049bb133111eb);
	return n ^ n >> 31;
}

static uint32_t random_range(uint64_t *state, uint32_t least, uint32_t most)
{
	return least + (uint32_t)(random_next(state) % (most - least + 1));
}

static void rule_add(const struct draw *draw, uint64_t *state, char *rules)
{
	uint32_t a = random_range(state, draw->least[0], draw->most[0]);
	uint32_t b = random_range(state, draw->least[1], draw->most[1]);
	size_t len = strlen(rules);

	len += (size_t)snprintf(rules + len, CHAOS_MAX - len, "; ");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(rules + len, CHAOS_MAX - len, draw->rule, a, b);
#pragma GCC diagnostic pop
}

void chaos_draw(uint64_t seed, bool is_hard, char ret_rules[CHAOS_MAX])
{
	uint64_t state = seed;
	/* One is always among them, the others half of the time. */
	size_t sure = random_next(&state) % CNT(soft);

	snprintf(ret_rules, CHAOS_MAX, "seed=%" PRIu64, seed);
	for (size_t i = 0; i < CNT(soft); i++)
		if (random_next(&state) % 2 || i == sure)
			rule_add(&soft[i], &state, ret_rules);
	if (is_hard)
		rule_add(&hard[random_next(&state) % CNT(hard)], &state,
			 ret_rules);
}

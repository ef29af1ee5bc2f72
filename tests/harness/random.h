/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Pseudo-random numbers, reproducible by their seed.
 */
#ifndef TEST_RANDOM_H
#define TEST_RANDOM_H

#include <stdint.h>

/* splitmix64 */
static inline uint64_t test_random(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whether the upper halves of this thread's vector registers are in use.  A
 * function that returns so makes SSE instructions behind it slow on some CPUs.
 */
#ifndef VECTORS_H
#define VECTORS_H

#include <stdbool.h>

#if defined(__x86_64__)
#include <cpuid.h>

/* XINUSE: YMM, and ZMM0 to ZMM15. (The use of ZMM16 to ZMM31 costs nothing.) */
#define VECTORS_UPPER (1u << 2 | 1u << 6)

/* Can the use of registers be read, and is it reported exactly? */
static inline bool vectors_can_tell(void)
{
	unsigned int a, b, c, d;

	return __builtin_cpu_supports("avx") &&
	       __get_cpuid_count(0xd, 1, &a, &b, &c, &d) && a & 1u << 2;
}

static inline bool vectors_upper_in_use(void)
{
	unsigned int low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
	return low & VECTORS_UPPER;
}
#else
static inline bool vectors_can_tell(void)
{
	return false;
}

static inline bool vectors_upper_in_use(void)
{
	return false;
}
#endif

#endif

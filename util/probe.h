/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Probes for tracers (USDT): bpftrace, perf, gdb and SystemTap find them in the
 * notes of the built library, as "usiw:NAME".  usiw-probes(7) lists them.  A
 * probe is one nop; the notes say where the compiler has its arguments.
 * Without <sys/sdt.h> there are none; arguments have no side effect, so they
 * cost nothing then.
 *
 *	UTIL_PROBE_DECLARE(post);	in a header
 *	UTIL_PROBE_DEFINE(post);	in one source file of each library
 *	UTIL_PROBE(post, num, opcode);	where it happens
 *
 * UTIL_PROBE_IS_ON(post) tells whether a tracer listens, by a relaxed load: a
 * tracer counts the probe's word up.  Each UTIL_PROBE() stands in one function
 * that is not inlined, because perf takes only the first of several places.
 */
#ifndef UTIL_PROBE_H
#define UTIL_PROBE_H

#ifdef USIW_HAS_SDT

#define SDT_USE_VARIADIC 1
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#define UTIL_PROBE_DECLARE(name)                                               \
	extern unsigned short usiw_##name##_semaphore                          \
		__attribute__((visibility("hidden")))

/* Tracers expect the word in this section. */
#define UTIL_PROBE_DEFINE(name)                                                \
	unsigned short usiw_##name##_semaphore                                 \
		__attribute__((visibility("hidden"), section(".probes")))

#define UTIL_PROBE(...) STAP_PROBEV(usiw, __VA_ARGS__)

/* relaxed: a tracer may come at any time, and orders nothing */
#define UTIL_PROBE_IS_ON(name)                                                 \
	__builtin_expect(__atomic_load_n(&usiw_##name##_semaphore,             \
					 __ATOMIC_RELAXED) != 0,               \
			 0)

#else

static inline void util_probe_none(int none, ...)
{
	(void)none;
}

#define UTIL_PROBE_DECLARE(name) _Static_assert(1, #name)
#define UTIL_PROBE_DEFINE(name) _Static_assert(1, #name)
#define UTIL_PROBE(name, ...) util_probe_none(0, __VA_ARGS__)
#define UTIL_PROBE_IS_ON(name) 0

#endif

#endif

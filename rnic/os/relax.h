/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A hint to the CPU that this thread spins. */
#ifndef RNIC_RELAX_H
#define RNIC_RELAX_H

/* Takes some ten nanoseconds.  A thread that shares the core is faster
 * meanwhile. */
static inline void rnic_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" : : : "memory");
#else
	__asm__ volatile("" : : : "memory");
#endif
}

#endif

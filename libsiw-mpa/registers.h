/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Vector registers as a function of ISA-L should have left them.
 */
#ifndef SMPA_REGISTERS_H
#define SMPA_REGISTERS_H

/*
 * crc32_iscsi() and crc32_gzip_refl() return with the upper halves of vector
 * registers in use.  On some CPUs each change between SSE and AVX instructions
 * then costs 75 ns, also in the application's own code, until the thread
 * executes VZEROUPPER.
 */
#if defined(__x86_64__)
__attribute__((target("avx"))) static inline void registers_upper_clear(void)
{
	__builtin_ia32_vzeroupper();
}

static inline void registers_clean(void)
{
	if (__builtin_cpu_supports("avx"))
		registers_upper_clear();
}
#else
static inline void registers_clean(void)
{
}
#endif

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What libusiw-check.so, the preload library of usiw check, and the provider
 * have in common.  The library stands in the place of the calls that take
 * memory from the program.  The provider is loaded later, and finds it by
 * dlsym().
 */
#ifndef USIW_CHECK_PRELOAD_H
#define USIW_CHECK_PRELOAD_H

#include <stdatomic.h>
#include <stdint.h>

enum usiw_check_call {
	USIW_CHECK_FREE,
	USIW_CHECK_REALLOC,
	USIW_CHECK_MUNMAP,
	USIW_CHECK_MREMAP,
	USIW_CHECK_MADVISE,
};

/* The call is about to take the octets. */
typedef void usiw_check_taken_fn(enum usiw_check_call call, uint64_t addr,
				 uint64_t len);

struct usiw_check_preload {
	/* Set by the provider while work requests are posted; else NULL. */
	usiw_check_taken_fn *_Atomic taken;
	/* The calling thread's count: while it is not 0, its calls are not the
	 * program's, and are not told.  Context: any, signal handlers too. */
	volatile int *(*inside)(void);
};

/* The name of the library's only symbol that is not of libc. */
#define USIW_CHECK_PRELOAD_SYMBOL "usiw_check_preload"

#endif

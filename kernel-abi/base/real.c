/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See real.h. */
#include "base/real.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* readdir_r */
static struct kabi_reals real_pointers;
static const char *const real_names[] = { KABI_REALS(UTIL_REAL_NAME) };
#pragma GCC diagnostic pop

_Static_assert(sizeof(real_pointers) == sizeof(real_names),
	       "nothing but pointers, in the order of the names");

struct util_reals kabi_real_table = {
	.pointers = &real_pointers,
	.names = real_names,
	.cnt = sizeof(real_names) / sizeof(real_names[0]),
};

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The table behind real.h. */
#include "real.h"

static struct sdp_reals real_pointers;
static const char *const real_names[] = { SDP_REALS(UTIL_REAL_NAME) };

_Static_assert(sizeof(real_pointers) == sizeof(real_names),
	       "nothing but pointers, in the order of the names");

struct util_reals sdp_real_table = {
	.pointers = &real_pointers,
	.names = real_names,
	.cnt = sizeof(real_names) / sizeof(real_names[0]),
};

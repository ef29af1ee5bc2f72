/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Direct verbs of usiw, looked up at run time: the library loads beside
 * hardware without them. */
#ifndef SDP_DIRECT_H
#define SDP_DIRECT_H

#include <stdbool.h>
#include <string.h>

/* The names of usiw's devices begin so. */
#define SDP_DIRECT_DEVICE "usiw_"

static inline bool sdp_direct_is_device(const char *name)
{
	return !strncmp(name, SDP_DIRECT_DEVICE, sizeof(SDP_DIRECT_DEVICE) - 1);
}

/* NULL: there is none. */
void *sdp_direct_symbol(const char *name);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Direct verbs of usiw. They are looked up at run time, so that libsdp.so also
 * loads where only hardware drivers are installed. */
#ifndef SDP_DIRECT_H
#define SDP_DIRECT_H

#include <stdbool.h>
#include <string.h>

/* Prefix of the names of usiw's devices. */
#define SDP_DIRECT_DEVICE "usiw_"

static inline bool sdp_direct_is_device(const char *name)
{
	return !strncmp(name, SDP_DIRECT_DEVICE, sizeof(SDP_DIRECT_DEVICE) - 1);
}

/* Return: NULL: the symbol does not exist. */
void *sdp_direct_symbol(const char *name);

#endif

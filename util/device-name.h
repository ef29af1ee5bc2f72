/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Names of usiw's devices: by the interface, or as USIW_NAME asks. */
#ifndef UTIL_DEVICE_NAME_H
#define UTIL_DEVICE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The name of the device with that number, from 0 on, of an interface whose
 * name is @ifname, or has that form. */
void util_device_name(const char *ifname, uint32_t number, char *ret_name,
		      size_t size);

/* Is it the name of a device of usiw? */
bool util_device_name_is_ours(const char *name);

#endif

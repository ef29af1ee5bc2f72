/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Two installations of usiw on one machine: the provider of one may be loaded
 * beside the preload library of the other.
 */
#ifndef USIW_INTERFACE_H
#define USIW_INTERFACE_H

#include <stdbool.h>

/*
 * Has the preload library, which shows the devices, the RNIC of this provider?
 * Logs once per process that it has not.
 */
bool usiw_interface_fits(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Two installations of usiw on one machine: the provider of one may be loaded
 * beside the preload library of the other.
 */
#ifndef USIW_INTERFACE_H
#define USIW_INTERFACE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * True if the preload library, which shows the devices, uses the same RNIC
 * library as this provider.  Otherwise logs an error once per process.
 * @abi_version: the device's.  That of an older build may be in front of the
 *   preload library that has usiw_interface.
 */
bool usiw_interface_fits(uint32_t abi_version);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The first touch of one of our paths, or of a socket of NETLINK_RDMA. */
#ifndef KABI_TOUCH_H
#define KABI_TOUCH_H

#include <stdbool.h>

/*
 * Somebody looks for a device: load the RNIC library, grow the tree.  Return:
 * false when there is no RNIC library; then our paths are as foreign as any.
 */
bool kabi_touch(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The first touch: the first use of a path of the tree, or of a socket of
 * NETLINK_RDMA. */
#ifndef KABI_TOUCH_H
#define KABI_TOUCH_H

#include <stdbool.h>

/*
 * Loads the RNIC library and builds the tree, because the program looks for a
 * device.  Return: false: there is no RNIC library; then all paths go to libc.
 */
bool kabi_touch(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The table of interfaces, kept as long as nothing about them has changed.
 */
#ifndef RNIC_NETIF_CACHE_H
#define RNIC_NETIF_CACHE_H

#include "netif.h"

/**
 * As rnic_netif_table_new(), but does not query the kernel as long as it has
 * reported no change.
 *
 * Return: 0, and *@ret_table is the caller's until rnic_netif_table_put();
 *   errors as rnic_netif_table_new().
 * Context: the first time, and after a change, as rnic_netif_table_new().
 */
int rnic_netif_table_get(const struct rnic_netif_table **ret_table)
	__attribute__((warn_unused_result));
/* NULL: nothing. */
void rnic_netif_table_put(const struct rnic_netif_table *table);

/* Another socket has reported a change, perhaps before the cache's own does. */
void rnic_netif_cache_drop(void);

void rnic_netif_cache_fork_child(void);

#endif

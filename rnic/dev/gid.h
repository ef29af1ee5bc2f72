/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A device's GID table: the addresses of its interface. Each address keeps its
 * index as long as it exists, whichever other addresses are added or removed,
 * because programs keep indices.
 */
#ifndef RNIC_GID_H
#define RNIC_GID_H

#include <stdbool.h>
#include <stdint.h>

#include "util/lock.h"
#include "os/netif.h"
#include "rnic.h"

struct rnic_gid_table {
	struct util_lock lock; /* guards the rest */
	struct {
		uint8_t gid[16]; /* also of one that was removed: it may come
				    back */
		bool is_there;
	} slot[RNIC_GID_MAX];
};

void rnic_gid_table_init(struct rnic_gid_table *gids);

/*
 * Takes over the addresses of the interface. Without any there is the default
 * GID of @guid_be, because programs need an entry. A new address gets the index
 * that it had before, or the first free one. The order is IPv4, IPv6,
 * link-local. Addresses beyond the table's size are left out.
 *
 * @ret_gid: zero where there is none.
 * Return: entries up to and including the last that is not zero; >= 1.
 */
uint32_t rnic_gid_table_update(struct rnic_gid_table *gids,
			       const struct rnic_netif_table *table,
			       uint32_t ifindex, uint64_t guid_be,
			       uint8_t ret_gid[RNIC_GID_MAX][16]);

/* Is it there?  As of the last update. */
bool rnic_gid_is_there(struct rnic_gid_table *gids, const uint8_t gid[16]);

/* It has been in @gids, and is no address of an interface that is up. */
bool rnic_gid_is_lost(struct rnic_gid_table *gids,
		      const struct rnic_netif_table *table,
		      const uint8_t gid[16]);

#endif

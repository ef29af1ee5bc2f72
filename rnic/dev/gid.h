/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A device's GID table: the addresses of its interface, each at an index that
 * stays its own for as long as the address stays, whatever comes and goes
 * beside it: programs keep indices.
 */
#ifndef RNIC_GID_H
#define RNIC_GID_H

#include <stdbool.h>
#include <stdint.h>

#include "../../util/lock.h"
#include "os/netif.h"
#include "rnic.h"

struct rnic_gid_table {
	struct util_lock lock; /* guards the rest */
	struct {
		uint8_t gid[16]; /* also of one that has gone: it may return */
		bool is_there;
	} slot[RNIC_GID_MAX];
};

void rnic_gid_table_init(struct rnic_gid_table *gids);

/*
 * Take over the addresses of the interface; without any there is the default
 * GID of @guid_be, since programs demand an entry.  What is new takes the
 * place it had before, or the first that is free: IPv4, then IPv6, then
 * link-local ones.  More than there are places are left out.
 *
 * @ret_gid: zero where none is.
 * Return: entries up to and with the last that is not zero; >= 1.
 */
uint32_t rnic_gid_table_update(struct rnic_gid_table *gids,
			       const struct rnic_netif_table *table,
			       uint32_t ifindex, uint64_t guid_be,
			       uint8_t ret_gid[RNIC_GID_MAX][16]);

#endif

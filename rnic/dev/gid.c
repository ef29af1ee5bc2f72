/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* GID tables: addresses that keep their index. */
#include "gid.h"

#include <string.h>
#include <sys/socket.h>

enum gid_class { GID_IPV4, GID_IPV6_GLOBAL, GID_IPV6_LINK_LOCAL, GID_CLASSES };

static enum gid_class gid_class_of(const struct rnic_netif_addr *addr)
{
	if (addr->family == AF_INET)
		return GID_IPV4;
	return addr->is_link_local ? GID_IPV6_LINK_LOCAL : GID_IPV6_GLOBAL;
}

void rnic_gid_table_init(struct rnic_gid_table *gids)
{
	memset(gids, 0, sizeof(*gids));
	util_lock_init(&gids->lock, UTIL_RANK_LEAF);
}

/* Its place, past or present.  Return: RNIC_GID_MAX: none. */
static uint32_t slot_of(const struct rnic_gid_table *gids,
			const uint8_t gid[16])
{
	uint32_t i = 0;

	while (i < RNIC_GID_MAX && memcmp(gids->slot[i].gid, gid, 16) != 0)
		i++;
	return i;
}

static uint32_t slot_free(const struct rnic_gid_table *gids)
{
	uint32_t i = 0;

	while (i < RNIC_GID_MAX && gids->slot[i].is_there)
		i++;
	return i;
}

static void gid_keep(struct rnic_gid_table *gids, const uint8_t gid[16])
{
	uint32_t i = slot_of(gids, gid);

	if (i < RNIC_GID_MAX)
		gids->slot[i].is_there = true;
}

static void gid_place(struct rnic_gid_table *gids, const uint8_t gid[16])
{
	uint32_t i = slot_of(gids, gid);

	if (i < RNIC_GID_MAX)
		return;
	i = slot_free(gids);
	if (i == RNIC_GID_MAX)
		return;
	memcpy(gids->slot[i].gid, gid, 16);
	gids->slot[i].is_there = true;
}

static void
gids_of_class(struct rnic_gid_table *gids, const struct rnic_netif_table *table,
	      uint32_t ifindex, enum gid_class class,
	      void (*take)(struct rnic_gid_table *, const uint8_t *))
{
	for (size_t i = 0; i < table->addr_cnt; i++) {
		const struct rnic_netif_addr *addr = &table->addrs[i];
		uint8_t gid[16];

		if (addr->ifindex != ifindex || gid_class_of(addr) != class)
			continue;
		rnic_gid_from_ip(gid, addr->family, addr->addr);
		take(gids, gid);
	}
}

/* Those that stay come before those that are new and look for a place. */
static void gids_take(struct rnic_gid_table *gids,
		      const struct rnic_netif_table *table, uint32_t ifindex,
		      uint64_t guid_be)
{
	uint8_t default_gid[16] = { 0xfe, 0x80 };

	for (uint32_t i = 0; i < RNIC_GID_MAX; i++)
		gids->slot[i].is_there = false;
	if (!rnic_netif_addr_cnt(table, ifindex)) {
		memcpy(default_gid + 8, &guid_be, 8);
		gid_keep(gids, default_gid);
		gid_place(gids, default_gid);
		return;
	}
	for (enum gid_class class = 0; class < GID_CLASSES; class ++)
		gids_of_class(gids, table, ifindex, class, gid_keep);
	for (enum gid_class class = 0; class < GID_CLASSES; class ++)
		gids_of_class(gids, table, ifindex, class, gid_place);
}

uint32_t rnic_gid_table_update(struct rnic_gid_table *gids,
			       const struct rnic_netif_table *table,
			       uint32_t ifindex, uint64_t guid_be,
			       uint8_t ret_gid[RNIC_GID_MAX][16])
{
	UTIL_LOCKED(&gids->lock);
	uint32_t cnt = 0;

	gids_take(gids, table, ifindex, guid_be);
	for (uint32_t i = 0; i < RNIC_GID_MAX; i++) {
		memset(ret_gid[i], 0, 16);
		if (!gids->slot[i].is_there)
			continue;
		memcpy(ret_gid[i], gids->slot[i].gid, 16);
		cnt = i + 1;
	}
	return cnt;
}

static bool gid_is_up(const struct rnic_netif_table *table,
		      const uint8_t gid[16])
{
	for (size_t i = 0; i < table->addr_cnt; i++) {
		const struct rnic_netif_addr *addr = &table->addrs[i];
		const struct rnic_netif *netif =
			rnic_netif_by_index(table, addr->ifindex);
		uint8_t other[16];

		rnic_gid_from_ip(other, addr->family, addr->addr);
		if (netif && netif->is_up && memcmp(other, gid, 16) == 0)
			return true;
	}
	return false;
}

bool rnic_gid_is_there(struct rnic_gid_table *gids, const uint8_t gid[16])
{
	UTIL_LOCKED(&gids->lock);
	uint32_t i = slot_of(gids, gid);

	return i < RNIC_GID_MAX && gids->slot[i].is_there;
}

bool rnic_gid_is_lost(struct rnic_gid_table *gids,
		      const struct rnic_netif_table *table,
		      const uint8_t gid[16])
{
	bool was_there;

	util_lock(&gids->lock);
	was_there = slot_of(gids, gid) < RNIC_GID_MAX;
	util_unlock(&gids->lock);
	return was_there && !gid_is_up(table, gid);
}

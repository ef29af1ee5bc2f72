/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Devices: which interfaces are one, their names, GUIDs, GIDs and limits. */
#include "device.h"

#include "util/device-name.h"
#include "util/env.h"
#include "util/log.h"
#include "fault/rules.h"
#include "os/addr.h"
#include "os/netif-cache.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE_UVERBS_BASE 1000

static const struct rnic_limits device_limits = {
	.max_mr_size = UINT64_MAX / 2,
	.max_qp = 65536,
	.max_qp_wr = 16384,
	.max_sge = 32,
	.max_sge_rd = 32,
	.max_inline = 1024,
	.max_cq = 65536,
	.max_cqe = 1048576,
	.max_mr = 1u << 20,
	.max_mw = 1u << 19,
	.max_dm_size = 64u << 20,
	.max_pd = 65536,
	.max_srq = 65536,
	.max_srq_wr = 65536,
	.max_srq_sge = 32,
	.max_ird = 128,
	.max_ord = 128,
	.max_msg_size = 1u << 31,
	/* No IEEE OUI of ours exists: the low octets of "usiw".  The part id
	 * is in no table of perftest's, which looks at that alone. */
	.vendor_id = 0x736977,
	.vendor_part_id = 0x7573,
	.hw_ver = 1,
};

/* Published once with release, read with acquire; never freed. */
static _Atomic(struct rnic_device_set *) device_set;

const struct rnic_limits *rnic_limits(void)
{
	return &device_limits;
}

/* ---- building the set ------------------------------------------------- */

/* The next item of @list, without the blanks around it.  NULL: the end. */
static const char *list_next(const char **list, size_t *ret_len)
{
	size_t len = strcspn(*list, ",");
	const char *item = *list;

	if (!*item)
		return NULL;
	*list += len + (item[len] == ',');
	while (len > 0 && (*item == ' ' || *item == '\t')) {
		item++;
		len--;
	}
	while (len > 0 && (item[len - 1] == ' ' || item[len - 1] == '\t'))
		len--;
	*ret_len = len;
	return item;
}

static bool is_name(const char *name, const char *item, size_t len)
{
	return strlen(name) == len && memcmp(item, name, len) == 0;
}

static bool list_has_name(const char *list, const char *name)
{
	const char *item;
	size_t len;

	while ((item = list_next(&list, &len)))
		if (is_name(name, item, len))
			return true;
	return false;
}

/* NULL: it becomes a device. */
static const char *netif_why_not(const struct rnic_netif_table *table,
				 const struct rnic_netif *netif)
{
	if (netif->is_loopback)
		return NULL;
	if (!netif->is_up)
		return "it is down";
	if (rnic_netif_addr_cnt(table, netif->ifindex) == 0)
		return "it has no IP address";
	return NULL;
}

static bool netif_is_usable(const struct rnic_netif_table *table,
			    const struct rnic_netif *netif,
			    const char *interfaces)
{
	return (!interfaces || list_has_name(interfaces, netif->name)) &&
	       !netif_why_not(table, netif);
}

/* Names in USIW_INTERFACES that no interface has. */
static void names_warn(const struct rnic_netif_table *table,
		       const char *interfaces)
{
	const char *item;
	size_t len, i;

	while ((item = list_next(&interfaces, &len))) {
		for (i = 0; i < table->netif_cnt; i++)
			if (is_name(table->netifs[i].name, item, len))
				break;
		if (len && i == table->netif_cnt)
			util_warn("rnic",
				  "USIW_INTERFACES names %.*s, which no "
				  "interface is called",
				  (int)len, item);
	}
}

/* Which interfaces become no device although they were to, or because of the
 * setting. */
static void skipped_warn(const struct rnic_netif_table *table,
			 const char *interfaces)
{
	for (size_t i = 0; i < table->netif_cnt; i++) {
		const struct rnic_netif *netif = &table->netifs[i];
		bool is_named = interfaces &&
				list_has_name(interfaces, netif->name);
		const char *why = netif_why_not(table, netif);

		if (!why && interfaces && !is_named)
			util_warn("rnic",
				  "interface %s is no device: USIW_INTERFACES "
				  "does not name it",
				  netif->name);
		else if (why && is_named)
			util_warn("rnic", "interface %s is no device: %s",
				  netif->name, why);
		else if (why && !interfaces)
			util_info("rnic", "interface %s is no device: %s",
				  netif->name, why);
	}
	if (interfaces)
		names_warn(table, interfaces);
}

static struct rnic_device *set_by_name(const struct rnic_device_set *set,
				       const char *name)
{
	for (size_t i = 0; i < set->device_cnt; i++) {
		if (strcmp(set->devices[i]->name, name) == 0)
			return set->devices[i];
	}
	return NULL;
}

static struct rnic_device *set_by_guid(const struct rnic_device_set *set,
				       uint64_t guid_be)
{
	for (size_t i = 0; i < set->device_cnt; i++) {
		if (set->devices[i]->guid_be == guid_be)
			return set->devices[i];
	}
	return NULL;
}

static void device_set_name(const struct rnic_device_set *set,
			    struct rnic_device *dev)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz"
				      "0123456789_.-";
	char clean[sizeof(dev->ifname)], longer[sizeof(clean) + 12];
	char *p = clean;

	memcpy(clean, dev->ifname, sizeof(clean));
	while (*(p += strspn(p, allowed)))
		*p = '_';
	util_device_name(clean, (uint32_t)set->device_cnt, dev->name,
			 sizeof(dev->name));
	if (set_by_name(set, dev->name)) {
		snprintf(longer, sizeof(longer), "%s_%u", clean, dev->ifindex);
		util_device_name(longer, (uint32_t)set->device_cnt, dev->name,
				 sizeof(dev->name));
	}
}

static uint64_t guid_from_octets(const uint8_t octets[8])
{
	uint64_t guid_be;

	memcpy(&guid_be, octets, sizeof(guid_be));
	return guid_be;
}

/* RFC 4291 appendix A: EUI-64 of the MAC, universal/local bit inverted. */
static uint64_t guid_from_mac(const uint8_t mac[6])
{
	const uint8_t octets[8] = { mac[0] ^ 2, mac[1], mac[2], 0xff,
				    0xfe,	mac[3], mac[4], mac[5] };

	return guid_from_octets(octets);
}

/* In modified EUI-64 a clear universal/local bit says "made up here". */
static uint64_t guid_from_ifindex(uint32_t ifindex, uint8_t salt)
{
	const uint8_t octets[8] = { 0x00,
				    'u',
				    's',
				    salt,
				    (uint8_t)(ifindex >> 24),
				    (uint8_t)(ifindex >> 16),
				    (uint8_t)(ifindex >> 8),
				    (uint8_t)ifindex };

	return guid_from_octets(octets);
}

/* VLANs, macvlans and bonds may share one MAC: then the ifindex tells. */
static void device_set_guid(const struct rnic_device_set *set,
			    struct rnic_device *dev, const uint8_t mac[6])
{
	static const uint8_t no_mac[6];
	uint8_t salt = 0;

	dev->guid_be = guid_from_ifindex(dev->ifindex, salt);
	if (memcmp(mac, no_mac, sizeof(no_mac)) != 0)
		dev->guid_be = guid_from_mac(mac);
	while (dev->guid_be == 0 || set_by_guid(set, dev->guid_be))
		dev->guid_be = guid_from_ifindex(dev->ifindex, salt++);
}

static int set_add(struct rnic_device_set *set, const struct rnic_netif *netif)
{
	struct rnic_device *dev = calloc(1, sizeof(*dev));

	if (!dev)
		return -ENOMEM;
	dev->gids = malloc(sizeof(*dev->gids));
	if (!dev->gids) {
		free(dev);
		return -ENOMEM;
	}
	rnic_gid_table_init(dev->gids);
	memcpy(dev->ifname, netif->name, sizeof(dev->ifname));
	dev->ifindex = netif->ifindex;
	dev->is_loopback = netif->is_loopback;
	dev->persona = util_settings()->persona == UTIL_PERSONA_CA
			       ? RNIC_PERSONA_CA
			       : RNIC_PERSONA_RNIC;
	dev->num = 1 + (uint32_t)set->device_cnt;
	dev->uverbs_num = DEVICE_UVERBS_BASE + (uint32_t)set->device_cnt;
	device_set_name(set, dev);
	device_set_guid(set, dev, netif->mac);
	set->devices[set->device_cnt++] = dev;
	return 0;
}

/*
 * Programs without a choice take the first device.  The loopback interface
 * reaches no other host, so it comes behind those that may.
 */
enum { PLACE_ACTIVE, PLACE_LOOPBACK, PLACE_OTHER, PLACE_CNT };

static int netif_place(const struct rnic_netif_table *table,
		       const struct rnic_netif *netif)
{
	if (netif->is_loopback)
		return PLACE_LOOPBACK;
	for (size_t i = 0; netif->is_running && i < table->addr_cnt; i++)
		if (table->addrs[i].ifindex == netif->ifindex &&
		    !table->addrs[i].is_link_local)
			return PLACE_ACTIVE;
	return PLACE_OTHER;
}

static int set_add_place(struct rnic_device_set *set,
			 const struct rnic_netif_table *table,
			 const char *interfaces, int place)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < table->netif_cnt; i++) {
		const struct rnic_netif *netif = &table->netifs[i];

		if (netif_place(table, netif) == place &&
		    netif_is_usable(table, netif, interfaces))
			ret = set_add(set, netif);
	}
	return ret;
}

int rnic_device_set_new(const struct rnic_netif_table *table,
			const char *interfaces,
			struct rnic_device_set **ret_set)
{
	struct rnic_device_set *set = calloc(1, sizeof(*set));

	if (!set)
		return -ENOMEM;
	set->devices = calloc(table->netif_cnt + 1, sizeof(*set->devices));
	if (!set->devices)
		goto free_set;
	for (int place = 0; place < PLACE_CNT; place++)
		if (set_add_place(set, table, interfaces, place) < 0)
			goto free_set;
	*ret_set = set;
	return 0;

free_set:
	rnic_device_set_free(set);
	return -ENOMEM;
}

void rnic_device_set_free(struct rnic_device_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->device_cnt; i++) {
		free(set->devices[i]->gids);
		free(set->devices[i]);
	}
	free(set->devices);
	free(set);
}

/*
 * Two threads may build at once; the first to publish wins.  No lock: the
 * connection manager looks devices up while it holds its own.
 */
static int device_set_get(const struct rnic_device_set **ret_set)
{
	struct rnic_device_set *set, *published;
	struct rnic_netif_table *table;
	int ret;

	/* acquire: pairs with the publishing exchange below */
	published = atomic_load_explicit(&device_set, memory_order_acquire);
	if (published) {
		*ret_set = published;
		return 0;
	}
	ret = rnic_netif_table_new(&table);
	if (ret < 0) {
		util_err("rnic",
			 "no device: the interfaces cannot be listed by "
			 "rtnetlink: %s; allow sockets of AF_NETLINK to the "
			 "program",
			 strerror(-ret));
		return ret;
	}
	ret = rnic_device_set_new(table, util_settings()->interfaces, &set);
	if (ret == 0)
		skipped_warn(table, util_settings()->interfaces);
	rnic_netif_table_free(table);
	if (ret < 0)
		return ret;
	if (!set->device_cnt)
		util_err("rnic",
			 "no device: no interface with an IP address is usable "
			 "(USIW_INTERFACES=%s)",
			 util_settings()->interfaces
				 ? util_settings()->interfaces
				 : "");
	published = NULL;
	/* release: the set before its pointer; acquire: the winner's set */
	if (!atomic_compare_exchange_strong_explicit(&device_set, &published,
						     set, memory_order_acq_rel,
						     memory_order_acquire)) {
		rnic_device_set_free(set);
		set = published;
	}
	*ret_set = set;
	return 0;
}

void rnic_device_fork_child(void)
{
	/* relaxed: the child has one thread */
	struct rnic_device_set *set =
		atomic_load_explicit(&device_set, memory_order_relaxed);

	for (size_t i = 0; set && i < set->device_cnt; i++) {
		struct rnic_device *dev = set->devices[i];

		struct usiw_res_device *res =
			atomic_load_explicit(&dev->res, memory_order_relaxed);

		util_lock_init(&dev->gids->lock, UTIL_RANK_LEAF);
		dev->is_shown = false;
		/* The parent's traffic was not this process's. */
		if (res)
			memset(res->count, 0, sizeof(res->count));
	}
}

int rnic_device_list(struct rnic_device *const **ret_list)
{
	const struct rnic_device_set *set;
	int ret = device_set_get(&set);

	if (ret < 0)
		return ret;
	*ret_list = set->devices;
	return (int)set->device_cnt;
}

/* ---- attributes ------------------------------------------------------- */

/* The interface that the device stands for: the one it was made of, whatever
 * its name is now; when that has gone, one that was made anew by its name. */
static const struct rnic_netif *
device_netif(const struct rnic_device *dev,
	     const struct rnic_netif_table *table)
{
	const struct rnic_netif *netif =
		rnic_netif_by_index(table, dev->ifindex);

	for (size_t i = 0; i < table->netif_cnt && !netif; i++) {
		if (strcmp(table->netifs[i].name, dev->ifname) == 0)
			netif = &table->netifs[i];
	}
	return netif;
}

void rnic_device_fill_attr(const struct rnic_device *dev,
			   const struct rnic_netif_table *table,
			   struct rnic_device_attr *ret_attr)
{
	const struct rnic_netif *netif = device_netif(dev, table);
	struct rnic_device_attr *attr = ret_attr;

	memset(attr, 0, sizeof(*attr));
	memcpy(attr->name, dev->name, sizeof(attr->name));
	memcpy(attr->ifname, dev->ifname, sizeof(attr->ifname));
	attr->uverbs_num = dev->uverbs_num;
	attr->guid_be = dev->guid_be;
	attr->persona = dev->persona;
	if (netif) { /* else it has gone since: down, without address */
		memcpy(attr->ifname, netif->name, sizeof(attr->ifname));
		attr->ifindex = netif->ifindex;
		memcpy(attr->mac, netif->mac, sizeof(attr->mac));
		attr->mtu = netif->mtu;
		attr->is_up = netif->is_up && netif->is_running &&
			      !rnic_fault_port_down_ns();
	}
	attr->gid_cnt = rnic_gid_table_update(dev->gids, table, attr->ifindex,
					      attr->guid_be, attr->gid);
}

int rnic_device_query(const struct rnic_device *dev,
		      struct rnic_device_attr *ret_attr)
{
	const struct rnic_netif_table *table;
	int ret = rnic_netif_table_get(&table);

	if (ret < 0)
		return ret;
	rnic_device_fill_attr(dev, table, ret_attr);
	rnic_netif_table_put(table);
	return 0;
}

int rnic_device_show(struct rnic_device *dev)
{
	struct usiw_res_device *res;

	if (dev->is_shown)
		return 0;
	res = rnic_res_take(USIW_RES_DEVICE, dev->num);
	if (!res)
		return -ENOMEM;
	memcpy(res->name, dev->name, sizeof(res->name));
	memcpy(res->ifname, dev->ifname, sizeof(res->ifname));
	res->guid_be = dev->guid_be;
	res->ifindex = dev->ifindex;
	res->persona = dev->persona;
	rnic_res_close(&res->head);
	/* release: pairs with rnic_device_stats() */
	atomic_store_explicit(&dev->res, res, memory_order_release);
	dev->is_shown = true;
	return 0;
}

void rnic_device_stats(const struct rnic_device *dev,
		       struct rnic_device_stats *ret_stats)
{
	/* acquire: pairs with rnic_device_show() */
	const struct usiw_res_device *res =
		atomic_load_explicit(&dev->res, memory_order_acquire);

	memset(ret_stats, 0, sizeof(*ret_stats));
	for (size_t i = 0; res && i <= USIW_STAT_PARTS; i++) {
#define STAT_READ(name)                                                        \
	ret_stats->name += atomic_load_explicit(&res->count[i].name,           \
						memory_order_relaxed);
		RNIC_DEVICE_STAT_LIST(STAT_READ)
#undef STAT_READ
	}
}

enum rnic_persona rnic_device_persona(const struct rnic_device *dev)
{
	return dev->persona;
}

/* ---- looking up ------------------------------------------------------- */

struct rnic_device *rnic_device_by_name(const char *name)
{
	const struct rnic_device_set *set;

	return device_set_get(&set) < 0 ? NULL : set_by_name(set, name);
}

struct rnic_device *rnic_device_by_guid(uint64_t guid_be)
{
	const struct rnic_device_set *set;

	return device_set_get(&set) < 0 ? NULL : set_by_guid(set, guid_be);
}

static struct rnic_device *set_by_index(const struct rnic_device_set *set,
					const struct rnic_netif_table *table,
					uint32_t ifindex)
{
	for (size_t i = 0; i < set->device_cnt; i++) {
		const struct rnic_netif *netif =
			device_netif(set->devices[i], table);

		if (netif && netif->ifindex == ifindex)
			return set->devices[i];
	}
	return NULL;
}

static struct rnic_device *set_loopback(const struct rnic_device_set *set)
{
	for (size_t i = 0; i < set->device_cnt; i++) {
		if (set->devices[i]->is_loopback)
			return set->devices[i];
	}
	return NULL;
}

/* What to look for: family and octets; a scope for link-local addresses. */
struct addr_key {
	int family;
	uint8_t addr[16];
	uint32_t scope; /* 0: any interface */
};

static bool key_from_sockaddr(struct addr_key *key, const struct sockaddr *addr)
{
	struct sockaddr_storage plain;
	const struct sockaddr_in *sin = (struct sockaddr_in *)&plain;
	const struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&plain;

	rnic_addr_set(&plain, addr);
	rnic_addr_unmap(&plain);
	*key = (struct addr_key){ .family = plain.ss_family };
	if (plain.ss_family == AF_INET)
		memcpy(key->addr, &sin->sin_addr, 4);
	else
		memcpy(key->addr, &sin6->sin6_addr, 16);
	if (plain.ss_family == AF_INET6 &&
	    IN6_IS_ADDR_LINKLOCAL(&sin6->sin6_addr))
		key->scope = sin6->sin6_scope_id;
	return plain.ss_family != AF_UNSPEC;
}

static bool key_matches(const struct addr_key *key,
			const struct rnic_netif_addr *addr)
{
	return addr->family == key->family &&
	       memcmp(addr->addr, key->addr, key->family == AF_INET ? 4 : 16) ==
		       0 &&
	       (key->scope == 0 || key->scope == addr->ifindex);
}

struct rnic_device *rnic_device_by_addr(const struct sockaddr *addr)
{
	const struct rnic_device_set *set;
	const struct rnic_netif_table *table;
	struct rnic_device *dev = NULL;
	struct addr_key key;

	if (!key_from_sockaddr(&key, addr) || device_set_get(&set) < 0)
		return NULL;
	/* The whole of 127/8 is local though lo shows one address of it. */
	if (key.family == AF_INET && key.addr[0] == 127)
		return set_loopback(set);
	if (rnic_netif_table_get(&table) < 0)
		return NULL;
	for (size_t i = 0; i < table->addr_cnt && !dev; i++) {
		if (key_matches(&key, &table->addrs[i]))
			dev = set_by_index(set, table, table->addrs[i].ifindex);
	}
	rnic_netif_table_put(table);
	return dev;
}

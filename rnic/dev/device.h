/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Devices: one per usable network interface. They are made once per process
 * and, except for their GIDs, never changed, so that a pointer to one is valid
 * until exit. rnic.h declares the public calls.
 */
#ifndef RNIC_DEVICE_H
#define RNIC_DEVICE_H

#include "gid.h"
#include "os/netif.h"
#include "os/stat.h"
#include "rnic.h"

#include <stdatomic.h>

/* X(name): the fields of struct rnic_device_stats. */
#define RNIC_DEVICE_STAT_LIST(X)                                               \
	X(tx_fpdu)                                                             \
	X(rx_fpdu)                                                             \
	X(rx_crc_bad)                                                          \
	X(rx_direct)                                                           \
	X(rx_staged)                                                           \
	X(tx_inplace)                                                          \
	X(tx_copied)

/* One for each part of the counter page (os/stat.h); a cache line. */
struct rnic_device_counters {
#define RNIC_DEVICE_COUNTER(name) _Atomic uint64_t name;
	RNIC_DEVICE_STAT_LIST(RNIC_DEVICE_COUNTER)
#undef RNIC_DEVICE_COUNTER
	uint64_t reserved;
};

_Static_assert(sizeof(struct rnic_device_counters) == USIW_CACHE_LINE,
	       "device counters");

struct rnic_device {
	char name[64];
	char ifname[16];
	uint32_t ifindex;
	uint32_t uverbs_num;
	uint64_t guid_be;
	bool is_loopback;
	enum rnic_persona persona;
	struct rnic_gid_table *gids; /* only this and the next one change */
	_Alignas(USIW_CACHE_LINE) struct rnic_device_counters
		counters[1 + USIW_STAT_PARTS];
};

struct rnic_device_set {
	size_t device_cnt;
	struct rnic_device **devices;
};

/**
 * Chooses and names the devices for a given state of the network.
 *
 * @interfaces: comma list of interface names to keep; NULL: all usable.
 * Return: 0, and the caller owns *@ret_set; -ENOMEM.
 */
int rnic_device_set_new(const struct rnic_netif_table *table,
			const char *interfaces,
			struct rnic_device_set **ret_set)
	__attribute__((warn_unused_result));
void rnic_device_set_free(struct rnic_device_set *set);

/* Attributes of @dev in a given state of the network: the result of
 * rnic_device_query(), without a query to the kernel. */
void rnic_device_fill_attr(const struct rnic_device *dev,
			   const struct rnic_netif_table *table,
			   struct rnic_device_attr *ret_attr);

/* Forked child: a thread that held a lock does not exist here. */
void rnic_device_fork_child(void);

#endif

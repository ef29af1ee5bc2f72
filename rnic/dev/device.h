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
#include "os/resource.h"
#include "os/stat.h"
#include "rnic-stats.h"
#include "rnic.h"

#include <stdatomic.h>

struct rnic_device {
	char name[64];
	char ifname[16];
	uint32_t ifindex;
	uint32_t num; /* among the resources (abi/usiw-res.h) */
	uint32_t uverbs_num;
	uint64_t guid_be;
	bool is_loopback;
	enum rnic_persona persona;
	struct rnic_gid_table *gids; /* only this and the next ones change */
	bool is_shown;		     /* guarded by the caller's lock */
	/* With its counters; NULL before its first context. */
	_Atomic(struct usiw_res_device *) res;
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

/*
 * Others see the device from now on.  Before each context of it; the caller
 * serialises the calls.  Return: 0; -ENOMEM.
 */
int rnic_device_show(struct rnic_device *dev)
	__attribute__((warn_unused_result));

/* The counters of the device, which a context has, in @part of the counter
 * page. */
static inline struct usiw_res_device_count *
rnic_device_count(const struct rnic_device *dev, struct rnic_stat_part part)
{
	/* relaxed: shown before there was the context */
	struct usiw_res_device *res =
		atomic_load_explicit(&dev->res, memory_order_relaxed);

	return &res->count[part.num];
}

/* Forked child: a thread that held a lock does not exist here. */
void rnic_device_fork_child(void);

#endif

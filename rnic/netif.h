/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Network interfaces and their addresses as the kernel tells them now
 * (rtnetlink through libnl-route).
 */
#ifndef RNIC_NETIF_H
#define RNIC_NETIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rnic_netif {
	uint32_t ifindex;
	char name[16];
	uint8_t mac[6]; /* zero: none (lo, tunnels, InfiniBand) */
	uint32_t mtu;	/* octets */
	bool is_loopback;
	bool is_up;	 /* administratively: IFF_UP */
	bool is_running; /* has carrier: IFF_RUNNING */
};

struct rnic_netif_addr {
	uint32_t ifindex;
	int family;	  /* AF_INET or AF_INET6 */
	uint8_t addr[16]; /* network order; AF_INET: the first 4 octets */
	bool is_link_local;
};

struct rnic_netif_table {
	size_t netif_cnt;
	struct rnic_netif *netifs; /* lo first, then by ifindex */
	size_t addr_cnt;
	struct rnic_netif_addr *addrs; /* in the kernel's order */
};

/**
 * Ask the kernel for all interfaces and addresses of this network namespace.
 *
 * Return: 0, and the caller owns *@ret_table; -ENOMEM; what rtnetlink said.
 * Context: sleeps in recvmsg; hold no lock.
 */
int rnic_netif_table_new(struct rnic_netif_table **ret_table)
	__attribute__((warn_unused_result));
void rnic_netif_table_free(struct rnic_netif_table *table);

/* NULL: none. */
const struct rnic_netif *
rnic_netif_by_index(const struct rnic_netif_table *table, uint32_t ifindex);

size_t rnic_netif_addr_cnt(const struct rnic_netif_table *table,
			   uint32_t ifindex);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Network interfaces and their addresses at present (rtnetlink through
 * libnl-route), and reports of changes.
 */
#ifndef RNIC_NETIF_H
#define RNIC_NETIF_H

#include <stdatomic.h>
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
	_Atomic uint32_t user_cnt;
	size_t netif_cnt;
	struct rnic_netif *netifs; /* lo first, then by ifindex */
	size_t addr_cnt;
	struct rnic_netif_addr *addrs; /* in the kernel's order */
};

/**
 * Queries the kernel for all interfaces and addresses of this network
 * namespace.
 *
 * Return: 0, and the caller owns *@ret_table; -ENOMEM; -ESHUTDOWN: the process
 *   ends; errors of rtnetlink.
 * Context: sleeps in recvmsg; hold no lock.
 */
int rnic_netif_table_new(struct rnic_netif_table **ret_table)
	__attribute__((warn_unused_result));
void rnic_netif_table_free(struct rnic_netif_table *table);

/* The process ends: nobody asks any more, and those that do are waited for, for
 * a second. */
void rnic_netif_end(void);
void rnic_netif_fork_child(void);

/* NULL: none. */
const struct rnic_netif *
rnic_netif_by_index(const struct rnic_netif_table *table, uint32_t ifindex);

size_t rnic_netif_addr_cnt(const struct rnic_netif_table *table,
			   uint32_t ifindex);

/* ---- changes ------------------------------------------------------------ */

/* Messages that were read from the socket and not yet decoded. */
struct rnic_netif_news {
	size_t len, pos;
	uint64_t buf[1024];
};

/* The content of a message. It was true when it was sent, and may have changed
 * since. */
struct rnic_netif_change {
	uint32_t ifindex; /* 0: any interface, since messages were lost */
	enum { RNIC_NETIF_ADDR, RNIC_NETIF_UP, RNIC_NETIF_DOWN } what;
	struct rnic_netif_addr gone; /* ADDR: the address that is removed;
					family 0: another change */
};

/**
 * A non-blocking socket on which the kernel reports that an interface or an
 * address of this network namespace is added, removed or changed.
 *
 * Return: the fd, to be closed by rnic_fd_close(); -errno.
 */
int rnic_netif_watch_open(void) __attribute__((warn_unused_result));

/**
 * The next message.
 *
 * @news: len and pos are zero at first; the same object until 0 is returned.
 * Return: 1; 0: nothing more at present; -errno: the socket cannot be used.
 */
int rnic_netif_watch_next(int fd, struct rnic_netif_news *news,
			  struct rnic_netif_change *ret_change)
	__attribute__((warn_unused_result));

#endif

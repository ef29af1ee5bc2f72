/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Interfaces and addresses of this network namespace, from rtnetlink: as they
 * are, and that they change. */
#include "netif.h"

#include "util/cancel.h"
#include "util/clock.h"
#include "fd.h"
#include "tcp.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/object.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* libnl has error numbers of its own; the rest of rnic speaks errno. */
static int nl_to_errno(int err)
{
	switch (-err) {
	case NLE_NOMEM:
		return -ENOMEM;
	case NLE_PERM:
	case NLE_NOACCESS:
		return -EPERM;
	case NLE_AGAIN:
	case NLE_INTR:
	case NLE_DUMP_INTR:
		return -EAGAIN;
	case NLE_AF_NOSUPPORT:
	case NLE_PROTO_MISMATCH:
		return -EAFNOSUPPORT;
	default:
		return -EIO;
	}
}

/*
 * At the end of the process libnl-route takes back, without a lock, what its
 * caches of links need, and ends the process by an assertion if a thread still
 * has one.
 */
static struct {
	_Atomic uint32_t cnt; /* threads that ask */
	_Atomic bool is_over;
} queries;

/* How long the end waits for a thread that asks: a signal handler may exit, and
 * have interrupted it. */
#define QUERY_END_NS (1 * NS_PER_S)

static void query_end(void)
{
	/* release: pairs with rnic_netif_end() */
	atomic_fetch_sub_explicit(&queries.cnt, 1, memory_order_release);
}

static bool query_begin(void)
{
	/* seq_cst, both: rnic_netif_end() sees this query, or the query sees
	 * the end. */
	atomic_fetch_add_explicit(&queries.cnt, 1, memory_order_seq_cst);
	if (!atomic_load_explicit(&queries.is_over, memory_order_seq_cst))
		return true;
	query_end();
	return false;
}

void rnic_netif_end(void)
{
	uint64_t end_ns = util_now_ns() + QUERY_END_NS;

	atomic_store_explicit(&queries.is_over, true, memory_order_seq_cst);
	while (atomic_load_explicit(&queries.cnt, memory_order_seq_cst) &&
	       util_now_ns() < end_ns)
		sched_yield();
}

void rnic_netif_fork_child(void)
{
	atomic_store_explicit(&queries.cnt, 0, memory_order_relaxed);
}

static void netif_from_link(struct rnic_netif *netif, struct rtnl_link *link)
{
	struct nl_addr *mac = rtnl_link_get_addr(link);
	uint32_t flags = rtnl_link_get_flags(link);
	const char *name = rtnl_link_get_name(link);

	memset(netif, 0, sizeof(*netif));
	netif->ifindex = (uint32_t)rtnl_link_get_ifindex(link);
	if (name)
		strncpy(netif->name, name, sizeof(netif->name) - 1);
	if (mac && nl_addr_get_len(mac) == sizeof(netif->mac))
		memcpy(netif->mac, nl_addr_get_binary_addr(mac),
		       sizeof(netif->mac));
	netif->mtu = rtnl_link_get_mtu(link);
	netif->is_loopback = (flags & IFF_LOOPBACK) != 0;
	netif->is_up = (flags & IFF_UP) != 0;
	netif->is_running = (flags & IFF_RUNNING) != 0;
}

static int netif_compare(const void *left, const void *right)
{
	const struct rnic_netif *a = left;
	const struct rnic_netif *b = right;

	if (a->is_loopback != b->is_loopback)
		return a->is_loopback ? -1 : 1;
	return a->ifindex < b->ifindex ? -1 : a->ifindex > b->ifindex;
}

static int table_add_links(struct rnic_netif_table *table, struct nl_sock *sock)
{
	struct nl_cache *cache;
	struct nl_object *object;
	int ret, cnt;

	ret = rtnl_link_alloc_cache(sock, AF_UNSPEC, &cache);
	if (ret < 0)
		return nl_to_errno(ret);
	cnt = nl_cache_nitems(cache);
	table->netifs = calloc((size_t)cnt + 1, sizeof(*table->netifs));
	if (!table->netifs) {
		nl_cache_free(cache);
		return -ENOMEM;
	}
	for (object = nl_cache_get_first(cache); object;
	     object = nl_cache_get_next(object))
		netif_from_link(&table->netifs[table->netif_cnt++],
				(struct rtnl_link *)object);
	nl_cache_free(cache);
	qsort(table->netifs, table->netif_cnt, sizeof(*table->netifs),
	      netif_compare);
	return 0;
}

static bool addr_is_link_local(const struct rnic_netif_addr *addr)
{
	if (addr->family == AF_INET)
		return addr->addr[0] == 169 && addr->addr[1] == 254;
	return addr->addr[0] == 0xfe && (addr->addr[1] & 0xc0) == 0x80;
}

/* Return: false: not an IP address. */
static bool addr_from_rtnl(struct rnic_netif_addr *ret_addr,
			   struct rtnl_addr *rtnl)
{
	struct nl_addr *local = rtnl_addr_get_local(rtnl);
	struct rnic_netif_addr addr = { 0 };
	size_t len;

	if (!local)
		return false;
	addr.family = nl_addr_get_family(local);
	len = addr.family == AF_INET ? 4 : 16;
	if ((addr.family != AF_INET && addr.family != AF_INET6) ||
	    nl_addr_get_len(local) != len)
		return false;
	addr.ifindex = (uint32_t)rtnl_addr_get_ifindex(rtnl);
	memcpy(addr.addr, nl_addr_get_binary_addr(local), len);
	addr.is_link_local = addr_is_link_local(&addr);
	*ret_addr = addr;
	return true;
}

static int table_add_addrs(struct rnic_netif_table *table, struct nl_sock *sock)
{
	struct nl_cache *cache;
	struct nl_object *object;
	int ret, cnt;

	ret = rtnl_addr_alloc_cache(sock, &cache);
	if (ret < 0)
		return nl_to_errno(ret);
	cnt = nl_cache_nitems(cache);
	table->addrs = calloc((size_t)cnt + 1, sizeof(*table->addrs));
	if (!table->addrs) {
		nl_cache_free(cache);
		return -ENOMEM;
	}
	for (object = nl_cache_get_first(cache); object;
	     object = nl_cache_get_next(object)) {
		if (addr_from_rtnl(&table->addrs[table->addr_cnt],
				   (struct rtnl_addr *)object))
			table->addr_cnt++;
	}
	nl_cache_free(cache);
	return 0;
}

int rnic_netif_table_new(struct rnic_netif_table **ret_table)
{
	UTIL_CANCEL_OFF();
	struct rnic_netif_table *table;
	struct nl_sock *sock;
	int ret;

	if (!query_begin())
		return -ESHUTDOWN;
	table = calloc(1, sizeof(*table));
	if (!table) {
		ret = -ENOMEM;
		goto end;
	}
	atomic_init(&table->user_cnt, 1);
	sock = nl_socket_alloc();
	if (!sock) {
		ret = -ENOMEM;
		goto free_table;
	}
	errno = 0;
	ret = nl_connect(sock, NETLINK_ROUTE); /* SOCK_CLOEXEC */
	if (ret < 0) {
		/* libnl has no word for EMFILE. */
		ret = errno == EMFILE || errno == ENFILE ? -errno
							 : nl_to_errno(ret);
		goto free_sock;
	}
	ret = table_add_links(table, sock);
	if (ret == 0)
		ret = table_add_addrs(table, sock);
free_sock:
	nl_socket_free(sock);
free_table:
	if (ret < 0)
		rnic_netif_table_free(table);
	else
		*ret_table = table;
end:
	query_end();
	return ret;
}

void rnic_netif_table_free(struct rnic_netif_table *table)
{
	if (!table)
		return;
	free(table->netifs);
	free(table->addrs);
	free(table);
}

const struct rnic_netif *
rnic_netif_by_index(const struct rnic_netif_table *table, uint32_t ifindex)
{
	for (size_t i = 0; i < table->netif_cnt; i++) {
		if (table->netifs[i].ifindex == ifindex)
			return &table->netifs[i];
	}
	return NULL;
}

size_t rnic_netif_addr_cnt(const struct rnic_netif_table *table,
			   uint32_t ifindex)
{
	size_t cnt = 0;

	for (size_t i = 0; i < table->addr_cnt; i++)
		cnt += table->addrs[i].ifindex == ifindex;
	return cnt;
}

/* ---- changes ------------------------------------------------------------ */

int rnic_netif_watch_open(void)
{
	const struct sockaddr_nl addr = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR |
			     RTMGRP_IPV6_IFADDR,
	};
	int fd = rnic_fd_own(rnic_tcp()->socket(
		AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
		NETLINK_ROUTE));
	int rc;

	if (fd < 0)
		return fd;
	if (rnic_tcp()->bind(fd, (const struct sockaddr *)&addr,
			     sizeof(addr)) == 0)
		return fd;
	rc = -errno;
	rnic_fd_close(fd);
	return rc;
}

static void change_of_link(struct rnic_netif_change *change,
			   struct rtnl_link *link, bool has_gone)
{
	const uint32_t up = IFF_UP | IFF_RUNNING;

	change->ifindex = (uint32_t)rtnl_link_get_ifindex(link);
	change->what = !has_gone && (rtnl_link_get_flags(link) & up) == up
			       ? RNIC_NETIF_UP
			       : RNIC_NETIF_DOWN;
}

static void change_of_addr(struct rnic_netif_change *change,
			   struct rtnl_addr *addr, bool has_gone)
{
	change->ifindex = (uint32_t)rtnl_addr_get_ifindex(addr);
	change->what = RNIC_NETIF_ADDR;
	if (has_gone)
		(void)addr_from_rtnl(&change->gone, addr);
}

static void news_hear(struct nl_object *object, void *change)
{
	int type = nl_object_get_msgtype(object);

	if (type == RTM_NEWLINK || type == RTM_DELLINK)
		change_of_link(change, (struct rtnl_link *)object,
			       type == RTM_DELLINK);
	else
		change_of_addr(change, (struct rtnl_addr *)object,
			       type == RTM_DELADDR);
}

/* What libnl cannot read leaves *@change as it is: any interface. */
static void news_parse(struct nlmsghdr *head, struct rnic_netif_change *change)
{
	struct nl_msg *msg = nlmsg_convert(head);

	if (!msg)
		return;
	nlmsg_set_proto(msg, NETLINK_ROUTE);
	(void)nl_msg_parse(msg, news_hear, change);
	nlmsg_free(msg);
}

/* Return: 1: *@ret_change; 0: a message about other things. */
static int news_take(struct rnic_netif_news *news,
		     struct rnic_netif_change *ret_change)
{
	void *at = (char *)news->buf + news->pos;
	size_t left = news->len - news->pos;
	struct nlmsghdr *head = at;

	memset(ret_change, 0, sizeof(*ret_change));
	news->pos = news->len;
	if (left < sizeof(*head) || !nlmsg_ok(head, (int)left))
		return 1; /* cut off: what else it said is unknown */
	if (NLMSG_ALIGN(head->nlmsg_len) < left)
		news->pos = news->len - left + NLMSG_ALIGN(head->nlmsg_len);
	switch (head->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
	case RTM_NEWADDR:
	case RTM_DELADDR:
		news_parse(head, ret_change);
		return 1;
	default:
		return 0;
	}
}

int rnic_netif_watch_next(int fd, struct rnic_netif_news *news,
			  struct rnic_netif_change *ret_change)
{
	ssize_t len;

	for (;;) {
		while (news->pos < news->len) {
			if (news_take(news, ret_change))
				return 1;
		}
		len = rnic_tcp()->recv(fd, news->buf, sizeof(news->buf), 0);
		if (len > 0) {
			news->len = (size_t)len;
			news->pos = 0;
		} else if (len < 0 && errno == EAGAIN) {
			return 0;
		} else if (len < 0 && errno == ENOBUFS) {
			memset(ret_change, 0, sizeof(*ret_change));
			return 1;
		} else if (len == 0 || errno != EINTR) {
			return len == 0 ? -EPIPE : -errno;
		}
	}
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The table of interfaces, and the socket that tells when it is outdated. */
#include "netif-cache.h"

#include "util/lock.h"
#include "fd.h"

/*
 * The kernel puts its message into our socket before the call that changes
 * something returns: an empty socket says that the table is that of now.
 */
static struct {
	struct util_lock lock;
	int fd;		     /* -1: none */
	uint64_t change_cnt; /* a table asked for before counts no more */
	struct rnic_netif_table *table;
} cache = { .lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF), .fd = -1 };

static void cache_drop_table(void)
{
	cache.change_cnt++;
	rnic_netif_table_put(cache.table);
	cache.table = NULL;
}

static void cache_hear(void)
{
	struct rnic_netif_change change;
	struct rnic_netif_news news;
	bool is_new = false;
	int rc;

	news.len = news.pos = 0; /* the buffer need not be cleared */
	while ((rc = rnic_netif_watch_next(cache.fd, &news, &change)) > 0)
		is_new = true;
	if (is_new || rc < 0)
		cache_drop_table();
	if (rc == 0)
		return;
	rnic_fd_close(cache.fd);
	cache.fd = -1;
}

int rnic_netif_table_get(const struct rnic_netif_table **ret_table)
{
	struct rnic_netif_table *table;
	uint64_t change_cnt;
	int rc;

	util_lock(&cache.lock);
	if (cache.fd >= 0)
		cache_hear();
	/* Without a socket each look asks the kernel. */
	if (cache.fd < 0)
		cache.fd = rnic_netif_watch_open();
	table = cache.table;
	if (table)
		atomic_fetch_add_explicit(&table->user_cnt, 1,
					  memory_order_relaxed);
	change_cnt = cache.change_cnt;
	util_unlock(&cache.lock);
	if (!table) {
		rc = rnic_netif_table_new(&table);
		if (rc < 0)
			return rc;
		util_lock(&cache.lock);
		if (cache.fd >= 0 && !cache.table &&
		    cache.change_cnt == change_cnt) {
			atomic_fetch_add_explicit(&table->user_cnt, 1,
						  memory_order_relaxed);
			cache.table = table;
		}
		util_unlock(&cache.lock);
	}
	*ret_table = table;
	return 0;
}

void rnic_netif_table_put(const struct rnic_netif_table *table)
{
	struct rnic_netif_table *own =
		(struct rnic_netif_table *)(uintptr_t)table;

	/* acq_rel: the last one out sees the others done with it */
	if (own && atomic_fetch_sub_explicit(&own->user_cnt, 1,
					     memory_order_acq_rel) == 1)
		rnic_netif_table_free(own);
}

void rnic_netif_cache_drop(void)
{
	util_lock(&cache.lock);
	cache_drop_table();
	util_unlock(&cache.lock);
}

void rnic_netif_cache_fork_child(void)
{
	/* The socket is closed by the fd table, the table the parent's
	 * image. */
	util_lock_init(&cache.lock, UTIL_RANK_LEAF);
	cache.fd = -1;
	cache.table = NULL;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See totals.h.  Counters only grow, and programs subtract what they read
 * before.  So what a process had when it was seen last stays in the sum.
 */
#include "base/totals.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/clock.h"
#include "base/peers.h"
#include "base/process.h"
#include "base/rnic-dl.h"

/* Devices of processes that have gone, before they become one row each. */
#define GONE_MAX 64

/* A device of another process; process 0: of all that were forgotten.  As its
 * page says who it is: /proc of another PID namespace has another number for
 * it, which the page that it leaves does not have. */
struct row {
	uint32_t pid;
	uint64_t start_ns;
	uint32_t ifindex;
	uint64_t look; /* when it was seen last */
	struct rnic_device_stats stats;
};

struct rows {
	struct row *row;
	size_t cnt, room;
};

static struct {
	struct rows rows;
	uint64_t look; /* counts them */
	uint64_t until_ns;
} others; /* under kabi_lock */

static void stats_add(struct rnic_device_stats *to,
		      const struct rnic_device_stats *stats)
{
#define ADD(field) to->field += stats->field;
	RNIC_DEVICE_STAT_LIST(ADD)
#undef ADD
}

/* ---- rows ---------------------------------------------------------------- */

static struct row *row_find(const struct rows *rows, const struct row *key)
{
	for (size_t i = 0; i < rows->cnt; i++) {
		struct row *row = &rows->row[i];

		if (row->pid == key->pid && row->ifindex == key->ifindex &&
		    row->start_ns == key->start_ns)
			return row;
	}
	return NULL;
}

/* Return: 0; -ENOMEM. */
static int row_add(struct rows *rows, const struct row *row)
{
	size_t room = rows->room ? 2 * rows->room : 32;
	struct row *more = rows->row;

	if (rows->cnt == rows->room) {
		more = realloc(more, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		rows->row = more;
		rows->room = room;
	}
	rows->row[rows->cnt++] = *row;
	return 0;
}

/* Rows of processes that have gone become one for each device. */
static void rows_fold(struct rows *rows, uint64_t look)
{
	size_t keep = 0;

	for (size_t i = 0; i < rows->cnt; i++) {
		struct row row = rows->row[i], *sum = NULL;
		struct rows before = { rows->row, keep, 0 };

		if (row.look != look) {
			row.pid = 0;
			row.start_ns = 0;
			sum = row_find(&before, &row);
		}
		if (sum)
			stats_add(&sum->stats, &row.stats);
		else
			rows->row[keep++] = row;
	}
	rows->cnt = keep;
}

/* ---- a look at the pages ------------------------------------------------- */

struct looking {
	struct rows rows;
	const struct kabi_peer *peer;
};

static int device_take(void *arg, const void *resource,
		       struct util_stat_place place)
{
	const struct usiw_res_device *device = resource;
	struct looking *looking = arg;
	struct row row = { .pid = looking->peer->stat->pid,
			   .start_ns = looking->peer->stat->start_ns,
			   .ifindex = device->ifindex };

	(void)place;
#define SUM(field) row.stats.field = UTIL_STAT_DEVICE_SUM(device, field);
	RNIC_DEVICE_STAT_LIST(SUM)
#undef SUM
	return row_add(&looking->rows, &row);
}

static int process_take(void *arg, const struct kabi_peer *peer)
{
	struct looking *looking = arg;
	int ret;

	if (peer->is_running && peer->pid == getpid())
		return 0; /* its counters need no page */
	if (!peer->stat->pid)
		return 0; /* no process wrote it, and 0 means those that went */
	looking->peer = peer;
	/* What cannot be read of it is not counted. */
	ret = util_stat_each(peer->stat, USIW_RES_DEVICE, device_take, looking);
	return ret == -ENOMEM ? ret : 0;
}

/* What was seen replaces what was seen before, unless another thread was
 * faster. */
static void rows_merge(const struct rows *seen, uint64_t look)
{
	UTIL_LOCKED(&kabi_lock);
	size_t gone = others.rows.cnt;

	if (others.look != look)
		return;
	others.look++;
	others.until_ns = util_now_ns() + KABI_LIFESPAN_MS * NS_PER_MS;
	for (size_t i = 0; i < seen->cnt; i++) {
		struct row *row = row_find(&others.rows, &seen->row[i]);

		if (row)
			gone--;
		else if (row_add(&others.rows, &seen->row[i]) == 0)
			row = &others.rows.row[others.rows.cnt - 1];
		else
			continue;
		row->stats = seen->row[i].stats;
		row->look = others.look;
	}
	if (gone > GONE_MAX)
		rows_fold(&others.rows, others.look);
}

static bool is_fresh(uint64_t *ret_look)
{
	UTIL_LOCKED(&kabi_lock);

	*ret_look = others.look;
	return util_now_ns() < others.until_ns;
}

/* A program reads many counters, one after the other: one look is for all. */
static void look_again(void)
{
	struct looking looking = { 0 };
	uint64_t look;

	if (is_fresh(&look))
		return;
	(void)kabi_peers_each(process_take, &looking);
	rows_merge(&looking.rows, look);
	free(looking.rows.row);
}

/* ---- all ----------------------------------------------------------------- */

void kabi_totals(const struct rnic_device *dev, uint32_t ifindex,
		 struct rnic_device_stats *ret_stats)
{
	look_again();
	kabi_rnic()->device_stats(dev, ret_stats);
	if (!ifindex)
		return;
	util_lock(&kabi_lock);
	for (size_t i = 0; i < others.rows.cnt; i++)
		if (others.rows.row[i].ifindex == ifindex)
			stats_add(ret_stats, &others.rows.row[i].stats);
	util_unlock(&kabi_lock);
}

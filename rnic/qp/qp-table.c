/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* QPs by number, of all contexts: the connection manager knows numbers only. */
#define _GNU_SOURCE
#include "qp-table.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "util/lock.h"
#include "util/reason.h"
#include "engine/engine.h"
#include "qp-num.h"

#define TABLE_BUCKETS 4096u

static struct util_lock table_lock = UTIL_LOCK_INIT(UTIL_RANK_MR_TABLE);
static struct rnic_qp *table[TABLE_BUCKETS]; /* guarded by table_lock */
static uint32_t table_cnt;

static struct rnic_qp *table_find(uint32_t num)
{
	struct rnic_qp *qp = table[num % TABLE_BUCKETS];

	while (qp && qp->num != num)
		qp = qp->table_next;
	return qp;
}

#define CREATE "ibv_create_qp"

int rnic_qp_table_add(struct rnic_qp *qp)
{
	uint32_t num;
	int rc = rnic_qp_num_draw(&num);

	if (rc < 0)
		return util_refuse("verbs", -rc, CREATE,
				   "no QP number is left: each 256 need a TCP "
				   "port of their own, and memory");
	util_lock(&table_lock);
	if (table_cnt >= rnic_limits()->max_qp) {
		util_unlock(&table_lock);
		rnic_qp_num_release(num, false);
		return util_refuse("verbs", ENOMEM, CREATE,
				   "%u queue pairs exist, and there may be no "
				   "more",
				   rnic_limits()->max_qp);
	}
	qp->num = num;
	qp->table_next = table[num % TABLE_BUCKETS];
	table[num % TABLE_BUCKETS] = qp;
	table_cnt++;
	util_unlock(&table_lock);
	return 0;
}

/* A QP that was forgotten, or inherited by a fork, is in no bucket. */
static void table_unlink(const struct rnic_qp *qp)
{
	struct rnic_qp **link = &table[qp->num % TABLE_BUCKETS];

	while (*link && *link != qp)
		link = &(*link)->table_next;
	if (*link) {
		*link = qp->table_next;
		table_cnt--;
	}
}

/* No pin is added any more, and the present ones are short. */
static void qp_wait_unpinned(const struct rnic_qp *qp)
{
	while (atomic_load_explicit(&qp->pin_cnt, memory_order_acquire))
		sched_yield();
}

void rnic_qp_table_remove(struct rnic_qp *qp)
{
	util_lock(&table_lock);
	table_unlink(qp);
	util_unlock(&table_lock);
	qp_wait_unpinned(qp);
}

/* The first QP of @ctx in the bucket, taken out of it; NULL: none. */
static struct rnic_qp *bucket_take(uint32_t bucket,
				   const struct rnic_context *ctx)
{
	UTIL_LOCKED(&table_lock);
	struct rnic_qp *qp = table[bucket];

	while (qp && qp->ctx != ctx)
		qp = qp->table_next;
	if (qp)
		table_unlink(qp);
	return qp;
}

struct rnic_qp *rnic_qp_table_forget(const struct rnic_context *ctx)
{
	struct rnic_qp *forgotten = NULL, *qp;

	for (uint32_t i = 0; i < TABLE_BUCKETS; i++) {
		while ((qp = bucket_take(i, ctx)) != NULL) {
			qp_wait_unpinned(qp);
			rnic_qp_num_release(qp->num, qp->is_told);
			qp->table_next = forgotten;
			forgotten = qp;
		}
	}
	return forgotten;
}

void rnic_qp_table_ctx_gone(const struct rnic_context *ctx)
{
	struct rnic_qp *qp;

	util_lock(&table_lock);
	for (uint32_t i = 0; i < TABLE_BUCKETS; i++) {
		for (qp = table[i]; qp; qp = qp->table_next) {
			if (qp->ctx != ctx)
				continue;
			/* relaxed: its bell orders it */
			atomic_store_explicit(&qp->is_cq_gone, true,
					      memory_order_relaxed);
			rnic_engine_bell(qp->engine, &qp->bell);
		}
	}
	util_unlock(&table_lock);
}

struct rnic_qp *rnic_qp_get(uint32_t qp_num)
{
	UTIL_LOCKED(&table_lock);
	struct rnic_qp *qp = table_find(qp_num);

	if (qp)
		atomic_fetch_add_explicit(&qp->pin_cnt, 1,
					  memory_order_relaxed);
	return qp;
}

void rnic_qp_put(struct rnic_qp *qp)
{
	/* release: pairs with the acquire in rnic_qp_table_remove() */
	if (qp)
		atomic_fetch_sub_explicit(&qp->pin_cnt, 1,
					  memory_order_release);
}

void rnic_qp_table_fork_child(void)
{
	util_lock_init(&table_lock, UTIL_RANK_MR_TABLE);
	memset(table, 0, sizeof(table));
	table_cnt = 0;
	rnic_qp_num_fork_child();
}

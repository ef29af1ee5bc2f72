/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Protection domains and memory regions: register, judge, deregister. */
#include "mr.h"

#include "context.h"
#include "engine.h"
#include "guard.h"
#include "stat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define MR_INDEX_MASK ((1u << RNIC_MR_INDEX_BITS) - 1)
#define MR_LEAF_SIZE (1u << RNIC_MR_LEAF_BITS)
#define MR_KEY_MASK 0xffu

/* An index given back is not drawn again before so many others were. */
#define MR_REST_CNT 65536u

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

#define MR_ACCESS_KNOWN                                                        \
	(RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |                  \
	 RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC |                 \
	 RNIC_ACCESS_MW_BIND | RNIC_ACCESS_ZERO_BASED)
#define MR_ACCESS_REMOTE                                                       \
	(RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ |                  \
	 RNIC_ACCESS_REMOTE_ATOMIC)

struct mr_slot {
	_Atomic(struct rnic_mr *) mr;

	/* guarded by the table's lock */
	uint32_t freed_seq; /* free_seq when it was given back */
	uint8_t key;	    /* of its last tenant */
	bool was_used;
};

struct rnic_mr_leaf {
	struct mr_slot slot[MR_LEAF_SIZE];
};

/* ---- table ------------------------------------------------------------ */

int rnic_mr_table_init(struct rnic_mr_table *table)
{
	memset(table, 0, sizeof(*table));
	/* Half a MiB of address space, of which only pages in use exist. */
	table->leaves = calloc(RNIC_MR_LEAF_CNT, sizeof(*table->leaves));
	if (!table->leaves)
		return -ENOMEM;
	table->random_used = sizeof(table->random);
	util_lock_init(&table->lock, UTIL_RANK_MR_TABLE);
	return 0;
}

void rnic_mr_table_fini(struct rnic_mr_table *table)
{
	if (!table->leaves)
		return;
	for (uint32_t i = 0; i < RNIC_MR_LEAF_CNT; i++) {
		struct rnic_mr_leaf *leaf = atomic_load_explicit(
			&table->leaves[i], memory_order_relaxed);

		for (uint32_t j = 0; leaf && j < MR_LEAF_SIZE; j++)
			free(atomic_load_explicit(&leaf->slot[j].mr,
						  memory_order_relaxed));
		free(leaf);
	}
	free(table->leaves);
	table->leaves = NULL;
}

/* Under the lock: the slot of an index, made if need be.  NULL: ENOMEM. */
static struct mr_slot *slot_make(struct rnic_mr_table *table, uint32_t index)
{
	_Atomic(struct rnic_mr_leaf *) *where =
		&table->leaves[index >> RNIC_MR_LEAF_BITS];
	struct rnic_mr_leaf *leaf =
		atomic_load_explicit(where, memory_order_relaxed);

	if (!leaf) {
		leaf = calloc(1, sizeof(*leaf));
		if (!leaf)
			return NULL;
		/* release: the zeroes first; pairs with mr_lookup() */
		atomic_store_explicit(where, leaf, memory_order_release);
	}
	return &leaf->slot[index % MR_LEAF_SIZE];
}

static bool slot_is_free(const struct rnic_mr_table *table,
			 struct mr_slot *slot)
{
	if (atomic_load_explicit(&slot->mr, memory_order_relaxed))
		return false;
	return !slot->was_used ||
	       table->free_seq - slot->freed_seq >= MR_REST_CNT;
}

/* Three octets of index and one of first key, unpredictable. */
static int table_draw(struct rnic_mr_table *table, uint32_t *ret_random)
{
	ssize_t got;

	if (table->random_used + sizeof(*ret_random) > sizeof(table->random)) {
		/* Up to 256 octets come whole and are not interrupted. */
		got = getrandom(table->random, sizeof(table->random), 0);
		if (got != (ssize_t)sizeof(table->random))
			return -EAGAIN;
		table->random_used = 0;
	}
	memcpy(ret_random, table->random + table->random_used,
	       sizeof(*ret_random));
	memset(table->random + table->random_used, 0, sizeof(*ret_random));
	table->random_used += sizeof(*ret_random);
	return 0;
}

/*
 * Under the lock.  At most one index in eight is taken or resting, so the loop
 * ends soon.  Index 0 stays unused: programs take STag 0 for "none".
 */
static int table_add(struct rnic_mr_table *table, struct rnic_mr *mr)
{
	struct mr_slot *slot;
	uint32_t random, index;
	int ret;

	if (table->mr_cnt >= rnic_limits()->max_mr)
		return -ENOMEM;
	do {
		do {
			ret = table_draw(table, &random);
			if (ret < 0)
				return ret;
			index = random & MR_INDEX_MASK;
		} while (index == 0);
		slot = slot_make(table, index);
		if (!slot)
			return -ENOMEM;
	} while (!slot_is_free(table, slot));

	slot->key = slot->was_used ? (uint8_t)(slot->key + 1)
				   : (uint8_t)(random >> RNIC_MR_INDEX_BITS);
	slot->was_used = true;
	mr->stag = index << 8 | slot->key;
	table->mr_cnt++;
	/* release: the region before its pointer; pairs with mr_lookup() */
	atomic_store_explicit(&slot->mr, mr, memory_order_release);
	return 0;
}

static void table_remove(struct rnic_mr_table *table, const struct rnic_mr *mr)
{
	struct mr_slot *slot = slot_make(table, mr->stag >> 8);

	atomic_store_explicit(&slot->mr, NULL, memory_order_relaxed);
	slot->freed_seq = ++table->free_seq;
	table->mr_cnt--;
}

static struct rnic_mr *mr_lookup(struct rnic_mr_table *table, uint32_t stag)
{
	uint32_t index = stag >> 8;
	struct rnic_mr_leaf *leaf;
	struct rnic_mr *mr;

	/* acquire: pairs with slot_make() */
	leaf = atomic_load_explicit(&table->leaves[index >> RNIC_MR_LEAF_BITS],
				    memory_order_acquire);
	if (!leaf)
		return NULL;
	/* acquire: pairs with table_add() */
	mr = atomic_load_explicit(&leaf->slot[index % MR_LEAF_SIZE].mr,
				  memory_order_acquire);
	if (!mr || mr->stag != stag ||
	    atomic_load_explicit(&mr->is_invalidated, memory_order_relaxed))
		return NULL;
	return mr;
}

enum rnic_mr_verdict rnic_mr_resolve(struct rnic_mr_table *table,
				     const struct rnic_pd *pd, uint32_t stag,
				     uint64_t addr, size_t len, uint32_t access,
				     void **ret_ptr)
{
	const struct rnic_mr *mr = mr_lookup(table, stag);
	uint64_t off;

	if (!mr)
		return RNIC_MR_BAD_STAG;
	if (mr->pd != pd)
		return RNIC_MR_BAD_PD;
	if ((mr->access & access) != access)
		return RNIC_MR_BAD_ACCESS;
	if (len > UINT64_MAX - addr)
		return RNIC_MR_WRAP;
	if (addr < mr->iova)
		return RNIC_MR_BAD_BOUNDS;
	off = addr - mr->iova;
	if (off > mr->len || len > mr->len - off)
		return RNIC_MR_BAD_BOUNDS;
	*ret_ptr = mr->addr + off;
	return RNIC_MR_OK;
}

enum rnic_mr_verdict rnic_mr_invalidate(struct rnic_mr_table *table,
					const struct rnic_pd *pd, uint32_t stag,
					bool is_remote)
{
	struct rnic_mr *mr = mr_lookup(table, stag);

	if (!mr)
		return RNIC_MR_BAD_STAG;
	if (mr->pd != pd)
		return RNIC_MR_BAD_PD;
	if (is_remote && (mr->access & MR_ACCESS_REMOTE) == 0)
		return RNIC_MR_BAD_ACCESS;
	/* relaxed: every reader holds the same lead */
	atomic_store_explicit(&mr->is_invalidated, true, memory_order_relaxed);
	return RNIC_MR_OK;
}

/* ---- protection domains ----------------------------------------------- */

int rnic_pd_alloc(struct rnic_context *ctx, struct rnic_pd **ret_pd)
{
	struct rnic_mr_table *table = &ctx->mrs;
	struct rnic_pd *pd;

	if (atomic_fetch_add_explicit(&table->pd_cnt, 1,
				      memory_order_relaxed) >=
	    rnic_limits()->max_pd)
		goto give_back;
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		goto give_back;
	pd->ctx = ctx;
	pd->fork_gen = rnic_fork_gen();
	*ret_pd = pd;
	return 0;

give_back:
	atomic_fetch_sub_explicit(&table->pd_cnt, 1, memory_order_relaxed);
	return -ENOMEM;
}

int rnic_pd_free(struct rnic_pd *pd)
{
	if (pd->fork_gen != rnic_fork_gen())
		return -ENODEV;
	/* acquire: pairs with the release of the last user's decrement */
	if (atomic_load_explicit(&pd->user_cnt, memory_order_acquire) != 0)
		return -EBUSY;
	atomic_fetch_sub_explicit(&pd->ctx->mrs.pd_cnt, 1,
				  memory_order_relaxed);
	free(pd);
	return 0;
}

/* ---- registration ----------------------------------------------------- */

/* Is every page of the range mapped?  Says nothing about protection. */
static int range_is_mapped(uint8_t *start, size_t len, size_t page_size)
{
	unsigned char vec[256];

	while (len > 0) {
		size_t chunk = sizeof(vec) * page_size;

		if (chunk > len)
			chunk = len;
		if (mincore(start, chunk, vec) < 0)
			return errno == EAGAIN ? -ENOMEM : -EFAULT;
		start += chunk;
		len -= chunk;
	}
	return 0;
}

/*
 * Bring the pages in as pinning would, which also proves that they may be
 * read or written.  Kernels before 5.14 cannot say more than "mapped".
 */
static int range_populate(void *addr, size_t len, bool is_written)
{
	int advice = is_written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	size_t head = (uintptr_t)addr % page_size;
	uint8_t *start = (uint8_t *)addr - head;
	int err;

	if (__builtin_add_overflow(len, head, &len))
		return -EFAULT;
	if (madvise(start, len, advice) == 0)
		return 0;
	err = errno;
	/* An empty range is refused only when the advice is unknown. */
	if (err == EINVAL && madvise(start, 0, advice) == 0)
		return -EFAULT;
	if (err != EINVAL && err != ENOMEM)
		return err == EAGAIN ? -ENOMEM : -EFAULT;
	if (range_is_mapped(start, len, page_size) < 0)
		return -EFAULT;
	return err == ENOMEM ? -ENOMEM : 0;
}

static int reg_check(const void *addr, size_t len, uint64_t iova,
		     uint32_t access)
{
	uint64_t end;

	if (len == 0 || len > rnic_limits()->max_mr_size)
		return -EINVAL;
	if (__builtin_add_overflow((uint64_t)(uintptr_t)addr, len, &end) ||
	    __builtin_add_overflow(iova, len, &end))
		return -EINVAL;
	if ((access & ~(uint32_t)MR_ACCESS_KNOWN) != 0)
		return -EINVAL;
	if ((access & (RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & RNIC_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	return 0;
}

int rnic_mr_reg(struct rnic_pd *pd, void *addr, size_t len, uint64_t iova,
		uint32_t access, struct rnic_mr **ret_mr)
{
	struct rnic_mr_table *table = &pd->ctx->mrs;
	struct rnic_mr *mr;
	int ret;

	if (pd->fork_gen != rnic_fork_gen())
		return -ENODEV;
	if (access & RNIC_ACCESS_ZERO_BASED)
		iova = 0;
	ret = reg_check(addr, len, iova, access);
	if (ret < 0)
		return ret;
	ret = rnic_guard_install();
	if (ret < 0)
		return ret;
	ret = range_populate(addr, len, access & RNIC_ACCESS_LOCAL_WRITE);
	if (ret < 0)
		return ret;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -ENOMEM;
	mr->pd = pd;
	mr->addr = addr;
	mr->len = len;
	mr->iova = iova;
	mr->access = access;
	mr->fork_gen = pd->fork_gen;
	util_lock(&table->lock);
	ret = table_add(table, mr);
	util_unlock(&table->lock);
	if (ret < 0) {
		free(mr);
		return ret;
	}
	atomic_fetch_add_explicit(&pd->user_cnt, 1, memory_order_relaxed);
	rnic_stat_add(RNIC_STAT_mr_registered, 1);
	*ret_mr = mr;
	return 0;
}

uint32_t rnic_mr_stag(const struct rnic_mr *mr)
{
	return mr->stag;
}

/*
 * Two phases.  Once the slot is empty nobody finds the region any more; who
 * found it before is the leader (a pointer from rnic_mr_resolve() is not kept
 * past the lead) or a stream that is in the middle of a message, and for both
 * rnic_engine_mr_gone() waits.  It takes a lower lock than the table's.
 */
int rnic_mr_dereg(struct rnic_mr *mr)
{
	struct rnic_context *ctx = mr->pd->ctx;

	if (mr->fork_gen != rnic_fork_gen())
		return -ENODEV;
	util_lock(&ctx->mrs.lock);
	table_remove(&ctx->mrs, mr);
	util_unlock(&ctx->mrs.lock);
	rnic_engine_mr_gone(ctx->engine, mr->stag, mr->addr, mr->len);
	/* release: pairs with the acquire in rnic_pd_free() */
	atomic_fetch_sub_explicit(&mr->pd->user_cnt, 1, memory_order_release);
	free(mr);
	return 0;
}

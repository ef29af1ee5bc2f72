/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Device memory: allocated, copied to and from, registered. */
#include "dm.h"

#include "util/reason.h"
#include "mr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALLOC "ibv_alloc_dm"
#define REG "ibv_reg_dm_mr"

struct rnic_dm {
	struct rnic_context *ctx;
	uint8_t *mem;
	size_t len;
	size_t map_len;
	uint32_t fork_gen;
	_Atomic uint32_t mr_cnt;
	struct rnic_dm *next; /* guarded by the table's lock */
};

static size_t round_up(size_t len, size_t unit)
{
	return (len + unit - 1) & ~(unit - 1);
}

/* @len octets (a multiple of a page) at a multiple of @align (a power of 2). */
static void *dm_map(size_t len, size_t align)
{
	size_t slack = align > (size_t)sysconf(_SC_PAGESIZE) ? align : 0;
	uint8_t *mem = mmap(NULL, len + slack, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t head;

	if (mem == MAP_FAILED)
		return NULL;
	if (!slack)
		return mem;
	head = -(uintptr_t)mem & (align - 1);
	if (head)
		munmap(mem, head);
	munmap(mem + head + len, slack - head);
	return mem + head;
}

static int dm_charge(struct rnic_mr_table *table, struct rnic_dm *dm)
{
	UTIL_LOCKED(&table->lock);

	if (dm->len > rnic_limits()->max_dm_size - table->dm_used)
		return util_refuse(
			"verbs", ENOMEM, ALLOC,
			"length is %zu, and %llu octets are left", dm->len,
			(unsigned long long)(rnic_limits()->max_dm_size -
					     table->dm_used));
	table->dm_used += dm->len;
	dm->next = table->dms;
	table->dms = dm;
	return 0;
}

static void dm_discharge(struct rnic_mr_table *table, struct rnic_dm *dm)
{
	struct rnic_dm **link = &table->dms;

	util_lock(&table->lock);
	while (*link != dm)
		link = &(*link)->next;
	*link = dm->next;
	table->dm_used -= dm->len;
	util_unlock(&table->lock);
}

int rnic_dm_alloc(struct rnic_context *ctx, size_t len, uint32_t log_align,
		  struct rnic_dm **ret_dm)
{
	uint64_t max = rnic_limits()->max_dm_size;
	struct rnic_dm *dm;
	int ret;

	if (len == 0 || log_align >= 64 || 1ull << log_align > max)
		return util_refuse("verbs", EINVAL, ALLOC,
				   "length is 0, or log_align_req is %u: above "
				   "%llu octets",
				   log_align, (unsigned long long)max);
	if (len > max)
		return util_refuse("verbs", ENOMEM, ALLOC,
				   "length is %zu, above %llu", len,
				   (unsigned long long)max);
	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return util_refuse_memory("verbs", ALLOC);
	dm->ctx = ctx;
	dm->len = len;
	dm->map_len = round_up(len, (size_t)sysconf(_SC_PAGESIZE));
	dm->fork_gen = rnic_fork_gen();
	dm->mem = dm_map(dm->map_len, (size_t)1 << log_align);
	ret = dm->mem ? dm_charge(&ctx->mrs, dm)
		      : util_refuse_memory("verbs", ALLOC);
	if (ret < 0)
		goto free_dm;
	*ret_dm = dm;
	return 0;

free_dm:
	if (dm->mem)
		munmap(dm->mem, dm->map_len);
	free(dm);
	return ret;
}

int rnic_dm_free(struct rnic_dm *dm)
{
	if (dm->fork_gen != rnic_fork_gen())
		return -ENODEV;
	/* acquire: pairs with rnic_mr_dereg() */
	if (atomic_load_explicit(&dm->mr_cnt, memory_order_acquire) != 0)
		return util_refuse("verbs", EBUSY, "ibv_free_dm",
				   "regions of it exist");
	dm_discharge(&dm->ctx->mrs, dm);
	munmap(dm->mem, dm->map_len);
	free(dm);
	return 0;
}

static int refuse_range(const char *call, int err, const struct rnic_dm *dm,
			uint64_t off, size_t len)
{
	return util_refuse("verbs", err, call,
			   "offset is %llu, length %zu: the memory has %zu "
			   "octets",
			   (unsigned long long)off, len, dm->len);
}

static int dm_check(const char *call, const struct rnic_dm *dm, uint64_t off,
		    size_t len)
{
	if (dm->fork_gen != rnic_fork_gen())
		return -ENODEV;
	if (off > dm->len || len > dm->len - off)
		return refuse_range(call, EFAULT, dm, off, len);
	/* The words in which device memory is reached, as elsewhere. */
	if (off % RNIC_DM_WORD || len % RNIC_DM_WORD)
		return util_refuse("verbs", EINVAL, call,
				   "offset %llu or length %zu is no multiple "
				   "of %d",
				   (unsigned long long)off, len, RNIC_DM_WORD);
	return 0;
}

int rnic_dm_write(struct rnic_dm *dm, uint64_t off, const void *from,
		  size_t len)
{
	int ret = dm_check("ibv_memcpy_to_dm", dm, off, len);

	if (ret == 0 && len)
		memcpy(dm->mem + off, from, len);
	return ret;
}

int rnic_dm_read(const struct rnic_dm *dm, uint64_t off, void *to, size_t len)
{
	int ret = dm_check("ibv_memcpy_from_dm", dm, off, len);

	if (ret == 0 && len)
		memcpy(to, dm->mem + off, len);
	return ret;
}

int rnic_dm_reg(struct rnic_pd *pd, struct rnic_dm *dm, uint64_t off,
		size_t len, uint32_t access, struct rnic_mr **ret_mr)
{
	struct rnic_mr shape = {
		.len = len, /* 0 is as good as any other */
		.access = access,
		.kind = RNIC_MR_REGION,
		.dm_mr_cnt = &dm->mr_cnt,
	};
	int ret;

	if (dm->fork_gen != rnic_fork_gen())
		return -ENODEV;
	if (dm->ctx != pd->ctx || !(access & RNIC_ACCESS_ZERO_BASED) ||
	    access & RNIC_ACCESS_ON_DEMAND)
		return util_refuse(
			"verbs", EINVAL, REG,
			"dm is of another context, or access is "
			"0x%x, without IBV_ACCESS_ZERO_BASED or with "
			"_ON_DEMAND",
			access);
	if (off > dm->len || len > dm->len - off)
		return refuse_range(REG, EINVAL, dm, off, len);
	shape.addr = dm->mem + off;
	ret = rnic_mr_check_access(REG, access);
	if (ret < 0)
		return ret;
	atomic_fetch_add_explicit(&dm->mr_cnt, 1, memory_order_relaxed);
	ret = rnic_mr_add(pd, REG, &shape, ret_mr);
	if (ret < 0)
		atomic_fetch_sub_explicit(&dm->mr_cnt, 1, memory_order_relaxed);
	return ret;
}

void rnic_dm_fini(struct rnic_mr_table *table)
{
	while (table->dms) {
		struct rnic_dm *dm = table->dms;

		table->dms = dm->next;
		munmap(dm->mem, dm->map_len);
		free(dm);
	}
}

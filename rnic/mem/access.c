/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The access check. */
#include "access.h"

#include <errno.h>

const char *rnic_access_str(enum rnic_access_check check)
{
	static const char *const texts[] = {
		[RNIC_MR_OK] = "it is allowed",
		[RNIC_MR_BAD_STAG] = "no region or window has this key",
		[RNIC_MR_BAD_PD] = "the region belongs to another protection "
				   "domain, or the window to another QP",
		[RNIC_MR_BAD_ACCESS] = "the region, the window or the QP does "
				       "not have the right",
		[RNIC_MR_WRAP] = "the address wraps",
		[RNIC_MR_BAD_BOUNDS] = "it is not wholly inside the region",
	};

	return texts[check];
}

/* Any address is good, and there is one place behind all of them. */
static enum rnic_access_check null_check(const struct rnic_mr_table *table,
					 size_t len, uint32_t access,
					 void **ret_ptr)
{
	if (access & RNIC_MR_ACCESS_REMOTE)
		return RNIC_MR_BAD_ACCESS;
	if (len > rnic_null_mr_size())
		return RNIC_MR_BAD_BOUNDS;
	*ret_ptr = access & RNIC_ACCESS_LOCAL_WRITE ? table->null_sink
						    : table->null_zero;
	return RNIC_MR_OK;
}

enum rnic_access_check rnic_mr_resolve(struct rnic_mr_table *table,
				       const struct rnic_pd *pd, uint32_t stag,
				       uint64_t addr, size_t len,
				       uint32_t access, void **ret_ptr)
{
	const struct rnic_mr *mr = rnic_mr_table_lookup(table, stag);

	if (!mr)
		return RNIC_MR_BAD_STAG;
	if (mr->pd != pd) {
		if (mr->kind == RNIC_MR_NULL && mr->home == pd)
			return null_check(table, len, access, ret_ptr);
		return RNIC_MR_BAD_PD;
	}
	return rnic_mr_check(mr, addr, len, access, ret_ptr);
}

enum rnic_access_check rnic_mr_invalidate(struct rnic_mr_table *table,
					  const struct rnic_pd *pd,
					  uint32_t stag)
{
	struct rnic_mr *mr = rnic_mr_table_lookup(table, stag);

	if (!mr)
		return RNIC_MR_BAD_STAG;
	if (mr->pd != pd)
		return RNIC_MR_BAD_PD;
	/* relaxed: every reader holds a lead, and the caller all */
	atomic_store_explicit(&mr->is_invalidated, true, memory_order_relaxed);
	rnic_mr_show(mr);
	return RNIC_MR_OK;
}

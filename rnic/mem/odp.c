/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Advice on on-demand regions: pages brought in before they are accessed. */
#include <errno.h>

#include "engine/engine.h"
#include "mr.h"

/* Is it advice that the region can follow?  Under the lead. */
static int advice_check(struct rnic_pd *pd, uint32_t advice, uint32_t stag,
			uint64_t addr, size_t len, void **ret_ptr)
{
	const struct rnic_mr *mr = rnic_mr_table_lookup(&pd->ctx->mrs, stag);

	if (!mr)
		return -EFAULT;
	if (mr->kind != RNIC_MR_REGION)
		return -EINVAL;
	if (mr->pd != pd)
		return -EPERM;
	if (!(mr->access & RNIC_ACCESS_ON_DEMAND))
		return -ENOENT;
	if (advice == RNIC_ADVICE_PREFETCH_WRITE &&
	    !(mr->access & RNIC_ACCESS_LOCAL_WRITE))
		return -EPERM;
	return rnic_mr_check(mr, addr, len, 0, ret_ptr) ? -EFAULT : 0;
}

/*
 * There is no page table of ours to be filled: it is the process's own that
 * counts, and without faults nothing can be done for it.
 */
int rnic_mr_advise(struct rnic_pd *pd, uint32_t advice, uint32_t stag,
		   uint64_t addr, size_t len)
{
	struct rnic_context *ctx = pd->ctx;
	void *ptr;
	int ret;

	if (rnic_pd_is_forked(pd))
		return -ENODEV;
	if (advice > RNIC_ADVICE_PREFETCH_NO_FAULT)
		return -EOPNOTSUPP;
	rnic_engine_lead(ctx->engine);
	ret = advice_check(pd, advice, stag, addr, len, &ptr);
	rnic_engine_unlead(ctx->engine);
	if (ret < 0 || len == 0 || advice == RNIC_ADVICE_PREFETCH_NO_FAULT)
		return ret;
	/* May wait for a disk, so not under the lead. */
	return rnic_mr_populate(ptr, len, advice == RNIC_ADVICE_PREFETCH_WRITE);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory regions: registered, changed, advised on, deregistered. */
#include "mr.h"

#include "engine/engines.h"
#include "os/guard.h"
#include "os/stat.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

#define MR_ACCESS_KNOWN                                                        \
	(RNIC_ACCESS_LOCAL_WRITE | RNIC_MR_ACCESS_REMOTE |                     \
	 RNIC_ACCESS_MW_BIND | RNIC_ACCESS_ZERO_BASED | RNIC_ACCESS_ON_DEMAND)

/* ---- registration ----------------------------------------------------- */

/* Is every page of the range mapped, however protected? */
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
 * Brings the pages in as pinning would, which also proves that they may be read
 * or written. Kernels before 5.14 can only tell that they are mapped.
 * Return: 0; -EFAULT; -ENOMEM.
 */
static int mr_populate(void *addr, size_t len, bool is_written)
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

int rnic_mr_check_access(uint32_t access)
{
	if ((access & ~(uint32_t)MR_ACCESS_KNOWN) != 0)
		return -EINVAL;
	if ((access & (RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & RNIC_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	return 0;
}

static int reg_check(const void *addr, size_t len, uint64_t iova,
		     uint32_t access)
{
	uint64_t end;

	if (rnic_mr_is_implicit(addr, len, access))
		return iova == 0 ? rnic_mr_check_access(access) : -EINVAL;
	if (len == 0 || len > rnic_limits()->max_mr_size)
		return -EINVAL;
	if (__builtin_add_overflow((uint64_t)(uintptr_t)addr, len, &end) ||
	    __builtin_add_overflow(iova, len, &end))
		return -EINVAL;
	return rnic_mr_check_access(access);
}

/* Only what is pinned elsewhere must be there before it is accessed. */
static int reg_populate(void *addr, size_t len, uint32_t access)
{
	if (access & RNIC_ACCESS_ON_DEMAND)
		return 0;
	return mr_populate(addr, len, access & RNIC_ACCESS_LOCAL_WRITE);
}

int rnic_mr_add(struct rnic_pd *pd, const struct rnic_mr *shape,
		struct rnic_mr **ret_mr)
{
	struct rnic_mr *mr = calloc(1, sizeof(*mr));
	int ret;

	if (!mr)
		return -ENOMEM;
	*mr = *shape;
	mr->pd = shape->kind == RNIC_MR_REGION ? pd : NULL;
	mr->home = pd;
	mr->fork_gen = rnic_fork_gen();
	ret = rnic_mr_table_add(&pd->ctx->mrs, mr);
	if (ret < 0) {
		free(mr);
		return ret;
	}
	atomic_fetch_add_explicit(&pd->user_cnt, 1, memory_order_relaxed);
	rnic_stat_add(RNIC_STAT_mr_registered, 1);
	*ret_mr = mr;
	return 0;
}

int rnic_mr_reg(struct rnic_pd *pd, void *addr, size_t len, uint64_t iova,
		uint32_t access, struct rnic_mr **ret_mr)
{
	struct rnic_mr shape = {
		.addr = addr,
		.len = len,
		.iova = access & RNIC_ACCESS_ZERO_BASED ? 0 : iova,
		.access = access,
		.kind = RNIC_MR_REGION,
	};
	int ret;

	if (rnic_pd_is_forked(pd))
		return -ENODEV;
	ret = reg_check(addr, len, shape.iova, access);
	if (ret < 0)
		return ret;
	ret = rnic_guard_install();
	if (ret < 0)
		return ret;
	ret = reg_populate(addr, len, access);
	if (ret < 0)
		return ret;
	return rnic_mr_add(pd, &shape, ret_mr);
}

uint32_t rnic_mr_stag(const struct rnic_mr *mr)
{
	return mr->stag;
}

/*
 * Two phases.  Once the slot is empty the region is not found any more.  It was
 * found before by the leader (a pointer from rnic_mr_resolve() is not kept past
 * the lead) or for a stream that is in the middle of a message, which
 * rnic_engines_mr_gone() ends.  Windows are bound under all leads as well.
 */
int rnic_mr_dereg(struct rnic_mr *mr)
{
	struct rnic_context *ctx = mr->home->ctx;

	if (mr->fork_gen != rnic_fork_gen())
		return -ENODEV;
	rnic_engines_lead(&ctx->engines);
	if (rnic_mr_has_windows(mr)) {
		rnic_engines_unlead(&ctx->engines);
		return -EBUSY;
	}
	rnic_mr_table_remove(&ctx->mrs, mr);
	/* The null region's memory stays: it is the context's. */
	if (mr->kind == RNIC_MR_REGION)
		rnic_engines_mr_gone(&ctx->engines, mr->stag, mr->addr,
				     mr->len);
	rnic_engines_unlead(&ctx->engines);
	/* release: pairs with rnic_dm_free() */
	if (mr->dm_mr_cnt)
		atomic_fetch_sub_explicit(mr->dm_mr_cnt, 1,
					  memory_order_release);
	/* release: pairs with the acquire in rnic_pd_free() */
	atomic_fetch_sub_explicit(&mr->home->user_cnt, 1, memory_order_release);
	free(mr);
	return 0;
}

/* ---- registration anew ------------------------------------------------- */

/* What @mr would become; -EINVAL, -EFAULT, -ENOMEM: as from rnic_mr_reg(). */
static int rereg_plan(const struct rnic_mr *mr,
		      const struct rnic_mr_change *want, struct rnic_mr *next)
{
	bool was_zero_based = mr->access & RNIC_ACCESS_ZERO_BASED;
	int ret;

	if (mr->kind != RNIC_MR_REGION || want->what == 0 ||
	    (want->what & ~(uint32_t)RNIC_MR_CHANGE_ALL))
		return -EINVAL;
	if (want->what & RNIC_MR_CHANGE_PD) {
		if (want->pd->ctx != mr->pd->ctx)
			return -EINVAL;
		next->pd = want->pd;
	}
	if (want->what & RNIC_MR_CHANGE_ACCESS)
		next->access = want->access;
	if (want->what & RNIC_MR_CHANGE_TRANSLATION) {
		next->addr = want->addr;
		next->len = want->len;
	}
	if (next->access & RNIC_ACCESS_ZERO_BASED)
		next->iova = 0;
	else if (was_zero_based || want->what & RNIC_MR_CHANGE_TRANSLATION)
		next->iova = (uintptr_t)next->addr;
	/* Device memory lies where it lies, and has no address. */
	if (mr->dm_mr_cnt && (want->what & RNIC_MR_CHANGE_TRANSLATION ||
			      !(next->access & RNIC_ACCESS_ZERO_BASED)))
		return -EINVAL;
	ret = reg_check(next->addr, next->len, next->iova, next->access);
	if (ret < 0)
		return ret;
	return reg_populate(next->addr, next->len, next->access);
}

/*
 * The STag stays, as programs expect that change their region's domain or
 * rights alone.  One that was invalidated gets another key: a peer knows it,
 * and must not find that it works again.
 */
int rnic_mr_rereg(struct rnic_mr *mr, const struct rnic_mr_change *want)
{
	struct rnic_context *ctx = mr->home->ctx;
	struct rnic_mr next = {
		.pd = mr->pd,
		.addr = mr->addr,
		.len = mr->len,
		.iova = mr->iova,
		.access = mr->access,
	};
	int ret;

	if (mr->fork_gen != rnic_fork_gen())
		return -ENODEV;
	ret = rereg_plan(mr, want, &next);
	if (ret < 0)
		return ret;
	rnic_engines_lead(&ctx->engines);
	if (rnic_mr_has_windows(mr)) {
		rnic_engines_unlead(&ctx->engines);
		return -EBUSY;
	}
	rnic_engines_mr_gone(&ctx->engines, mr->stag, mr->addr, mr->len);
	mr->pd = next.pd;
	mr->addr = next.addr;
	mr->len = next.len;
	mr->iova = next.iova;
	mr->access = next.access;
	if (atomic_load_explicit(&mr->is_invalidated, memory_order_relaxed)) {
		rnic_mr_rekey(mr, (uint8_t)(mr->stag + 1));
		atomic_store_explicit(&mr->is_invalidated, false,
				      memory_order_relaxed);
	}
	rnic_engines_unlead(&ctx->engines);
	atomic_fetch_add_explicit(&next.pd->user_cnt, 1, memory_order_relaxed);
	/* release: pairs with the acquire in rnic_pd_free() */
	atomic_fetch_sub_explicit(&mr->home->user_cnt, 1, memory_order_release);
	mr->home = next.pd;
	return 0;
}

/* ---- advice on on-demand regions ----------------------------------------- */

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
	rnic_engines_lead(&ctx->engines);
	ret = advice_check(pd, advice, stag, addr, len, &ptr);
	rnic_engines_unlead(&ctx->engines);
	if (ret < 0 || len == 0 || advice == RNIC_ADVICE_PREFETCH_NO_FAULT)
		return ret;
	/* May wait for a disk, so not under the lead. */
	return mr_populate(ptr, len, advice == RNIC_ADVICE_PREFETCH_WRITE);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory regions: registered, changed, advised on, deregistered. */
#include "mr.h"

#include "util/reason.h"
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

#define REG "ibv_reg_mr"
#define REREG "ibv_rereg_mr"
#define ADVISE "ibv_advise_mr"

/* ---- registration ----------------------------------------------------- */

/* Is every page of the range mapped, however protected? */
static bool range_is_mapped(uint8_t *start, size_t len, size_t page_size)
{
	unsigned char vec[256];

	while (len > 0) {
		size_t chunk = sizeof(vec) * page_size;

		if (chunk > len)
			chunk = len;
		if (mincore(start, chunk, vec) < 0)
			return false;
		start += chunk;
		len -= chunk;
	}
	return true;
}

/*
 * Brings the pages in as pinning would, which also proves that they may be read
 * or written. Kernels before 5.14 can only tell that they are mapped.
 * Return: 0; EFAULT; ENOMEM.
 */
static int range_populate(void *addr, size_t len, bool is_written)
{
	int advice = is_written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	size_t head = (uintptr_t)addr % page_size;
	uint8_t *start = (uint8_t *)addr - head;
	int err;

	if (__builtin_add_overflow(len, head, &len))
		return EFAULT;
	if (madvise(start, len, advice) == 0)
		return 0;
	err = errno;
	/* An empty range is refused only when the advice is unknown. */
	if (err == EINVAL && madvise(start, 0, advice) == 0)
		return EFAULT;
	if (err != EINVAL && err != ENOMEM)
		return err == EAGAIN ? ENOMEM : EFAULT;
	if (!range_is_mapped(start, len, page_size))
		return EFAULT;
	return err == ENOMEM ? ENOMEM : 0;
}

static int mr_populate(const char *call, void *addr, size_t len,
		       bool is_written)
{
	int err = range_populate(addr, len, is_written);

	if (!err)
		return 0;
	if (err == ENOMEM)
		return util_refuse("verbs", ENOMEM, call,
				   "addr is %p, length %zu: there is no memory "
				   "for its pages",
				   addr, len);
	return util_refuse(
		"verbs", EFAULT, call,
		"addr is %p, length %zu: not all of it can be %s", addr, len,
		is_written ? "written (IBV_ACCESS_LOCAL_WRITE)" : "read");
}

int rnic_mr_check_access(const char *call, uint32_t access)
{
	if ((access & ~(uint32_t)MR_ACCESS_KNOWN) != 0)
		return util_refuse("verbs", EINVAL, call,
				   "access is 0x%x, with unknown bits", access);
	if ((access & (RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & RNIC_ACCESS_LOCAL_WRITE))
		return util_refuse("verbs", EINVAL, call,
				   "access is 0x%x: to write from remote needs "
				   "IBV_ACCESS_LOCAL_WRITE",
				   access);
	return 0;
}

static int reg_check(const char *call, const struct rnic_mr *mr)
{
	uint64_t end;
	int ret = 0;

	if (rnic_mr_is_implicit(mr->addr, mr->len, mr->access)) {
		ret = util_check_range("verbs", call, "iova", mr->iova, 0, 0);
	} else {
		ret = util_check_range("verbs", call, "length", mr->len, 1,
				       rnic_limits()->max_mr_size);
		if (ret == 0 &&
		    (__builtin_add_overflow((uint64_t)(uintptr_t)mr->addr,
					    mr->len, &end) ||
		     __builtin_add_overflow(mr->iova, mr->len, &end)))
			ret = util_refuse("verbs", EINVAL, call,
					  "addr is %p, iova 0x%llx, length "
					  "%zu: the end of the address space "
					  "comes before",
					  mr->addr,
					  (unsigned long long)mr->iova,
					  mr->len);
	}
	return ret ? ret : rnic_mr_check_access(call, mr->access);
}

/* Only what is pinned elsewhere must be there before it is accessed. */
static int reg_populate(const char *call, const struct rnic_mr *mr)
{
	if (mr->access & RNIC_ACCESS_ON_DEMAND)
		return 0;
	return mr_populate(call, mr->addr, mr->len,
			   mr->access & RNIC_ACCESS_LOCAL_WRITE);
}

int rnic_mr_add(struct rnic_pd *pd, const char *call,
		const struct rnic_mr *shape, struct rnic_mr **ret_mr)
{
	struct rnic_mr *mr = calloc(1, sizeof(*mr));
	int ret;

	if (!mr)
		return util_refuse_memory("verbs", call);
	*mr = *shape;
	mr->pd = shape->kind == RNIC_MR_REGION ? pd : NULL;
	mr->home = pd;
	mr->fork_gen = rnic_fork_gen();
	ret = rnic_mr_table_add(&pd->ctx->mrs, call, mr);
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
	ret = reg_check(REG, &shape);
	if (ret < 0)
		return ret;
	ret = rnic_guard_install();
	if (ret < 0)
		return util_refuse("verbs", -ret, REG,
				   "usiw cannot catch faults: libc's "
				   "sigaction() is not found");
	ret = reg_populate(REG, &shape);
	if (ret < 0)
		return ret;
	return rnic_mr_add(pd, REG, &shape, ret_mr);
}

uint32_t rnic_mr_stag(const struct rnic_mr *mr)
{
	return mr->stag;
}

static int refuse_bound(const char *call, const struct rnic_mr *mr)
{
	return util_refuse("verbs", EBUSY, call,
			   "a memory window is bound to the region 0x%08x",
			   mr->stag);
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
		return refuse_bound("ibv_dereg_mr", mr);
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
		return util_refuse("verbs", EINVAL, REREG,
				   "flags is 0x%x, 0 or with unknown bits, or "
				   "the region is of ibv_alloc_null_mr()",
				   want->what);
	if (want->what & RNIC_MR_CHANGE_PD) {
		if (want->pd->ctx != mr->pd->ctx)
			return util_refuse("verbs", EINVAL, REREG,
					   "pd is of another context");
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
		return util_refuse("verbs", EINVAL, REREG,
				   "device memory has another place neither, "
				   "nor addresses without "
				   "IBV_ACCESS_ZERO_BASED");
	ret = reg_check(REREG, next);
	return ret < 0 ? ret : reg_populate(REREG, next);
}

/*
 * The STag stays, as programs expect that change their region's domain or
 * rights alone.  One that was invalidated gets another key: a peer knows it,
 * and must not find that it works again.
 */
int rnic_mr_rereg(struct rnic_mr *mr, const struct rnic_mr_change *want)
{
	struct rnic_context *ctx = mr->home->ctx;
	struct rnic_pd *home = mr->home;
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
		return refuse_bound(REREG, mr);
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
	mr->home = next.pd;
	rnic_mr_show(mr);
	rnic_engines_unlead(&ctx->engines);
	atomic_fetch_add_explicit(&next.pd->user_cnt, 1, memory_order_relaxed);
	/* release: pairs with the acquire in rnic_pd_free() */
	atomic_fetch_sub_explicit(&home->user_cnt, 1, memory_order_release);
	return 0;
}

/* ---- advice on on-demand regions ----------------------------------------- */

#define advice_refuse(err, lkey, what)                                         \
	util_refuse("verbs", err, ADVISE, "lkey 0x%08x " what, lkey)

/* Is it advice that the region can follow?  Under the lead. */
static int advice_check(struct rnic_pd *pd, uint32_t advice, uint32_t stag,
			uint64_t addr, size_t len, void **ret_ptr)
{
	const struct rnic_mr *mr = rnic_mr_table_lookup(&pd->ctx->mrs, stag);

	if (!mr)
		return advice_refuse(EFAULT, stag, "is of no region");
	if (mr->kind != RNIC_MR_REGION)
		return advice_refuse(EINVAL, stag,
				     "is of a window or a null region");
	if (mr->pd != pd)
		return advice_refuse(EPERM, stag, "is of another PD");
	if (!(mr->access & RNIC_ACCESS_ON_DEMAND))
		return advice_refuse(ENOENT, stag,
				     "lacks IBV_ACCESS_ON_DEMAND");
	if (advice == RNIC_ADVICE_PREFETCH_WRITE &&
	    !(mr->access & RNIC_ACCESS_LOCAL_WRITE))
		return advice_refuse(EPERM, stag,
				     "lacks IBV_ACCESS_LOCAL_WRITE");
	if (rnic_mr_check(mr, addr, len, 0, ret_ptr))
		return util_refuse("verbs", EFAULT, ADVISE,
				   "address is 0x%llx, length %zu: not inside "
				   "the region 0x%08x",
				   (unsigned long long)addr, len, stag);
	return 0;
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
		return util_refuse("verbs", EOPNOTSUPP, ADVISE,
				   "advice is %u, none of enum "
				   "ibv_advise_mr_advice",
				   advice);
	rnic_engines_lead(&ctx->engines);
	ret = advice_check(pd, advice, stag, addr, len, &ptr);
	rnic_engines_unlead(&ctx->engines);
	if (ret < 0 || len == 0 || advice == RNIC_ADVICE_PREFETCH_NO_FAULT)
		return ret;
	/* May wait for a disk, so not under the lead. */
	return mr_populate(ADVISE, ptr, len,
			   advice == RNIC_ADVICE_PREFETCH_WRITE);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory regions. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "objects.h"
#include "reason.h"
#include "result.h"

_Static_assert((int)IBV_ACCESS_LOCAL_WRITE == RNIC_ACCESS_LOCAL_WRITE,
	       "access flags");
_Static_assert((int)IBV_ACCESS_REMOTE_WRITE == RNIC_ACCESS_REMOTE_WRITE,
	       "access flags");
_Static_assert((int)IBV_ACCESS_REMOTE_READ == RNIC_ACCESS_REMOTE_READ,
	       "access flags");
_Static_assert((int)IBV_ACCESS_REMOTE_ATOMIC == RNIC_ACCESS_REMOTE_ATOMIC,
	       "access flags");
_Static_assert((int)IBV_ACCESS_MW_BIND == RNIC_ACCESS_MW_BIND, "access flags");
_Static_assert((int)IBV_ACCESS_ZERO_BASED == RNIC_ACCESS_ZERO_BASED,
	       "access flags");
_Static_assert((int)IBV_ACCESS_ON_DEMAND == RNIC_ACCESS_ON_DEMAND,
	       "access flags");
_Static_assert((int)IBV_ADVISE_MR_ADVICE_PREFETCH == RNIC_ADVICE_PREFETCH,
	       "advice");
_Static_assert((int)IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE ==
		       RNIC_ADVICE_PREFETCH_WRITE,
	       "advice");
_Static_assert((int)IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT ==
		       RNIC_ADVICE_PREFETCH_NO_FAULT,
	       "advice");
_Static_assert((int)IBV_REREG_MR_CHANGE_TRANSLATION ==
		       RNIC_MR_CHANGE_TRANSLATION,
	       "rereg flags");
_Static_assert((int)IBV_REREG_MR_CHANGE_PD == RNIC_MR_CHANGE_PD, "rereg flags");
_Static_assert((int)IBV_REREG_MR_CHANGE_ACCESS == RNIC_MR_CHANGE_ACCESS,
	       "rereg flags");

#define REG "ibv_reg_mr"
#define REREG "ibv_rereg_mr"
#define ADVISE "ibv_advise_mr"
#define NULL_MR "ibv_alloc_null_mr"

#define MR_ACCESS                                                              \
	(RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |                  \
	 RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC |                 \
	 RNIC_ACCESS_MW_BIND | RNIC_ACCESS_ZERO_BASED | RNIC_ACCESS_ON_DEMAND)

/* IBV_ACCESS_FLUSH_GLOBAL and _PERSISTENT, which older headers do not name.  A
 * kernel device that cannot flush fails with EOPNOTSUPP. */
#define MR_ACCESS_FLUSH (3u << 8)

/*
 * A device may ignore optional flags, relaxed ordering among them, and the flag
 * for huge pages.
 */
int usiw_mr_access(const char *call, unsigned int access, uint32_t *ret_access)
{
	unsigned int wanted = access & ~(unsigned int)IBV_ACCESS_OPTIONAL_RANGE;

	wanted &= ~(unsigned int)IBV_ACCESS_HUGETLB;
	if (wanted & ~(unsigned int)(MR_ACCESS | MR_ACCESS_FLUSH))
		return usiw_refuse(EINVAL, call,
				   "access is 0x%x, with unknown bits", access);
	/* RDMA verbs 1.0, 7.2.5.1 */
	if ((wanted & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
	    !(wanted & IBV_ACCESS_LOCAL_WRITE))
		return usiw_refuse(EINVAL, call,
				   "access is 0x%x: IBV_ACCESS_REMOTE_WRITE "
				   "and _REMOTE_ATOMIC need "
				   "IBV_ACCESS_LOCAL_WRITE",
				   access);
	if (wanted & MR_ACCESS_FLUSH)
		return usiw_refuse(EOPNOTSUPP, call,
				   "access is 0x%x: iWARP has no flush",
				   access);
	*ret_access = wanted;
	return 0;
}

static void mr_set_keys(struct usiw_mr *mr)
{
	mr->vmr.ibv_mr.handle = rnic_mr_stag(mr->rnic);
	mr->vmr.ibv_mr.lkey = rnic_mr_stag(mr->rnic);
	mr->vmr.ibv_mr.rkey = rnic_mr_stag(mr->rnic);
}

struct ibv_mr *usiw_mr_init(struct usiw_mr *mr, struct ibv_pd *pd, void *addr,
			    size_t len, int access)
{
	mr->fork_gen = rnic_fork_gen();
	mr->pd = usiw_pd(pd);
	usiw_pd_get(mr->pd);
	mr->vmr.mr_type = VERBS_MR_TYPE_MR;
	mr->vmr.access = access;
	mr->vmr.ibv_mr.context = pd->context;
	mr->vmr.ibv_mr.pd = pd;
	mr->vmr.ibv_mr.addr = addr;
	mr->vmr.ibv_mr.length = len;
	mr_set_keys(mr);
	usiw_handle_add(&mr->handle, &mr->vmr.ibv_mr.handle);
	return &mr->vmr.ibv_mr;
}

static bool keeps_from_children;

/* Before the first registration reaches the provider, the library decides
 * whether it keeps regions out of children.  From then on ibv_fork_init()
 * changes nothing and tells which: 0, or EINVAL. */
static void fork_init_ask(void)
{
	keeps_from_children = usiw_library.fn.fork_init &&
			      usiw_library.fn.fork_init() == 0;
}

/*
 * After ibv_fork_init(3) the library keeps the pages of each region out of
 * forked children (MADV_DONTFORK), where a child dies on other data in such a
 * page.  The RNIC needs no such pages, since it uses the page tables of its own
 * process, so the child gets them back.
 */
static void mr_share(void *addr, size_t len)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	/* Huge pages are shared whole or not at all. */
	const uintptr_t sizes[] = { page, 2u << 20, 1u << 30 };

	pthread_once(&once, fork_init_ask);
	if (!keeps_from_children || !len)
		return;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uintptr_t start = (uintptr_t)addr / sizes[i] * sizes[i];
		uintptr_t end = (uintptr_t)addr + len + sizes[i] - 1;

		end = end / sizes[i] * sizes[i];
		if (!madvise((void *)start, end - start, MADV_DOFORK))
			return;
	}
}

struct ibv_mr *usiw_reg_mr(struct ibv_pd *ibpd, void *addr, size_t len,
			   uint64_t hca_va, int access)
{
	struct usiw_pd *pd = usiw_pd(ibpd);
	struct usiw_mr *mr;
	uint32_t wanted;
	int err;

	err = usiw_pd_enter(pd, REG);
	if (!err)
		err = usiw_mr_access(REG, (unsigned int)access, &wanted);
	if (err)
		return usiw_result_null(err);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return usiw_result_null(usiw_refuse_memory(REG));
	if (wanted & IBV_ACCESS_ZERO_BASED)
		hca_va = 0;
	err = rnic_mr_reg(pd->rnic, addr, len, hca_va, wanted, &mr->rnic);
	if (err) {
		free(mr);
		return usiw_result_null(err);
	}
	if (!(wanted & IBV_ACCESS_ON_DEMAND))
		mr_share(addr, len);
	return usiw_mr_init(mr, ibpd, addr, len, access);
}

/* It always acts before it returns, so IBV_ADVISE_MR_FLAG_FLUSH has no
 * effect. */
int usiw_advise_mr(struct ibv_pd *ibpd, enum ibv_advise_mr_advice advice,
		   uint32_t flags, struct ibv_sge *sg_list, uint32_t num_sges)
{
	struct usiw_pd *pd = usiw_pd(ibpd);
	int err = usiw_pd_enter(pd, ADVISE);

	if (!err &&
	    (flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH || num_sges == 0))
		err = usiw_refuse(EINVAL, ADVISE,
				  "flags is 0x%x, with more than "
				  "IBV_ADVISE_MR_FLAG_FLUSH, or num_sge is 0",
				  flags);
	for (uint32_t i = 0; i < num_sges && !err; i++)
		err = rnic_mr_advise(pd->rnic, advice, sg_list[i].lkey,
				     sg_list[i].addr, sg_list[i].length);
	return usiw_result_int(err);
}

struct ibv_mr *usiw_alloc_null_mr(struct ibv_pd *ibpd)
{
	struct usiw_pd *pd = usiw_pd(ibpd);
	struct usiw_mr *mr;
	int err;

	err = usiw_pd_enter(pd, NULL_MR);
	if (err)
		return usiw_result_null(err);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return usiw_result_null(usiw_refuse_memory(NULL_MR));
	err = rnic_mr_alloc_null(pd->rnic, &mr->rnic);
	if (err) {
		free(mr);
		return usiw_result_null(err);
	}
	usiw_mr_init(mr, ibpd, NULL, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE);
	mr->vmr.mr_type = VERBS_MR_TYPE_NULL_MR;
	return &mr->vmr.ibv_mr;
}

static int rereg_pd(const struct verbs_mr *vmr, struct ibv_pd *pd,
		    struct rnic_mr_change *want)
{
	int err;

	if (!pd || pd->context != vmr->ibv_mr.context)
		return usiw_refuse(EINVAL, REREG, "pd is none of this context");
	err = usiw_pd_enter(usiw_pd(pd), REREG);
	if (!err)
		want->pd = usiw_pd(pd)->rnic;
	return err;
}

/*
 * The library has rejected invalid flags, and updates addr, length and pd.  For
 * every error here it returns IBV_REREG_MR_ERR_CMD.  errno has the reason, and
 * the old region stays valid.
 */
int usiw_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		  void *addr, size_t len, int access)
{
	struct usiw_mr *mr = usiw_mr(vmr);
	struct rnic_mr_change want = {
		.what = (uint32_t)flags,
		.addr = addr,
		.len = len,
	};
	int err = usiw_object_enter(&mr->handle, &mr->fork_gen, REREG);

	if (!err && mr->map)
		err = usiw_refuse(EOPNOTSUPP, REREG,
				  "the region is of ibv_reg_dmabuf_mr()");
	if (!err && flags & IBV_REREG_MR_CHANGE_PD)
		err = rereg_pd(vmr, pd, &want);
	if (!err && flags & IBV_REREG_MR_CHANGE_ACCESS)
		err = usiw_mr_access(REREG, (unsigned int)access, &want.access);
	if (!err)
		err = rnic_mr_rereg(mr->rnic, &want);
	if (err)
		return usiw_result_rereg(err);
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION)
		mr_share(addr, len);
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		vmr->access = access;
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		usiw_pd_get(usiw_pd(pd));
		usiw_pd_put(mr->pd);
		mr->pd = usiw_pd(pd);
	}
	mr_set_keys(mr);
	usiw_handle_renumber(&mr->handle);
	return 0;
}

int usiw_dereg_mr(struct verbs_mr *vmr)
{
	struct usiw_mr *mr = usiw_mr(vmr);
	int err = usiw_handle_check(&mr->handle, "ibv_dereg_mr");

	if (err)
		return usiw_result_int(err);
	if (!usiw_is_forked(mr->fork_gen)) {
		err = rnic_mr_dereg(mr->rnic);
		if (err)
			return usiw_result_int(err);
		usiw_pd_put(mr->pd);
	}
	usiw_dmabuf_unmap(mr);
	usiw_handle_remove(&mr->handle);
	free(mr);
	return 0;
}

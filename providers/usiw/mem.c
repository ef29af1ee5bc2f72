/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Protection domains and memory regions. */
#include <stdlib.h>

#include "door.h"
#include "objects.h"

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

#define MR_ACCESS                                                              \
	(RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |                  \
	 RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC |                 \
	 RNIC_ACCESS_MW_BIND | RNIC_ACCESS_ZERO_BASED)

struct ibv_pd *usiw_alloc_pd(struct ibv_context *context)
{
	struct usiw_context *ctx = usiw_context(context);
	struct usiw_pd *pd;
	int err;

	if (usiw_is_alien(ctx->fork_gen))
		return usiw_door_null(-ENODEV);
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return usiw_door_null(-ENOMEM);
	err = rnic_pd_alloc(ctx->rnic, &pd->rnic);
	if (err) {
		free(pd);
		return usiw_door_null(err);
	}
	pd->fork_gen = ctx->fork_gen;
	pd->pd.context = context;
	return &pd->pd;
}

int usiw_dealloc_pd(struct ibv_pd *ibpd)
{
	struct usiw_pd *pd = usiw_pd(ibpd);
	int err;

	if (!usiw_is_alien(pd->fork_gen)) {
		err = rnic_pd_free(pd->rnic);
		if (err)
			return usiw_door_int(err);
	}
	free(pd);
	return 0;
}

/* What may be asked of a region; RDMA verbs 1.0, 7.2.5.1. */
static int mr_access_check(unsigned int access)
{
	if (access & IBV_ACCESS_ON_DEMAND)
		return -EOPNOTSUPP;
	/* Huge pages are a hint for on-demand regions only. */
	if (access & ~(unsigned int)MR_ACCESS)
		return -EINVAL;
	if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	return 0;
}

struct ibv_mr *usiw_reg_mr(struct ibv_pd *ibpd, void *addr, size_t len,
			   uint64_t hca_va, int access)
{
	/* Optional flags are wishes that a device need not know. */
	unsigned int wanted = (unsigned int)access & ~IBV_ACCESS_OPTIONAL_RANGE;
	struct usiw_pd *pd = usiw_pd(ibpd);
	struct usiw_mr *mr;
	int err;

	if (usiw_is_alien(pd->fork_gen))
		return usiw_door_null(-ENODEV);
	err = mr_access_check(wanted);
	if (err)
		return usiw_door_null(err);
	if (len > rnic_limits()->max_mr_size)
		return usiw_door_null(-EINVAL);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return usiw_door_null(-ENOMEM);
	if (wanted & IBV_ACCESS_ZERO_BASED)
		hca_va = 0;
	err = rnic_mr_reg(pd->rnic, addr, len, hca_va, wanted, &mr->rnic);
	if (err) {
		free(mr);
		return usiw_door_null(err);
	}
	mr->fork_gen = pd->fork_gen;
	mr->vmr.mr_type = VERBS_MR_TYPE_MR;
	mr->vmr.access = access;
	mr->vmr.ibv_mr.context = ibpd->context;
	mr->vmr.ibv_mr.pd = ibpd;
	mr->vmr.ibv_mr.addr = addr;
	mr->vmr.ibv_mr.length = len;
	mr->vmr.ibv_mr.handle = rnic_mr_stag(mr->rnic);
	mr->vmr.ibv_mr.lkey = rnic_mr_stag(mr->rnic);
	mr->vmr.ibv_mr.rkey = rnic_mr_stag(mr->rnic);
	return &mr->vmr.ibv_mr;
}

int usiw_dereg_mr(struct verbs_mr *vmr)
{
	struct usiw_mr *mr = usiw_mr(vmr);
	int err;

	if (!usiw_is_alien(mr->fork_gen)) {
		err = rnic_mr_dereg(mr->rnic);
		if (err)
			return usiw_door_int(err);
	}
	free(mr);
	return 0;
}

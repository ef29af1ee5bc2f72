/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory windows; those of type 2 are bound by ibv_post_send(). */
#include <stdlib.h>

#include "result.h"
#include "sqe.h"

_Static_assert((int)IBV_MW_TYPE_1 == RNIC_MW_TYPE_1, "window types");
_Static_assert((int)IBV_MW_TYPE_2 == RNIC_MW_TYPE_2, "window types");

#define ALLOC "ibv_alloc_mw"
#define BIND "ibv_bind_mw"

#define BIND_FLAGS_KNOWN (IBV_SEND_FENCE | IBV_SEND_SIGNALED)

struct ibv_mw *usiw_alloc_mw(struct ibv_pd *ibpd, enum ibv_mw_type type)
{
	struct usiw_pd *pd = usiw_pd(ibpd);
	struct usiw_mw *mw;
	int err;

	err = usiw_pd_enter(pd, ALLOC);
	if (!err)
		err = usiw_check_range(ALLOC, "type", type, IBV_MW_TYPE_1,
				       IBV_MW_TYPE_2);
	if (err)
		return usiw_result_null(err);
	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return usiw_result_null(usiw_refuse_memory(ALLOC));
	err = rnic_mw_alloc(pd->rnic, (enum rnic_mw_type)type, &mw->rnic);
	if (err) {
		free(mw);
		return usiw_result_null(err);
	}
	mw->fork_gen = rnic_fork_gen();
	mw->pd = pd;
	usiw_pd_get(pd);
	mw->mw.context = ibpd->context;
	mw->mw.pd = ibpd;
	mw->mw.rkey = rnic_mw_stag(mw->rnic);
	mw->mw.handle = mw->mw.rkey;
	mw->mw.type = type;
	usiw_handle_add(&mw->handle, &mw->mw.handle);
	return &mw->mw;
}

int usiw_dealloc_mw(struct ibv_mw *ibmw)
{
	struct usiw_mw *mw = usiw_mw(ibmw);
	int err = usiw_handle_check(&mw->handle, "ibv_dealloc_mw");

	if (err)
		return usiw_result_int(err);
	if (!usiw_is_forked(mw->fork_gen)) {
		err = rnic_mw_dealloc(mw->rnic);
		if (err)
			return usiw_result_int(err);
		usiw_pd_put(mw->pd);
	}
	usiw_handle_remove(&mw->handle);
	free(mw);
	return 0;
}

/*
 * The library has checked that the window has type 1 and the domain of its
 * region.  The window has the new key when this returns.  The key is valid from
 * the completion on, and for work requests that are posted later.
 */
int usiw_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		 struct ibv_mw_bind *bind)
{
	struct usiw_qp *qp = usiw_qp(ibqp);
	uint32_t rkey = ibv_inc_rkey(mw->rkey);
	int err;

	if (usiw_is_forked(qp->fork_gen) ||
	    usiw_is_forked(usiw_mw(mw)->fork_gen))
		return usiw_result_int(usiw_refuse_forked(BIND));
	if (bind->send_flags & ~(unsigned int)BIND_FLAGS_KNOWN)
		return usiw_result_int(usiw_refuse(
			EINVAL, BIND,
			"send_flags is 0x%x, with more than IBV_SEND_FENCE "
			"and _SIGNALED",
			bind->send_flags));
	err = usiw_post_bind(qp, mw, rkey, bind);
	if (err)
		return usiw_result_int(err);
	mw->rkey = rkey;
	return 0;
}

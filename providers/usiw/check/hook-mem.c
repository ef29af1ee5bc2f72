/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Protection domains, regions and windows. */
#include "hooks.h"
#include "wr.h"

static void mr_set(struct usiw_check_mr *mr, void *addr, size_t len,
		   uint64_t iova)
{
	mr->host = (uintptr_t)addr;
	mr->len = len;
	mr->iova = mr->access & IBV_ACCESS_ZERO_BASED ? 0 : iova;
}

static struct usiw_check_mr *mr_add(struct ibv_pd *pd, const struct ibv_mr *mr,
				    unsigned int access)
{
	struct usiw_check_mr *shadow;

	if (!mr)
		return NULL;
	shadow = usiw_check_add(USIW_CHECK_MR, sizeof(*shadow), mr, pd->context,
				mr->lkey);
	if (shadow) {
		shadow->pd = usiw_check_pd(pd);
		shadow->access = access;
	}
	return shadow;
}

static struct ibv_mr *check_reg_mr(struct ibv_pd *pd, void *addr, size_t len,
				   uint64_t hca_va, int access)
{
	struct ibv_mr *mr =
		usiw_check_real->reg_mr(pd, addr, len, hca_va, access);
	struct usiw_check_mr *shadow;

	usiw_check_lock();
	shadow = mr_add(pd, mr, (unsigned int)access);
	if (shadow)
		mr_set(shadow, addr, len, hca_va);
	usiw_check_unlock();
	return mr;
}

static struct ibv_mr *opaque_add(struct ibv_pd *pd, struct ibv_mr *mr,
				 unsigned int access)
{
	struct usiw_check_mr *shadow;

	usiw_check_lock();
	shadow = mr_add(pd, mr, access);
	if (shadow)
		shadow->is_opaque = true;
	usiw_check_unlock();
	return mr;
}

static struct ibv_mr *check_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm,
				      uint64_t dm_offset, size_t len,
				      unsigned int access)
{
	return opaque_add(
		pd, usiw_check_real->reg_dm_mr(pd, dm, dm_offset, len, access),
		access);
}

static struct ibv_mr *check_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
					  size_t len, uint64_t iova, int fd,
					  int access)
{
	return opaque_add(pd,
			  usiw_check_real->reg_dmabuf_mr(pd, offset, len, iova,
							 fd, access),
			  (unsigned int)access);
}

static struct ibv_mr *check_alloc_null_mr(struct ibv_pd *pd)
{
	return opaque_add(pd, usiw_check_real->alloc_null_mr(pd),
			  IBV_ACCESS_LOCAL_WRITE);
}

static int check_dereg_mr(struct verbs_mr *vmr)
{
	struct usiw_check_stack here;
	struct usiw_check_mr *mr;
	int err;

	usiw_check_lock();
	mr = usiw_check_find(USIW_CHECK_MR, vmr);
	if (mr) {
		usiw_check_stack_take(&here);
		usiw_check_wr_dereg(mr, &here);
		usiw_check_mr_gone(mr, &here);
		usiw_check_remove(&mr->obj);
	}
	usiw_check_unlock();
	err = usiw_check_real->dereg_mr(vmr);
	usiw_check_end(mr ? &mr->obj : NULL, err);
	return err;
}

static int check_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
			  void *addr, size_t len, int access)
{
	int err = usiw_check_real->rereg_mr(vmr, flags, pd, addr, len, access);
	struct usiw_check_mr *mr;

	if (err)
		return err;
	usiw_check_lock();
	mr = usiw_check_find(USIW_CHECK_MR, vmr);
	if (mr) {
		if (flags & IBV_REREG_MR_CHANGE_ACCESS)
			mr->access = (unsigned int)access;
		if (flags & IBV_REREG_MR_CHANGE_TRANSLATION)
			mr_set(mr, addr, len, (uintptr_t)addr);
		if (flags & IBV_REREG_MR_CHANGE_PD)
			mr->pd = usiw_check_pd(pd);
		usiw_check_renumber(&mr->obj, vmr->ibv_mr.lkey);
	}
	usiw_check_unlock();
	return 0;
}

/* ---- objects that only leak -------------------------------------------- */

#define PLAIN_MADE(kind, name, type, params, args, of)                         \
	static type *check_##name params                                       \
	{                                                                      \
		type *made = usiw_check_real->name args;                       \
		usiw_check_lock();                                             \
		if (made)                                                      \
			(void)usiw_check_add(kind,                             \
					     sizeof(struct usiw_check_object), \
					     made, of, 0);                     \
		usiw_check_unlock();                                           \
		return made;                                                   \
	}
#define PLAIN_ENDED(kind, name, type)                                          \
	static int check_##name(type *obj)                                     \
	{                                                                      \
		struct usiw_check_object *shadow =                             \
			usiw_check_begin_end(kind, obj);                       \
		int err = usiw_check_real->name(obj);                          \
		usiw_check_end(shadow, err);                                   \
		return err;                                                    \
	}

PLAIN_MADE(USIW_CHECK_PD, alloc_pd, struct ibv_pd,
	   (struct ibv_context * context), (context), context)
PLAIN_ENDED(USIW_CHECK_PD, dealloc_pd, struct ibv_pd)
PLAIN_MADE(USIW_CHECK_AH, create_ah, struct ibv_ah,
	   (struct ibv_pd * pd, struct ibv_ah_attr *attr), (pd, attr),
	   pd->context)
PLAIN_ENDED(USIW_CHECK_AH, destroy_ah, struct ibv_ah)
PLAIN_MADE(USIW_CHECK_MW, alloc_mw, struct ibv_mw,
	   (struct ibv_pd * pd, enum ibv_mw_type type), (pd, type), pd->context)
PLAIN_ENDED(USIW_CHECK_MW, dealloc_mw, struct ibv_mw)

void usiw_check_hook_mem(struct verbs_ops *ops)
{
	ops->reg_mr = check_reg_mr;
	ops->reg_dm_mr = check_reg_dm_mr;
	ops->reg_dmabuf_mr = check_reg_dmabuf_mr;
	ops->alloc_null_mr = check_alloc_null_mr;
	ops->dereg_mr = check_dereg_mr;
	ops->rereg_mr = check_rereg_mr;
	ops->alloc_pd = check_alloc_pd;
	ops->dealloc_pd = check_dealloc_pd;
	ops->create_ah = check_create_ah;
	ops->destroy_ah = check_destroy_ah;
	ops->alloc_mw = check_alloc_mw;
	ops->dealloc_mw = check_dealloc_mw;
}

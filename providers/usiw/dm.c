/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Device memory. */
#include <stdlib.h>

#include "objects.h"
#include "result.h"

#define ALLOC "ibv_alloc_dm"
#define REG "ibv_reg_dm_mr"

static int dm_write(struct ibv_dm *ibdm, uint64_t off, const void *from,
		    size_t len)
{
	return usiw_result_int(
		rnic_dm_write(usiw_dm(ibdm)->rnic, off, from, len));
}

static int dm_read(void *to, struct ibv_dm *ibdm, uint64_t off, size_t len)
{
	return usiw_result_int(rnic_dm_read(usiw_dm(ibdm)->rnic, off, to, len));
}

/* Works on a context of the parent, too, because it needs only memory, and
 * programs allocate some in each child. */
struct ibv_dm *usiw_alloc_dm(struct ibv_context *context,
			     struct ibv_alloc_dm_attr *attr)
{
	struct usiw_context *ctx = usiw_context(context);
	struct usiw_dm *dm;
	int err;

	if (attr->comp_mask)
		return usiw_result_null(usiw_refuse(EINVAL, ALLOC,
						    "comp_mask is 0x%x, not 0",
						    attr->comp_mask));
	err = usiw_context_enter(ctx);
	if (err)
		return usiw_result_null(err);
	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return usiw_result_null(usiw_refuse_memory(ALLOC));
	err = rnic_dm_alloc(ctx->rnic, attr->length, attr->log_align_req,
			    &dm->rnic);
	if (err) {
		free(dm);
		return usiw_result_null(err);
	}
	dm->fork_gen = rnic_fork_gen();
	dm->dm.context = context;
	dm->dm.memcpy_to_dm = dm_write;
	dm->dm.memcpy_from_dm = dm_read;
	dm->dm.handle = usiw_handle_next();
	usiw_handle_add(&dm->handle, &dm->dm.handle);
	return &dm->dm;
}

int usiw_free_dm(struct ibv_dm *ibdm)
{
	struct usiw_dm *dm = usiw_dm(ibdm);
	int err = usiw_handle_check(&dm->handle, "ibv_free_dm");

	if (err)
		return usiw_result_int(err);
	if (!usiw_is_forked(dm->fork_gen)) {
		err = rnic_dm_free(dm->rnic);
		if (err)
			return usiw_result_int(err);
	}
	usiw_handle_remove(&dm->handle);
	free(dm);
	return 0;
}

/* Memory of another context fails with EINVAL before the RNIC sees it. */
struct ibv_mr *usiw_reg_dm_mr(struct ibv_pd *ibpd, struct ibv_dm *ibdm,
			      uint64_t off, size_t len, unsigned int access)
{
	struct usiw_pd *pd = usiw_pd(ibpd);
	struct usiw_mr *mr;
	uint32_t wanted;
	int err;

	err = usiw_pd_enter(pd, REG);
	/* Memory of another provider does not have this structure. */
	if (!err && ibdm->context != ibpd->context)
		err = usiw_refuse(EINVAL, REG, "dm is none of this context");
	if (!err)
		err = usiw_object_enter(&usiw_dm(ibdm)->handle,
					&usiw_dm(ibdm)->fork_gen, REG);
	if (!err)
		err = usiw_mr_access(REG, access, &wanted);
	if (!err && wanted & IBV_ACCESS_ON_DEMAND)
		err = usiw_refuse(EOPNOTSUPP, REG,
				  "access is 0x%x: IBV_ACCESS_ON_DEMAND is for "
				  "memory of the program",
				  access);
	if (err)
		return usiw_result_null(err);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return usiw_result_null(usiw_refuse_memory(REG));
	err = rnic_dm_reg(pd->rnic, usiw_dm(ibdm)->rnic, off, len, wanted,
			  &mr->rnic);
	if (err) {
		free(mr);
		return usiw_result_null(err);
	}
	return usiw_mr_init(mr, ibpd, NULL, len, (int)access);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory regions: made, changed, and whether they may be. */
#ifndef RNIC_MR_H
#define RNIC_MR_H

#include "access.h"

/* -EINVAL: rights that do not exist, or not without others. */
int rnic_mr_check_access(uint32_t access) __attribute__((warn_unused_result));

/* A region like @shape (its kind, place, rights, @dm_mr_cnt) in the table; what
 * may be wrong with it has been looked at.  Return: 0; -ENOMEM; -EAGAIN. */
int rnic_mr_add(struct rnic_pd *pd, const struct rnic_mr *shape,
		struct rnic_mr **ret_mr) __attribute__((warn_unused_result));

/*
 * Bring the pages in as pinning would, which also proves that they may be
 * read or written.  Kernels before 5.14 cannot say more than "mapped".
 * Return: 0; -EFAULT; -ENOMEM.
 */
int rnic_mr_populate(void *addr, size_t len, bool is_written)
	__attribute__((warn_unused_result));

/* All memory there is, by its addresses? */
static inline bool rnic_mr_is_implicit(const void *addr, size_t len,
				       uint32_t access)
{
	return access & RNIC_ACCESS_ON_DEMAND && !addr && len == SIZE_MAX;
}

#endif

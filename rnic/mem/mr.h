/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory regions: made, changed, and the checks for that. */
#ifndef RNIC_MR_H
#define RNIC_MR_H

#include "access.h"

/* -EINVAL: unknown rights, or rights that need others.  @call: a refusal names
 * it (util/reason.h), here and below. */
int rnic_mr_check_access(const char *call, uint32_t access)
	__attribute__((warn_unused_result));

/* Adds a region like @shape (its kind, place, rights, @dm_mr_cnt) to the table.
 * The caller has checked it. Return: 0; -ENOMEM; -EAGAIN. */
int rnic_mr_add(struct rnic_pd *pd, const char *call,
		const struct rnic_mr *shape, struct rnic_mr **ret_mr)
	__attribute__((warn_unused_result));

/* Is it the whole address space? */
static inline bool rnic_mr_is_implicit(const void *addr, size_t len,
				       uint32_t access)
{
	return access & RNIC_ACCESS_ON_DEMAND && !addr && len == SIZE_MAX;
}

#endif

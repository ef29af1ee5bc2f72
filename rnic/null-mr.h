/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The null region: an lkey for which any address and length is good, that
 * reads as zeroes and forgets what is written.  No peer may use it.
 */
#ifndef RNIC_NULL_MR_H
#define RNIC_NULL_MR_H

#include "mr.h"

/* As rnic_mr_resolve(), for a region known to be a null region. */
enum rnic_mr_verdict rnic_null_mr_judge(const struct rnic_mr_table *table,
					size_t len, uint32_t access,
					void **ret_ptr)
	__attribute__((warn_unused_result));

/* The end of the context. */
void rnic_null_mr_fini(struct rnic_mr_table *table);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The null region: an lkey for which any address and length is good, that
 * reads as zeroes and drops what is written.  No peer may use it.
 */
#ifndef RNIC_NULL_MR_H
#define RNIC_NULL_MR_H

#include "object.h"

/* The end of the context. */
void rnic_null_mr_fini(struct rnic_mr_table *table);

#endif

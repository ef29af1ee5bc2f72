/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The null region: an lkey for which every address and length is valid. It
 * reads as zeroes, and writes to it are dropped. No peer may use it.
 */
#ifndef RNIC_NULL_MR_H
#define RNIC_NULL_MR_H

#include "object.h"

/* The end of the context. */
void rnic_null_mr_fini(struct rnic_mr_table *table);

#endif

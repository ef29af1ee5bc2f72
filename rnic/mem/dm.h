/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Device memory: the RNIC's own, which the application sees through copies
 * and regions only.
 */
#ifndef RNIC_DM_H
#define RNIC_DM_H

#include "object.h"

/* The end of the context: frees what the application has not. */
void rnic_dm_fini(struct rnic_mr_table *table);

#endif

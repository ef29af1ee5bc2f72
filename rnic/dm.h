/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Device memory: the RNIC's own, which the application sees through copies
 * and regions only.
 */
#ifndef RNIC_DM_H
#define RNIC_DM_H

#include "mr.h"

/* A region of @dm has gone; NULL is fine. */
void rnic_dm_put(struct rnic_dm *dm);

/* The end of the context: what the application forgot. */
void rnic_dm_fini(struct rnic_mr_table *table);

#endif

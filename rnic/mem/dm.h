/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Device memory: memory of the RNIC. The application accesses it only through
 * copies and regions.
 */
#ifndef RNIC_DM_H
#define RNIC_DM_H

#include "object.h"

/* The end of the context: frees device memory that the application has not
 * freed. */
void rnic_dm_fini(struct rnic_mr_table *table);

#endif

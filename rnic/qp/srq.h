/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared receive queues. */
#ifndef RNIC_SRQ_H
#define RNIC_SRQ_H

#include "object.h"

/* rnic_srq_create().  @serve: what the SRQ's bell is for. */
int rnic_srq_new(struct rnic_pd *pd, struct rnic_srq_options *opt,
		 void (*serve)(struct rnic_bell *bell),
		 struct rnic_srq **ret_srq);

#endif

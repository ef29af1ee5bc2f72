/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Answers of the rdma_cm file about an identity. */
#ifndef KABI_UCM_QUERY_H
#define KABI_UCM_QUERY_H

#include "commands/ucm-file.h"

int kabi_ucm_query_route(struct kabi_ucm *file,
			 const struct kabi_ucm_call *call);
int kabi_ucm_query(struct kabi_ucm *file, const struct kabi_ucm_call *call);
int kabi_ucm_init_qp_attr(struct kabi_ucm *file,
			  const struct kabi_ucm_call *call);

#endif

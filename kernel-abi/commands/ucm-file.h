/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The rdma_cm file, and one call on it. */
#ifndef KABI_UCM_FILE_H
#define KABI_UCM_FILE_H

#include <stddef.h>

#include "util/fdtab.h"

struct rnic_cm_chan;

struct kabi_ucm {
	struct util_file file; /* first: the fd table names it */
	struct rnic_cm_chan *chan;
};

/* The arguments of a handler: the copy of the command, and the lengths. */
struct kabi_ucm_call {
	const void *cmd; /* zeros follow a short one */
	size_t out;	 /* size of the buffer for the answer */
};

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The rdma_cm file, and a call of its. */
#ifndef KABI_UCM_FILE_H
#define KABI_UCM_FILE_H

#include <stddef.h>

#include "../util/fdtab.h"

struct rnic_cm_chan;

struct kabi_ucm {
	struct util_file file; /* first: the fd table names it */
	struct rnic_cm_chan *chan;
};

/* What a handler gets: the command's copy and how long either side is. */
struct kabi_ucm_call {
	const void *cmd; /* zeros follow a short one */
	size_t out;	 /* octets that the answer's place has */
};

#endif

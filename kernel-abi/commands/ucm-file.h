/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The rdma_cm file, and one call on it. */
#ifndef KABI_UCM_FILE_H
#define KABI_UCM_FILE_H

#include <stddef.h>

#include "util/fdtab.h"
#include "util/reason.h"

struct rnic_cm_chan;

struct kabi_ucm {
	struct util_file file; /* first: the fd table names it */
	struct rnic_cm_chan *chan;
};

/* The arguments of a handler: the copy of the command, and the lengths. */
struct kabi_ucm_call {
	const char *name; /* as rdma_bind_addr */
	const void *cmd;  /* zeros follow a short one */
	size_t out;	  /* size of the buffer for the answer */
};

/* As util_refuse(). */
#define kabi_ucm_refuse(call, err, ...)                                        \
	util_refuse("cm", err, (call)->name, __VA_ARGS__)

/* The buffer for the answer is too small. */
#define kabi_ucm_refuse_room(call, needed)                                     \
	kabi_ucm_refuse(call, ENOSPC,                                          \
			"there is room for %zu octets of the answer, not %zu", \
			(call)->out, (size_t)(needed))

#endif

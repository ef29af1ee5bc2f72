/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The rdma_cm file on the RNIC library that is linked in, without preload. For
 * the test and the fuzz target of its commands. Include it in one source file.
 */
#ifndef UCM_DIRECT_H
#define UCM_DIRECT_H

#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <stdbool.h>
#include <unistd.h>

#include "kernel-abi/base/rnic-dl.h"
#include "kernel-abi/commands/ucm-file.h"
#include "kernel-abi/commands/ucm-path.h"
#include "kernel-abi/commands/ucm.h"

#define DIRECT_CALL(call) .call = rnic_##call,

const struct kabi_rnic *kabi_rnic(void)
{
	static const struct kabi_rnic direct = { KABI_RNIC_CALLS(DIRECT_CALL) };

	return &direct;
}

/* The object of the fd. The number holds the reference. */
static inline struct util_file *ucm_object(int fd)
{
	void *object = NULL;

	if (util_fdtab_lookup(rnic_fdtab(), fd, &object) != RNIC_FD_UCM)
		return NULL;
	return object;
}

/* Does what close(2) does under the preload library. */
static inline void ucm_number_close(int fd)
{
	util_fdtab_uninstall(rnic_fdtab(), fd, NULL);
	close(fd);
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* /dev/infiniband/rdma_cm. */
#ifndef KABI_UCM_H
#define KABI_UCM_H

#include <stddef.h>
#include <sys/types.h>

#include "util/fdtab.h"

/*
 * open(2) of the rdma_cm file.  Of @flags, O_NONBLOCK and O_CLOEXEC count.
 * Return: an fd, already in rnic's fd table as RNIC_FD_UCM; -errno.
 */
int kabi_ucm_open(int flags);

/* One command.  Return: @len; -errno. */
ssize_t kabi_ucm_write(struct util_file *file, const void *buf, size_t len);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The rooms of kernel-abi/ seen from each other.  Negative errno everywhere;
 * preload.c alone turns it into -1 and errno.
 */
#ifndef KABI_H
#define KABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rnic-dl.h"

/* ---- ucm.c, ucm-event.c: /dev/infiniband/rdma_cm ------------------------ */

/*
 * open(2) of the rdma_cm file.  Of @flags, O_NONBLOCK and O_CLOEXEC count.
 * Return: an fd, already in rnic's fd table as UTIL_FD_UCM; -errno.
 */
int kabi_ucm_open(int flags);

/* One command.  Return: @len; -errno. */
ssize_t kabi_ucm_write(void *object, const void *buf, size_t len);

/*
 * The last descriptor of the file is being closed: takes the fd out of the
 * table, closes it, frees @object.  Return: 0; -errno.
 */
int kabi_ucm_close(void *object);

#endif

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

#include "../util/fdtab.h"
#include "../util/lock.h"
#include "rnic-dl.h"

/* ---- init.c: first touch, fork ------------------------------------------ */

/*
 * Somebody looks for a device: load the RNIC library, grow the tree.  Return:
 * false when there is no RNIC library; then our paths are as foreign as any.
 */
bool kabi_touch(void);

/* rnic's fd table; NULL before the first touch. */
extern _Atomic(struct util_fdtab *) kabi_fds;

/* The one lock of kernel-abi/ but for ucm.c; a leaf. */
extern struct util_lock kabi_lock;

/*
 * False in a child made by vfork(): it shares our memory but not our fds, and
 * what it closes must stay open in our books.
 */
bool kabi_is_owner(void);

/* ---- uverbs.c: /dev/infiniband/uverbsN ----------------------------------- */

struct kabi_node;

/* Return: an fd, in the table as UTIL_FD_UVERBS; -errno. */
int kabi_uverbs_open(const struct kabi_node *node, int flags);

/* One command of <rdma/ib_user_verbs.h>.  Return: @len; -errno. */
ssize_t kabi_uverbs_write(struct util_file *file, const void *buf, size_t len);

/* Where it was opened. */
const struct kabi_node *kabi_uverbs_node(const struct util_file *file);

/* ---- ucm.c, ucm-event.c: /dev/infiniband/rdma_cm ------------------------ */

/*
 * open(2) of the rdma_cm file.  Of @flags, O_NONBLOCK and O_CLOEXEC count.
 * Return: an fd, already in rnic's fd table as UTIL_FD_UCM; -errno.
 */
int kabi_ucm_open(int flags);

/* One command.  Return: @len; -errno. */
ssize_t kabi_ucm_write(struct util_file *file, const void *buf, size_t len);

#endif

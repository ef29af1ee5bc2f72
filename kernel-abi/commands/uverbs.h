/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* /dev/infiniband/uverbsN. */
#ifndef KABI_UVERBS_H
#define KABI_UVERBS_H

#include <sys/types.h>

#include "util/fdtab.h"

struct kabi_node;

/* Return: an fd, in the table as RNIC_FD_UVERBS; -errno. */
int kabi_uverbs_open(const struct kabi_node *node, int flags);

/* One command of <rdma/ib_user_verbs.h>.  Return: @len; -errno. */
ssize_t kabi_uverbs_write(struct util_file *file, const void *buf, size_t len);

/* The node that was opened. */
const struct kabi_node *kabi_uverbs_node(const struct util_file *file);

#endif

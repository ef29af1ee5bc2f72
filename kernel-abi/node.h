/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the calls on paths do with a node of ours.  Negative errno. */
#ifndef KABI_NODE_H
#define KABI_NODE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

struct kabi_node;

/* Return: an fd; -errno. */
int kabi_node_open(const struct kabi_node *node, int flags);

/* Before a read of @fd, which is @node: from its beginning on a file says what
 * holds now, as sysfs has it.  Duplicates keep what they had.  Keeps errno. */
void kabi_node_refresh(const struct kabi_node *node, int fd);

/* fopen(3); @old: freopen(3), not NULL then.  NULL and errno on failure. */
FILE *kabi_node_fopen(const struct kabi_node *node, const char *mode,
		      FILE *old);

int kabi_node_stat(const struct kabi_node *node, struct stat *ret_stat);
int kabi_node_statx(const struct kabi_node *node, struct statx *ret_statx);
int kabi_node_access(const struct kabi_node *node, int mode);
ssize_t kabi_node_readlink(const struct kabi_node *node, char *buf, size_t len);

/* realpath(3).  NULL and errno on failure. */
char *kabi_node_realpath(const struct kabi_node *node, char *resolved);

#endif

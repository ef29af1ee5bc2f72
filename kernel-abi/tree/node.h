/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The calls on paths, for a node of the tree.  Errors are negative errnos. */
#ifndef KABI_NODE_H
#define KABI_NODE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

struct kabi_node;

/* Return: an fd; -errno. */
int kabi_node_open(const struct kabi_node *node, int flags);

/* Called before a read of @fd, which is @node.  A read from the beginning gets
 * the current contents, as with sysfs.  Duplicates keep the old contents. Keeps
 * errno. */
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

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Changes of the current directory: into the tree, out of it, or elsewhere. */
#ifndef KABI_CHDIR_H
#define KABI_CHDIR_H

struct kabi_node;

/* Called when the program starts.  It makes no system call. */
void kabi_chdir_start(void);

/* chdir(2), fchdir(2).  @node: the node that @fd is; NULL: none of the tree.
 * Return: 0; -errno. */
int kabi_chdir(const char *path);
int kabi_fchdir(int fd, const struct kabi_node *node);

#endif

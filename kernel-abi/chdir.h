/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Changing the current directory, into the tree, out of it or past it. */
#ifndef KABI_CHDIR_H
#define KABI_CHDIR_H

struct kabi_node;

/* When the program starts: no system call. */
void kabi_chdir_start(void);

/* chdir(2), fchdir(2).  @node: what @fd is; NULL: foreign.
 * Return: 0; -errno. */
int kabi_chdir(const char *path);
int kabi_fchdir(int fd, const struct kabi_node *node);

#endif

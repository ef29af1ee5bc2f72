/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Opened nodes of the tree.  They are real fds (a memfd, an O_PATH fd).  Only
 * fstat, openat and fdopendir have to recognise them.
 */
#ifndef KABI_NODE_FD_H
#define KABI_NODE_FD_H

#include <stdbool.h>

struct kabi_node;

/* The mode of a memfd that is a file of the tree.  No other program gives a
 * memfd this mode. */
#define KABI_NODE_MEMFD_MODE 0444

/* During the first touch.  Return: 0; -ENOMEM. */
int kabi_node_fds_init(void);

/* The node opened as @fd; NULL: none.  Keeps errno. */
const struct kabi_node *kabi_fd_node(int fd);

/* Records that @fd is @node.  A failure is harmless: fstat then returns the
 * kernel's answer. */
void kabi_fd_node_add(int fd, const struct kabi_node *node);

/* Removes the record of @fd, if there is one.  Call it after the first
 * touch. */
void kabi_fd_node_remove(int fd);

#endif

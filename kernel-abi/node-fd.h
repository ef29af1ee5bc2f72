/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Opened nodes of the tree.  They are real fds (a memfd, an O_PATH fd) that
 * need no help but to be told apart by fstat, openat and fdopendir.
 */
#ifndef KABI_NODE_FD_H
#define KABI_NODE_FD_H

#include <stdbool.h>

struct kabi_node;

/* The mode of a memfd that is a file of the tree: no other program gives it to
 * one. */
#define KABI_NODE_MEMFD_MODE 0444

/* During the first touch.  Return: 0; -ENOMEM. */
int kabi_node_fds_init(void);

/* The node opened as @fd; NULL: none.  Keeps errno. */
const struct kabi_node *kabi_fd_node(int fd);

/* Note that @fd is @node.  Failing is harmless: fstat then tells the truth. */
void kabi_fd_node_add(int fd, const struct kabi_node *node);

/* @fd is none any more, if it was one.  After the first touch. */
void kabi_fd_node_remove(int fd);

#endif

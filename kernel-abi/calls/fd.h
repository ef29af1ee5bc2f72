/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The calls on descriptors of usiw.  There are two tables: the one of rnic/
 * (uverbs, rdma_cm, channels: "objects") and the one of node-fd.h.
 */
#ifndef KABI_FD_H
#define KABI_FD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/rnic-dl.h"

/* Called before a read of any fd.  A file of the tree gets its current
 * contents. */
void kabi_fd_refresh(int fd);

/* The node that fstat() of @fd describes, for any kind; NULL: ask the
 * kernel. */
const struct kabi_node *kabi_fd_stat_node(int fd);

/* The same for AT_EMPTY_PATH: NULL unless @path is empty. */
const struct kabi_node *kabi_fd_empty_path(int fd, const char *path);

/* @kind is not RNIC_FD_NONE.  Return: count; -errno. */
ssize_t kabi_fd_read(int fd, enum rnic_fd_kind kind, void *buf, size_t len);
ssize_t kabi_fd_write(int fd, enum rnic_fd_kind kind, const void *buf,
		      size_t len);

/* For any fd, after the first touch.  Return: 0 or an fd; -errno. */
int kabi_fd_close(int fd);
int kabi_fd_close_range(unsigned int first, unsigned int last, int flags);
void kabi_fd_close_from(unsigned int first);
int kabi_fd_dup(int fd, int lowest, bool is_cloexec);
int kabi_fd_dup3(int fd, int new_fd, int flags);

/* Called when bind(), or listen() (@addr NULL), has failed with EADDRINUSE.
 * Return: true: try again.  Keeps errno. */
bool kabi_fd_make_way(int fd, const struct sockaddr *addr, socklen_t len);

#endif

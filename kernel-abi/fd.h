/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the calls on descriptors do with ours.  Two tables: rnic's (uverbs,
 * rdma_cm, channels: "objects") and one of our own for opened nodes of the
 * tree, which are real fds (a memfd, an O_PATH fd) that need no help but to
 * be told apart by fstat, openat and fdopendir.
 */
#ifndef KABI_FD_H
#define KABI_FD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "kabi.h"

/* What @fd is in rnic's table; UTIL_FD_NONE at once before the first touch. */
static inline enum util_fd_kind kabi_fd_kind(int fd)
{
	/* acquire: pairs with the release at the end of the first touch */
	struct util_fdtab *fds =
		atomic_load_explicit(&kabi_fds, memory_order_acquire);

	return fds ? util_fdtab_lookup(fds, fd, NULL) : UTIL_FD_NONE;
}

static inline bool kabi_is_touched(void)
{
	/* acquire: as above */
	return atomic_load_explicit(&kabi_fds, memory_order_acquire) != NULL;
}

int kabi_fd_init(void);

/* The node opened as @fd; NULL: none.  Keeps errno. */
const struct kabi_node *kabi_fd_node(int fd);

/* Before a read of any fd: what is a file of the tree says what holds now. */
void kabi_fd_refresh(int fd);

/* Note that @fd is @node.  Failing is harmless: fstat then tells the truth. */
void kabi_fd_node_add(int fd, const struct kabi_node *node);

/* Any kind: what fstat() has to say about @fd; NULL: the kernel's answer. */
const struct kabi_node *kabi_fd_stat_node(int fd);

/* The same for AT_EMPTY_PATH: NULL unless @path is empty. */
const struct kabi_node *kabi_fd_empty_path(int fd, const char *path);

/* @kind is not UTIL_FD_NONE.  Return: count; -errno. */
ssize_t kabi_fd_read(int fd, enum util_fd_kind kind, void *buf, size_t len);
ssize_t kabi_fd_write(int fd, enum util_fd_kind kind, const void *buf,
		      size_t len);

/* Any fd, after the first touch.  Return: 0 or an fd; -errno. */
int kabi_fd_close(int fd);
int kabi_fd_close_range(unsigned int first, unsigned int last, int flags);
void kabi_fd_close_from(unsigned int first);
int kabi_fd_dup(int fd, int lowest, bool is_cloexec);
int kabi_fd_dup3(int fd, int new_fd, int flags);

/* bind(), or listen() (@addr NULL), has answered EADDRINUSE.  Return: whether
 * it is worth another try; keeps errno. */
bool kabi_fd_make_way(int fd, const struct sockaddr *addr, socklen_t len);

#endif

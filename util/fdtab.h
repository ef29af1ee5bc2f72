/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * File descriptor -> object: one table per process, owned by the RNIC
 * library, read by the interposed calls.  "Not ours" is one bounds check and
 * one load: no lock, no allocation.
 */
#ifndef UTIL_FDTAB_H
#define UTIL_FDTAB_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum util_fd_kind {
	UTIL_FD_NONE,
	UTIL_FD_INTERNAL, /* sockets, epoll: never shown to the application */
	UTIL_FD_CHAN,	  /* object: struct rnic_chan; read() yields records */
	UTIL_FD_UVERBS,	  /* object of kernel-abi/uverbs.c */
	UTIL_FD_UCM,	  /* object of kernel-abi/ucm.c */
	UTIL_FD_DEAD,	  /* inherited over fork: every use answers ENODEV */
};

#define UTIL_FD_MAX (1u << 20)

struct util_fd {
	_Atomic(void *) object;
	_Atomic uint32_t kind; /* enum util_fd_kind; release after object */
};

struct util_fdtab; /* two-level; pages allocated as fds appear */

struct util_fdtab *util_fdtab_new(void); /* NULL: ENOMEM */

/* Return: 0; -EMFILE: @fd out of range; -ENOMEM. */
int util_fdtab_add(struct util_fdtab *tab, int fd, enum util_fd_kind kind,
		   void *object);

/* Return: kind that was there (UTIL_FD_NONE: nothing). */
enum util_fd_kind util_fdtab_remove(struct util_fdtab *tab, int fd);

/* Any fd number, also negative.  @ret_object may be NULL. */
enum util_fd_kind util_fdtab_lookup(const struct util_fdtab *tab, int fd,
				    void **ret_object);

/* Call @fn for every entry; used by the fork handler. */
void util_fdtab_each(struct util_fdtab *tab,
		     void (*fn)(struct util_fdtab *tab, int fd,
				enum util_fd_kind kind, void *object));

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * File descriptor -> object: one table per process, owned by the RNIC
 * library, read by the interposed calls.  "Not ours" is one bounds check and
 * one load: no lock, no allocation.  What is ours is counted as a file.
 */
#ifndef UTIL_FDTAB_H
#define UTIL_FDTAB_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum util_fd_kind {
	UTIL_FD_NONE,
	UTIL_FD_INTERNAL, /* sockets, epoll: never shown to the application */
	/* Objects are struct util_file: */
	UTIL_FD_CHAN,	/* struct rnic_chan; read() yields records */
	UTIL_FD_UVERBS, /* of kernel-abi/uverbs.c */
	UTIL_FD_UCM,	/* of kernel-abi/ucm.c */
	UTIL_FD_DEAD,	/* inherited over fork: every use answers ENODEV */
};

#define UTIL_FD_MAX (1u << 20)

struct util_fd {
	_Atomic(void *) object;
	_Atomic uint32_t word; /* kind, times added; release after object */
};

struct util_fdtab; /* two-level; pages allocated as fds appear */

/*
 * What a number stands for, as a kernel's open file: every number holds a
 * reference, and so does each caller inside, so that closing a number takes
 * nothing away from whoever is about to use it.
 */
struct util_file {
	/* The last number has gone; callers may still be inside. */
	void (*close)(struct util_file *file);
	/* The last reference has. */
	void (*free)(struct util_file *file);
	_Atomic uint32_t ref_cnt;
	uint32_t fd_cnt; /* numbers; guarded by the table's lock */
};

/* One reference, the caller's. */
void util_file_init(struct util_file *file,
		    void (*close)(struct util_file *file),
		    void (*free)(struct util_file *file));
void util_file_get(struct util_file *file);
void util_file_put(struct util_file *file);

struct util_fdtab *util_fdtab_new(void); /* NULL: ENOMEM */

/* Return: 0; -EMFILE: @fd out of range; -ENOMEM. */
int util_fdtab_add(struct util_fdtab *tab, int fd, enum util_fd_kind kind,
		   void *object);

/* Return: kind that was there (UTIL_FD_NONE: nothing). */
enum util_fd_kind util_fdtab_remove(struct util_fdtab *tab, int fd);

/*
 * One more number for @file, whose kinds are those with an object.  Return: as
 * util_fdtab_add().
 */
int util_fdtab_install(struct util_fdtab *tab, int fd, enum util_fd_kind kind,
		       struct util_file *file);

/*
 * The number is about to be closed: out of the table, without its reference.
 * @file: only if it is that one's; NULL: whatever it is.
 * Return: kind that was there.
 */
enum util_fd_kind util_fdtab_uninstall(struct util_fdtab *tab, int fd,
				       const struct util_file *file);

/* The file behind a number, with a reference; NULL: not of that kind. */
struct util_file *util_fdtab_get(struct util_fdtab *tab, int fd,
				 enum util_fd_kind kind);

/* Forked child: nobody holds the table's lock. */
void util_fdtab_fork_child(struct util_fdtab *tab);

/* Any fd number, also negative.  @ret_object may be NULL. */
enum util_fd_kind util_fdtab_lookup(const struct util_fdtab *tab, int fd,
				    void **ret_object);

/* The lowest number from @fd on that stands for @file; -1: none. */
int util_fdtab_find(const struct util_fdtab *tab, int fd,
		    const struct util_file *file);

/* Call @fn for every entry; used by the fork handler. */
void util_fdtab_each(struct util_fdtab *tab,
		     void (*fn)(struct util_fdtab *tab, int fd,
				enum util_fd_kind kind, void *object));

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The objects behind file descriptors: one table per process, which the RNIC
 * library owns and the interposed calls read.  To find out that a descriptor is
 * not in the table takes one bounds check and one load, without lock and
 * allocation.  Objects in the table are counted files.
 */
#ifndef UTIL_FDTAB_H
#define UTIL_FDTAB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kind of a number. A table's owner gives others, from 1 to 0x7f, and with
 * UTIL_FD_FILE where the object is a struct util_file. */
enum {
	UTIL_FD_NONE = 0, /* not in the table */
	UTIL_FD_FILE = 0x80,
};

#define UTIL_FD_MAX (1u << 20)

struct util_fd {
	_Atomic(void *) object;
	/* Kind, pins, times changed; release after object.  64 bits: see
	 * util_fdtab_pin(). */
	_Atomic uint64_t word;
};

struct util_fdtab; /* two-level; pages allocated as fds appear */

/*
 * The object behind a number, like an open file of the kernel.  Every number
 * holds a reference, and so does each call in progress, so the object stays
 * valid for a call while another thread closes the number.
 */
struct util_file {
	/* The last number was closed; calls may still be in progress. */
	void (*close)(struct util_file *file);
	/* The last reference was dropped. */
	void (*free)(struct util_file *file);
	_Atomic uint32_t ref_cnt;
	uint32_t fd_cnt; /* numbers; guarded by the table's lock */
};

/* Starts with one reference, which the caller holds. */
void util_file_init(struct util_file *file,
		    void (*close)(struct util_file *file),
		    void (*free)(struct util_file *file));
void util_file_get(struct util_file *file);
void util_file_put(struct util_file *file);

struct util_fdtab *util_fdtab_new(void); /* NULL: ENOMEM */

/* Return: 0; -EMFILE: @fd out of range; -ENOMEM. */
int util_fdtab_add(struct util_fdtab *tab, int fd, unsigned int kind,
		   void *object);

/* Return: kind that was there (UTIL_FD_NONE: nothing). */
unsigned int util_fdtab_remove(struct util_fdtab *tab, int fd);

/*
 * Adds a number for @file.  @kind has UTIL_FD_FILE.
 * Return: as util_fdtab_add().
 */
int util_fdtab_install(struct util_fdtab *tab, int fd, unsigned int kind,
		       struct util_file *file);

/*
 * Removes a number that is about to be closed, and drops its reference.
 * @file: remove it only if it stands for this file; NULL: in any case.
 * Return: kind that was there.
 */
unsigned int util_fdtab_uninstall(struct util_fdtab *tab, int fd,
				  const struct util_file *file);

/* A short reference: held by the slot of the number while it stands for the
 * file, and by the file afterwards. */
struct util_fd_pin {
	struct util_file *file;
	struct util_fd *slot;
	uint64_t turn; /* of the slot */
};

/*
 * The file behind a number, until util_fdtab_unpin().  Costs one atomic
 * operation on a line of the number, and no lock: a signal handler may do it,
 * and threads that use different numbers do not meet.
 * Return: false: the number is not of that kind.
 */
bool util_fdtab_pin(const struct util_fdtab *tab, int fd, unsigned int kind,
		    struct util_fd_pin *ret_pin);
void util_fdtab_unpin(const struct util_fd_pin *pin);

/* Gets the file behind a number, with a reference; NULL: not of that kind.
 * Without a lock. */
struct util_file *util_fdtab_get(struct util_fdtab *tab, int fd,
				 unsigned int kind);

/* In a forked child: resets the table's lock. */
void util_fdtab_fork_child(struct util_fdtab *tab);

/* @fd may be any number, even a negative one.  @ret_object may be NULL. */
unsigned int util_fdtab_lookup(const struct util_fdtab *tab, int fd,
			       void **ret_object);

/* The lowest number from @fd on that stands for @file; -1: none. */
int util_fdtab_find(const struct util_fdtab *tab, int fd,
		    const struct util_file *file);

/* Call @fn for every entry; used by the fork handler. */
void util_fdtab_each(struct util_fdtab *tab,
		     void (*fn)(struct util_fdtab *tab, int fd,
				unsigned int kind, void *object));

#endif

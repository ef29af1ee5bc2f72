/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The fd table of the process, and what becomes of it in a forked child.
 * rnic_fdtab() and rnic_fork_gen() are declared in rnic.h.
 */
#ifndef RNIC_FD_H
#define RNIC_FD_H

#include "rnic.h"

/*
 * What else happens around a fork.  In the child, keep() runs before the table
 * is walked and the descriptors that are not the application's are closed;
 * child() runs behind that.
 */
struct rnic_fork {
	void (*prepare)(void); /* in the parent, before */
	void (*parent)(void);  /* in the parent, after */
	void (*keep)(struct util_fdtab *tab);
	void (*child)(struct util_fdtab *tab); /* NULL: nothing was opened */
};

/* To be called before anything opens the table: by a constructor. */
void rnic_fd_on_fork(const struct rnic_fork *fork);

/**
 * Take over an fd that the application must never see: it is closed in a forked
 * child, so that the parent's death reaches the peer.
 *
 * @fd: what a call has just returned; negative: it failed, and errno says why.
 *
 * Return: the fd, perhaps under a number that is out of the way of applications
 *   that choose numbers themselves (dup2()); -errno; -ENOMEM; -EMFILE: the
 *   number is beyond UTIL_FD_MAX.  On failure @fd is closed.
 */
int rnic_fd_own(int fd) __attribute__((warn_unused_result));

/* Take it out of the table and close it.  Negative: nothing. */
void rnic_fd_close(int fd);

/*
 * How many descriptors unexpected peers may hold of one kind: @max, but not
 * more than a quarter of what the process may have now, so that the
 * application's own do not fail.  Return: >= 1.
 */
uint32_t rnic_fd_share(uint32_t max);

#endif

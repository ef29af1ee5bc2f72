/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The fd table of the process, and its handling in a forked child. rnic.h
 * declares rnic_fdtab() and rnic_fork_gen().
 */
#ifndef RNIC_FD_H
#define RNIC_FD_H

#include "rnic.h"

/*
 * Other actions around a fork. In the child, keep() runs before the walk over
 * the table, which closes descriptors that do not belong to the application.
 * child() runs after it.
 */
struct rnic_fork {
	void (*prepare)(void); /* in the parent, before */
	void (*parent)(void);  /* in the parent, after */
	void (*keep)(struct util_fdtab *tab);
	void (*child)(struct util_fdtab *tab); /* NULL: nothing was opened */
};

/* Called before anything opens the table: by a constructor. */
void rnic_fd_on_fork(const struct rnic_fork *fork);

/**
 * Takes over an fd that the application must never get. It is closed in a
 * forked child, so that the parent's death reaches the peer.
 *
 * @fd: the result of a call; negative: the call failed, and errno has the
 *   reason.
 *
 * Return: the fd, perhaps with a high number, because applications choose low
 *   numbers for dup2(); -errno; -ENOMEM; -EMFILE: the number is beyond
 *   UTIL_FD_MAX. On failure @fd is closed.
 */
int rnic_fd_own(int fd) __attribute__((warn_unused_result));

/*
 * For what connections work without: of the numbers from rnic_fd_own(), the
 * process keeps a quarter of its present limit for the application.  Is this
 * none of them?
 */
bool rnic_fd_is_spare(int fd);
/* Return: @fd if it is; -EMFILE: it is not, and is closed.  Negative: the
 * same. */
int rnic_fd_spare(int fd) __attribute__((warn_unused_result));

/* Removes it from the table and closes it. Negative: nothing. */
void rnic_fd_close(int fd);

/*
 * How many descriptors unexpected peers of one kind may use: @max, but not more
 * than a quarter of the present limit of the process, so that the application's
 * own calls do not fail. Return: >= 1.
 */
uint32_t rnic_fd_share(uint32_t max);

#endif

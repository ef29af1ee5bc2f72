/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The manager in a forked child, and the lock that handles it. */
#ifndef RNIC_CM_FORK_H
#define RNIC_CM_FORK_H

#include "object.h"

struct util_fdtab;

/*
 * Around a fork, so that the child has complete identities. prepare() and
 * parent() run in the parent. In the child, keep() runs before the walk over
 * the fd table and takes out of it what the child keeps; child() runs after it.
 * @tab: NULL: no descriptor was made yet. Connections belong to the parent.
 */
void rnic_cm_fork_prepare(void);
void rnic_cm_fork_parent(void);
void rnic_cm_fork_keep(struct util_fdtab *tab);
void rnic_cm_fork_child(struct util_fdtab *tab);

/* Locks the manager, and re-creates an inherited channel. Return: 0, locked;
 * -errno, unlocked. */
int cm_chan_lock(struct rnic_cm_chan *chan);
/* The same to close the channel. False: there is nothing to close. */
bool cm_chan_lock_to_close(const struct rnic_cm_chan *chan);
/* Return: 0 and the manager locked; -ENODEV; -ENOENT: unlocked. */
int cm_id_lock(struct rnic_cm_chan *chan, uint32_t num, struct cm_id **ret_id);
/* The same for datagrams.  @call: a refusal names it.  -EOPNOTSUPP: persona
 * rnic, which has none. */
int cm_chan_lock_ud(struct rnic_cm_chan *chan, const char *call);
int cm_id_lock_ud(struct rnic_cm_chan *chan, const char *call, uint32_t num,
		  struct cm_id **ret_id);

static inline void cm_scope_unlock(const int *status)
{
	if (*status == 0)
		util_unlock(&rnic_loop.lock);
}

/* The type of what these return, for a caller that leaves it to the end of
 * the scope to unlock. */
#define CM_LOCK_STATUS __attribute__((cleanup(cm_scope_unlock))) const int

/* Is it in the list of channels? */
bool cm_chan_is_known(const struct rnic_cm_chan *chan);
/* The epoll descriptor with the application's numbers; -1: they belong to the
 * eventfd. */
int cm_chan_front(const struct rnic_cm_chan *chan);

#endif

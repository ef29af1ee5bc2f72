/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The manager in a forked child, and the lock that looks after that. */
#ifndef RNIC_CM_FORK_H
#define RNIC_CM_FORK_H

#include "object.h"

struct util_fdtab;

/*
 * Around a fork, so that the child finds whole identities: both in the parent;
 * in the child first what it keeps of the fd table, then, after the walk over
 * it, the rest.  @tab: NULL: no descriptor was made yet.  Connections are the
 * parent's.
 */
void rnic_cm_fork_prepare(void);
void rnic_cm_fork_parent(void);
void rnic_cm_fork_keep(struct util_fdtab *tab);
void rnic_cm_fork_child(struct util_fdtab *tab);

/* Lock the manager; an inherited channel is made anew.  Return: 0, locked;
 * -errno, unlocked. */
int cm_chan_lock(struct rnic_cm_chan *chan);
/* The same to end it.  False: there is nothing to be ended. */
bool cm_chan_lock_to_close(const struct rnic_cm_chan *chan);
/* Return: 0 and the manager locked; -ENODEV; -ENOENT: unlocked. */
int cm_id_lock(struct rnic_cm_chan *chan, uint32_t num, struct cm_id **ret_id);
/* Is it in the list of channels? */
bool cm_chan_is_known(const struct rnic_cm_chan *chan);
/* The epoll descriptor behind the application's numbers; -1: the eventfd is. */
int cm_chan_front(const struct rnic_cm_chan *chan);

#endif

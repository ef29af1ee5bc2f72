/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What comes from processes of this host, for a UD QP. */
#ifndef RNIC_TAKE_H
#define RNIC_TAKE_H

#include "object.h"

/*
 * Takes what is in the socket and in the inbox, as far as there are receives;
 * the rest waits for them, for RNIC_FULL_NS.  The QP may fail; rnic_qp_end()
 * has to follow.
 */
void rnic_ud_take(struct rnic_ud *ud);

/* Some time after a call has failed, or a stranger has passed descriptors: the
 * QP gets its name, and looks at its sockets again. */
void rnic_ud_resume(struct rnic_ud *ud);

/*
 * A stranger has passed descriptors to the waker.  Until they are dropped, the
 * inbox is looked at by a deadline.
 */
void rnic_ud_drop_wakes(struct rnic_ud *ud);

/* As rnic_source_ops.sleep. */
bool rnic_ud_sleep(struct rnic_ud *ud);

#endif

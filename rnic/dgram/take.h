/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What comes from processes of this host, for a UD QP. */
#ifndef RNIC_TAKE_H
#define RNIC_TAKE_H

#include "object.h"

/*
 * Takes what is in the socket and in the inbox, as far as there are receives;
 * the rest waits for them, for RNIC_UD_FULL_NS.  The QP may fail; rnic_qp_end()
 * has to follow.
 */
void rnic_ud_take(struct rnic_ud *ud);

/* The QP is_nameless, and tries to get its name again. */
void rnic_ud_name(struct rnic_ud *ud);

/* As rnic_source_ops.sleep. */
bool rnic_ud_sleep(struct rnic_ud *ud);

#endif

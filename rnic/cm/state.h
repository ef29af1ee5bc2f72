/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The connection manager's lists, and the state of its identities. */
#ifndef RNIC_CM_STATE_H
#define RNIC_CM_STATE_H

#include "object.h"

/* Every change of an identity's state is here.  Under the loop's lock. */
void cm_id_set_state(struct cm_id *id, cm_state state);

/* Forked child.  @keeps_chans: the channels are whole. */
void cm_state_reset(bool keeps_chans);

#endif

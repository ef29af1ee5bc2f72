/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The state of an identity, and what other processes see of it
 * (abi/usiw-res.h).  Locked. */
#ifndef CM_STATE_H
#define CM_STATE_H

#include "object.h"

/* Every change of an identity's state is made here, when the rest of it has
 * changed. */
void cm_id_set_state(struct cm_id *id, cm_state state);

/* Takes a slot, of this process.  Return: false: no memory, and it has the slot
 * from before. */
bool cm_id_show_init(struct cm_id *id);

/* Something but the state has changed. */
void cm_id_show(const struct cm_id *id);

/* The identity is about to be freed. */
void cm_id_show_fini(struct cm_id *id);

#endif

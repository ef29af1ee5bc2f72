/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The connection manager's lists. */
#ifndef RNIC_CM_STATE_H
#define RNIC_CM_STATE_H

#include "object.h"

/* Forked child.  @keeps_chans: the channels are whole. */
void cm_state_reset(bool keeps_chans);

#endif

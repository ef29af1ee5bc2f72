/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Multicast groups of identities for datagrams.  Locked. */
#ifndef RNIC_CM_JOIN_H
#define RNIC_CM_JOIN_H

#include "object.h"

/* NULL: the event is not of a group. */
struct cm_join *cm_join_of(const struct cm_event *event);
/* All of the identity, whose events are gone. */
void cm_joins_free(struct cm_id *id);

#endif

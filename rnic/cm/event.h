/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Events: made, queued on the channel of their identity, taken back. */
#ifndef RNIC_CM_EVENT_H
#define RNIC_CM_EVENT_H

#include "object.h"

/* NULL: out of memory.  Freed by free() until it is posted. */
struct cm_event *cm_event_new(struct cm_id *owner);
/* Queue @event on its owner's channel; cannot fail. */
void cm_event_post(struct cm_event *event, enum rnic_cm_event_type type,
		   int status);
/* Out of the queue; the count in the eventfd is the caller's to mend. */
void cm_event_unlink(struct rnic_cm_chan *chan, struct cm_event *event);
/* Take a queued event back, its count in the eventfd included. */
void cm_event_remove(struct rnic_cm_chan *chan, struct cm_event *event);
/* Move what @id owns from its channel to another. */
void cm_event_migrate(struct cm_id *id, struct rnic_cm_chan *to);

#endif

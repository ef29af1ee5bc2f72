/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Events: made, queued on the channel of their identity, removed. */
#ifndef RNIC_CM_EVENT_H
#define RNIC_CM_EVENT_H

#include "object.h"

/* NULL: out of memory.  Freed by free() until it is posted. */
struct cm_event *cm_event_new(struct cm_id *owner);
/* Queues @event on its owner's channel. Cannot fail. */
void cm_event_post(struct cm_event *event, enum rnic_cm_event_type type,
		   int status);
/* Removes it from the queue. The caller must correct the count in the
 * eventfd. */
void cm_event_unlink(struct rnic_cm_chan *chan, struct cm_event *event);
/* Removes a queued event, and its count in the eventfd. */
void cm_event_remove(struct rnic_cm_chan *chan, struct cm_event *event);
/* Moves the events of @id from its channel to another. */
void cm_event_migrate(struct cm_id *id, struct rnic_cm_chan *to);

#endif

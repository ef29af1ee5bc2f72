/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A context: the object of one ibv_open_device(). It owns the ring memory, the
 * MR table, the engine and the channel of asynchronous events.
 */
#ifndef RNIC_CONTEXT_H
#define RNIC_CONTEXT_H

#include "object.h"

/* Queues an asynchronous event of @type for @element on the context. */
void rnic_context_event(struct rnic_context *ctx, struct rnic_chan_node *node,
			enum usiw_async_type type, uint64_t element);

/* The engine of the context is broken: raises DEVICE_FATAL, once. Any
 * thread. */
void rnic_context_fatal(struct rnic_context *ctx);

/*
 * Takes a slot for the domain, of this process.  Others see it from then on.
 * Return: false: no memory.
 */
bool rnic_pd_show(struct rnic_pd *pd) __attribute__((warn_unused_result));

#endif

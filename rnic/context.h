/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A context: what one ibv_open_device() makes.  It owns the ring memory, the
 * MR table, the engine and the channel of asynchronous events.
 */
#ifndef RNIC_CONTEXT_H
#define RNIC_CONTEXT_H

#include "os/chan.h"
#include "mr.h"
#include "port.h"
#include "rnic.h"
#include "os/shm.h"

struct rnic_engine;

struct rnic_context {
	_Atomic uint32_t fork_gen; /* whose life its parts are of */
	struct rnic_device *dev;
	struct rnic_engine *engine;
	struct rnic_chan *async;
	struct rnic_shm shm;
	struct rnic_mr_table mrs;
	struct rnic_port port;
	_Atomic bool is_fatal; /* and has been told */
	struct rnic_chan_node fatal_node;
	struct rnic_context *next; /* list of all contexts, for exit */
	struct rnic_qp *forgotten; /* by the application, at the end */
};

/* Queue an asynchronous event of @type for @element on the context. */
void rnic_context_event(struct rnic_context *ctx, struct rnic_chan_node *node,
			enum usiw_async_type type, uint64_t element);

/* What serves the context is broken: DEVICE_FATAL, once.  Any thread. */
void rnic_context_fatal(struct rnic_context *ctx);

#endif

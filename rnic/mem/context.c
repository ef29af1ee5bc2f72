/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Contexts: their asynchronous events, and whether they are the parent's. */
#include "context.h"

void rnic_context_event(struct rnic_context *ctx, struct rnic_chan_node *node,
			enum usiw_async_type type, uint64_t element)
{
	struct usiw_async_event record = {
		.element = element,
		.event_type = type,
	};

	rnic_chan_post(ctx->async, node, &record, sizeof(record));
}

void rnic_context_fatal(struct rnic_context *ctx)
{
	/* relaxed: it only matters which thread is first */
	if (!atomic_exchange_explicit(&ctx->is_fatal, true,
				      memory_order_relaxed))
		rnic_context_event(ctx, &ctx->fatal_node,
				   USIW_EVENT_DEVICE_FATAL, 0);
}

bool rnic_context_is_forked(const struct rnic_context *ctx)
{
	/* acquire: pairs with the release in rnic_context_enter() */
	return atomic_load_explicit(&ctx->fork_gen, memory_order_acquire) !=
	       rnic_fork_gen();
}

int rnic_context_async_fd(const struct rnic_context *ctx)
{
	return rnic_chan_fd(ctx->async);
}

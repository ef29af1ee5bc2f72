/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Contexts and protection domains: asynchronous events, and whether they are
 * the parent's. */
#include "context.h"

#include <errno.h>
#include <stdlib.h>

#include "util/reason.h"

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

/* ---- protection domains -------------------------------------------------- */

bool rnic_pd_show(struct rnic_pd *pd)
{
	struct usiw_res_pd *res = rnic_res_take(USIW_RES_PD, 0);

	if (!res)
		return false;
	res->context = pd->ctx->res->head.id;
	rnic_res_close(&res->head);
	pd->res = res;
	return true;
}

uint32_t rnic_pd_num(const struct rnic_pd *pd)
{
	return pd->res->head.id;
}

#define ALLOC "ibv_alloc_pd"

int rnic_pd_alloc(struct rnic_context *ctx, struct rnic_pd **ret_pd)
{
	struct rnic_mr_table *table = &ctx->mrs;
	struct rnic_pd *pd;
	int ret;

	if (atomic_fetch_add_explicit(&table->pd_cnt, 1,
				      memory_order_relaxed) >=
	    rnic_limits()->max_pd) {
		ret = util_refuse("verbs", ENOMEM, ALLOC,
				  "%u protection domains exist, and there may "
				  "be no more",
				  rnic_limits()->max_pd);
		goto give_back;
	}
	pd = calloc(1, sizeof(*pd));
	if (!pd) {
		ret = util_refuse_memory("verbs", ALLOC);
		goto give_back;
	}
	pd->ctx = ctx;
	atomic_init(&pd->fork_gen, rnic_fork_gen());
	if (!rnic_pd_show(pd)) {
		free(pd);
		ret = util_refuse_memory("verbs", ALLOC);
		goto give_back;
	}
	*ret_pd = pd;
	return 0;

give_back:
	atomic_fetch_sub_explicit(&table->pd_cnt, 1, memory_order_relaxed);
	return ret;
}

bool rnic_pd_is_forked(const struct rnic_pd *pd)
{
	/* acquire: pairs with the release in rnic_pd_enter() */
	return atomic_load_explicit(&pd->fork_gen, memory_order_acquire) !=
	       rnic_fork_gen();
}

int rnic_pd_free(struct rnic_pd *pd)
{
	if (rnic_pd_is_forked(pd))
		return -ENODEV;
	/* acquire: pairs with the release of the last user's decrement */
	if (atomic_load_explicit(&pd->user_cnt, memory_order_acquire) != 0)
		return util_refuse("verbs", EBUSY, "ibv_dealloc_pd",
				   "objects that were made on it exist");
	atomic_fetch_sub_explicit(&pd->ctx->mrs.pd_cnt, 1,
				  memory_order_relaxed);
	rnic_res_give(USIW_RES_PD, pd->res);
	free(pd);
	return 0;
}

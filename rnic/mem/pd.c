/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Protection domains.  Their calls are declared in rnic.h. */
#include "object.h"

#include <errno.h>
#include <stdlib.h>

int rnic_pd_alloc(struct rnic_context *ctx, struct rnic_pd **ret_pd)
{
	struct rnic_mr_table *table = &ctx->mrs;
	struct rnic_pd *pd;

	if (atomic_fetch_add_explicit(&table->pd_cnt, 1,
				      memory_order_relaxed) >=
	    rnic_limits()->max_pd)
		goto give_back;
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		goto give_back;
	pd->ctx = ctx;
	atomic_init(&pd->fork_gen, rnic_fork_gen());
	*ret_pd = pd;
	return 0;

give_back:
	atomic_fetch_sub_explicit(&table->pd_cnt, 1, memory_order_relaxed);
	return -ENOMEM;
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
		return -EBUSY;
	atomic_fetch_sub_explicit(&pd->ctx->mrs.pd_cnt, 1,
				  memory_order_relaxed);
	free(pd);
	return 0;
}

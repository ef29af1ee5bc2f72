/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Contexts: opened, closed, and drained when the process exits. */
#include "context.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "../util/log.h"

#include "cm.h"
#include "device.h"
#include "dm.h"
#include "engine.h"
#include "fd.h"
#include "null-mr.h"
#include "qp.h"
#include "oob.h"
#include "stat.h"

#define EXIT_TRY_CNT 1000

static struct util_lock list_lock = UTIL_LOCK_INIT(UTIL_RANK_DEVICE);
static struct rnic_context *contexts;  /* guarded by list_lock */
static struct rnic_context *abandoned; /* closed with queues in them */

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
	/* relaxed: only who is first matters */
	if (!atomic_exchange_explicit(&ctx->is_fatal, true,
				      memory_order_relaxed))
		rnic_context_event(ctx, &ctx->fatal_node,
				   USIW_EVENT_DEVICE_FATAL, 0);
}

/* @async_fd: inherited, to have the new channel behind it; -1: a new one. */
static int context_start(struct rnic_context *ctx, int async_fd)
{
	int rc;

	rnic_shm_init(&ctx->shm);
	rc = rnic_mr_table_init(&ctx->mrs);
	if (rc < 0)
		return rc;
	rc = async_fd < 0 ? rnic_chan_new(sizeof(struct usiw_async_event),
					  &ctx->async)
			  : rnic_chan_renew(sizeof(struct usiw_async_event),
					    async_fd, &ctx->async);
	if (rc < 0)
		goto fini_mrs;
	rc = rnic_engine_new(&ctx->engine);
	if (rc < 0)
		goto close_async;
	ctx->engine->ctx = ctx;
	return 0;
close_async:
	rnic_chan_close(ctx->async);
fini_mrs:
	rnic_mr_table_fini(&ctx->mrs);
	return rc;
}

int rnic_context_open(struct rnic_device *dev, struct rnic_context **ret_ctx)
{
	struct rnic_context *ctx;
	int rc;

	if (!rnic_fdtab())
		return -ENOMEM;
	rnic_stat_init();
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return -ENOMEM;
	ctx->dev = dev;
	atomic_init(&ctx->fork_gen, rnic_fork_gen());
	rc = context_start(ctx, -1);
	if (rc < 0) {
		free(ctx);
		return rc;
	}
	util_lock(&list_lock);
	ctx->next = contexts;
	contexts = ctx;
	util_unlock(&list_lock);
	rnic_port_watch(ctx);
	*ret_ctx = ctx;
	return 0;
}

/* ---- in a forked child --------------------------------------------------- */

bool rnic_context_is_forked(const struct rnic_context *ctx)
{
	/* acquire: pairs with the release in rnic_context_enter() */
	return atomic_load_explicit(&ctx->fork_gen, memory_order_acquire) !=
	       rnic_fork_gen();
}

/*
 * The parent's parts stay where they lie: their fds and mappings have gone with
 * the fork, and what holds their locks is not here.
 */
static int context_renew(struct rnic_context *ctx)
{
	struct rnic_chan *inherited = ctx->async;
	int rc;

	rnic_stat_init();
	rc = context_start(ctx, rnic_chan_fd(inherited));
	if (rc < 0) {
		ctx->async = inherited;
		return rc;
	}
	memset(&ctx->port, 0, sizeof(ctx->port));
	memset(&ctx->fatal_node, 0, sizeof(ctx->fatal_node));
	atomic_store_explicit(&ctx->is_fatal, false, memory_order_relaxed);
	ctx->forgotten = NULL;
	ctx->next = contexts;
	contexts = ctx;
	rnic_port_watch(ctx);
	/* release: all of it before the sign that it is there */
	atomic_store_explicit(&ctx->fork_gen, rnic_fork_gen(),
			      memory_order_release);
	return 0;
}

int rnic_context_enter(struct rnic_context *ctx)
{
	int rc = 0;

	if (!rnic_context_is_forked(ctx))
		return 0;
	util_lock(&list_lock);
	if (rnic_context_is_forked(ctx))
		rc = context_renew(ctx);
	util_unlock(&list_lock);
	if (rc < 0)
		util_err("rnic", "%s: cannot be used after fork: %s",
			 ctx->dev->name, strerror(-rc));
	return rc;
}

void rnic_context_lock_list(void)
{
	util_lock(&list_lock);
}

void rnic_context_unlock_list(void)
{
	util_unlock(&list_lock);
}

/* ---- the end ------------------------------------------------------------- */

int rnic_context_async_fd(const struct rnic_context *ctx)
{
	return rnic_chan_fd(ctx->async);
}

static void context_unlist(const struct rnic_context *ctx)
{
	struct rnic_context **link = &contexts;

	util_lock(&list_lock);
	while (*link && *link != ctx)
		link = &(*link)->next;
	if (*link)
		*link = ctx->next;
	util_unlock(&list_lock);
}

/*
 * Queues are left in it, and perhaps a thread that polls one, or whose lead
 * will never be given back: librdmacm closes its devices while the process
 * exits and other threads run.  Memory stays.
 */
static void context_abandon(struct rnic_context *ctx)
{
	util_lock(&list_lock);
	ctx->next = abandoned;
	abandoned = ctx;
	util_unlock(&list_lock);
}

void rnic_context_close(struct rnic_context *ctx)
{
	struct rnic_qp *qp;

	if (!ctx)
		return;
	context_unlist(ctx);
	rnic_port_unwatch(ctx);
	ctx->forgotten = rnic_qp_table_forget(ctx);
	for (qp = ctx->forgotten; qp; qp = qp->table_next)
		rnic_oob_cancel(qp);
	if (!rnic_engine_stop(ctx->engine) || !rnic_shm_is_empty(&ctx->shm)) {
		context_abandon(ctx);
		return;
	}
	rnic_engine_free(ctx->engine);
	rnic_null_mr_fini(&ctx->mrs);
	rnic_dm_fini(&ctx->mrs);
	rnic_mr_table_fini(&ctx->mrs);
	(void)rnic_chan_purge(ctx->async, &ctx->fatal_node);
	rnic_chan_close(ctx->async);
	rnic_shm_fini(&ctx->shm);
	free(ctx);
}

void rnic_context_fork_child(void)
{
	util_lock_init(&list_lock, UTIL_RANK_DEVICE);
	contexts = NULL;
	abandoned = NULL;
}

/*
 * The process exits with contexts open: let the streams finish, so that what
 * was reported complete arrives.  Nothing is freed: other threads may still
 * run.
 */
__attribute__((destructor)) static void contexts_exit(void)
{
	struct rnic_context *ctx;
	int tries = EXIT_TRY_CNT;

	rnic_cm_exit();
	/* Not for ever: a signal handler may exit in the midst of anything. */
	while (!util_trylock(&list_lock)) {
		if (--tries == 0)
			return;
		sched_yield();
	}
	ctx = contexts;
	contexts = NULL;
	util_unlock(&list_lock);
	for (; ctx; ctx = ctx->next)
		(void)rnic_engine_drain(ctx->engine);
}

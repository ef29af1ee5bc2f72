/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Contexts and QPs begin and end, and the process forks and exits: what
 * concerns several modules.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/log.h"
#include "util/reason.h"
#include "cm/fork.h"
#include "dev/device.h"
#include "dgram/group.h"
#include "dgram/ud.h"
#include "dgram/udp.h"
#include "engine/engines.h"
#include "fault-time.h"
#include "fault/rules.h"
#include "local/local.h"
#include "loop/loop.h"
#include "mem/context.h"
#include "mem/dm.h"
#include "mem/mr-table.h"
#include "mem/null-mr.h"
#include "oob/oob.h"
#include "os/fd.h"
#include "os/guard.h"
#include "os/netif-cache.h"
#include "os/observer.h"
#include "os/resource.h"
#include "os/stat.h"
#include "os/stranger.h"
#include "port.h"
#include "qp/modify.h"
#include "qp/qp-table.h"
#include "qp/qp.h"
#include "start/start.h"
#include "stream/transport.h"

/* Guards what a forked child makes anew of inherited objects, too. */
static struct util_lock list_lock = UTIL_LOCK_INIT(UTIL_RANK_DEVICE);
static struct rnic_context *contexts;  /* guarded by list_lock */
static struct rnic_context *abandoned; /* closed with queues in them */

/* ---- engines ------------------------------------------------------------- */

static void engine_broken(struct rnic_engine *engine)
{
	rnic_context_fatal(engine->ctx);
	rnic_qp_table_ctx_gone(engine->ctx);
	rnic_engines_flush(&engine->ctx->engines);
}

static void engine_all_due(struct rnic_engine *engine)
{
	rnic_engines_lead(engine->engines);
	rnic_engines_unlead(engine->engines);
}

static const struct rnic_engine_ops engine_ops = {
	.wake = rnic_local_wake_fd,
	.broken = engine_broken,
	.all_due = engine_all_due,
};

/* ---- contexts ------------------------------------------------------------ */

/* One allocation: a context, and what it knows of its port. */
struct context_whole {
	struct rnic_context ctx;
	struct rnic_port port;
};

/* Locked. */
static int context_show(struct rnic_context *ctx)
{
	struct usiw_res_context *res;
	int rc = rnic_device_show(ctx->dev);

	if (rc < 0)
		return rc;
	res = rnic_res_take(USIW_RES_CONTEXT, 0);
	if (!res)
		return -ENOMEM;
	res->device = ctx->dev->num;
	res->engine_cnt = rnic_engines_cnt(&ctx->engines);
	rnic_res_close(&res->head);
	ctx->res = res;
	return 0;
}

/* Locked.  @async_fd: inherited, to have the new channel behind it; -1: a new
 * one. */
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
	rc = rnic_engines_init(&ctx->engines, &engine_ops, ctx);
	if (rc < 0)
		goto close_async;
	rc = context_show(ctx);
	if (rc < 0)
		goto free_engines;
	ctx->engine = rnic_engines_at(&ctx->engines, 0);
	return 0;
free_engines:
	rnic_engines_free(&ctx->engines);
close_async:
	rnic_chan_close(ctx->async);
fini_mrs:
	rnic_mr_table_fini(&ctx->mrs);
	return rc;
}

int rnic_context_open(struct rnic_device *dev, struct rnic_context **ret_ctx)
{
	struct context_whole *whole;
	struct rnic_context *ctx;
	int rc;

	if (!rnic_fdtab())
		return -ENOMEM;
	rnic_observer_start();
	rnic_fault_start();
	whole = calloc(1, sizeof(*whole));
	if (!whole)
		return -ENOMEM;
	ctx = &whole->ctx;
	ctx->port = &whole->port;
	ctx->dev = dev;
	atomic_init(&ctx->fork_gen, rnic_fork_gen());
	util_lock(&list_lock);
	rc = context_start(ctx, -1);
	if (rc == 0) {
		ctx->next = contexts;
		contexts = ctx;
	}
	util_unlock(&list_lock);
	if (rc < 0) {
		free(whole);
		return rc;
	}
	rnic_port_watch(ctx);
	rnic_fault_time_start();
	*ret_ctx = ctx;
	return 0;
}

/* ---- in a forked child --------------------------------------------------- */

/*
 * The parent's parts stay where they lie: their fds and mappings have gone with
 * the fork, and what holds their locks is not here.
 */
static int context_renew(struct rnic_context *ctx)
{
	struct rnic_chan *inherited = ctx->async;
	int rc;

	rnic_observer_start();
	rnic_fault_start();
	rc = context_start(ctx, rnic_chan_fd(inherited));
	if (rc < 0) {
		ctx->async = inherited;
		return rc;
	}
	memset(ctx->port, 0, sizeof(*ctx->port));
	memset(&ctx->fatal_node, 0, sizeof(ctx->fatal_node));
	atomic_store_explicit(&ctx->is_fatal, false, memory_order_relaxed);
	ctx->forgotten = NULL;
	ctx->next = contexts;
	contexts = ctx;
	rnic_port_watch(ctx);
	rnic_fault_time_start();
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

/* What the parent has made on it is not here. */
int rnic_pd_enter(struct rnic_pd *pd, _Atomic uint32_t *user_cnt)
{
	int ret;

	if (!rnic_pd_is_forked(pd))
		return 0;
	ret = rnic_context_enter(pd->ctx);
	if (ret < 0)
		return ret;
	util_lock(&list_lock);
	if (rnic_pd_is_forked(pd) && !rnic_pd_show(pd)) {
		ret = -ENOMEM;
	} else if (rnic_pd_is_forked(pd)) {
		atomic_store_explicit(&pd->user_cnt, 0, memory_order_relaxed);
		atomic_store_explicit(user_cnt, 0, memory_order_relaxed);
		atomic_fetch_add_explicit(&pd->ctx->mrs.pd_cnt, 1,
					  memory_order_relaxed);
		/* release: the counts before it */
		atomic_store_explicit(&pd->fork_gen, rnic_fork_gen(),
				      memory_order_release);
	}
	util_unlock(&list_lock);
	return ret;
}

/* ---- the end ------------------------------------------------------------- */

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
 * Queues are left in it, and perhaps a thread that polls one, or a lead that
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
	if (!rnic_engines_stop(&ctx->engines) ||
	    !rnic_shm_is_empty(&ctx->shm)) {
		context_abandon(ctx);
		return;
	}
	rnic_group_forget(ctx);
	rnic_udp_forget(&ctx->engines);
	rnic_engines_free(&ctx->engines);
	rnic_null_mr_fini(&ctx->mrs);
	rnic_dm_fini(&ctx->mrs);
	rnic_mr_table_fini(&ctx->mrs);
	(void)rnic_chan_purge(ctx->async, &ctx->fatal_node);
	rnic_chan_close(ctx->async);
	rnic_shm_fini(&ctx->shm);
	rnic_res_give(USIW_RES_CONTEXT, ctx->res);
	free((struct context_whole *)ctx);
}

/* Streams end in order, within their limit.  Nothing is freed: other threads
 * may still run. */
static void contexts_drain(void)
{
	struct rnic_context *ctx;

	/* A signal handler may exit in the midst of anything. */
	if (!util_trylock_often(&list_lock))
		return;
	ctx = contexts;
	contexts = NULL;
	util_unlock(&list_lock);
	for (; ctx; ctx = ctx->next)
		(void)rnic_engines_drain(&ctx->engines);
}

/* ---- QPs ----------------------------------------------------------------- */

/* What takes the messages of each type of QP to its peer. */
static const struct rnic_transport *const transports[] = {
	[RNIC_QPT_RC] = &rnic_stream_transport,
	[RNIC_QPT_UD] = &rnic_ud_transport,
	[RNIC_QPT_UC] = &rnic_stream_lossy_transport,
};

int rnic_qp_create(struct rnic_pd *pd, struct rnic_qp_options *opt,
		   struct rnic_qp **ret_qp)
{
	int rc = rnic_qp_new(pd, opt, transports[opt->type], ret_qp);

	if (rc < 0 || opt->type != RNIC_QPT_UD)
		return rc;
	rc = rnic_udp_get((*ret_qp)->engine);
	if (rc == 0)
		return 0;
	rnic_qp_retire(*ret_qp);
	(void)rnic_qp_free(*ret_qp);
	return util_refuse("verbs", -rc, "ibv_create_qp",
			   "the process gets no socket for datagrams, or no "
			   "memory");
}

int rnic_qp_modify(struct rnic_qp *qp, enum rnic_qp_state state)
{
	/* Before the lead: no stream comes any more. */
	if (state == RNIC_QPS_IDLE || state == RNIC_QPS_ERROR)
		rnic_oob_cancel(qp);
	return rnic_qp_change(qp, state);
}

void rnic_qp_retire(struct rnic_qp *qp)
{
	if (qp->is_retired)
		return;
	rnic_oob_cancel(qp);
	rnic_qp_leave(qp);
}

int rnic_qp_destroy(struct rnic_qp *qp, uint32_t *ret_async_events)
{
	bool is_ud = qp->transport->type == RNIC_QPT_UD;

	rnic_qp_retire(qp);
	if (is_ud) {
		rnic_group_leave_all(qp->num);
		rnic_udp_put(qp->engine);
	}
	*ret_async_events = rnic_qp_free(qp);
	return 0;
}

/* ---- the process --------------------------------------------------------- */

/* In which order the modules are told of a fork.  The child's sockets are
 * closed already, and it has one thread; the parent's contexts are not its to
 * close. */
static void process_child(struct util_fdtab *tab)
{
	rnic_guard_fork_child();
	rnic_stranger_fork_child();
	rnic_netif_fork_child();
	rnic_netif_cache_fork_child();
	rnic_stat_fork_child();
	rnic_observer_fork_child();
	rnic_res_fork_child();
	rnic_fault_fork_child();
	rnic_cm_fork_child(tab);
	rnic_oob_fork_child();
	rnic_starts_fork_child();
	rnic_udp_fork_child();
	rnic_group_fork_child();
	rnic_port_fork_child();
	rnic_fault_time_fork_child();
	rnic_qp_table_fork_child();
	util_lock_init(&list_lock, UTIL_RANK_DEVICE);
	contexts = NULL;
	abandoned = NULL;
	rnic_device_fork_child();
}

static const struct rnic_fork process_fork = {
	.prepare = rnic_cm_fork_prepare,
	.parent = rnic_cm_fork_parent,
	.keep = rnic_cm_fork_keep,
	.child = process_child,
};

__attribute__((constructor)) static void process_start(void)
{
	rnic_fd_on_fork(&process_fork);
}

/*
 * The process exits with contexts open: let connections end in order, and the
 * streams finish, so that what was reported complete arrives.
 */
__attribute__((destructor)) static void process_exit(void)
{
	rnic_loop_stop();
	contexts_drain();
	rnic_netif_end();
	rnic_fault_end();
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory windows: made, bound, checked, invalidated. */
#include "mw.h"

#include "util/reason.h"
#include "engine/engine.h"
#include "engine/engines.h"

#include <errno.h>
#include <stdlib.h>

#define MW_ACCESS_KNOWN (RNIC_MR_ACCESS_REMOTE | RNIC_ACCESS_ZERO_BASED)
#define MW_ACCESS_WRITES (RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_ATOMIC)

static struct rnic_mw *mw_of(struct rnic_mr *win)
{
	return (struct rnic_mw *)win;
}

static void mr_set_invalid(struct rnic_mr *mr, bool is_invalid)
{
	/* relaxed: a reader holds a lead.  Only its binder's engine may use a
	 * window of type 2; all else is changed under all leads. */
	atomic_store_explicit(&mr->is_invalidated, is_invalid,
			      memory_order_relaxed);
}

#define ALLOC "ibv_alloc_mw"

int rnic_mw_alloc(struct rnic_pd *pd, enum rnic_mw_type type,
		  struct rnic_mw **ret_mw)
{
	struct rnic_mw *mw;
	int ret;

	if (rnic_pd_is_forked(pd))
		return -ENODEV;
	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return util_refuse_memory("verbs", ALLOC);
	mw->type = type;
	mw->win.kind = RNIC_MR_WINDOW;
	mw->win.home = pd;
	mw->win.fork_gen = rnic_fork_gen();
	mr_set_invalid(&mw->win, true);
	ret = rnic_mr_table_add(&pd->ctx->mrs, ALLOC, &mw->win);
	if (ret < 0) {
		free(mw);
		return ret;
	}
	atomic_fetch_add_explicit(&pd->user_cnt, 1, memory_order_relaxed);
	*ret_mw = mw;
	return 0;
}

uint32_t rnic_mw_stag(const struct rnic_mw *mw)
{
	return mw->win.stag;
}

static struct rnic_mw_owner *mw_owner(const struct rnic_mw *mw)
{
	/* relaxed: compared, or the caller is under the lead of its engine */
	return atomic_load_explicit(&mw->owner, memory_order_relaxed);
}

static void mw_set_owner(struct rnic_mw *mw, struct rnic_mw_owner *owner)
{
	atomic_store_explicit(&mw->owner, owner, memory_order_relaxed);
}

/* Under all leads; a window of type 2: under that of its owner's engine, which
 * alone has streams that use it. */
static void mw_unbind(struct rnic_mw *mw)
{
	struct rnic_mr *win = &mw->win;
	struct rnic_mw_owner *owner = mw_owner(mw);

	if (!mw->mr)
		return;
	mr_set_invalid(win, true);
	rnic_mr_show(win);
	atomic_fetch_sub_explicit(&mw->mr->mw_cnt, 1, memory_order_relaxed);
	mw->mr = NULL;
	if (owner) {
		LIST_REMOVE(mw, link);
		mw_set_owner(mw, NULL);
	}
	/* It is not found any more; a stream may have found it before. */
	if (owner)
		rnic_engine_mr_gone(owner->engine, win->stag, win->addr,
				    win->len);
	else
		rnic_engines_mr_gone(&win->home->ctx->engines, win->stag,
				     win->addr, win->len);
}

int rnic_mw_dealloc(struct rnic_mw *mw)
{
	struct rnic_pd *pd = mw->win.home;

	if (mw->win.fork_gen != rnic_fork_gen())
		return -ENODEV;
	rnic_engines_lead(&pd->ctx->engines);
	mw_unbind(mw);
	rnic_mr_table_remove(&pd->ctx->mrs, &mw->win);
	rnic_engines_unlead(&pd->ctx->engines);
	/* release: pairs with the acquire in rnic_pd_free() */
	atomic_fetch_sub_explicit(&pd->user_cnt, 1, memory_order_release);
	free(mw);
	return 0;
}

/* ---- binding ------------------------------------------------------------ */

/* The region that @bind wants, and where in it; NULL: it may not. */
static struct rnic_mr *bind_region(struct rnic_mw_owner *owner,
				   const struct rnic_mw_bind *bind,
				   void **ret_ptr)
{
	struct rnic_mr *mr =
		rnic_mr_table_lookup(&owner->pd->ctx->mrs, bind->lkey);

	/* Only regions have a domain there. */
	if (!mr || mr->pd != owner->pd)
		return NULL;
	if (!(mr->access & RNIC_ACCESS_MW_BIND) ||
	    (bind->access & ~(uint64_t)MW_ACCESS_KNOWN))
		return NULL;
	if (bind->access & MW_ACCESS_WRITES &&
	    !(mr->access & RNIC_ACCESS_LOCAL_WRITE))
		return NULL;
	if (rnic_mr_check(mr, bind->addr, bind->len, 0, ret_ptr) != RNIC_MR_OK)
		return NULL;
	return mr;
}

static void mw_set(struct rnic_mw *mw, struct rnic_mw_owner *owner,
		   struct rnic_mr *mr, const struct rnic_mw_bind *bind,
		   void *ptr)
{
	mw->mr = mr;
	atomic_fetch_add_explicit(&mr->mw_cnt, 1, memory_order_relaxed);
	mw->win.addr = ptr;
	mw->win.len = bind->len;
	mw->win.access = (uint32_t)bind->access;
	mw->win.iova = bind->access & RNIC_ACCESS_ZERO_BASED ? 0 : bind->addr;
	if (mw->type == RNIC_MW_TYPE_2) {
		mw_set_owner(mw, owner);
		LIST_INSERT_HEAD(&owner->windows, mw, link);
	}
	mr_set_invalid(&mw->win, false);
}

bool rnic_mw_bind(struct rnic_mw_owner *owner, const struct rnic_mw_bind *bind)
{
	struct rnic_mr_table *table = &owner->pd->ctx->mrs;
	struct rnic_mr *win = rnic_mr_table_entry(table, bind->stag >> 8);
	struct rnic_mr *mr = NULL;
	struct rnic_mw *mw;
	void *ptr = NULL;

	if (!win || win->kind != RNIC_MR_WINDOW || win->home != owner->pd)
		return false;
	mw = mw_of(win);
	/* InfiniBand verbs: type 2 has to be free, and is freed otherwise. */
	if (mw->type == RNIC_MW_TYPE_2 && (mw->mr || !bind->len))
		return false;
	if (bind->len) {
		mr = bind_region(owner, bind, &ptr);
		if (!mr)
			return false;
	}
	mw_unbind(mw);
	rnic_mr_rekey(win, (uint8_t)(bind->stag & RNIC_MR_KEY_MASK));
	if (mr)
		mw_set(mw, owner, mr, bind, ptr);
	rnic_mr_show(win);
	return true;
}

/* ---- invalidation ------------------------------------------------------- */

static enum rnic_access_check mw_invalidate(struct rnic_mw_owner *owner,
					    struct rnic_mr *win)
{
	struct rnic_mw *mw = mw_of(win);

	if (win->home != owner->pd)
		return RNIC_MR_BAD_PD;
	if (mw->type != RNIC_MW_TYPE_2)
		return RNIC_MR_BAD_ACCESS;
	if (mw_owner(mw) != owner)
		return RNIC_MR_BAD_PD;
	mw_unbind(mw);
	return RNIC_MR_OK;
}

enum rnic_access_check rnic_mw_invalidate(struct rnic_mw_owner *owner,
					  uint32_t stag, bool is_remote)
{
	struct rnic_mr *mr = rnic_mr_table_lookup(&owner->pd->ctx->mrs, stag);
	enum rnic_access_check check;

	if (mr && mr->kind == RNIC_MR_WINDOW)
		return mw_invalidate(owner, mr);
	/* RDMAP-74: a region may be in use by every stream of its domain. */
	if (mr && (is_remote || rnic_mr_has_windows(mr)))
		return RNIC_MR_BAD_ACCESS;
	check = rnic_mr_invalidate(&owner->pd->ctx->mrs, owner->pd, stag);
	if (check == RNIC_MR_OK)
		rnic_engines_mr_gone(&owner->pd->ctx->engines, stag, mr->addr,
				     mr->len);
	return check;
}

void rnic_mw_owner_gone(struct rnic_mw_owner *owner)
{
	while (!LIST_EMPTY(&owner->windows))
		mw_unbind(LIST_FIRST(&owner->windows));
}

bool rnic_mw_needs_all(const struct rnic_mw_owner *owner, uint32_t stag,
		       bool is_bind)
{
	struct rnic_mr_table *table = &owner->pd->ctx->mrs;
	struct rnic_mr *mr = rnic_mr_table_entry(table, stag >> 8);

	/* To invalidate a window of type 2 is its binder's own affair. */
	return rnic_engines_is_partial(&owner->pd->ctx->engines) &&
	       (is_bind || (mr && mr->kind != RNIC_MR_WINDOW));
}

/* ---- access check ------------------------------------------------------- */

enum rnic_access_check rnic_mw_resolve_window(const struct rnic_mw_owner *owner,
					      uint32_t stag, uint64_t addr,
					      size_t len, uint32_t access,
					      void **ret_ptr)
{
	struct rnic_mr *win = rnic_mr_table_lookup(&owner->pd->ctx->mrs, stag);

	if (!win || win->kind != RNIC_MR_WINDOW || win->home != owner->pd)
		return RNIC_MR_BAD_PD;
	/* 2B: no other QP, though it may be of the same domain. */
	if (mw_of(win)->type == RNIC_MW_TYPE_2 && mw_owner(mw_of(win)) != owner)
		return RNIC_MR_BAD_PD;
	return rnic_mr_check(win, addr, len, access, ret_ptr);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Protection domains, thread domains, and parent domains, which join the two.
 *
 * For the RNIC a parent domain is the protection domain below it.  The objects
 * made on each domain are counted here, so that no domain ends before them.
 *
 * A parent domain may have allocators for the slots of the queues made on it.
 * They are called without any lock.  A forked child does not call them for
 * queues of its parent, because the memory there depends on the application.
 */
#include <stdlib.h>
#include <unistd.h>

#include "objects.h"
#include "reason.h"
#include "result.h"
#include <infiniband/usiwdv.h>

#define PARENT "ibv_alloc_parent_domain"
#define PD "ibv_alloc_pd"
#define TD "ibv_alloc_td"

void usiw_pd_get(struct usiw_pd *pd)
{
	/* relaxed: the caller has a reference to @pd */
	atomic_fetch_add_explicit(&pd->user_cnt, 1, memory_order_relaxed);
}

void usiw_pd_put(struct usiw_pd *pd)
{
	/* release: pairs with the acquire in pd_close() */
	atomic_fetch_sub_explicit(&pd->user_cnt, 1, memory_order_release);
}

int usiw_pd_enter(struct usiw_pd *pd, const char *call)
{
	int err = usiw_handle_check(&pd->handle, call);

	if (err)
		return err;
	if (!pd->base)
		return rnic_pd_enter(pd->rnic, &pd->user_cnt);
	return usiw_is_forked(pd->fork_gen) ? usiw_refuse_forked(call) : 0;
}

static bool pd_is_forked(const struct usiw_pd *pd)
{
	return pd->base ? usiw_is_forked(pd->fork_gen)
			: rnic_pd_is_forked(pd->rnic);
}

struct ibv_pd *usiw_alloc_pd(struct ibv_context *context)
{
	struct usiw_context *ctx = usiw_context(context);
	struct usiw_pd *pd;
	int err;

	err = usiw_context_enter(ctx);
	if (err)
		return usiw_result_null(err);
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return usiw_result_null(usiw_refuse_memory(PD));
	err = rnic_pd_alloc(ctx->rnic, &pd->rnic);
	if (err) {
		free(pd);
		return usiw_result_null(err);
	}
	pd->pd.context = context;
	pd->pd.handle = rnic_pd_num(pd->rnic);
	usiw_handle_add(&pd->handle, &pd->pd.handle);
	return &pd->pd;
}

static int pd_close(struct usiw_pd *pd)
{
	/* acquire: pairs with the release in usiw_pd_put() */
	uint32_t user_cnt =
		atomic_load_explicit(&pd->user_cnt, memory_order_acquire);

	if (user_cnt)
		return usiw_refuse(EBUSY, "ibv_dealloc_pd",
				   "%u objects that were made on it exist",
				   user_cnt);
	if (!pd->base)
		return rnic_pd_free(pd->rnic);
	usiw_pd_put(pd->base);
	/* release: pairs with the acquire in usiw_dealloc_td() */
	if (pd->td)
		atomic_fetch_sub_explicit(&pd->td->user_cnt, 1,
					  memory_order_release);
	return 0;
}

/* It frees parent domains as well, and inherited objects in any order. */
int usiw_dealloc_pd(struct ibv_pd *ibpd)
{
	struct usiw_pd *pd = usiw_pd(ibpd);
	int err = usiw_handle_check(&pd->handle, "ibv_dealloc_pd");

	if (err)
		return usiw_result_int(err);
	if (!pd_is_forked(pd))
		err = pd_close(pd);
	if (err)
		return usiw_result_int(err);
	usiw_handle_remove(&pd->handle);
	free(pd);
	return 0;
}

struct ibv_td *usiw_alloc_td(struct ibv_context *context,
			     struct ibv_td_init_attr *attr)
{
	struct usiw_td *td;
	int err = usiw_context_enter(usiw_context(context));

	if (err)
		return usiw_result_null(err);
	if (!attr)
		return usiw_result_null(
			usiw_refuse(EINVAL, TD, "attr is NULL"));
	if (attr->comp_mask)
		return usiw_result_null(usiw_refuse(EOPNOTSUPP, TD,
						    "comp_mask is 0x%x, not 0",
						    attr->comp_mask));
	td = calloc(1, sizeof(*td));
	if (!td)
		return usiw_result_null(usiw_refuse_memory(TD));
	td->td.context = context;
	td->fork_gen = rnic_fork_gen();
	usiw_handle_add(&td->handle, NULL);
	return &td->td;
}

int usiw_dealloc_td(struct ibv_td *ibtd)
{
	struct usiw_td *td = usiw_td(ibtd);
	int err = usiw_handle_check(&td->handle, "ibv_dealloc_td");

	if (err)
		return usiw_result_int(err);
	/* acquire: pairs with the release in pd_close() */
	if (!usiw_is_forked(td->fork_gen) &&
	    atomic_load_explicit(&td->user_cnt, memory_order_acquire))
		return usiw_result_int(usiw_refuse(EBUSY, "ibv_dealloc_td",
						   "a parent domain has it"));
	usiw_handle_remove(&td->handle);
	free(td);
	return 0;
}

int usiw_pd_slots_alloc(struct usiw_pd *pd, size_t size, uint64_t type,
			void **ret_slots)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *slots;

	*ret_slots = NULL;
	if (!pd || !pd->alloc)
		return 0;
	/* Whole pages, so that madvise() works, and an allocator that returns
	 * consecutive pieces keeps them aligned. */
	size = (size + page - 1) / page * page;
	slots = pd->alloc(&pd->pd, pd->pd_context, size, page, type);
	if (!slots)
		return usiw_refuse(ENOMEM, "parent domain",
				   "its allocator gives no %zu octets", size);
	if (slots == IBV_ALLOCATOR_USE_DEFAULT)
		return 0;
	if ((uintptr_t)slots % USIW_CACHE_LINE) {
		pd->free(&pd->pd, pd->pd_context, slots, type);
		return usiw_refuse(EINVAL, "parent domain",
				   "its allocator gives memory at %p, which is "
				   "not aligned to %u octets",
				   slots, USIW_CACHE_LINE);
	}
	*ret_slots = slots;
	return 0;
}

void usiw_pd_slots_free(struct usiw_pd *pd, void *slots, uint64_t type)
{
	if (slots)
		pd->free(&pd->pd, pd->pd_context, slots, type);
}

#define PARENT_ATTR_OFFERED                                                    \
	(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |                              \
	 IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT |                              \
	 USIW_PARENT_DOMAIN_ALLOW_CC_UNPROTECTED)

static int parent_attr_check(const struct ibv_context *context,
			     const struct ibv_parent_domain_init_attr *attr)
{
	if (attr->comp_mask & ~(uint32_t)PARENT_ATTR_OFFERED)
		return usiw_refuse(
			EOPNOTSUPP, PARENT, "comp_mask is 0x%x, more than 0x%x",
			attr->comp_mask, (unsigned)PARENT_ATTR_OFFERED);
	if ((attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) &&
	    (!attr->alloc || !attr->free))
		return usiw_refuse(EINVAL, PARENT, "%s is NULL",
				   attr->alloc ? "free" : "alloc");
	if (!attr->pd || attr->pd->context != context)
		return usiw_refuse(EINVAL, PARENT,
				   "pd is none of this context");
	if (attr->td && attr->td->context != context)
		return usiw_refuse(EINVAL, PARENT,
				   "td is none of this context");
	return 0;
}

static void
parent_set_allocators(struct usiw_pd *pd,
		      const struct ibv_parent_domain_init_attr *attr)
{
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		pd->alloc = attr->alloc;
		pd->free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		pd->pd_context = attr->pd_context;
}

/*
 * A parent domain may be made on another one, like on a protection domain.  It
 * inherits only the protection domain.
 */
struct ibv_pd *
usiw_alloc_parent_domain(struct ibv_context *context,
			 struct ibv_parent_domain_init_attr *attr)
{
	struct usiw_pd *pd, *base;
	int err = usiw_context_enter(usiw_context(context));

	if (err)
		return usiw_result_null(err);
	if (!attr)
		return usiw_result_null(
			usiw_refuse(EINVAL, PARENT, "attr is NULL"));
	err = parent_attr_check(context, attr);
	if (err)
		return usiw_result_null(err);
	base = usiw_pd(attr->pd);
	err = usiw_pd_enter(base, PARENT);
	if (!err && attr->td)
		err = usiw_object_enter(&usiw_td(attr->td)->handle,
					&usiw_td(attr->td)->fork_gen, PARENT);
	if (err)
		return usiw_result_null(err);
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return usiw_result_null(usiw_refuse_memory(PARENT));
	pd->pd.context = context;
	pd->rnic = base->rnic;
	pd->fork_gen = rnic_fork_gen();
	pd->base = base;
	parent_set_allocators(pd, attr);
	usiw_pd_get(base);
	if (attr->td) {
		pd->td = usiw_td(attr->td);
		/* relaxed: as in usiw_pd_get() */
		atomic_fetch_add_explicit(&pd->td->user_cnt, 1,
					  memory_order_relaxed);
	}
	pd->pd.handle = rnic_pd_num(pd->rnic);
	usiw_handle_add(&pd->handle, &pd->pd.handle);
	return &pd->pd;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared receive queues; posting to them is in post.c. */
#include <stdlib.h>

#include "util/alloc.h"
#include "objects.h"
#include "reason.h"
#include "result.h"
#include <infiniband/usiwdv.h>

#define CREATE "ibv_create_srq"
#define MODIFY "ibv_modify_srq"

static int srq_attr_check(const struct ibv_srq_attr *attr)
{
	const struct rnic_limits *limits = rnic_limits();
	int err = usiw_check_range(CREATE, "max_wr", attr->max_wr, 1,
				   limits->max_srq_wr);

	/* ibv_create_srq(3): srq_limit is ignored at creation. */
	return err ? err
		   : usiw_check_range(CREATE, "max_sge", attr->max_sge, 0,
				      limits->max_srq_sge);
}

static int srq_new(struct ibv_pd *ibpd, struct ibv_srq_attr *attr,
		   struct usiw_srq **ret_srq)
{
	struct usiw_pd *pd = usiw_pd(ibpd);
	struct rnic_srq_options opt = {
		.max_wr = attr->max_wr,
		.max_sge = attr->max_sge,
	};
	struct usiw_srq *srq;
	int err;

	err = usiw_pd_enter(pd, CREATE);
	if (!err)
		err = srq_attr_check(attr);
	if (err)
		return err;
	srq = util_alloc_lines(1, sizeof(*srq));
	if (!srq)
		return usiw_refuse_memory(CREATE);
	opt.handle = (uintptr_t)&srq->srq;
	err = usiw_pd_slots_alloc(pd,
				  rnic_srq_slots_size(opt.max_wr, opt.max_sge),
				  USIWDV_RES_SRQ, &srq->slots);
	if (err)
		goto free_srq;
	opt.slots = srq->slots;
	err = rnic_srq_create(pd->rnic, &opt, &srq->rnic);
	if (err)
		goto free_slots;
	/* A resize takes the lead while it holds this lock. */
	util_lock_init(&srq->lock, UTIL_RANK_APP);
	srq->is_single = pd->td != NULL;
	srq->pd = pd;
	usiw_pd_get(pd);
	srq->fork_gen = rnic_fork_gen();
	srq->max_sge = opt.max_sge;
	srq->ring = rnic_srq_ring(srq->rnic);
	attr->max_wr = opt.max_wr;
	attr->max_sge = opt.max_sge;
	srq->srq.handle = rnic_srq_num(srq->rnic);
	usiw_handle_add(&srq->handle, &srq->srq.handle);
	*ret_srq = srq;
	return 0;
free_slots:
	usiw_pd_slots_free(pd, srq->slots, USIWDV_RES_SRQ);
free_srq:
	free(srq);
	return err;
}

struct ibv_srq *usiw_create_srq(struct ibv_pd *ibpd,
				struct ibv_srq_init_attr *attr)
{
	struct usiw_srq *srq;
	int err = srq_new(ibpd, &attr->attr, &srq);

	return err ? usiw_result_null(err) : &srq->srq;
}

/* ibv_create_srq() initialises these itself, ibv_create_srq_ex() does not. */
static void srq_init_public(struct ibv_srq *srq,
			    const struct ibv_srq_init_attr_ex *attr)
{
	srq->context = attr->pd->context;
	srq->srq_context = attr->srq_context;
	srq->pd = attr->pd;
	srq->events_completed = 0;
	pthread_mutex_init(&srq->mutex, NULL);
	pthread_cond_init(&srq->cond, NULL);
}

struct ibv_srq *usiw_create_srq_ex(struct ibv_context *context,
				   struct ibv_srq_init_attr_ex *attr)
{
	struct usiw_srq *srq;
	int err;

	if (attr->comp_mask &
	    ~(uint32_t)(IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD))
		return usiw_result_null(
			usiw_refuse(EOPNOTSUPP, CREATE,
				    "comp_mask is 0x%x, with more than "
				    "IBV_SRQ_INIT_ATTR_TYPE and _PD",
				    attr->comp_mask));
	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) &&
	    attr->srq_type != IBV_SRQT_BASIC)
		return usiw_result_null(
			usiw_refuse(EOPNOTSUPP, CREATE,
				    "srq_type is %d, not IBV_SRQT_BASIC",
				    (int)attr->srq_type));
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd ||
	    attr->pd->context != context)
		return usiw_result_null(usiw_refuse(
			EINVAL, CREATE, "there is no PD of this context"));
	err = srq_new(attr->pd, &attr->attr, &srq);
	if (err)
		return usiw_result_null(err);
	srq_init_public(&srq->srq, attr);
	return &srq->srq;
}

/* Checks both changes first, so that either both are made or none. */
static int srq_change_check(const struct usiw_srq *srq,
			    const struct ibv_srq_attr *attr, int mask)
{
	struct rnic_srq_options now;
	int err = 0;

	rnic_srq_query(srq->rnic, &now);
	if (mask & IBV_SRQ_MAX_WR) {
		err = usiw_check_range(MODIFY, "max_wr", attr->max_wr, 1,
				       rnic_limits()->max_srq_wr);
		now.max_wr = attr->max_wr;
	}
	if (mask & IBV_SRQ_LIMIT)
		now.limit = attr->srq_limit;
	return err ? err
		   : usiw_check_range(MODIFY, "srq_limit", now.limit, 0,
				      now.max_wr);
}

static int srq_resize(struct usiw_srq *srq, uint32_t max_wr)
{
	void *slots;
	int err;

	err = usiw_pd_slots_alloc(srq->pd,
				  rnic_srq_slots_size(max_wr, srq->max_sge),
				  USIWDV_RES_SRQ, &slots);
	if (err)
		return err;
	/* The lock keeps posters out.  The resize may wait for the lead; no
	 * thread waits for the lead with an SRQ's lock. */
	usiw_srq_lock(srq);
	err = rnic_srq_resize(srq->rnic, max_wr, slots);
	if (!err) {
		void *old = srq->slots;

		srq->slots = slots;
		slots = old;
	}
	usiw_srq_unlock(srq);
	/* The old slots, or on failure the new ones. */
	usiw_pd_slots_free(srq->pd, slots, USIWDV_RES_SRQ);
	return err;
}

int usiw_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		    int attr_mask)
{
	struct usiw_srq *srq = usiw_srq(ibsrq);
	int err = usiw_object_enter(&srq->handle, &srq->fork_gen, MODIFY);

	if (!err && attr_mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		err = usiw_refuse(EINVAL, MODIFY,
				  "srq_attr_mask is 0x%x, with more than "
				  "IBV_SRQ_MAX_WR and _LIMIT",
				  (unsigned int)attr_mask);
	if (!err)
		err = srq_change_check(srq, attr, attr_mask);
	if (!err && (attr_mask & IBV_SRQ_MAX_WR))
		err = srq_resize(srq, attr->max_wr);
	if (!err && (attr_mask & IBV_SRQ_LIMIT))
		err = rnic_srq_set_limit(srq->rnic, attr->srq_limit);
	return usiw_result_int(err);
}

int usiw_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct usiw_srq *srq = usiw_srq(ibsrq);
	struct rnic_srq_options opt;
	int err = usiw_object_enter(&srq->handle, &srq->fork_gen,
				    "ibv_query_srq");

	if (err)
		return usiw_result_int(err);
	rnic_srq_query(srq->rnic, &opt);
	attr->max_wr = opt.max_wr;
	attr->max_sge = opt.max_sge;
	attr->srq_limit = opt.limit;
	return 0;
}

/* Remaining users are handled as in usiw_destroy_cq(). */
int usiw_destroy_srq(struct ibv_srq *ibsrq)
{
	struct usiw_srq *srq = usiw_srq(ibsrq);
	uint32_t async_events;
	int err = usiw_handle_check(&srq->handle, "ibv_destroy_srq");

	if (err)
		return usiw_result_int(err);
	if (!usiw_is_forked(srq->fork_gen)) {
		err = rnic_srq_destroy(srq->rnic, &async_events);
		if (err)
			return usiw_result_int(err);
		usiw_wait_acks(&ibsrq->mutex, &ibsrq->cond,
			       &ibsrq->events_completed, async_events);
		usiw_pd_slots_free(srq->pd, srq->slots, USIWDV_RES_SRQ);
		usiw_pd_put(srq->pd);
	}
	usiw_handle_remove(&srq->handle);
	free(srq);
	return 0;
}

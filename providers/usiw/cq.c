/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Completion queues: making, arming, ending; polling is in poll.c and
 * cqex.c. */
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "objects.h"
#include "reason.h"
#include "result.h"
#include <infiniband/usiwdv.h>

#define CREATE "ibv_create_cq"
#define RESIZE "ibv_resize_cq"
#define ARM "ibv_req_notify_cq"

/* Makes the CQ of rnic/, on the channel of @channel if there is one. */
static int cq_open(struct usiw_context *ctx, uint32_t cqe,
		   const struct ibv_comp_channel *channel, struct usiw_cq *cq)
{
	struct rnic_chan *chan = NULL;
	int err;

	if (channel) {
		chan = rnic_chan_get_fd(channel->fd);
		if (!chan)
			return usiw_refuse(EINVAL, CREATE,
					   "descriptor %d of the channel is "
					   "none of usiw's",
					   channel->fd);
	}
	err = rnic_cq_create(ctx->rnic, cqe, chan, (uintptr_t)&cq->cq,
			     cq->slots, &cq->rnic);
	if (chan)
		rnic_chan_put(chan);
	return err;
}

int usiw_cq_new(struct ibv_context *context, uint32_t cqe,
		const struct ibv_comp_channel *channel, uint32_t comp_vector,
		struct usiw_pd *pd, struct usiw_cq **ret_cq)
{
	struct usiw_context *ctx = usiw_context(context);
	struct usiw_cq *cq;
	int err;

	err = usiw_context_enter(ctx);
	if (!err && pd)
		err = usiw_pd_enter(pd, CREATE);
	if (err)
		return err;
	err = usiw_check_range(CREATE, "cqe", cqe, 1, rnic_limits()->max_cqe);
	if (!err)
		err = usiw_check_range(CREATE, "comp_vector", comp_vector, 0,
				       (uint32_t)context->num_comp_vectors - 1);
	if (err)
		return err;
	cq = util_alloc_lines(1, sizeof(*cq));
	if (!cq)
		return usiw_refuse_memory(CREATE);
	err = usiw_pd_slots_alloc(pd, rnic_cq_slots_size(cqe), USIWDV_RES_CQ,
				  &cq->slots);
	if (err)
		goto free_cq;
	err = cq_open(ctx, cqe, channel, cq);
	if (err)
		goto free_slots;
	cq->pd = pd;
	if (pd)
		usiw_pd_get(pd);
	util_lock_init(&cq->lock, UTIL_RANK_APP);
	cq->fork_gen = rnic_fork_gen();
	cq->ring = rnic_cq_ring(cq->rnic);
	cq->cq.cqe = (int)cq->ring->depth;
	cq->cq.handle = rnic_cq_num(cq->rnic);
	usiw_handle_add(&cq->handle, &cq->cq.handle);
	*ret_cq = cq;
	return 0;
free_slots:
	usiw_pd_slots_free(pd, cq->slots, USIWDV_RES_CQ);
free_cq:
	free(cq);
	return err;
}

struct ibv_cq *usiw_create_cq(struct ibv_context *context, int cqe,
			      struct ibv_comp_channel *channel, int comp_vector)
{
	struct usiw_cq *cq;
	int err;

	/* Negative ones are too large as unsigned. */
	err = usiw_cq_new(context, (uint32_t)cqe, channel,
			  (uint32_t)comp_vector, NULL, &cq);
	return err ? usiw_result_null(err) : &cq->cq;
}

int usiw_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct usiw_cq *cq = usiw_cq(ibcq);
	void *slots;
	int err = usiw_object_enter(&cq->handle, &cq->fork_gen, RESIZE);

	/* Negative ones are too large as unsigned. */
	if (!err)
		err = usiw_check_range(RESIZE, "cqe", (uint32_t)cqe, 1,
				       rnic_limits()->max_cqe);
	if (err)
		return usiw_result_int(err);
	err = usiw_pd_slots_alloc(cq->pd, rnic_cq_slots_size((uint32_t)cqe),
				  USIWDV_RES_CQ, &slots);
	if (err)
		return usiw_result_int(err);
	/* The lock keeps pollers out while the slots move.  rnic_cq_resize()
	 * may wait for the lead; no thread waits for the lead with a CQ's
	 * lock. */
	usiw_cq_lock(cq);
	err = rnic_cq_resize(cq->rnic, (uint32_t)cqe, slots);
	if (!err) {
		void *old = cq->slots;

		cq->cq.cqe = (int)cq->ring->depth;
		cq->slots = slots;
		slots = old;
	}
	usiw_cq_unlock(cq);
	/* The old slots, or on failure the new ones. */
	usiw_pd_slots_free(cq->pd, slots, USIWDV_RES_CQ);
	return usiw_result_int(err);
}

int usiw_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct usiw_cq *cq = usiw_cq(ibcq);

	/* Without the table, because programs arm often. */
	if (ibcq->handle != cq->handle.number)
		return usiw_result_int(usiw_refuse(
			ENOENT, ARM, "the object's handle was altered"));
	if (usiw_is_forked(cq->fork_gen))
		return usiw_result_int(usiw_refuse_forked(ARM));
	if (!ibcq->channel)
		return usiw_result_int(usiw_refuse(
			EINVAL, ARM, "the CQ was made without a channel"));
	rnic_cq_arm(cq->rnic, solicited_only != 0);
	return 0;
}

/* Nothing to do: the RNIC counts the events that the application has read. */
void usiw_cq_event(struct ibv_cq *ibcq)
{
	(void)ibcq;
}

/*
 * The CQ may still be in use by QPs (then EBUSY), by the engine (which has
 * finished when rnic_cq_destroy() returns), and by threads that have read an
 * event and not acknowledged it (this function waits for them).
 */
int usiw_destroy_cq(struct ibv_cq *ibcq)
{
	struct usiw_cq *cq = usiw_cq(ibcq);
	uint32_t comp_events, async_events;
	int err = usiw_handle_check(&cq->handle, "ibv_destroy_cq");

	if (err)
		return usiw_result_int(err);
	if (!usiw_is_forked(cq->fork_gen)) {
		err = rnic_cq_destroy(cq->rnic, &comp_events, &async_events);
		if (err)
			return usiw_result_int(err);
		usiw_wait_acks(&ibcq->mutex, &ibcq->cond,
			       &ibcq->comp_events_completed, comp_events);
		usiw_wait_acks(&ibcq->mutex, &ibcq->cond,
			       &ibcq->async_events_completed, async_events);
		usiw_pd_slots_free(cq->pd, cq->slots, USIWDV_RES_CQ);
		if (cq->pd)
			usiw_pd_put(cq->pd);
	}
	usiw_handle_remove(&cq->handle);
	free(cq);
	return 0;
}

/*
 * When a QP is reset or destroyed, its completions that have not been polled
 * are removed, as with other devices.  Programs that reset a failed QP would
 * take an old flush for the completion of new work.  libfabric would post a
 * receive again on the queue pair that it has destroyed.  The remaining entries
 * move up.
 */
void usiw_cq_clean(struct usiw_cq *cq, uint32_t qp_num)
{
	uint32_t used, idx, gone_cnt = 0;

	usiw_cq_lock(cq);
	used = usiw_ring_used(cq->ring);
	for (idx = used; idx-- > 0;) {
		const struct usiw_cqe *cqe = usiw_ring_peek(cq->ring, idx);

		if (cqe->qp_num == qp_num)
			gone_cnt++;
		else if (gone_cnt)
			memcpy(usiw_ring_peek(cq->ring, idx + gone_cnt), cqe,
			       sizeof(*cqe));
	}
	if (gone_cnt) {
		usiw_ring_consume(cq->ring, gone_cnt);
		rnic_cq_moved(cq->rnic);
	}
	usiw_cq_unlock(cq);
}

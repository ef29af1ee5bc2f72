/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Completion queues: depth, polls, notifications and events. */
#include <inttypes.h>
#include <poll.h>

#include "util/cancel.h"
#include "hooks.h"
#include "wr.h"

static const struct verbs_ops *real(void)
{
	return usiw_check_real;
}

/* ---- making and ending ------------------------------------------------- */

static void cq_add(const struct ibv_cq *cq, const struct ibv_context *context)
{
	usiw_check_lock();
	if (cq)
		(void)usiw_check_add(USIW_CHECK_CQ,
				     sizeof(struct usiw_check_cq), cq, context,
				     cq->handle);
	usiw_check_unlock();
}

static struct ibv_cq *check_create_cq(struct ibv_context *context, int cqe,
				      struct ibv_comp_channel *channel,
				      int comp_vector)
{
	struct ibv_cq *cq =
		real()->create_cq(context, cqe, channel, comp_vector);

	cq_add(cq, context);
	return cq;
}

static int check_destroy_cq(struct ibv_cq *cq)
{
	struct usiw_check_object *shadow;
	int err;

	usiw_check_acks(USIW_CHECK_CQ, cq, false, &cq->comp_events_completed);
	usiw_check_acks(USIW_CHECK_CQ, cq, true, &cq->async_events_completed);
	shadow = usiw_check_begin_end(USIW_CHECK_CQ, cq);
	err = real()->destroy_cq(cq);
	usiw_check_end(shadow, err);
	return err;
}

void usiw_check_cq_depth(struct usiw_check_cq *cq, uint32_t cnt)
{
	const struct ibv_cq *ibcq = cq->obj.ptr;
	struct usiw_check_stack here;

	cq->depth_sum += cnt;
	if (cq->depth_sum <= (uint64_t)ibcq->cqe)
		return;
	usiw_check_stack_take(&here);
	usiw_check_report(USIW_CHECK_CQ_SMALL,
			  USIW_CHECK_PLACES({ "queue made", &here },
					    { "CQ made", &cq->obj.made }),
			  "the CQ has %d entries, and its queues %" PRIu64
			  " work requests: it can overrun",
			  ibcq->cqe, cq->depth_sum);
}

/* ---- polls ------------------------------------------------------------- */

/* Under the lock. */
static void wc_note(const struct usiw_check_cq *shadow, const struct ibv_wc *wc)
{
	struct usiw_check_qp *qp = usiw_check_find_num(
		USIW_CHECK_QP, shadow->obj.context, wc->qp_num);

	if (!qp)
		return;
	if (wc->status)
		usiw_check_explain(qp, wc);
	if (wc->opcode & IBV_WC_RECV && !wc->status)
		qp->message_cnt++;
	if (!(wc->opcode & IBV_WC_RECV))
		usiw_check_wr_complete(&qp->sq, wc->wr_id, wc->status);
	else if (qp->srq)
		usiw_check_wr_complete_one(&qp->srq->rq, wc->wr_id, wc->status);
	else
		usiw_check_wr_complete_one(&qp->rq, wc->wr_id, wc->status);
}

static void polled(const struct ibv_cq *cq, int cnt, const struct ibv_wc *wc)
{
	struct usiw_check_cq *shadow;

	usiw_check_lock();
	shadow = usiw_check_find(USIW_CHECK_CQ, cq);
	if (shadow) {
		shadow->poll_cnt++;
		shadow->is_armed_late = false;
		for (int i = 0; i < cnt; i++)
			wc_note(shadow, &wc[i]);
	}
	usiw_check_unlock();
}

static int check_poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	int cnt = real()->poll_cq(cq, num, wc);

	polled(cq, cnt, wc);
	return cnt;
}

/* Those of the extended CQ itself; the same for all. */
static int (*_Atomic real_start_poll)(struct ibv_cq_ex *cq_ex,
				      struct ibv_poll_cq_attr *attr);
static int (*_Atomic real_next_poll)(struct ibv_cq_ex *cq_ex);

static int check_start_poll(struct ibv_cq_ex *cq_ex,
			    struct ibv_poll_cq_attr *attr)
{
	struct usiw_cq *cq = (struct usiw_cq *)cq_ex;
	int err = real_start_poll(cq_ex, attr);

	polled(&cq->cq, !err, &cq->wc);
	return err;
}

static int check_next_poll(struct ibv_cq_ex *cq_ex)
{
	struct usiw_cq *cq = (struct usiw_cq *)cq_ex;
	int err = real_next_poll(cq_ex);

	polled(&cq->cq, !err, &cq->wc);
	return err;
}

static struct ibv_cq_ex *check_create_cq_ex(struct ibv_context *context,
					    struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_ex *cq_ex = real()->create_cq_ex(context, attr);

	if (!cq_ex)
		return NULL;
	cq_add(&((struct usiw_cq *)cq_ex)->cq, context);
	real_start_poll = cq_ex->start_poll;
	real_next_poll = cq_ex->next_poll;
	cq_ex->start_poll = check_start_poll;
	cq_ex->next_poll = check_next_poll;
	return cq_ex;
}

/* ---- notifications ----------------------------------------------------- */

/*
 * Are completions there that an adapter makes no event of?  If an event is to
 * be read, the program hears of them.
 */
static bool is_late(const struct ibv_cq *cq)
{
	struct pollfd channel = { .events = POLLIN };

	if (!cq->channel ||
	    usiw_ring_is_empty(((const struct usiw_cq *)cq)->ring))
		return false;
	channel.fd = cq->channel->fd;
	return util_sys_poll(&channel, 1, 0) == 0;
}

static int check_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	bool was_late = is_late(cq);
	int err = real()->req_notify_cq(cq, solicited_only);
	struct usiw_check_cq *shadow;

	usiw_check_lock();
	shadow = usiw_check_find(USIW_CHECK_CQ, cq);
	if (shadow && !err) {
		shadow->is_armed = true;
		shadow->is_armed_late = was_late;
		shadow->arm_cnt++;
		usiw_check_stack_take(&shadow->armed);
	}
	usiw_check_unlock();
	if (was_late && !err)
		usiw_check_wakeup_watch();
	return err;
}

static void check_cq_event(struct ibv_cq *cq)
{
	struct usiw_check_cq *shadow;

	real()->cq_event(cq);
	usiw_check_lock();
	shadow = usiw_check_find(USIW_CHECK_CQ, cq);
	if (shadow) {
		shadow->event_cnt++;
		shadow->is_armed = false;
	}
	usiw_check_unlock();
}

void usiw_check_hook_cq(struct verbs_ops *ops)
{
	ops->create_cq = check_create_cq;
	ops->create_cq_ex = check_create_cq_ex;
	ops->destroy_cq = check_destroy_cq;
	ops->poll_cq = check_poll_cq;
	ops->req_notify_cq = check_req_notify_cq;
	ops->cq_event = check_cq_event;
}

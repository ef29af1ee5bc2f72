/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Posts of work requests, and what their result says. */
#include <inttypes.h>
#include <stdlib.h>

#include "hooks.h"
#include "sqe.h"
#include "wr.h"

/* What is posted by one call. */
struct posting {
	struct usiw_check_queue *queue;
	const struct usiw_check_object *owner;
	struct usiw_check_qp *qp; /* NULL: an SRQ */
	struct usiw_check_stack stack;
	struct usiw_check_wr **wrs;
	uint32_t cnt, max;
};

static void posting_add(struct posting *now, const struct usiw_check_post *post)
{
	if (now->cnt == now->max) {
		uint32_t max = now->max ? 2 * now->max : 16;
		void *wrs = realloc(now->wrs, max * sizeof(now->wrs[0]));

		if (!wrs)
			return;
		now->wrs = wrs;
		now->max = max;
	}
	now->wrs[now->cnt] =
		usiw_check_wr_add(now->queue, now->owner, post, &now->stack);
	now->cnt++;
}

/* ---- a queue that was full --------------------------------------------- */

static uint64_t addr_of(const struct usiw_check_post *post)
{
	return post->sge_cnt ? post->sges[0].addr : 0;
}

static void full_report(const struct usiw_check_queue *queue,
			const struct usiw_check_object *owner,
			const char *label, const struct usiw_check_stack *stack)
{
	usiw_check_report(
		USIW_CHECK_FULL_IGNORED,
		USIW_CHECK_PLACES({ "refused", &queue->refused.stack },
				  { label, stack }),
		"the WR with wr_id 0x%" PRIx64
		" of %s 0x%06x was refused with ENOMEM and is not "
		"posted again",
		queue->refused.wr_id,
		owner->kind == USIW_CHECK_QP ? "QP" : "SRQ", owner->num);
}

static uint64_t polls_of(const struct usiw_check_queue *queue)
{
	return queue->cq ? queue->cq->poll_cnt : 0;
}

/* The first WR of a post, if one was refused before. */
static void full_look(struct posting *now, const struct usiw_check_post *post)
{
	struct usiw_check_queue *queue = now->queue;

	if (!queue->refused.is_there)
		return;
	if (post->wr_id == queue->refused.wr_id ||
	    (addr_of(post) && addr_of(post) == queue->refused.addr)) {
		queue->refused.is_there = false;
	} else if (queue->cq && queue->refused.poll_cnt == polls_of(queue)) {
		full_report(queue, now->owner, "next one posted", &now->stack);
		queue->refused.is_there = false;
	} else {
		queue->refused.is_passed = true;
	}
}

void usiw_check_full_end(struct usiw_check_queue *queue,
			 const struct usiw_check_qp *qp)
{
	struct usiw_check_stack here;

	if (!queue->refused.is_there || !queue->refused.is_passed)
		return;
	usiw_check_stack_take(&here);
	full_report(queue, &qp->obj, "destroyed", &here);
	queue->refused.is_there = false;
}

static void full_note(const struct posting *now,
		      const struct usiw_check_post *post)
{
	struct usiw_check_queue *queue = now->queue;

	queue->refused.is_there = true;
	queue->refused.is_passed = false;
	queue->refused.wr_id = post->wr_id;
	queue->refused.addr = addr_of(post);
	queue->refused.poll_cnt = polls_of(queue);
	queue->refused.stack = now->stack;
}

/*
 * The verbs keep the place of a WR until its completion, or a later one, is
 * polled.  The ring of usiw has it back as soon as the WR is done, so a program
 * that forgets to poll fails on adapters only.  @more_cnt: WRs that found no
 * room.
 */
static void overfull_look(const struct posting *now, uint32_t more_cnt)
{
	struct usiw_check_queue *queue = now->queue;

	if (!now->qp || queue != &now->qp->sq || queue->is_overfull_told ||
	    queue->cnt + more_cnt <= now->qp->send_wr)
		return;
	if (!queue->signaled_cnt)
		usiw_check_report(
			USIW_CHECK_NEVER_SIGNALED,
			USIW_CHECK_PLACES({ "posted", &now->stack },
					  { "QP made", &now->owner->made }),
			"QP 0x%06x: its send queue of %" PRIu32
			" WRs is full, and none of them is signaled: it can "
			"never drain",
			now->owner->num, now->qp->send_wr);
	else if (!more_cnt)
		usiw_check_report(
			USIW_CHECK_SQ_OVERFULL,
			USIW_CHECK_PLACES({ "posted", &now->stack },
					  { "QP made", &now->owner->made }),
			"QP 0x%06x: its send queue has %" PRIu32
			" WRs, and the completions of %" PRIu32
			" are not polled",
			now->owner->num, now->qp->send_wr, queue->cnt);
	queue->is_overfull_told = !queue->signaled_cnt || !more_cnt;
}

/* ---- the result -------------------------------------------------------- */

/* A verb does not report what has a rule of its own. */
static void refused_note(const struct posting *now,
			 const struct usiw_check_post *post, int err)
{
	const char *why = usiw_check_reason();
	uint64_t len = 0;

	for (uint32_t i = 0; i < post->sge_cnt; i++)
		len += post->sges[i].length;
	if (err == ENOMEM) {
		full_note(now, post);
	} else if (err == EINVAL && post->is_inline && now->qp &&
		   len > now->qp->max_inline) {
		usiw_check_report(
			USIW_CHECK_INLINE_LONG,
			USIW_CHECK_PLACES({ "posted", &now->stack },
					  { "QP made", &now->owner->made }),
			"QP 0x%06x: %" PRIu64 " octets inline, and its "
			"max_inline_data is %" PRIu32,
			now->owner->num, len, now->qp->max_inline);
	} else if (err == EINVAL || err == EOPNOTSUPP) {
		usiw_check_report(
			USIW_CHECK_POST_REFUSED,
			USIW_CHECK_PLACES({ "posted", &now->stack },
					  { "made", &now->owner->made }),
			"%s 0x%06x: the WR with wr_id 0x%" PRIx64
			" is refused%s%s",
			now->owner->kind == USIW_CHECK_QP ? "QP" : "SRQ",
			now->owner->num, post->wr_id, *why ? ": " : "", why);
	}
}

static void overrun_look(const struct posting *now)
{
	struct usiw_check_cq *cq = now->queue->cq;
	const struct ibv_cq *ibcq = cq ? cq->obj.ptr : NULL;

	if (!cq || cq->is_overrun_told ||
	    cq->pending_cnt <= (uint32_t)ibcq->cqe)
		return;
	cq->is_overrun_told = true;
	usiw_check_report(USIW_CHECK_CQ_OVERRUN,
			  USIW_CHECK_PLACES({ "posted", &now->stack },
					    { "CQ made", &cq->obj.made }),
			  "the CQ has %d entries, and %" PRIu32
			  " completions that were not polled may come",
			  ibcq->cqe, cq->pending_cnt);
}

/* Under the lock.  @accepted_cnt: of the WRs that were added; @refused: the
 * first of the others. */
static void posting_end(struct posting *now, uint32_t accepted_cnt, int err,
			const struct usiw_check_post *refused)
{
	for (uint32_t i = accepted_cnt; i < now->cnt; i++)
		if (now->wrs[i])
			usiw_check_wr_undo(now->queue, now->wrs[i]);
	free(now->wrs);
	if (now->qp && now->queue == &now->qp->rq) {
		now->qp->recv_cnt += accepted_cnt;
		if (accepted_cnt)
			now->qp->lost_cnt = 0;
	}
	overrun_look(now);
	overfull_look(now, err == ENOMEM);
	if (err && refused)
		refused_note(now, refused, err);
}

/* ---- ibv_post_send() --------------------------------------------------- */

static struct usiw_check_post send_of(const struct usiw_check_qp *qp,
				      const struct ibv_send_wr *wr)
{
	const struct usiw_wr_kind *kind = usiw_wr_kind_find(wr->opcode);
	bool has_sges = kind && !(kind->traits & USIW_WR_NO_DATA) &&
			wr->num_sge > 0;

	return (struct usiw_check_post){
		.wr_id = wr->wr_id,
		.opcode = kind ? kind->opcode : USIW_WR_LOCAL_INV,
		.is_signaled = qp->is_sig_all ||
			       wr->send_flags & IBV_SEND_SIGNALED,
		.is_fenced = wr->send_flags & IBV_SEND_FENCE,
		.is_inline = wr->send_flags & IBV_SEND_INLINE,
		.sges = wr->sg_list,
		.sge_cnt = has_sges ? (uint32_t)wr->num_sge : 0,
	};
}

static struct usiw_check_qp *qp_find(const struct ibv_qp *ibqp)
{
	struct usiw_check_qp *qp;

	usiw_check_lock();
	qp = usiw_check_find(USIW_CHECK_QP, ibqp);
	usiw_check_unlock();
	return qp;
}

static uint32_t sends_cnt(const struct ibv_send_wr *wr,
			  const struct ibv_send_wr *end)
{
	uint32_t cnt = 0;

	for (; wr && wr != end; wr = wr->next)
		cnt++;
	return cnt;
}

static int check_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *first,
			   struct ibv_send_wr **bad_wr)
{
	struct usiw_check_qp *qp = qp_find(ibqp);
	struct posting now = { .qp = qp };
	struct usiw_check_post post;
	int err;

	if (!qp || !first)
		return usiw_check_real->post_send(ibqp, first, bad_wr);
	now.queue = &qp->sq;
	now.owner = &qp->obj;
	usiw_check_stack_take(&now.stack);
	pthread_mutex_lock(&qp->post_lock);
	usiw_check_lock();
	for (const struct ibv_send_wr *wr = first; wr; wr = wr->next) {
		post = send_of(qp, wr);
		if (wr == first)
			full_look(&now, &post);
		posting_add(&now, &post);
	}
	usiw_check_unlock();
	usiw_check_reason_clear();
	err = usiw_check_real->post_send(ibqp, first, bad_wr);
	usiw_check_lock();
	if (err)
		post = send_of(qp, *bad_wr);
	posting_end(&now, err ? sends_cnt(first, *bad_wr) : now.cnt, err,
		    &post);
	usiw_check_unlock();
	pthread_mutex_unlock(&qp->post_lock);
	return err;
}

/* ---- receives ---------------------------------------------------------- */

static struct usiw_check_post recv_of(const struct ibv_recv_wr *wr)
{
	return (struct usiw_check_post){
		.wr_id = wr->wr_id,
		.is_signaled = true,
		.sges = wr->sg_list,
		.sge_cnt = wr->num_sge > 0 ? (uint32_t)wr->num_sge : 0,
	};
}

static uint32_t recvs_cnt(const struct ibv_recv_wr *wr,
			  const struct ibv_recv_wr *end)
{
	uint32_t cnt = 0;

	for (; wr && wr != end; wr = wr->next)
		cnt++;
	return cnt;
}

static void recvs_add(struct posting *now, const struct ibv_recv_wr *first)
{
	struct usiw_check_post post;

	usiw_check_stack_take(&now->stack);
	usiw_check_lock();
	for (const struct ibv_recv_wr *wr = first; wr; wr = wr->next) {
		post = recv_of(wr);
		if (wr == first)
			full_look(now, &post);
		posting_add(now, &post);
	}
	usiw_check_unlock();
	usiw_check_reason_clear();
}

static void recvs_end(struct posting *now, const struct ibv_recv_wr *first,
		      const struct ibv_recv_wr *bad, int err)
{
	struct usiw_check_post post;

	usiw_check_lock();
	if (err)
		post = recv_of(bad);
	posting_end(now, err ? recvs_cnt(first, bad) : now->cnt, err, &post);
	usiw_check_unlock();
}

static int check_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *first,
			   struct ibv_recv_wr **bad_wr)
{
	struct usiw_check_qp *qp = qp_find(ibqp);
	struct posting now = { .qp = qp };
	int err;

	if (!qp || !first)
		return usiw_check_real->post_recv(ibqp, first, bad_wr);
	now.queue = &qp->rq;
	now.owner = &qp->obj;
	pthread_mutex_lock(&qp->post_lock);
	recvs_add(&now, first);
	err = usiw_check_real->post_recv(ibqp, first, bad_wr);
	recvs_end(&now, first, err ? *bad_wr : NULL, err);
	pthread_mutex_unlock(&qp->post_lock);
	return err;
}

static int check_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *first,
			       struct ibv_recv_wr **bad_wr)
{
	struct posting now = { 0 };
	struct usiw_check_srq *srq;
	int err;

	usiw_check_lock();
	srq = usiw_check_find(USIW_CHECK_SRQ, ibsrq);
	usiw_check_unlock();
	if (!srq || !first)
		return usiw_check_real->post_srq_recv(ibsrq, first, bad_wr);
	now.queue = &srq->rq;
	now.owner = &srq->obj;
	recvs_add(&now, first);
	err = usiw_check_real->post_srq_recv(ibsrq, first, bad_wr);
	recvs_end(&now, first, err ? *bad_wr : NULL, err);
	return err;
}

/* ---- ibv_wr_complete() ------------------------------------------------- */

/* The same for all. */
static int (*_Atomic real_wr_complete)(struct ibv_qp_ex *qpx);

/* What was built: it is in the ring, and not published.  sge_cnt is 0 for
 * inline data, and for what takes none. */
static struct usiw_check_post built_of(const struct usiw_sqe *sqe)
{
	return (struct usiw_check_post){
		.wr_id = sqe->wr_id,
		.opcode = sqe->opcode,
		.is_signaled = sqe->flags & USIW_SQE_SIGNALED,
		.is_fenced = sqe->flags & USIW_SQE_FENCE,
		.is_inline = sqe->flags & USIW_SQE_INLINE,
		.sges = (const struct ibv_sge *)(const void *)(sqe + 1),
		.sge_cnt = sqe->sge_cnt,
	};
}

/* The thread has the lock of the send queue since ibv_wr_start(). */
static int check_wr_complete(struct ibv_qp_ex *qpx)
{
	struct usiw_qp *usiw = usiw_qp(&qpx->qp_base);
	struct usiw_check_qp *qp = qp_find(&qpx->qp_base);
	struct posting now = { .qp = qp };
	struct usiw_check_post post = { .wr_id = qpx->wr_id };
	int err;

	if (!qp || usiw_is_forked(usiw->fork_gen))
		return real_wr_complete(qpx);
	now.queue = &qp->sq;
	now.owner = &qp->obj;
	usiw_check_stack_take(&now.stack);
	usiw_check_lock();
	for (uint32_t i = 0; !usiw->wr.err && i < usiw->wr.cnt; i++) {
		post = built_of(usiw_ring_reserve(usiw->sq, i));
		if (i == 0)
			full_look(&now, &post);
		posting_add(&now, &post);
	}
	usiw_check_unlock();
	err = real_wr_complete(qpx);
	usiw_check_lock();
	posting_end(&now, err ? 0 : now.cnt, err, &post);
	usiw_check_unlock();
	return err;
}

void usiw_check_hook_wr(struct ibv_qp_ex *qpx)
{
	real_wr_complete = qpx->wr_complete;
	qpx->wr_complete = check_wr_complete;
}

void usiw_check_hook_post(struct verbs_ops *ops)
{
	ops->post_send = check_post_send;
	ops->post_recv = check_post_recv;
	ops->post_srq_recv = check_post_srq_recv;
}

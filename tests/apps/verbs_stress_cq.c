/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The stress program's completion queues: polled, resized, their events. */
#include "verbs_stress.h"

#include <poll.h>
#include <sched.h>

/* ---- completions ---- */

/* wr_id: life, side, kind of queue, record. */
uint64_t id_of(uint32_t life_no, int side, int is_recv, uint32_t rec)
{
	return (uint64_t)life_no << 16 | (uint64_t)side << 13 |
	       (uint64_t)is_recv << 12 | rec;
}

static void completion_take(uint64_t wr_id, enum ibv_wc_status status)
{
	uint32_t life_no = (uint32_t)(wr_id >> 16), rec = wr_id & 0xfff;
	uint8_t was;
	struct life *life;
	struct work *work;

	MUST(wr_id >> 48 == 0 && life_no < atomic_load(&run.life_cnt));
	MUST(rec < REC_CNT);
	life = run.lives[life_no];
	work = &life->work[wr_id >> 13 & 1][wr_id >> 12 & 1];
	was = atomic_exchange(&work->rec[rec], REC_DONE);
	/* It was posted, and not seen before. */
	MUST(was == REC_SIGNALED || was == REC_QUIET);
	/* An unsignalled one only if it failed. */
	MUST(was == REC_SIGNALED || status != IBV_WC_SUCCESS);
	atomic_fetch_add(&run.polled, 1);
	if (status != IBV_WC_SUCCESS) {
		atomic_store(&life->has_failed, true);
		atomic_fetch_add(&run.failed, 1);
	}
	if (was == REC_SIGNALED)
		atomic_fetch_add(&work->seen, 1);
	/* The place of an unsignalled one is freed with the next signalled
	 * one. */
	atomic_fetch_sub(&work->inflight, 1);
}

static int queue_poll_ex(struct queue *q, uint32_t max)
{
	struct ibv_poll_cq_attr attr = { 0 };
	uint32_t cnt = 0;
	int rc = ibv_start_poll(q->ex, &attr);

	MUST(rc == 0 || rc == ENOENT);
	if (rc)
		return 0;
	do {
		completion_take(q->ex->wr_id, q->ex->status);
		MUST(ibv_wc_read_qp_num(q->ex) != 0);
	} while (++cnt < max && ibv_next_poll(q->ex) == 0);
	ibv_end_poll(q->ex);
	return (int)cnt;
}

/* Return: number of completions. */
int queue_poll(struct queue *q, uint32_t max)
{
	struct ibv_wc wc[8];
	int cnt;

	if (q->ex && max & 1)
		return queue_poll_ex(q, max);
	errno = EXDEV;
	cnt = ibv_poll_cq(q->cq, max < 8 ? (int)max : 8, wc);
	MUST(cnt >= 0 && errno == EXDEV);
	for (int i = 0; i < cnt; i++)
		completion_take(wc[i].wr_id, wc[i].status);
	return cnt;
}

void queue_drain(struct queue *q)
{
	int cnt, left;

	pthread_mutex_lock(&q->lock);
	left = q->cq->cqe;
	pthread_mutex_unlock(&q->lock);
	do {
		cnt = queue_poll(q, 8);
		left -= cnt;
	} while (cnt > 0 && left > 0);
}

/* ---- queues ---- */

void queue_open(struct queue *q, struct world *w, int cqe, uint32_t *rng)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = (uint32_t)cqe,
		.cq_context = q,
		.channel = q->is_single || pick(rng, 3) == 0 ? NULL
							     : w->channel,
		.wc_flags =
			pick(rng, 2)
				? IBV_WC_STANDARD_FLAGS
				: IBV_WC_STANDARD_FLAGS |
					  IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = q->is_single ? IBV_CREATE_CQ_ATTR_SINGLE_THREADED : 0,
	};

	q->ex = NULL;
	if (!q->is_single && pick(rng, 2)) {
		q->cq = ibv_create_cq(w->context, cqe, q, attr.channel, 0);
	} else {
		q->ex = ibv_create_cq_ex(w->context, &attr);
		q->cq = q->ex ? ibv_cq_ex_to_cq(q->ex) : NULL;
	}
	MUST(q->cq && q->cq->cqe >= cqe);
	pthread_mutex_init(&q->lock, NULL);
	q->reserved = 0;
}

void queue_close(struct queue *q)
{
	MUST(q->reserved == 0);
	MUST(ibv_destroy_cq(q->cq) == 0);
	pthread_mutex_destroy(&q->lock);
	q->cq = NULL;
}

void queue_resize(struct queue *q, uint32_t *rng)
{
	int cqe;

	pthread_mutex_lock(&q->lock);
	cqe = q->reserved + 1 + (int)pick(rng, 100);
	MUST(ibv_resize_cq(q->cq, cqe) == 0);
	MUST(q->cq->cqe >= cqe);
	pthread_mutex_unlock(&q->lock);
	atomic_fetch_add(&run.resizes, 1);
}

void queue_reserve(struct queue *q, int cnt)
{
	pthread_mutex_lock(&q->lock);
	q->reserved += cnt;
	if (q->reserved > q->cq->cqe)
		MUST(ibv_resize_cq(q->cq, q->reserved) == 0);
	pthread_mutex_unlock(&q->lock);
}

/* ---- events ---- */

static bool is_readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 50) == 1;
}

/* Destroying the CQ waits until the event is acknowledged, so the CQ may be
 * used until then. */
void *comp_loop(void *arg)
{
	struct world *w = arg;
	uint32_t rng = run.seed ^ 0xc0ffee;
	struct ibv_cq *cq;
	void *cq_context;

	while (!atomic_load(&run.is_quiet)) {
		if (!is_readable(w->channel->fd))
			continue;
		/* The CQ may have been destroyed meanwhile, and the event with
		 * it. */
		if (ibv_get_cq_event(w->channel, &cq, &cq_context))
			continue;
		atomic_fetch_add(&run.comp_events, 1);
		MUST(((struct queue *)cq_context)->cq == cq);
		if (pick(&rng, 4) == 0)
			sched_yield();
		if (pick(&rng, 2))
			MUST_QUIETLY(ibv_req_notify_cq(cq, (int)pick(&rng, 2)));
		queue_poll(cq_context, 1 + pick(&rng, 8));
		ibv_ack_cq_events(cq, 1);
	}
	return NULL;
}

void *async_loop(void *arg)
{
	struct world *w = arg;
	struct ibv_async_event ev;

	while (!atomic_load(&run.is_quiet)) {
		if (!is_readable(w->context->async_fd))
			continue;
		if (ibv_get_async_event(w->context, &ev))
			continue;
		/* Nothing is posted that would not fit. */
		MUST(ev.event_type != IBV_EVENT_CQ_ERR);
		atomic_fetch_add(&run.async_events, 1);
		ibv_ack_async_event(&ev);
	}
	return NULL;
}

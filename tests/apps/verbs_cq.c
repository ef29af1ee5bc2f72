/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Completion channels, overruns and time stamps with stock libibverbs.
 * Completions are made without a peer: receives flushed by the error state.
 * Runs alone under `usiw run`.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(cond)                                                             \
	do {                                                                   \
		if (!(cond)) {                                                 \
			printf("line %d: %s does not hold (%s)\n", __LINE__,   \
			       #cond, strerror(errno));                        \
			exit(1);                                               \
		}                                                              \
	} while (0)

static struct ibv_context *context;
static struct ibv_pd *pd;

static bool is_readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

static void qp_modify(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0);
}

/* A QP in the error state: each receive completes at once. */
static struct ibv_qp *flusher_new(struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = { .send_cq = cq,
					 .recv_cq = cq,
					 .cap = { .max_send_wr = 1,
						  .max_recv_wr = 16,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 },
					 .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	MUST(qp);
	qp_modify(qp, IBV_QPS_INIT);
	qp_modify(qp, IBV_QPS_ERR);
	return qp;
}

static void flush(struct ibv_qp *qp, uint64_t wr_id)
{
	struct ibv_recv_wr wr = { .wr_id = wr_id }, *bad;

	MUST(ibv_post_recv(qp, &wr, &bad) == 0);
}

static void take(struct ibv_cq *cq, uint64_t wr_id)
{
	struct ibv_wc wc;

	MUST(ibv_poll_cq(cq, 1, &wc) == 1);
	MUST(wc.wr_id == wr_id && wc.status == IBV_WC_WR_FLUSH_ERR);
}

/* ---- channels ---- */

static struct ibv_cq *event_get(struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq;
	void *cq_context;

	MUST(is_readable(channel->fd));
	MUST(ibv_get_cq_event(channel, &cq, &cq_context) == 0);
	MUST(cq_context == (void *)(uintptr_t)(cq->cqe + 1));
	return cq;
}

static _Atomic bool is_acked;

static void *ack_late(void *arg)
{
	poll(NULL, 0, 20);
	atomic_store(&is_acked, true);
	ibv_ack_cq_events(arg, 2);
	return NULL;
}

static void two_queues_share_a_channel(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
	struct ibv_cq *cq[2], *first, *second;
	struct ibv_qp *qp[2];
	pthread_t thread;

	MUST(channel);
	for (int i = 0; i < 2; i++) {
		/* The context is the size, so that the event can be checked. */
		int cqe = 10 + i;

		cq[i] = ibv_create_cq(context, cqe,
				      (void *)(uintptr_t)(cqe + 1), channel, 0);
		MUST(cq[i] && cq[i]->cqe == cqe);
		qp[i] = flusher_new(cq[i]);
	}
	/* A CQ that is not armed makes no event.  A completion that waits makes
	 * one when it is armed, and only one. */
	flush(qp[0], 1);
	MUST(!is_readable(channel->fd));
	MUST(ibv_req_notify_cq(cq[0], 1) == 0);
	MUST(event_get(channel) == cq[0]);
	MUST(ibv_req_notify_cq(cq[0], 1) == 0);
	MUST(ibv_req_notify_cq(cq[1], 0) == 0);
	MUST(!is_readable(channel->fd));
	/* A completion in error fires also if only solicited ones were
	 * requested. */
	for (uint64_t i = 2; i < 4; i++) {
		flush(qp[0], i);
		flush(qp[1], i);
	}
	first = event_get(channel);
	second = event_get(channel);
	MUST(first == cq[0] && second == cq[1]);
	MUST(!is_readable(channel->fd)); /* armed once, fired once */
	MUST(ibv_req_notify_cq(cq[1], 0) == 0);
	flush(qp[1], 4);
	MUST(event_get(channel) == cq[1]);
	for (uint64_t i = 1; i < 4; i++)
		take(cq[0], i);
	MUST(ibv_destroy_comp_channel(channel) == EBUSY);
	for (int i = 0; i < 2; i++)
		MUST(ibv_destroy_qp(qp[i]) == 0);
	ibv_ack_cq_events(cq[0], 2);
	MUST(ibv_destroy_cq(cq[0]) == 0);
	/* Two of its events are not acknowledged yet. */
	MUST(pthread_create(&thread, NULL, ack_late, cq[1]) == 0);
	MUST(ibv_destroy_cq(cq[1]) == 0);
	MUST(atomic_load(&is_acked));
	pthread_join(thread, NULL);
	MUST(ibv_destroy_comp_channel(channel) == 0);
}

/* ---- overrun ---- */

static void an_overrun_is_told_once(void)
{
	struct ibv_cq *cq = ibv_create_cq(context, 2, NULL, NULL, 0);
	struct ibv_async_event ev;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	MUST(cq && cq->cqe == 2);
	qp = flusher_new(cq);
	MUST(ibv_resize_cq(cq, 3) == 0 && cq->cqe == 3);
	for (uint64_t i = 0; i < 3; i++)
		flush(qp, i);
	MUST(ibv_resize_cq(cq, 2) == EINVAL && cq->cqe == 3);
	MUST(!is_readable(context->async_fd));
	flush(qp, 3);
	flush(qp, 4);
	MUST(is_readable(context->async_fd));
	MUST(ibv_get_async_event(context, &ev) == 0);
	MUST(ev.event_type == IBV_EVENT_CQ_ERR && ev.element.cq == cq);
	ibv_ack_async_event(&ev);
	MUST(!is_readable(context->async_fd));
	for (uint64_t i = 0; i < 3; i++)
		take(cq, i);
	/* Nothing after the gap. */
	flush(qp, 5);
	MUST(ibv_poll_cq(cq, 1, &wc) == 0);
	MUST(ibv_destroy_qp(qp) == 0);
	MUST(ibv_destroy_cq(cq) == 0);
}

/* ---- time stamps ---- */

static uint64_t clock_ask(void)
{
	struct ibv_values_ex values = { .comp_mask =
						IBV_VALUES_MASK_RAW_CLOCK };

	MUST(ibv_query_rt_values_ex(context, &values) == 0);
	MUST(values.comp_mask == IBV_VALUES_MASK_RAW_CLOCK);
	return (uint64_t)values.raw_clock.tv_sec * 1000000000u +
	       (uint64_t)values.raw_clock.tv_nsec;
}

static void stamps_are_of_the_device_s_clock(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 4,
		.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(context, &attr);
	struct ibv_poll_cq_attr poll_attr = { 0 };
	uint64_t before, stamp, after;
	struct ibv_qp *qp;

	MUST(cq);
	qp = flusher_new(ibv_cq_ex_to_cq(cq));
	before = clock_ask();
	flush(qp, 7);
	after = clock_ask();
	MUST(ibv_start_poll(cq, &poll_attr) == 0);
	MUST(cq->wr_id == 7 && cq->status == IBV_WC_WR_FLUSH_ERR);
	MUST(ibv_wc_read_qp_num(cq) == qp->qp_num);
	stamp = ibv_wc_read_completion_ts(cq);
	MUST(before <= stamp && stamp <= after);
	MUST(ibv_wc_read_completion_wallclock_ns(cq) > 1577836800000000000u);
	MUST(ibv_next_poll(cq) == ENOENT);
	ibv_end_poll(cq);
	MUST(ibv_destroy_qp(qp) == 0);
	MUST(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)) == 0);
}

int main(void)
{
	int cnt;
	struct ibv_device **list = ibv_get_device_list(&cnt);

	MUST(list);
	for (int i = 0; i < cnt && !context; i++)
		if (strcmp(ibv_get_device_name(list[i]), "usiw_lo") == 0)
			context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	MUST(context);
	MUST(pd = ibv_alloc_pd(context));
	two_queues_share_a_channel();
	an_overrun_is_told_once();
	stamps_are_of_the_device_s_clock();
	MUST(ibv_dealloc_pd(pd) == 0);
	MUST(ibv_close_device(context) == 0);
	return 0;
}

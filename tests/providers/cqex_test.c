/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Extended completion queues: attributes, the iterator, every read function. */
#include "test.h"

#include <pthread.h>

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "fake-rnic.h"

#define TS IBV_WC_EX_WITH_COMPLETION_TIMESTAMP
#define WALL IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK
#define MASK_FLAGS IBV_CQ_INIT_ATTR_MASK_FLAGS
#define SINGLE IBV_CREATE_CQ_ATTR_SINGLE_THREADED
#define IGNORE IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN

static void push(struct ibv_cq_ex *cq, uint64_t first, uint32_t cnt)
{
	struct usiw_cqe cqe = fake_cqe;

	for (uint32_t i = 0; i < cnt; i++) {
		cqe.wr_id = first + i;
		fake_cq_push(usiw_cq(ibv_cq_ex_to_cq(cq))->rnic, &cqe);
	}
}

/* Does what the library's ibv_create_cq_ex() does. That function cannot be
 * used, because the context was not opened through the library. */
static struct ibv_cq_ex *create(struct fake_world *w,
				struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_ex *cq = usiw_create_cq_ex(w->context, attr);

	if (cq)
		verbs_init_cq(ibv_cq_ex_to_cq(cq), w->context, attr->channel,
			      attr->cq_context);
	return cq;
}

static struct ibv_cq_ex *open_cq(struct fake_world *w, uint64_t wc_flags,
				 uint32_t flags)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16,
					    .wc_flags = wc_flags,
					    .comp_mask = MASK_FLAGS,
					    .flags = flags };
	struct ibv_cq_ex *cq = create(w, &attr);

	assert_non_null(cq);
	return cq;
}

static void close_cq(struct ibv_cq_ex *cq)
{
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

/* ---- attributes ---- */

static const struct {
	struct ibv_cq_init_attr_ex attr;
	int err;
	uint32_t rnic_flags; /* expected when it is created */
} rows[] = {
	{ { .cqe = 1 }, 0, 0 },
	{ { .cqe = 128 }, 0, 0 },
	{ { .cqe = 0 }, EINVAL, 0 },
	{ { .cqe = 129 }, EINVAL, 0 },
	{ { .cqe = UINT32_MAX }, EINVAL, 0 },
	{ { .cqe = 4, .comp_vector = 1 }, EINVAL, 0 },
	{ { .cqe = 4, .comp_vector = UINT32_MAX }, EINVAL, 0 },
	{ { .cqe = 4, .wc_flags = IBV_WC_STANDARD_FLAGS }, 0, 0 },
	{ { .cqe = 4, .wc_flags = TS }, 0, RNIC_CQ_TIMESTAMP },
	{ { .cqe = 4, .wc_flags = WALL }, 0, RNIC_CQ_WALLCLOCK },
	{ { .cqe = 4, .wc_flags = TS | WALL | IBV_WC_EX_WITH_IMM },
	  0,
	  RNIC_CQ_TIMESTAMP | RNIC_CQ_WALLCLOCK },
	{ { .cqe = 4, .wc_flags = IBV_WC_EX_WITH_CVLAN }, EOPNOTSUPP, 0 },
	{ { .cqe = 4, .wc_flags = IBV_WC_EX_WITH_FLOW_TAG }, EOPNOTSUPP, 0 },
	{ { .cqe = 4, .wc_flags = IBV_WC_EX_WITH_TM_INFO }, EOPNOTSUPP, 0 },
	{ { .cqe = 4, .wc_flags = 1 << 12 }, EOPNOTSUPP, 0 },
	{ { .cqe = 4, .wc_flags = 1ull << 63 }, EOPNOTSUPP, 0 },
	{ { .cqe = 4, .comp_mask = MASK_FLAGS, .flags = SINGLE }, 0, 0 },
	{ { .cqe = 4, .comp_mask = MASK_FLAGS, .flags = IGNORE },
	  0,
	  RNIC_CQ_IGNORE_OVERRUN },
	/* flags are used only if the mask says so */
	{ { .cqe = 4, .flags = IGNORE | 4 }, 0, 0 },
	{ { .cqe = 4, .comp_mask = MASK_FLAGS, .flags = 4 }, EOPNOTSUPP, 0 },
	{ { .cqe = 4, .comp_mask = 4 }, EOPNOTSUPP, 0 },
	{ { .cqe = 4, .comp_mask = 1u << 31 }, EOPNOTSUPP, 0 },
};

FAKE_CASE(attributes_are_checked)
{
	struct fake_world *w = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct ibv_cq_init_attr_ex attr = rows[i].attr;
		uint32_t open_cnt = fake.open_cnt;
		struct ibv_cq_ex *cq;

		errno = 0;
		cq = create(w, &attr);
		if (errno != rows[i].err || !cq != (rows[i].err != 0))
			fail_msg("row %zu: %s", i, strerror(errno));
		if (cq) {
			assert_int_equal(fake.cq_flags, rows[i].rnic_flags);
			assert_true(cq->cqe >= (int)attr.cqe);
			close_cq(cq);
		}
		assert_int_equal(fake.open_cnt, open_cnt);
	}
}

FAKE_CASE(a_plain_domain_is_no_parent_domain)
{
	struct fake_world *w = *state;
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 4,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
		.parent_domain = w->pd,
	};

	errno = 0;
	assert_null(create(w, &attr));
	assert_int_equal(errno, EINVAL);
	attr.parent_domain = NULL;
	assert_null(create(w, &attr));
	assert_int_equal(errno, EINVAL);
}

FAKE_CASE(channel_and_context_arrive)
{
	struct fake_world *w = *state;
	struct ibv_comp_channel chan = { .context = w->context,
					 .fd = FAKE_CHAN_FD };
	struct ibv_cq_init_attr_ex attr = { .cqe = 4,
					    .cq_context = &attr,
					    .channel = &chan };
	struct ibv_cq_ex *cq = create(w, &attr);

	assert_non_null(cq);
	assert_ptr_equal(cq->cq_context, &attr);
	assert_ptr_equal(cq->channel, &chan);
	assert_int_equal(chan.refcnt, 1);
	assert_true(fake.handle == (uintptr_t)cq);
	assert_int_equal(ibv_req_notify_cq(ibv_cq_ex_to_cq(cq), 1), 0);
	assert_true(fake.is_solicited_only);
	close_cq(cq);
	assert_int_equal(chan.refcnt, 0);
}

/* ---- reading ---- */

FAKE_CASE(every_field_is_read)
{
	struct fake_world *w = *state;
	struct ibv_cq_ex *cq = open_cq(w, TS | WALL | IBV_WC_STANDARD_FLAGS, 0);
	struct ibv_poll_cq_attr attr = { 0 };

	push(cq, fake_cqe.wr_id, 1);
	assert_int_equal(ibv_start_poll(cq, &attr), 0);
	assert_true(cq->wr_id == fake_cqe.wr_id);
	assert_int_equal(cq->status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RECV);
	assert_int_equal(ibv_wc_read_vendor_err(cq), 9);
	assert_int_equal(ibv_wc_read_byte_len(cq), 4096);
	assert_int_equal(ibv_wc_read_imm_data(cq), 0xcafe0102);
	assert_int_equal(ibv_wc_read_invalidated_rkey(cq), 0xcafe0102);
	assert_int_equal(ibv_wc_read_qp_num(cq), 0xabcd12);
	assert_int_equal(ibv_wc_read_wc_flags(cq), IBV_WC_WITH_INV);
	assert_int_equal(ibv_wc_read_src_qp(cq), 0);
	assert_int_equal(ibv_wc_read_slid(cq), 0);
	assert_int_equal(ibv_wc_read_sl(cq), 0);
	assert_int_equal(ibv_wc_read_dlid_path_bits(cq), 0);
	assert_true(ibv_wc_read_completion_ts(cq) == fake_cqe.timestamp_ns);
	assert_true(ibv_wc_read_completion_wallclock_ns(cq) ==
		    fake_cqe.wallclock_ns);
	ibv_end_poll(cq);
	close_cq(cq);
}

/* The ring is shared memory: whatever it contains, a valid wc is returned. */
FAKE_CASE(impossible_entries_become_errors)
{
	struct fake_world *w = *state;
	struct ibv_cq_ex *cq = open_cq(w, 0, 0);
	struct usiw_cqe cqe = fake_cqe;

	cqe.status = 4711;
	cqe.wc_flags = UINT32_MAX;
	fake_cq_push(usiw_cq(ibv_cq_ex_to_cq(cq))->rnic, &cqe);
	assert_int_equal(ibv_start_poll(cq, NULL), 0);
	assert_int_equal(cq->status, IBV_WC_GENERAL_ERR);
	assert_int_equal(ibv_wc_read_wc_flags(cq),
			 IBV_WC_GRH | IBV_WC_WITH_IMM | IBV_WC_WITH_INV);
	ibv_end_poll(cq);
	close_cq(cq);
}

/* ---- the iterator ---- */

static void batches_come_in_order(uint32_t flags, struct fake_world *w)
{
	struct ibv_cq_ex *cq = open_cq(w, 0, flags);
	struct ibv_poll_cq_attr attr = { 0 };
	uint64_t next = 0;
	struct ibv_wc wc;

	assert_int_equal(ibv_start_poll(cq, &attr), ENOENT);
	/* often enough that the ring wraps; all ways of reading in turn */
	for (uint64_t round = 0; round < 40; round++) {
		push(cq, round * 7, 7);
		assert_int_equal(ibv_start_poll(cq, &attr), 0);
		assert_int_equal(cq->wr_id, next++);
		ibv_end_poll(cq);
		assert_int_equal(ibv_poll_cq(ibv_cq_ex_to_cq(cq), 1, &wc), 1);
		assert_int_equal(wc.wr_id, next++);
		assert_int_equal(ibv_start_poll(cq, &attr), 0);
		do {
			assert_int_equal(cq->wr_id, next++);
		} while (ibv_next_poll(cq) == 0);
		ibv_end_poll(cq);
		assert_int_equal(ibv_start_poll(cq, &attr), ENOENT);
		assert_int_equal(ibv_poll_cq(ibv_cq_ex_to_cq(cq), 1, &wc), 0);
	}
	assert_int_equal(next, 280);
	close_cq(cq);
}

FAKE_CASE(batches_come_in_order_with_a_lock)
{
	batches_come_in_order(0, *state);
}

FAKE_CASE(batches_come_in_order_without_one)
{
	batches_come_in_order(SINGLE, *state);
}

FAKE_CASE(a_batch_may_be_longer_than_the_queue)
{
	struct fake_world *w = *state;
	struct ibv_cq_ex *cq = open_cq(w, 0, 0);

	push(cq, 0, 8);
	assert_int_equal(ibv_start_poll(cq, NULL), 0);
	for (uint64_t i = 0; i < 100; i++) {
		assert_int_equal(cq->wr_id, i);
		push(cq, i + 8, 1);
		assert_int_equal(ibv_next_poll(cq), 0);
	}
	ibv_end_poll(cq);
	close_cq(cq);
}

static void push_one(struct rnic_cq *cq)
{
	fake_cq_push(cq, &fake_cqe);
}

FAKE_CASE(empty_queue_drives_the_engine_once)
{
	struct fake_world *w = *state;
	struct ibv_cq_ex *cq = open_cq(w, 0, 0);

	assert_int_equal(ibv_start_poll(cq, NULL), ENOENT);
	assert_int_equal(fake.progress_cnt, 1);
	fake.on_progress = push_one;
	assert_int_equal(ibv_start_poll(cq, NULL), 0);
	assert_int_equal(fake.progress_cnt, 2);
	assert_int_equal(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	fake.on_progress = NULL;
	push(cq, 1, 1);
	assert_int_equal(ibv_start_poll(cq, NULL), 0);
	ibv_end_poll(cq);
	assert_int_equal(fake.progress_cnt, 2);
	/* Posts wait for progress. */
	fake.wants_progress = true;
	push(cq, 1, 1);
	assert_int_equal(ibv_start_poll(cq, NULL), 0);
	ibv_end_poll(cq);
	assert_int_equal(fake.progress_cnt, 3);
	close_cq(cq);
}

FAKE_CASE(bad_polls_take_nothing)
{
	struct fake_world *w = *state;
	struct ibv_cq_ex *cq = open_cq(w, 0, 0);
	struct ibv_poll_cq_attr attr = { .comp_mask = 1 };

	push(cq, 5, 1);
	assert_int_equal(ibv_start_poll(cq, &attr), EINVAL);
	fake.fork_gen++;
	assert_int_equal(ibv_start_poll(cq, NULL), ENODEV);
	fake.fork_gen--;
	assert_int_equal(ibv_start_poll(cq, NULL), 0);
	assert_int_equal(cq->wr_id, 5);
	ibv_end_poll(cq);
	close_cq(cq);
}

/* During a batch the application may post, and poll another queue. */
FAKE_CASE(a_batch_forbids_nothing_else)
{
	struct fake_world *w = *state;
	struct ibv_cq_ex *one = open_cq(w, 0, 0), *other = open_cq(w, 0, 0);
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv;
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;

	push(one, 1, 1);
	push(other, 2, 1);
	assert_int_equal(ibv_start_poll(one, NULL), 0);
	assert_int_equal(ibv_start_poll(other, NULL), 0);
	assert_int_equal(ibv_post_recv(w->qp, &recv, &bad_recv), 0);
	assert_int_equal(ibv_post_send(w->qp, &send, &bad_send), 0);
	ibv_end_poll(one);
	ibv_end_poll(other);
	close_cq(one);
	close_cq(other);
}

/* A thread with a batch has the queue's lock: what else needs it goes on. */
FAKE_CASE(a_batch_forbids_nothing_to_its_queue)
{
	struct fake_world *w = *state;
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };

	for (uint32_t flags = 0; flags <= SINGLE; flags += SINGLE) {
		struct ibv_cq_ex *cq = open_cq(w, 0, flags);
		struct ibv_qp *qp;
		struct ibv_wc wc;

		init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(cq);
		qp = ibv_create_qp(w->pd, &init);
		assert_non_null(qp);
		push(cq, 1, 2);
		assert_int_equal(ibv_start_poll(cq, NULL), 0);
		assert_int_equal(ibv_start_poll(cq, NULL), EBUSY);
		assert_int_equal(ibv_poll_cq(ibv_cq_ex_to_cq(cq), 1, &wc), 1);
		assert_int_equal(wc.wr_id, 2);
		assert_int_equal(ibv_resize_cq(ibv_cq_ex_to_cq(cq), 16), 0);
		push(cq, 3, 1);
		fake.qp_state = RNIC_QPS_ERROR;
		assert_int_equal(ibv_modify_qp(qp, &reset, IBV_QP_STATE), 0);
		assert_int_equal(ibv_next_poll(cq), ENOENT);
		push(cq, 4, 1);
		assert_int_equal(ibv_destroy_qp(qp), 0);
		assert_int_equal(ibv_next_poll(cq), ENOENT);
		assert_true(cq->wr_id == 1);
		ibv_end_poll(cq);
		/* The lock is free again. */
		push(cq, 5, 1);
		assert_int_equal(ibv_start_poll(cq, NULL), 0);
		ibv_end_poll(cq);
		close_cq(cq);
	}
}

/* ---- threads ---- */

#define THREAD_CNT 4
#define TURN_CNT 5000

static struct ibv_cq_ex *shared;
#define START_CNT (2 * THREAD_CNT)
static uint8_t taken[THREAD_CNT * TURN_CNT + START_CNT]; /* by wr_id */
static uint64_t pushed; /* protected by the batch */

/* A thread with a batch has exclusive use of the queue. Here it even pushes to
 * it. */
static void *batch_alone(void *arg)
{
	struct ibv_wc wc;

	for (int i = 0; i < TURN_CNT; i++) {
		if (i % 5 == 4 && i + 1 < TURN_CNT) {
			while (ibv_poll_cq(ibv_cq_ex_to_cq(shared), 1, &wc) !=
			       1)
				sched_yield();
			taken[wc.wr_id]++;
			/* Pushes the next entry, for the next thread. */
			while (ibv_start_poll(shared, NULL))
				sched_yield();
			taken[shared->wr_id]++;
			push(shared, pushed, 2);
			pushed += 2;
			ibv_end_poll(shared);
			i++;
			continue;
		}
		while (ibv_start_poll(shared, NULL))
			sched_yield();
		taken[shared->wr_id]++;
		push(shared, pushed++, 1);
		ibv_end_poll(shared);
	}
	return arg;
}

FAKE_CASE(a_batch_excludes_other_pollers)
{
	struct fake_world *w = *state;
	pthread_t threads[THREAD_CNT];

	shared = open_cq(w, 0, 0);
	push(shared, 0, START_CNT);
	pushed = START_CNT;
	for (int i = 0; i < THREAD_CNT; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, batch_alone, NULL),
			0);
	for (int i = 0; i < THREAD_CNT; i++)
		pthread_join(threads[i], NULL);
	while (ibv_start_poll(shared, NULL) == 0) {
		taken[shared->wr_id]++;
		ibv_end_poll(shared);
	}
	assert_int_equal(pushed, sizeof(taken));
	for (size_t i = 0; i < sizeof(taken); i++)
		assert_int_equal(taken[i], 1);
	close_cq(shared);
}

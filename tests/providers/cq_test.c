/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Completion queues: limits, channels, arming, waiting for acknowledgement. */
#include "test.h"

#include <pthread.h>

#include <errno.h>
#include <string.h>

#include "fake-rnic.h"

FAKE_CASE(entries_outside_limits_are_einval)
{
	static const int bad[] = { 0, -1, INT32_MIN, 129, INT32_MAX };
	struct fake_world *w = *state;
	struct ibv_cq *cq;
	size_t i;

	for (i = 0; i < ARRAY_LEN(bad); i++) {
		errno = 0;
		assert_null(ibv_create_cq(w->context, bad[i], NULL, NULL, 0));
		assert_int_equal(errno, EINVAL);
	}
	cq = ibv_create_cq(w->context, 128, NULL, NULL, 0);
	assert_non_null(cq);
	assert_true(cq->cqe >= 128);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

FAKE_CASE(vectors_outside_are_einval)
{
	static const int bad[] = { -1, 1, 1000 };
	struct fake_world *w = *state;
	size_t i;

	for (i = 0; i < ARRAY_LEN(bad); i++) {
		errno = 0;
		assert_null(ibv_create_cq(w->context, 4, NULL, NULL, bad[i]));
		assert_int_equal(errno, EINVAL);
	}
}

FAKE_CASE(channel_is_found_by_fd)
{
	struct fake_world *w = *state;
	struct ibv_comp_channel chan = { .context = w->context,
					 .fd = FAKE_CHAN_FD };
	struct ibv_comp_channel other = { .context = w->context, .fd = 0 };
	struct ibv_cq *cq = ibv_create_cq(w->context, 4, &chan, &chan, 0);

	assert_non_null(cq);
	assert_ptr_equal(cq->cq_context, &chan);
	assert_int_equal(chan.refcnt, 1);
	assert_int_equal(fake.chan_refs, 1); /* the CQ's reference */
	assert_true(fake.handle == (uintptr_t)cq);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(chan.refcnt, 0);
	errno = 0;
	assert_null(ibv_create_cq(w->context, 4, NULL, &other, 0));
	assert_int_equal(errno, EINVAL);
	fake.fail_name = "rnic_cq_create";
	fake.fail_err = -ENOMEM;
	assert_null(ibv_create_cq(w->context, 4, NULL, &chan, 0));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(fake.chan_refs, 1);
}

FAKE_CASE(resizing_tells_the_new_size)
{
	struct fake_world *w = *state;
	struct ibv_cq *cq = ibv_create_cq(w->context, 4, NULL, NULL, 0);

	assert_int_equal(ibv_resize_cq(cq, 9), 0);
	assert_int_equal(cq->cqe, 9);
	errno = 0;
	assert_int_equal(ibv_resize_cq(cq, 0), EINVAL);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_resize_cq(cq, -1), EINVAL);
	fake.fail_name = "rnic_cq_resize";
	fake.fail_err = -ENOMEM;
	assert_int_equal(ibv_resize_cq(cq, 12), ENOMEM);
	assert_int_equal(cq->cqe, 9);
	fake.fork_gen++;
	assert_int_equal(ibv_resize_cq(cq, 12), ENODEV);
	fake.fork_gen--;
	/* The lock was released each time. */
	fake.fail_name = NULL;
	assert_int_equal(ibv_resize_cq(cq, 5), 0);
	assert_int_equal(cq->cqe, 5);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

FAKE_CASE(arming_tells_solicited_apart)
{
	struct fake_world *w = *state;
	struct ibv_comp_channel chan = { .context = w->context,
					 .fd = FAKE_CHAN_FD };
	struct ibv_cq *cq = ibv_create_cq(w->context, 4, NULL, &chan, 0);

	assert_non_null(cq);
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	assert_false(fake.is_solicited_only);
	assert_int_equal(ibv_req_notify_cq(cq, 1), 0);
	assert_true(fake.is_solicited_only);
	assert_int_equal(fake.arm_cnt, 2);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	/* No event can come. */
	assert_int_equal(ibv_req_notify_cq(w->cq, 0), EINVAL);
	assert_int_equal(fake.arm_cnt, 2);
}

FAKE_CASE(busy_queue_stays)
{
	struct fake_world *w = *state;

	fake.fail_name = "rnic_cq_destroy";
	fake.fail_err = -EBUSY;
	assert_int_equal(ibv_destroy_cq(w->cq), EBUSY);
}

static void *ack_in_two_steps(void *arg)
{
	struct ibv_cq *cq = arg;
	struct ibv_async_event event = { .element.cq = cq,
					 .event_type = IBV_EVENT_CQ_ERR };

	ibv_ack_cq_events(cq, 2);
	ibv_ack_async_event(&event);
	ibv_ack_cq_events(cq, 1);
	return NULL;
}

/* If destruction did not wait, the thread would write to freed memory. */
FAKE_CASE(destruction_waits_for_acks)
{
	struct fake_world *w = *state;
	struct ibv_cq *cq = ibv_create_cq(w->context, 4, NULL, NULL, 0);
	pthread_t thread;

	assert_non_null(cq);
	fake.comp_events = 3;
	fake.async_events = 1;
	assert_int_equal(pthread_create(&thread, NULL, ack_in_two_steps, cq),
			 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* Which completions of QPs 1 and 2 remain, in their order, also if the ring
 * wraps. */
FAKE_CASE(forgets_the_completions_of_one_qp)
{
	static const struct {
		const char *qps, *left;
	} rows[] = {
		{ "", "" },	    { "1", "" },
		{ "2", "a" },	    { "12", "b" },
		{ "21", "a" },	    { "1111", "" },
		{ "2222", "abcd" }, { "1212", "bd" },
		{ "2112", "ad" },   { "2122112", "acdg" },
	};
	struct fake_world *w = *state;
	struct ibv_cq *cq = ibv_create_cq(w->context, 7, NULL, NULL, 0);
	struct ibv_wc wc;
	size_t i, k;

	assert_non_null(cq);
	for (i = 0; i < 4 * ARRAY_LEN(rows); i++) {
		const char *qps = rows[i / 4].qps, *left = rows[i / 4].left;

		for (k = 0; k < strlen(qps); k++) {
			struct usiw_cqe cqe = {
				.wr_id = 'a' + k,
				.qp_num = (uint32_t)(qps[k] - '0'),
			};

			fake_cq_push(usiw_cq(cq)->rnic, &cqe);
		}
		usiw_cq_clean(usiw_cq(cq), 1);
		for (k = 0; k < strlen(left); k++) {
			assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
			assert_int_equal(wc.wr_id, left[k]);
			assert_int_equal(wc.qp_num, 2);
		}
		assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
	}
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Completions find their posts. */
#include "test.h"

#include "abi/usiw-abi.h"
#include "tools/trace/posts.h"

static void post(struct trace_posts *posts, uint32_t qp_num, uint64_t wr_id,
		 bool is_recv, bool is_signaled, uint64_t ns)
{
	struct usiw_post_record record = { .wr_id = wr_id,
					   .qp_num = qp_num,
					   .is_recv = is_recv,
					   .is_signaled = is_signaled };

	trace_posts_add(posts, 1, ns, &record);
}

/* Return: when it was posted; 0: it is not known. */
static uint64_t take(struct trace_posts *posts, uint32_t qp_num, uint64_t wr_id,
		     uint8_t opcode, uint8_t status)
{
	struct usiw_completion_record record = { .wr_id = wr_id,
						 .qp_num = qp_num,
						 .opcode = opcode,
						 .status = status };
	uint64_t ns = 0;

	return trace_posts_take(posts, 1, &record, &ns) ? ns : 0;
}

#define SEND USIW_WC_SEND
#define RECV USIW_WC_RECV

CASE(an_unsignaled_send_completes_with_the_next_signaled_one)
{
	struct trace_posts *posts = trace_posts_new();

	post(posts, 7, 0, false, false, 10);
	post(posts, 7, 0, false, true, 20);
	post(posts, 7, 0, false, true, 30);
	post(posts, 8, 0, false, true, 40);
	post(posts, 7, 0, true, true, 50);
	assert_int_equal(take(posts, 7, 0, SEND, 0), 20);
	assert_int_equal(take(posts, 7, 0, SEND, 0), 30);
	assert_int_equal(take(posts, 7, 0, SEND, 0), 0);
	assert_int_equal(take(posts, 8, 0, SEND, 0), 40);
	assert_int_equal(take(posts, 7, 0, RECV, 0), 50);
	/* Signaled or not, what fails has a completion. */
	post(posts, 7, 1, false, false, 60);
	post(posts, 7, 2, false, false, 70);
	assert_int_equal(take(posts, 7, 1, SEND, USIW_WC_WR_FLUSH_ERR), 60);
	assert_int_equal(take(posts, 7, 2, SEND, USIW_WC_WR_FLUSH_ERR), 70);
	trace_posts_free(posts);
}

CASE(receives_of_an_srq_complete_in_any_order)
{
	struct trace_posts *posts = trace_posts_new();

	for (uint64_t i = 1; i <= 3; i++)
		post(posts, 0, i, true, true, 10 * i);
	assert_int_equal(take(posts, 5, 3, RECV, 0), 30);
	assert_int_equal(take(posts, 6, 1, RECV, 0), 10);
	assert_int_equal(take(posts, 6, 1, RECV, 0), 0);
	assert_int_equal(take(posts, 5, 2, RECV, 0), 20);
	assert_int_equal(take(posts, 5, 9, SEND, 0), 0);
	trace_posts_free(posts);
}

/* A QP that never completes anything. */
CASE(the_oldest_posts_are_forgotten)
{
	struct trace_posts *posts = trace_posts_new();

	for (uint64_t i = 1; i <= 100000; i++)
		post(posts, 7, i, false, true, i);
	assert_int_equal(take(posts, 7, 1, SEND, 0), 0);
	assert_int_equal(take(posts, 7, 99999, SEND, 0), 99999);
	assert_int_equal(take(posts, 7, 99998, SEND, 0), 0);
	assert_int_equal(take(posts, 7, 100000, SEND, 0), 100000);
	trace_posts_free(posts);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The table of usiw trace -c. */
#include "printed.h"

#include "abi/usiw-abi.h"
#include "tools/trace/sum.h"

static void add(struct trace_sum *sum, const char *name, uint64_t took_ns,
		uint32_t cnt, int32_t result)
{
	struct text_record record;
	struct trace_call call =
		record_of(&record, name, "", "", took_ns, cnt, result);

	trace_sum_add_call(sum, &call);
}

CASE(calls_are_sorted_by_their_time)
{
	struct trace_sum *sum = trace_sum_new();

	add(sum, "ibv_post_send", 1000000, 1, 0);
	add(sum, "ibv_post_send", 1000000, 1, -12);
	add(sum, "ibv_poll_cq", 6000000, 3000, 0);
	add(sum, "ibv_\033", 0, 1, 0);
	EXPECT_PRINTED(
		trace_sum_show(sum, out),
		"% time     seconds     us/call     calls    errors call\n"
		"------ ----------- ----------- --------- --------- ----------\n"
		" 75.00    0.006000       2.000      3000           ibv_poll_cq\n"
		" 25.00    0.002000    1000.000         2         1 "
		"ibv_post_send\n"
		"  0.00    0.000000       0.000         1           ibv_?\n");
	trace_sum_free(sum);
}

/* The times are within 3 %. */
CASE(completions_have_their_percentiles)
{
	struct trace_sum *sum = trace_sum_new();
	struct usiw_completion_record completion = { .opcode = USIW_WC_WRITE };
	double p50, p99;
	char *text = NULL;
	const char *row;
	FILE *out;

	for (uint64_t i = 1; i <= 1000; i++)
		trace_sum_add_completion(sum, &completion, i * 1000);
	completion.status = USIW_WC_WR_FLUSH_ERR;
	trace_sum_add_completion(sum, &completion, 0);
	completion.status = USIW_WC_GENERAL_ERR;
	trace_sum_add_completion(sum, &completion, UINT64_MAX);
	out = printed_begin(&text);
	trace_sum_show(sum, out);
	fclose(out);
	row = strstr(text, "       1000 ");
	assert_non_null(row);
	assert_int_equal(sscanf(row,
				" 1000 %lf %lf IBV_WC_RDMA_WRITE "
				"IBV_WC_SUCCESS",
				&p50, &p99),
			 2);
	assert_true(p50 > 485 && p50 < 515);
	assert_true(p99 > 960 && p99 < 1020);
	assert_non_null(strstr(text, "          1           -           - "
				     "IBV_WC_RDMA_WRITE IBV_WC_WR_FLUSH_ERR"));
	assert_non_null(strstr(text, "IBV_WC_GENERAL_ERR"));
	free(text);
	trace_sum_free(sum);
}

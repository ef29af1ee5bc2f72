/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What -e of usiw trace shows. */
#include "test.h"

#include <string.h>

#include "said.h"
#include "tools/trace/filter.h"

static bool has(const struct trace_filter *filter, const char *name)
{
	return trace_filter_has_call(filter, name, strlen(name));
}

CASE(expressions_add_and_remove)
{
	static const struct {
		const char *text;
		bool poll, post, connect, completions, events;
	} rows[] = {
		{ "verbs", true, true, false, false, false },
		{ "cm", false, false, true, false, false },
		{ "completions,events", false, false, false, true, true },
		{ "poll_cq", true, false, false, false, false },
		{ "ibv_poll_cq,rdma_connect", true, false, true, false, false },
		{ "!poll_cq", false, true, true, true, true },
		{ "!verbs,!events", false, false, true, true, false },
		{ "verbs,!ibv_post_send", true, false, false, false, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct trace_filter filter;

		trace_filter_init(&filter);
		assert_int_equal(trace_filter_add(&filter, rows[i].text), 0);
		assert_int_equal(has(&filter, "ibv_poll_cq"), rows[i].poll);
		assert_int_equal(has(&filter, "ibv_post_send"), rows[i].post);
		assert_int_equal(has(&filter, "rdma_connect"), rows[i].connect);
		assert_int_equal(filter.completions, rows[i].completions);
		assert_int_equal(filter.events, rows[i].events);
	}
}

CASE(several_options_are_one_list)
{
	struct trace_filter filter;

	trace_filter_init(&filter);
	assert_true(has(&filter, "ibv_of_a_later_version"));
	assert_int_equal(trace_filter_add(&filter, "cm"), 0);
	assert_int_equal(trace_filter_add(&filter, "poll_cq"), 0);
	assert_true(has(&filter, "rdma_get_cm_event"));
	assert_true(has(&filter, "ibv_poll_cq"));
	assert_false(has(&filter, "ibv_of_a_later_version"));
	assert_true(has(&filter, "rdma_of_a_later_version"));
}

CASE(wrong_names_are_refused_with_those_that_are_right)
{
	static const char *const wrong[] = {
		"pol_cq", "", "verbs,", "!", "verbs,ibv_", "POLL_CQ"
	};

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct trace_filter filter;
		const char *said;

		trace_filter_init(&filter);
		said_begin();
		assert_int_equal(trace_filter_add(&filter, wrong[i]), -1);
		said = said_end();
		assert_non_null(strstr(said, "no such call or class"));
		assert_non_null(strstr(said, " completions "));
		assert_non_null(strstr(said, " alloc_pd"));
		assert_true(i || strstr(said, "did you mean poll_cq?"));
	}
}

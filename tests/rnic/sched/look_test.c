/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* look.c: what a poll looks at. */
#include "test.h"

#include "sched/look.h"

#define NOW_NS 1000000u

static const struct {
	const char *name;
	uint64_t asked_ns, news_ns; /* ago */
	bool asks_again, has_news, has_others;
	enum rnic_look_at at;
} rows[] = {
	{ "nothing else", 0, 0, false, false, false, RNIC_LOOK_EPOLL },
	{ "busy sockets", 49999, 50000, false, false, true, RNIC_LOOK_BUSY },
	{ "asked long ago", 50000, 50000, false, false, true, RNIC_LOOK_EPOLL },
	{ "asked long ago, news", 50000, 0, false, true, true,
	  RNIC_LOOK_EPOLL },
	{ "others were named", 0, 50000, true, false, true, RNIC_LOOK_EPOLL },
	{ "news", 0, 50000, false, true, true, RNIC_LOOK_MEMORY },
	{ "news lately", 0, 49999, false, false, true, RNIC_LOOK_MEMORY },
};

CASE(a_poll_pays_for_few_system_calls)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rnic_look look = { .news_ns = NOW_NS - rows[i].news_ns };

		rnic_look_asked(&look, NOW_NS - rows[i].asked_ns,
				rows[i].asks_again);
		assert_row(rows[i].name,
			   rnic_look(&look, NOW_NS, rows[i].has_news,
				     rows[i].has_others) == rows[i].at);
	}
}

CASE(a_poll_looks_again_soon_after_news)
{
	struct rnic_look look = { 0 };

	for (int i = 0; i < 16; i++) {
		assert_int_equal(rnic_look_again_cnt(&look), 8);
		(void)rnic_look(&look, NOW_NS, false, true);
	}
	assert_int_equal(rnic_look_again_cnt(&look), 0);
	(void)rnic_look(&look, NOW_NS, false, true);
	assert_int_equal(rnic_look_again_cnt(&look), 0);
	(void)rnic_look(&look, NOW_NS, true, true);
	assert_int_equal(rnic_look_again_cnt(&look), 8);
}

CASE(news_put_off_the_sockets)
{
	struct rnic_look look = { 0 };

	rnic_look_asked(&look, NOW_NS, false);
	assert_int_equal(rnic_look(&look, NOW_NS, false, true), RNIC_LOOK_BUSY);
	assert_int_equal(rnic_look(&look, NOW_NS + 1, true, true),
			 RNIC_LOOK_MEMORY);
	assert_int_equal(rnic_look(&look, NOW_NS + 2, false, true),
			 RNIC_LOOK_MEMORY);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* look.c: what a poll looks at. */
#include "test.h"

#include "sched/look.h"

#define NOW_NS 3000000u

static const struct {
	const char *name;
	uint64_t asked_ns, news_ns; /* ago */
	bool asks_again;
	struct rnic_look_poll poll;
	enum rnic_look_at at;
} rows[] = {
	{ "nothing else", 0, 0, false, { 0 }, RNIC_LOOK_EPOLL },
	{ "busy sockets",
	  49999,
	  50000,
	  false,
	  { .has_others = true },
	  RNIC_LOOK_BUSY },
	{ "asked long ago",
	  50000,
	  50000,
	  false,
	  { .has_others = true },
	  RNIC_LOOK_EPOLL },
	{ "asked long ago, news",
	  50000,
	  0,
	  false,
	  { .has_news = true, .has_others = true },
	  RNIC_LOOK_EPOLL },
	{ "others were named",
	  0,
	  50000,
	  true,
	  { .has_others = true },
	  RNIC_LOOK_EPOLL },
	{ "news",
	  0,
	  50000,
	  false,
	  { .has_news = true, .has_others = true },
	  RNIC_LOOK_MEMORY },
	{ "news lately",
	  0,
	  49999,
	  false,
	  { .has_others = true },
	  RNIC_LOOK_MEMORY },
	{ "woken by news",
	  999999,
	  0,
	  true,
	  { .has_news = true, .has_others = true, .has_slept = true },
	  RNIC_LOOK_MEMORY },
	{ "woken, no news",
	  0,
	  0,
	  false,
	  { .has_others = true, .has_slept = true },
	  RNIC_LOOK_EPOLL },
	{ "before a sleep",
	  1999999,
	  50000,
	  true,
	  { .has_others = true, .has_sleeper = true },
	  RNIC_LOOK_MEMORY },
	{ "before a sleep, nothing else",
	  0,
	  0,
	  false,
	  { .has_sleeper = true },
	  RNIC_LOOK_MEMORY },
	{ "a sleeper does not come back",
	  2000000,
	  0,
	  false,
	  { .has_others = true, .has_sleeper = true },
	  RNIC_LOOK_EPOLL },
};

CASE(a_poll_pays_for_few_system_calls)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rnic_look look = { .news_ns = NOW_NS - rows[i].news_ns };

		rnic_look_asked(&look, NOW_NS - rows[i].asked_ns,
				rows[i].asks_again);
		assert_row(rows[i].name,
			   rnic_look(&look, NOW_NS, &rows[i].poll) ==
				   rows[i].at);
	}
}

/* Sources whose memory has news at each wake-up do not hide the others. */
CASE(news_behind_sleeps_put_off_epoll_a_few_times)
{
	static const struct rnic_look_poll poll = { .has_news = true,
						    .has_others = true,
						    .has_slept = true };
	struct rnic_look look = { 0 };

	for (int turn = 0; turn < 2; turn++) {
		rnic_look_asked(&look, NOW_NS, false);
		for (int i = 0; i < 8; i++)
			assert_int_equal(rnic_look(&look, NOW_NS, &poll),
					 RNIC_LOOK_MEMORY);
		assert_int_equal(rnic_look(&look, NOW_NS, &poll),
				 RNIC_LOOK_EPOLL);
	}
}

static const struct rnic_look_poll vain = { .has_others = true };
static const struct rnic_look_poll news = { .has_news = true,
					    .has_others = true };

CASE(a_poll_looks_again_soon_after_news)
{
	struct rnic_look look = { 0 };

	for (int i = 0; i < 16; i++) {
		assert_int_equal(rnic_look_again_cnt(&look), 8);
		(void)rnic_look(&look, NOW_NS, &vain);
	}
	assert_int_equal(rnic_look_again_cnt(&look), 0);
	(void)rnic_look(&look, NOW_NS, &vain);
	assert_int_equal(rnic_look_again_cnt(&look), 0);
	(void)rnic_look(&look, NOW_NS, &news);
	assert_int_equal(rnic_look_again_cnt(&look), 8);
}

CASE(news_put_off_the_sockets)
{
	struct rnic_look look = { 0 };

	rnic_look_asked(&look, NOW_NS, false);
	assert_int_equal(rnic_look(&look, NOW_NS, &vain), RNIC_LOOK_BUSY);
	assert_int_equal(rnic_look(&look, NOW_NS + 1, &news), RNIC_LOOK_MEMORY);
	assert_int_equal(rnic_look(&look, NOW_NS + 2, &vain), RNIC_LOOK_MEMORY);
}

CASE(news_behind_a_poll_in_vain_needs_no_time)
{
	static const struct rnic_look_poll woken = { .has_news = true,
						     .has_slept = true };
	struct rnic_look look = { .asked_ns = NOW_NS, .vain_cnt = 5 };

	assert_true(rnic_look_needs_time(&look, &vain));
	assert_true(rnic_look_needs_time(&look, &woken));
	assert_false(rnic_look_needs_time(&look, &news));
	assert_true(rnic_look_needs_time(&look, &news));
	/* The next one that knows the time notes when there was news. */
	(void)rnic_look(&look, NOW_NS + 40000, &vain);
	assert_int_equal(look.news_ns, NOW_NS + 40000);
	(void)rnic_look(&look, NOW_NS + 50000, &vain);
	assert_int_equal(look.news_ns, NOW_NS + 40000);
	look.asks_again = true;
	assert_true(rnic_look_needs_time(&look, &news));
}

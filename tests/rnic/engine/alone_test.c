/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* alone.h: which posts count as alone. */
#define _GNU_SOURCE
#include "test.h"

#include "engine/alone.h"

static uint64_t now_ns;

int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	ts->tv_sec = 0;
	ts->tv_nsec = (long)now_ns;
	return 0;
}

/* A post that comes @gap_ns after the one before, and takes as long as any
 * program waits.  @asks: it could be served in a way that is for those that are
 * alone. */
struct post {
	uint64_t gap_ns;
	bool asks;
	bool is_alone;
};

#define LONG RNIC_ALONE_NS
#define SHORT (RNIC_ALONE_NS - 1)

static const struct {
	const char *name;
	struct post posts[6];
} rows[] = {
	{ "one by one",
	  { { LONG, true, false },
	    { LONG, true, true },
	    { LONG, true, true },
	    { 10 * LONG, true, true } } },
	{ "without a pause",
	  { { LONG, true, false },
	    { SHORT, true, false },
	    { 0, true, false },
	    { SHORT, true, false } } },
	{ "a pause after a burst",
	  { { LONG, true, false },
	    { SHORT, true, false },
	    { LONG, true, true } } },
	{ "one too early among others",
	  { { LONG, true, false },
	    { LONG, true, true },
	    { LONG, true, true },
	    { SHORT, true, true },
	    { LONG, true, true } } },
	{ "too early from now on",
	  { { LONG, true, false },
	    { LONG, true, true },
	    { LONG, true, true },
	    { SHORT, true, true },
	    { SHORT, true, false } } },
	{ "others in between, which do not ask",
	  { { LONG, true, false },
	    { LONG, false, false },
	    { LONG, true, false },
	    { LONG, true, true } } },
	{ "a burst that begins after a pause, and asks for its first only",
	  { { LONG, true, false },
	    { SHORT, false, false },
	    { LONG, true, false },
	    { SHORT, false, false },
	    { LONG, true, false } } },
};

static void posts_with_a_pause_between_them_are_alone(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rnic_alone alone = { .left_ns = 0 };

		now_ns = 1000;
		for (size_t j = 0;
		     rows[i].posts[j].gap_ns || rows[i].posts[j].asks; j++) {
			const struct post *post = &rows[i].posts[j];

			now_ns += post->gap_ns;
			rnic_alone_enter(&alone);
			now_ns += 10 * LONG;
			if (post->asks)
				assert_row(rows[i].name,
					   rnic_alone_ask(&alone) ==
						   post->is_alone);
			rnic_alone_leave(&alone);
		}
	}
}

/* The pause depends on the fastest post that was served alone. */
static const struct {
	const char *name;
	uint64_t post_ns[3]; /* how long posts take that are served alone */
	uint64_t pause_ns;   /* the shortest one after them */
} pauses[] = {
	{ "none yet", { 0 }, RNIC_ALONE_NS },
	{ "half of it", { 900 }, 450 },
	{ "of the fastest", { 1100, 1000, 90000 }, 500 },
	{ "at least", { 100 }, RNIC_ALONE_NS },
	{ "at most", { 90000 }, RNIC_ALONE_MAX_NS },
};

static void post_alone(struct rnic_alone *alone, uint64_t gap_ns,
		       uint64_t post_ns)
{
	now_ns += gap_ns;
	rnic_alone_enter(alone);
	if (rnic_alone_ask(alone))
		rnic_alone_note_served(alone);
	now_ns += post_ns;
	rnic_alone_leave(alone);
}

static bool is_alone_after(struct rnic_alone alone, uint64_t gap_ns)
{
	alone.trust = 0; /* this gap decides */
	now_ns += gap_ns;
	rnic_alone_enter(&alone);
	return rnic_alone_ask(&alone);
}

static void the_pause_follows_the_fastest_post(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(pauses); i++) {
		struct rnic_alone alone = { .left_ns = 0 };
		uint64_t pause_ns = pauses[i].pause_ns;

		now_ns = 1000;
		post_alone(&alone, RNIC_ALONE_MAX_NS, 20);
		for (size_t j = 0; j < ARRAY_LEN(pauses[i].post_ns); j++)
			if (pauses[i].post_ns[j])
				post_alone(&alone, RNIC_ALONE_MAX_NS,
					   pauses[i].post_ns[j]);
		assert_row(pauses[i].name,
			   !is_alone_after(alone, pause_ns - 1));
		now_ns -= pause_ns - 1;
		assert_row(pauses[i].name, is_alone_after(alone, pause_ns));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(posts_with_a_pause_between_them_are_alone),
		cmocka_unit_test(the_pause_follows_the_fastest_post),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

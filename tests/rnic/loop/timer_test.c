/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Timers: each expires once, at its time. Expiry may start and stop other
 * timers. */
#include "test.h"
#include "loop/loop.h"

#define LIST RNIC_TIMER_CM_STARTING
#define OTHER RNIC_TIMER_OOB_PARKED
#define CNT 4

static struct rnic_timer timer[CNT];
static enum rnic_timer_list list_of[CNT];
static int order[CNT * 2];
static int expired_cnt;
static uint64_t fired_ns;
static void (*on_expire)(int i);

static void expire(enum rnic_timer_list list, const struct rnic_timer *t)
{
	int i = (int)(t - timer);

	assert_false(rnic_timer_runs(t));
	assert_true(t->deadline_ns <= fired_ns);
	list_of[i] = list;
	order[expired_cnt++] = i;
	if (on_expire)
		on_expire(i);
}

static void expire_list(struct rnic_timer *t)
{
	expire(LIST, t);
}

static void expire_other(struct rnic_timer *t)
{
	expire(OTHER, t);
}

static void fire(uint64_t now_ns)
{
	fired_ns = now_ns;
	rnic_timers_fire(now_ns);
}

static int begin(void **state)
{
	static rnic_timer_expired *const by_list[RNIC_TIMER_CNT] = {
		[LIST] = expire_list,
		[OTHER] = expire_other,
	};
	static const struct rnic_loop_ops ops = { .expire = by_list };

	rnic_loop.ops = &ops;
	util_lock(&rnic_loop.lock);
	expired_cnt = 0;
	on_expire = NULL;
	return 0;
}

static int end(void **state)
{
	for (int i = 0; i < CNT; i++)
		rnic_timer_stop(&timer[i]);
	util_unlock(&rnic_loop.lock);
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, begin, end)

FILE_CASE(expires_in_order_and_once)
{
	assert_true(rnic_timers_next_ns() == UINT64_MAX);
	for (int i = 0; i < 3; i++)
		rnic_timer_start(&timer[i], LIST, 1000);
	rnic_timer_start(&timer[3], OTHER, 500 * NS_PER_MS);
	assert_int_equal(rnic_timer_cnt(LIST), 3);
	assert_true(rnic_timers_next_ns() == timer[0].deadline_ns);
	fire(timer[0].deadline_ns - 1);
	assert_int_equal(expired_cnt, 0);
	fire(timer[2].deadline_ns);
	assert_int_equal(expired_cnt, 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(order[i], i);
		assert_int_equal(list_of[i], LIST);
	}
	assert_true(rnic_timers_next_ns() == timer[3].deadline_ns);
	fire(timer[3].deadline_ns);
	assert_int_equal(list_of[3], OTHER);
	assert_true(rnic_timers_next_ns() == UINT64_MAX);
}

FILE_CASE(a_stopped_one_does_not_expire)
{
	rnic_timer_start(&timer[0], LIST, 1000);
	rnic_timer_start(&timer[1], LIST, 1000);
	rnic_timer_stop(&timer[0]);
	rnic_timer_stop(&timer[0]);
	assert_false(rnic_timer_runs(&timer[0]));
	fire(timer[1].deadline_ns);
	assert_int_equal(expired_cnt, 1);
	assert_int_equal(order[0], 1);
}

/* It goes to the end of its new list. */
FILE_CASE(one_that_runs_starts_anew)
{
	rnic_timer_start(&timer[0], OTHER, 1);
	rnic_timer_start(&timer[1], LIST, 1000);
	rnic_timer_start(&timer[0], LIST, 1000);
	assert_int_equal(rnic_timer_cnt(OTHER), 0);
	assert_int_equal(rnic_timer_cnt(LIST), 2);
	fire(timer[0].deadline_ns);
	assert_int_equal(expired_cnt, 2);
	assert_int_equal(order[0], 1);
	assert_int_equal(order[1], 0);
}

static void again(int i)
{
	rnic_timer_start(&timer[i], LIST, 0);
}

static void stop_next(int i)
{
	rnic_timer_stop(&timer[i + 1]);
}

/* One that is due again at once, and one that another stops. */
FILE_CASE(expiry_may_start_and_stop)
{
	rnic_timer_start(&timer[0], LIST, 0);
	rnic_timer_start(&timer[1], LIST, 0);
	on_expire = again;
	fire(UINT64_MAX);
	assert_int_equal(expired_cnt, 2);
	assert_int_equal(rnic_timer_cnt(LIST), 2);
	expired_cnt = 0;
	on_expire = stop_next;
	fire(UINT64_MAX);
	assert_int_equal(expired_cnt, 1);
	assert_int_equal(rnic_timer_cnt(LIST), 0);
}

/* The thread is woken for an earlier deadline, and for no other. */
FILE_CASE(only_an_earlier_deadline_wakes)
{
	rnic_loop.wakes_ns = UINT64_MAX;
	rnic_timer_start(&timer[0], LIST, 1000 * NS_PER_MS);
	assert_true(rnic_loop.wakes_ns == timer[0].deadline_ns);
	rnic_timer_start(&timer[1], LIST, 1000 * NS_PER_MS);
	assert_true(rnic_loop.wakes_ns == timer[0].deadline_ns);
	rnic_timer_start(&timer[2], OTHER, 0);
	assert_true(rnic_loop.wakes_ns == timer[2].deadline_ns);
	rnic_loop.wakes_ns = 0; /* awake */
	rnic_timer_start(&timer[3], OTHER, 0);
	assert_true(rnic_loop.wakes_ns == 0);
}

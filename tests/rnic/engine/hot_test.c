/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* hot.c: sources with memory are looked at, put to sleep, and woken. */
#define _GNU_SOURCE
#include "test.h"

#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/engine.h"
#include "engine/hot.h"
#include "engine/sockets.h"
#include "engine/thread.h"
#include "engine/wake.h"
#include "until.h"
#include "wrap-clock.h"

static struct rnic_engine *engine;

/* ---- sources that only count ---- */

struct fake {
	struct rnic_source source;
	_Atomic uint64_t word; /* what the other end writes */
	int peer_fd;
	int pass_cnt, look_cnt, woken_cnt, sleep_cnt, awake_cnt;
	bool is_restless;  /* has news whenever it is to sleep */
	bool was_asleep;   /* the other end, when it was written to */
	bool is_poll_live; /* somebody polls, as its look sees it */
};

static struct fake *fake_of(struct rnic_source *source)
{
	return RNIC_CONTAINER_OF(source, struct fake, source);
}

static void fake_pass(struct rnic_source *source, uint32_t events)
{
	(void)events;
	fake_of(source)->pass_cnt++;
}

static void fake_look(struct rnic_source *source, bool is_woken)
{
	struct fake *fake = fake_of(source);
	uint64_t cnt;

	fake->look_cnt++;
	fake->is_poll_live =
		rnic_polls_are_live(&engine->sched.polls, fake_now_ns);
	fake->woken_cnt += is_woken;
	if (is_woken)
		must(!eventfd_read(source->wake_fd, &cnt));
	source->in_seen = atomic_load(&fake->word);
}

static bool fake_sleep(struct rnic_source *source)
{
	struct fake *fake = fake_of(source);

	fake->sleep_cnt++;
	if (fake->is_restless)
		atomic_fetch_add(&fake->word, 1);
	return atomic_load(&fake->word) == source->in_seen;
}

static void fake_stay_awake(struct rnic_source *source)
{
	fake_of(source)->awake_cnt++;
}

/* What the engine does with wake-ups that are put off. */
static struct {
	int wake_cnt, unwakeable_cnt;
	bool is_led, fails;
	bool ends_watch; /* the thread that looked goes to sleep meanwhile */
} later;

static bool fake_wake(int wake_fd)
{
	(void)wake_fd;
	later.wake_cnt++;
	later.is_led = util_lock_is_held(&engine->lead);
	if (later.ends_watch)
		atomic_store(&engine->sched.burst.is_watched, false);
	return !later.fails;
}

static void fake_unwakeable(struct rnic_source *source)
{
	(void)source;
	util_lock_assert_held(&engine->lead);
	later.unwakeable_cnt++;
}

/* Another thread rings it while a handover begins. */
static struct rnic_bell *rung;

static bool fake_handover(struct rnic_source *source,
			  struct rnic_handover *ret_handover)
{
	struct fake *fake = fake_of(source);

	if (rung)
		rnic_engine_bell(engine, rung);
	rung = NULL;
	ret_handover->read = &fake->word;
	ret_handover->was_asleep = fake->was_asleep;
	return true;
}

/* Nothing is left to send, so that the end of the engine waits for nothing. */
static void fake_end(struct rnic_source *source)
{
	rnic_engine_remove(engine, source);
}

static const struct rnic_source_ops fake_source_ops = {
	.pass = fake_pass,
	.look = fake_look,
	.sleep = fake_sleep,
	.stay_awake = fake_stay_awake,
	.unwakeable = fake_unwakeable,
	.handover = fake_handover,
	.drain = fake_end,
	.abort = fake_end,
};

static const struct rnic_engine_ops fake_ops = {
	.wake = fake_wake,
};

#define FAKE_CNT ((int)RNIC_HOT_MAX + 12)
#define LOOKS 8	      /* of a poll in vain */
#define LOOK_POLLS 16 /* ... as long as one of so many polls found news */
#define ASK_NS 50000u /* polls do not ask epoll for so long */

static struct fake fakes[RNIC_HOT_MAX + 12];

/* One that has a socket only. */
static void fake_open_socket(struct fake *fake)
{
	int fd[2];

	memset(fake, 0, sizeof(*fake));
	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd));
	fake->source.fd = fd[0];
	fake->peer_fd = fd[1];
	rnic_engine_lead(engine);
	fake->source.ops = &fake_source_ops;
	must(!rnic_engine_add(engine, &fake->source));
	rnic_engine_unlead(engine);
}

static void fake_close_socket(struct fake *fake)
{
	rnic_engine_lead(engine);
	rnic_engine_remove(engine, &fake->source);
	rnic_engine_unlead(engine);
	close(fake->source.fd);
	close(fake->peer_fd);
}

static void fake_open(struct fake *fake)
{
	fake_open_socket(fake);
	rnic_engine_lead(engine);
	must(!rnic_engine_add_wake(engine, &fake->source,
				   eventfd(0, EFD_NONBLOCK)));
	fake->source.in = &fake->word;
	rnic_engine_unlead(engine);
}

/* What the other end does that has new octets; it wakes a sleeper. */
static void fake_write(struct fake *fake, bool wakes)
{
	atomic_fetch_add(&fake->word, 1);
	if (wakes)
		must(!eventfd_write(fake->source.wake_fd, 1));
}

static int fake_cnt; /* of fakes that are open */

static int setup_some(int cnt)
{
	memset(&later, 0, sizeof(later));
	must(!rnic_engine_new(&fake_ops, NULL, &engine));
	for (fake_cnt = 0; fake_cnt < cnt; fake_cnt++)
		fake_open(&fakes[fake_cnt]);
	return 0;
}

static int setup(void **state)
{
	return setup_some(FAKE_CNT);
}

static int setup_none(void **state)
{
	return setup_some(0);
}

static int setup_one(void **state)
{
	return setup_some(1);
}

static int teardown(void **state)
{
	fake_now_ns = 0; /* the end of the engine needs a clock that goes */
	rnic_engine_free(engine);
	for (int i = 0; i < fake_cnt; i++) {
		close(fakes[i].source.wake_fd);
		close(fakes[i].source.fd);
		close(fakes[i].peer_fd);
	}
	return 0;
}

#define HOT_CASE(name) CASE_WITH(name, setup, teardown)
#define NONE_CASE(name) CASE_WITH(name, setup_none, teardown)
#define ONE_CASE(name) CASE_WITH(name, setup_one, teardown)

#define led(expr)                                                              \
	({                                                                     \
		rnic_engine_lead(engine);                                      \
		__typeof__(expr) value_ = (expr);                              \
		rnic_engine_unlead(engine);                                    \
		value_;                                                        \
	})

/* ---- cases ---- */

HOT_CASE(keeps_only_the_latest_hot)
{
	uint32_t hot_cnt = 0;

	for (int i = 0; i < FAKE_CNT; i++)
		hot_cnt += fakes[i].source.is_hot;
	assert_int_equal(hot_cnt, RNIC_HOT_MAX);
	assert_int_equal(engine->hot.cnt, RNIC_HOT_MAX);
	assert_true(fakes[FAKE_CNT - 1].source.is_hot);
	assert_false(fakes[0].source.is_hot);
	/* All were asleep: nobody had to be asked. */
	for (int i = 0; i < FAKE_CNT; i++)
		assert_int_equal(fakes[i].sleep_cnt, 0);
}

HOT_CASE(poll_finds_news_of_a_hot_source)
{
	struct fake *hot = &fakes[FAKE_CNT - 1];

	rnic_engine_poll(engine);
	assert_int_equal(hot->look_cnt, 0);
	fake_write(hot, false);
	rnic_engine_poll(engine);
	assert_int_equal(hot->look_cnt, 1);
	rnic_engine_poll(engine);
	assert_int_equal(hot->look_cnt, 1);
}

/* Looks again of a poll; news comes before one of them. */
static int again_cnt, news_at;

bool __real_rnic_engine_has_news(const struct rnic_engine *e);
bool __wrap_rnic_engine_has_news(const struct rnic_engine *e);
bool __wrap_rnic_engine_has_news(const struct rnic_engine *e)
{
	if (++again_cnt == news_at)
		fake_write(&fakes[FAKE_CNT - 1], false);
	return __real_rnic_engine_has_news(e);
}

HOT_CASE(poll_waits_a_little_for_news)
{
	static const int at[] = { 0, 1, 3, LOOKS };

	for (size_t i = 0; i < ARRAY_LEN(at); i++) {
		again_cnt = 0;
		news_at = at[i];
		fakes[FAKE_CNT - 1].look_cnt = 0;
		rnic_engine_poll(engine);
		assert_int_equal(fakes[FAKE_CNT - 1].look_cnt, at[i] > 0);
		assert_int_equal(again_cnt, at[i] ? at[i] : LOOKS);
		assert_int_equal(engine->sched.look.vain_cnt, at[i] ? 0 : 1);
	}
	news_at = 0;
}

/* What a look sends and serves depends on whether somebody polls. */
HOT_CASE(a_look_knows_of_the_poll_that_it_is_part_of)
{
	struct fake *fake = &fakes[FAKE_CNT - 1];

	fake_now_ns = 1000 * NS_PER_MS;
	fake_write(fake, false);
	rnic_engine_poll(engine);
	fake_now_ns += 1000 * NS_PER_MS;
	fake_write(fake, false);
	rnic_engine_poll(engine);
	assert_true(fake->is_poll_live);
}

/* A program that does something else between its polls does not wait long in
 * any. */
HOT_CASE(polls_in_vain_cease_to_look_again)
{
	fake_write(&fakes[FAKE_CNT - 1], false);
	rnic_engine_poll(engine);
	assert_int_equal(engine->sched.look.vain_cnt, 0);
	for (uint32_t i = 1; i <= 2 * LOOK_POLLS; i++) {
		rnic_engine_poll(engine);
		assert_int_equal(engine->sched.look.vain_cnt,
				 i < LOOK_POLLS ? i : LOOK_POLLS);
	}
	fake_write(&fakes[FAKE_CNT - 1], false);
	rnic_engine_poll(engine);
	assert_int_equal(engine->sched.look.vain_cnt, 0);
}

/* From here on, no poll asks epoll until ASK_NS have passed. */
static void ask_now(void)
{
	fake_now_ns = 1000 * NS_PER_MS;
	rnic_engine_poll(engine);
	rnic_engine_poll(engine);
	assert_int_equal(engine->sched.look.asked_ns, fake_now_ns);
	assert_false(engine->sched.look.asks_again);
}

/* What no poll looks at says so by its descriptor, which is asked rarely. */
HOT_CASE(wakeup_makes_a_source_hot)
{
	struct fake *cold = &fakes[0];

	ask_now();
	fake_write(cold, true);
	fake_now_ns += ASK_NS - 1;
	rnic_engine_poll(engine);
	assert_int_equal(cold->woken_cnt, 0);
	fake_now_ns++;
	rnic_engine_poll(engine);
	assert_int_equal(cold->woken_cnt, 1);
	assert_true(cold->source.is_hot);
	assert_int_equal(engine->hot.cnt, RNIC_HOT_MAX);
	/* It had been woken, so it is put to sleep again. */
	assert_int_equal(cold->sleep_cnt, 1);
	assert_true(cold->source.is_asleep);
}

/* A thread that sleeps on the sockets may poll once between two sleeps. */
HOT_CASE(first_poll_after_a_sleep_finds_the_woken)
{
	for (int i = 0; i < FAKE_CNT; i++) {
		ask_now();
		assert_true(rnic_engine_sleep_begin(engine));
		fake_write(&fakes[i], true);
		rnic_engine_sleep_end(engine);
		rnic_engine_poll(engine);
		assert_int_equal(fakes[i].look_cnt, 1);
	}
}

/* More sources have news than are hot: polls that find some go on asking. */
HOT_CASE(polls_that_find_the_woken_ask_again)
{
	ask_now();
	fake_now_ns += ASK_NS;
	for (int i = 0; i < FAKE_CNT; i++) {
		fake_write(&fakes[i], true);
		rnic_engine_poll(engine);
		assert_int_equal(fakes[i].look_cnt, 1);
	}
}

/* A million sources would cost a poll no more than these. */
HOT_CASE(polls_do_not_visit_idle_sources)
{
	for (int i = 0; i < 10000; i++)
		rnic_engine_poll(engine);
	for (int i = 0; i < FAKE_CNT; i++) {
		assert_int_equal(fakes[i].pass_cnt, 0);
		assert_int_equal(fakes[i].look_cnt, 0);
		assert_int_equal(fakes[i].sleep_cnt, 0);
	}
}

/* While the completion thread watches, and nobody sleeps on the sockets. */
HOT_CASE(stays_awake_only_while_watched)
{
	struct fake *hot = &fakes[FAKE_CNT - 1];

	assert_false(led(rnic_engine_may_stay_awake(engine)));
	rnic_engine_poll(engine);
	assert_int_equal(hot->awake_cnt, 0);
	rnic_burst_watch(&engine->sched.burst);
	assert_true(led(rnic_engine_may_stay_awake(engine)));
	rnic_engine_poll(engine);
	assert_int_equal(hot->awake_cnt, 1);
	assert_false(hot->source.is_asleep);
	rnic_engine_poll(engine);
	assert_int_equal(hot->awake_cnt, 1);
	assert_int_equal(hot->sleep_cnt, 0);
	/* A thread is about to sleep on the sockets. */
	assert_true(rnic_engine_sleep_begin(engine));
	assert_false(led(rnic_engine_may_stay_awake(engine)));
	assert_true(rnic_engine_rest(engine));
	assert_true(hot->source.is_asleep);
	rnic_engine_sleep_end(engine);
}

HOT_CASE(rest_serves_what_has_come)
{
	struct fake *hot = &fakes[FAKE_CNT - 1];

	rnic_burst_watch(&engine->sched.burst);
	rnic_engine_poll(engine);
	fake_write(hot, false);
	assert_true(led(rnic_engine_has_news(engine)));
	assert_true(rnic_engine_rest(engine));
	assert_int_equal(hot->look_cnt, 1);
	assert_false(led(rnic_engine_has_news(engine)));
	/* One that never stops is not waited for. */
	rnic_engine_poll(engine);
	hot->is_restless = true;
	for (int i = 0; i < 2; i++) {
		assert_false(rnic_engine_rest(engine));
		assert_false(hot->source.is_asleep);
	}
	hot->is_restless = false;
	assert_true(rnic_engine_rest(engine));
}

/* It would meet a program that spins on its memory, and posts. */
HOT_CASE(rest_takes_no_lead_twice)
{
	struct fake *hot = &fakes[FAKE_CNT - 1];

	rnic_engine_poll(engine);
	assert_true(rnic_engine_rest(engine));
	/* A lead would put it to sleep. */
	hot->source.is_asleep = false;
	hot->sleep_cnt = 0;
	assert_true(rnic_engine_rest(engine));
	assert_int_equal(hot->sleep_cnt, 0);
	hot->source.is_asleep = true;
}

/* The leader leaves a source awake for a thread that looks, which goes to sleep
 * before the lead is free: it finds that all are asleep, or the leader looks
 * again. */
HOT_CASE(nobody_is_left_awake)
{
	struct fake *hot = &fakes[FAKE_CNT - 1];

	rnic_burst_watch(&engine->sched.burst);
	rnic_engine_lead(engine);
	rnic_engine_await(engine, &hot->source);
	assert_true(rnic_engine_wake_later(engine, &hot->source));
	later.ends_watch = true;
	rnic_engine_unlead(engine);
	assert_int_equal(later.wake_cnt, 1);
	assert_true(hot->source.is_asleep);
}

/* A second look would cost a system call, and a program that spins on its
 * memory the moment in which it wants to post. */
HOT_CASE(a_wakeup_is_one_look)
{
	struct fake *hot = &fakes[FAKE_CNT - 1];
	struct epoll_event ev[4];
	int cnt;

	fake_write(hot, true);
	cnt = epoll_wait(engine->epfd, ev, 4, -1);
	assert_int_equal(cnt, 1);
	rnic_engine_lead(engine);
	rnic_engine_serve_events(engine, ev, cnt);
	rnic_engine_unlead(engine);
	assert_int_equal(hot->look_cnt, 1);
	assert_int_equal(hot->woken_cnt, 1);
}

/* One that cannot be put to sleep is not forgotten for the sake of the
 * limit. */
HOT_CASE(limit_keeps_what_has_news)
{
	rnic_burst_watch(&engine->sched.burst);
	rnic_engine_poll(engine);
	for (int i = 0; i < FAKE_CNT; i++)
		fakes[i].is_restless = true;
	rnic_engine_lead(engine);
	rnic_engine_heat(engine, &fakes[0].source);
	rnic_engine_unlead(engine);
	assert_int_equal(engine->hot.cnt, RNIC_HOT_MAX + 1);
	for (int i = 0; i < FAKE_CNT; i++)
		fakes[i].is_restless = false;
	rnic_engine_poll(engine);
	assert_true(rnic_engine_rest(engine));
}

/* What no poll looks at must be woken: whoever is not hot is asleep. */
static void assert_no_cold_one_is_awake(void)
{
	for (int i = 0; i < FAKE_CNT; i++)
		assert_true(fakes[i].source.is_hot ||
			    fakes[i].source.is_asleep);
}

static void all_restless(bool is_restless)
{
	for (int i = 0; i < FAKE_CNT; i++)
		fakes[i].is_restless = is_restless;
}

/* More are hot than the limit allows, as all had news when it was reached. */
HOT_CASE(a_look_beyond_the_limit_forgets_nobody)
{
	for (int i = 0; i < FAKE_CNT; i++) {
		rnic_burst_watch(&engine->sched.burst);
		rnic_engine_poll(engine);
		all_restless(true);
		rnic_engine_lead(engine);
		rnic_engine_await(engine, &fakes[0].source);
		rnic_engine_await(engine, &fakes[1].source);
		rnic_engine_unlead(engine);
		assert_true(engine->hot.cnt > RNIC_HOT_MAX);
		all_restless(false);
		for (int j = 0; j < FAKE_CNT; j++)
			fakes[j].source.in_seen = atomic_load(&fakes[j].word);
		fake_write(&fakes[i], false);
		rnic_engine_poll(engine);
		assert_no_cold_one_is_awake();
		assert_true(rnic_engine_rest(engine));
		teardown(NULL);
		setup(NULL);
	}
}

/* The thread sleeps in epoll: the descriptor brings it. */
HOT_CASE(wakes_the_completion_thread)
{
	struct fake *cold = &fakes[0], *hot = &fakes[FAKE_CNT - 1];

	assert_int_equal(led(rnic_engine_thread_start(engine)), 0);
	fake_write(cold, true);
	wait_until(led(cold->woken_cnt) == 1);
	wait_until(led(cold->source.is_asleep));
	fake_write(hot, true);
	wait_until(led(hot->woken_cnt) == 1);
}

/* ---- the other end is woken ---- */

HOT_CASE(wakes_without_the_lead)
{
	rnic_engine_lead(engine);
	assert_true(rnic_engine_wake_later(engine, &fakes[0].source));
	assert_true(rnic_engine_wake_later(engine, &fakes[1].source));
	assert_int_equal(later.wake_cnt, 0);
	rnic_engine_unlead(engine);
	assert_int_equal(later.wake_cnt, 2);
	assert_false(later.is_led);
	rnic_engine_poll(engine);
	assert_int_equal(later.wake_cnt, 2);
	assert_int_equal(later.unwakeable_cnt, 0);
}

HOT_CASE(puts_off_only_some)
{
	rnic_engine_lead(engine);
	for (int i = 0; i < RNIC_WAKES_MAX; i++)
		assert_true(rnic_engine_wake_later(engine, &fakes[i].source));
	assert_false(rnic_engine_wake_later(engine, &fakes[0].source));
	rnic_engine_unlead(engine);
	assert_int_equal(later.wake_cnt, RNIC_WAKES_MAX);
}

HOT_CASE(says_who_cannot_be_woken)
{
	later.fails = true;
	rnic_engine_lead(engine);
	assert_true(rnic_engine_wake_later(engine, &fakes[0].source));
	assert_true(rnic_engine_wake_later(engine, &fakes[1].source));
	rnic_engine_unlead(engine);
	assert_int_equal(later.unwakeable_cnt, 2);
}

/* Its descriptor may be closed, and another file may get the number. */
HOT_CASE(wakes_nobody_that_has_gone)
{
	rnic_engine_lead(engine);
	assert_true(rnic_engine_wake_later(engine, &fakes[0].source));
	assert_true(rnic_engine_wake_later(engine, &fakes[1].source));
	rnic_engine_remove_wake(engine, &fakes[0].source);
	assert_false(rnic_engine_wake_later(engine, &fakes[0].source));
	rnic_engine_unlead(engine);
	assert_int_equal(later.wake_cnt, 1);
}

static void *give_back(void *arg)
{
	struct rnic_wakes *wakes = arg;

	rnic_engine_wakes_send(engine, wakes);
	return NULL;
}

/* ... while a thread is about to use it. */
HOT_CASE(end_waits_for_a_thread_that_wakes)
{
	struct rnic_wakes wakes;
	pthread_t thread;
	int fd = fakes[0].source.wake_fd;

	rnic_engine_lead(engine);
	assert_true(rnic_engine_wake_later(engine, &fakes[0].source));
	rnic_engine_wakes_take(engine, &wakes);
	must(!pthread_create(&thread, NULL, give_back, &wakes));
	rnic_engine_remove_wake(engine, &fakes[0].source);
	assert_int_equal(later.wake_cnt, 1);
	assert_int_equal(fakes[0].source.wake_fd, fd);
	must(!pthread_join(thread, NULL));
	/* One that never comes back keeps the number. */
	assert_true(rnic_engine_wake_later(engine, &fakes[1].source));
	rnic_engine_wakes_take(engine, &wakes);
	fd = fakes[1].source.wake_fd;
	rnic_engine_remove_wake(engine, &fakes[1].source);
	assert_int_equal(fakes[1].source.wake_fd, -1);
	fakes[1].source.wake_fd = fd;
	rnic_engine_wakes_send(engine, &wakes);
	rnic_engine_unlead(engine);
}

/* The source that had news last is the one that is answered. */
HOT_CASE(which_post_hands_over)
{
	static const struct {
		bool was_asleep, is_watching, hands_over;
	} cases[] = {
		{ true, false, true },
		{ true, true, true },
		{ false, false, true },
		{ false, true, false }, /* both poll */
	};
	struct rnic_handover handover;

	rnic_engine_lead(engine);
	rnic_engine_heat(engine, &fakes[3].source);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		fakes[3].was_asleep = cases[i].was_asleep;
		atomic_store(&engine->sched.burst.is_watched,
			     cases[i].is_watching);
		assert_int_equal(rnic_engine_handover_begin(engine, &handover),
				 cases[i].hands_over);
		assert_int_equal(atomic_load(&engine->hot.waker_cnt),
				 cases[i].hands_over);
		assert_ptr_equal(handover.read, &fakes[3].word);
		if (cases[i].hands_over)
			rnic_engine_hot_words_give(engine);
	}
	atomic_store(&engine->sched.burst.is_watched, false);
	rnic_engine_unlead(engine);
	assert_int_equal(atomic_load(&engine->hot.waker_cnt), 0);
}

static int served_cnt;

static void serve_count(struct rnic_bell *bell)
{
	(void)bell;
	served_cnt++;
}

/* The one that is rung after another one knows that. */
NONE_CASE(a_post_that_leads_rings_no_bell)
{
	struct rnic_bell first = { .serve = serve_count };
	struct rnic_bell bell = { .serve = serve_count };

	served_cnt = 0;
	rnic_engine_bell(engine, &first);
	rnic_engine_post(engine, &bell);
	assert_int_equal(served_cnt, 2);
	assert_null(atomic_load(&bell.next));
	rnic_engine_poll(engine); /* the next post is the first again */
	rnic_engine_lead(engine);
	rnic_engine_bell(engine, &first);
	rnic_engine_post(engine, &bell);
	assert_int_equal(served_cnt, 2);
	rnic_engine_unlead(engine);
	assert_int_equal(served_cnt, 4);
	assert_ptr_equal(atomic_load(&bell.next), &first);
}

static uint32_t held_cnt;

static void serve_held(struct rnic_bell *bell)
{
	served_cnt++;
	held_cnt = atomic_load(&engine->hot.waker_cnt);
}

/* What is served then may end a source, which would wait for the thread that
 * serves. */
ONE_CASE(a_post_that_serves_again_holds_no_handover)
{
	struct rnic_bell first = { .serve = serve_count };
	struct rnic_bell bell = { .serve = serve_held };

	rnic_engine_lead(engine);
	rnic_engine_heat(engine, &fakes[0].source);
	rnic_engine_unlead(engine);
	atomic_store(&engine->sched.is_crowded, true);
	rnic_answer_note(&engine->sched.answers, RNIC_ANSWER_SPINNER);
	served_cnt = 0;
	rung = &bell;
	rnic_engine_post(engine, &first);
	assert_null(rung);
	assert_int_equal(served_cnt, 2);
	assert_int_equal(held_cnt, 0);
	assert_int_equal(atomic_load(&engine->hot.waker_cnt), 0);
}

HOT_CASE(words_tell_of_news)
{
	struct rnic_hot_word words[2 * RNIC_HOT_MAX];
	struct fake *hot = &fakes[FAKE_CNT - 1];
	_Atomic uint64_t room = 0;
	uint32_t cnt;

	cnt = led(rnic_engine_hot_words_take(engine, words, ARRAY_LEN(words)));
	assert_int_equal(cnt, RNIC_HOT_MAX);
	assert_false(rnic_engine_hot_words_differ(words, cnt));
	rnic_engine_hot_words_give(engine);
	/* It waits for room, too. */
	hot->source.out = &room;
	cnt = led(rnic_engine_hot_words_take(engine, words, ARRAY_LEN(words)));
	assert_int_equal(cnt, RNIC_HOT_MAX + 1);
	assert_false(rnic_engine_hot_words_differ(words, cnt));
	atomic_store(&room, 1);
	assert_true(rnic_engine_hot_words_differ(words, cnt));
	assert_true(led(rnic_engine_has_news(engine)));
	hot->source.out = NULL;
	assert_false(led(rnic_engine_has_news(engine)));
	cnt = led(rnic_engine_hot_words_take(engine, words, ARRAY_LEN(words)));
	rnic_engine_hot_words_give(engine);
	fake_write(hot, true);
	assert_true(rnic_engine_hot_words_differ(words, cnt));
	rnic_engine_hot_words_give(engine);
	cnt = led(rnic_engine_hot_words_take(engine, words, 1));
	assert_int_equal(cnt, 1);
	rnic_engine_hot_words_give(engine);
}

static void *give_words_back(void *arg)
{
	(void)arg;
	rnic_engine_hot_words_give(engine);
	return NULL;
}

HOT_CASE(end_waits_for_a_thread_that_looks)
{
	struct rnic_hot_word word;
	pthread_t thread;

	rnic_engine_lead(engine);
	assert_int_equal(rnic_engine_hot_words_take(engine, &word, 1), 1);
	must(!pthread_create(&thread, NULL, give_words_back, NULL));
	rnic_engine_remove_wake(engine, &fakes[FAKE_CNT - 1].source);
	assert_int_equal(atomic_load(&engine->hot.waker_cnt), 0);
	rnic_engine_unlead(engine);
	must(!pthread_join(thread, NULL));
}

HOT_CASE(removed_source_is_forgotten)
{
	struct fake *hot = &fakes[FAKE_CNT - 1];

	rnic_engine_lead(engine);
	hot->source.out = &hot->word;
	rnic_engine_remove_wake(engine, &hot->source);
	rnic_engine_unlead(engine);
	assert_false(hot->source.is_hot);
	assert_null(hot->source.in);
	assert_null(hot->source.out);
	fake_write(hot, true);
	ask_now();
	fake_now_ns += ASK_NS;
	rnic_engine_poll(engine);
	assert_int_equal(hot->look_cnt, 0);
}

/* epoll may have told of one that goes before the event is served. */
ONE_CASE(an_event_is_not_served_for_the_next_source)
{
	struct fake *gone = &fakes[0];
	uint32_t slot = gone->source.slot;
	struct epoll_event ev;

	must(write(gone->peer_fd, "", 1) == 1);
	do /* the engine's own wake-up may be there, too */
		must(epoll_wait(engine->epfd, &ev, 1, 0) == 1);
	while (ev.data.u64 == ENGINE_WAKE_TOKEN);
	fake_close_socket(gone);
	fake_open_socket(gone);
	assert_int_equal(gone->source.slot, slot);
	gone->source.wake_fd = -1;
	rnic_engine_lead(engine);
	rnic_engine_serve_events(engine, &ev, 1);
	rnic_engine_unlead(engine);
	assert_int_equal(gone->pass_cnt, 0);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * thread.c, one wait after the other: the test is the completion thread, and
 * the system that it runs on.
 */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/log.h"
#include "engine/engine.h"
#include "engine/hot.h"
#include "engine/spin.h"
#include "engine/thread.h"
#include "engine/wake.h"
#include "must.h"
#include "os/stat.h"
#include "stats.h"
#include "wrap-clock.h"

#define BEGIN_NS (1000 * NS_PER_MS)

/* ---- what the thread does, and what it meets ---- */

/* One wait in epoll: what it says, and what happens meanwhile. */
struct wait {
	const char *name;
	int timeout_ms;	   /* that the thread asks for */
	void (*act)(void); /* NULL: nothing */
	bool has_event;	   /* of the source */
	bool is_woken;	   /* ... or of the wake-up */
	int err;
};

struct sched {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static struct {
	const struct wait *wait; /* those that follow; the last has no name */
	struct sched attr;	 /* of the thread */
	int get_err, set_err;
	struct sched set[2]; /* that it has asked for */
	int set_cnt;
	int cpu;
	cpu_set_t allowed, places;
	bool has_no_place;
	bool has_quota;
	bool is_running; /* the thread's function */
	uint64_t lost_cnt;
	int place_cnt, spin_cnt;
	int spin_ret;
	void (*spin_act)(void);
	uint64_t park_ns[8]; /* times that it parks for */
	int park_cnt;
	void (*park_act)(void);
	int start_cnt, start_rc;
	void *(*thread)(void *arg);
	int pass_cnt, broken_cnt, served_cnt;
	int said_cnt; /* errors */
	bool is_restless;
} os;

static struct rnic_engine *engine;
static struct rnic_source source;
static _Atomic uint64_t word;

static int os_wait(struct epoll_event *ev, int timeout_ms)
{
	const struct wait *wait = os.wait;

	if (!wait->name) {
		atomic_store(&engine->is_stopping, true);
		return 0;
	}
	os.wait++;
	if (timeout_ms != wait->timeout_ms)
		fail_msg("%s: waits for %d ms", wait->name, timeout_ms);
	if (wait->act)
		wait->act();
	if (wait->err) {
		errno = wait->err;
		return -1;
	}
	ev->events = EPOLLIN;
	ev->data.u64 = wait->is_woken ? ENGINE_WAKE_TOKEN : source.slot;
	return wait->has_event || wait->is_woken;
}

static void os_park(const struct timespec *ts)
{
	must(os.park_cnt < 8);
	must(atomic_load(&engine->thread.park_word) == 1);
	must(rnic_burst_is_watched(&engine->sched.burst));
	os.park_ns[os.park_cnt++] = (uint64_t)ts->tv_nsec;
	fake_now_ns += (uint64_t)ts->tv_nsec;
	if (os.park_act)
		os.park_act();
}

long __real_syscall(long nr, ...);
long __wrap_syscall(long nr, ...);
__attribute__((no_sanitize("address"))) long __wrap_syscall(long nr, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	switch (nr) {
	case SYS_epoll_pwait:
		if (os.wait)
			return os_wait((struct epoll_event *)a[1], (int)a[3]);
		break;
	case SYS_futex:
		if ((void *)a[0] != &engine->thread.park_word ||
		    a[1] != FUTEX_WAIT_PRIVATE)
			break;
		must(a[2] == 1);
		os_park((const struct timespec *)a[3]);
		return 0;
	case SYS_sched_getattr:
		must(a[2] == sizeof(os.attr));
		memcpy((void *)a[1], &os.attr, sizeof(os.attr));
		errno = os.get_err;
		return os.get_err ? -1 : 0;
	case SYS_sched_setattr:
		must(os.set_cnt < 2);
		memcpy(&os.set[os.set_cnt++], (void *)a[1], sizeof(os.attr));
		errno = os.set_err;
		return os.set_err ? -1 : 0;
	}
	return __real_syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

void __wrap_util_log_print(enum util_log_level level, const char *part,
			   const char *format, ...);
void __wrap_util_log_print(enum util_log_level level, const char *part,
			   const char *format, ...)
{
	os.said_cnt += level == UTIL_LOG_ERROR;
}

int __wrap_sched_getcpu(void);
int __wrap_sched_getcpu(void)
{
	return os.cpu;
}

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *ret_cpus);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *ret_cpus)
{
	must(pid == 0 && size == sizeof(*ret_cpus));
	*ret_cpus = os.allowed;
	return 0;
}

int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *cpus);
int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *cpus)
{
	must(pid == 0 && size == sizeof(*cpus));
	os.places = *cpus;
	os.place_cnt++;
	return os.has_no_place ? -1 : 0;
}

int __wrap_util_thread_start(pthread_t *ret_thread, void *(*run)(void *arg),
			     void *arg);
int __wrap_util_thread_start(pthread_t *ret_thread, void *(*run)(void *arg),
			     void *arg)
{
	must(arg == engine);
	os.thread = run;
	os.start_cnt++;
	return os.start_rc;
}

int __wrap_rnic_spin(struct rnic_engine *of, struct epoll_event *ev);
int __wrap_rnic_spin(struct rnic_engine *of, struct epoll_event *ev)
{
	int ret = os.spin_ret;

	os.spin_cnt++;
	os.spin_ret = 0;
	if (os.spin_act)
		os.spin_act();
	os.spin_act = NULL;
	rnic_sched_spun(&of->sched, ret > 0);
	return ret;
}

bool __wrap_rnic_cpus_have_quota(void);
bool __wrap_rnic_cpus_have_quota(void)
{
	/* It opens files: a thread that is late would take the numbers that
	 * the program has just closed. */
	assert_false(os.is_running);
	return os.has_quota;
}

uint64_t __wrap_rnic_cpus_lost_cnt(void);
uint64_t __wrap_rnic_cpus_lost_cnt(void)
{
	return os.lost_cnt;
}

/* ---- the engine's owner ---- */

static void fake_pass(struct rnic_source *of, uint32_t events)
{
	must(of == &source);
	os.pass_cnt++;
}

static void fake_look(struct rnic_source *of, bool is_woken)
{
	of->in_seen = atomic_load(&word);
}

static bool fake_sleep(struct rnic_source *of)
{
	return !os.is_restless;
}

static void fake_stay_awake(struct rnic_source *of)
{
}

static void fake_end(struct rnic_source *of)
{
	rnic_engine_remove(engine, of);
}

static void fake_broken(struct rnic_engine *of)
{
	os.broken_cnt++;
}

static const struct rnic_source_ops fake_source_ops = {
	.pass = fake_pass,
	.look = fake_look,
	.sleep = fake_sleep,
	.stay_awake = fake_stay_awake,
	.drain = fake_end,
	.abort = fake_end,
};

static const struct rnic_engine_ops fake_ops = {
	.broken = fake_broken,
};

#define with_lead(call)                                                        \
	do {                                                                   \
		rnic_engine_lead(engine);                                      \
		call;                                                          \
		rnic_engine_unlead(engine);                                    \
	} while (0)

static int setup(void **state)
{
	memset(&os, 0, sizeof(os));
	os.cpu = 1;
	for (int i = 0; i < 3; i++)
		CPU_SET(i, &os.allowed);
	must(!rnic_engine_new(&fake_ops, NULL, &engine));
	memset(&source, 0, sizeof(source));
	source.fd = eventfd(0, EFD_NONBLOCK);
	source.ops = &fake_source_ops;
	with_lead(must(!rnic_engine_add(engine, &source)));
	fake_now_ns = BEGIN_NS;
	return 0;
}

static int teardown(void **state)
{
	os.wait = NULL;
	os.is_restless = false;
	fake_now_ns = 0;
	atomic_store(&engine->is_stopping, false);
	rnic_engine_free(engine);
	close(source.fd);
	return 0;
}

#define THREAD_CASE(name) CASE_WITH(name, setup, teardown)

/* Until all of these are over. */
static void run(const struct wait *waits)
{
	os.wait = waits;
	must(!rnic_engine_thread_start(engine));
	engine->thread.is_started = false; /* there is nothing to join */
	os.is_running = true;
	os.thread(engine);
	os.is_running = false;
	if (os.wait->name)
		fail_msg("%s: is not waited for", os.wait->name);
	os.wait = NULL;
}

static void add_memory(void)
{
	with_lead(must(!rnic_engine_add_wake(engine, &source,
					     eventfd(0, EFD_NONBLOCK))));
	source.in = &word;
	source.in_seen = atomic_load(&word);
}

/* ---- how long it waits ---- */

static struct rnic_due due;

static void due_serve(struct rnic_due *of, uint64_t now_ns)
{
}

static void due_in(uint64_t ns)
{
	due.serve = due_serve;
	with_lead(rnic_due_clear(&engine->due, &due));
	with_lead(rnic_engine_deadline(engine, &due, fake_now_ns + ns));
}

static void due_in_1_ns(void)
{
	due_in(1);
}

static void due_in_2_ms(void)
{
	due_in(2 * NS_PER_MS);
}

static void due_later(void)
{
	due_in(2 * NS_PER_MS + 1);
}

static void due_now(void)
{
	due_in(0);
}

THREAD_CASE(waits_until_the_first_time)
{
	static const struct wait waits[] = {
		{ "the first one", 0, due_in_1_ns, .has_event = true },
		{ "a moment", 1, due_in_2_ms, .has_event = true },
		{ "2 ms", 2, due_later, .has_event = true },
		{ "longer", 3, due_now, .has_event = true },
		{ "no time", -1, NULL, .has_event = true },
		{ NULL },
	};
	uint64_t passes = test_stat(RNIC_STAT_passes_thread);

	run(waits);
	assert_int_equal(os.pass_cnt, 5);
	assert_int_equal(os.spin_cnt, 0);
	/* The last wait is that of the end. */
	assert_int_equal(test_stat(RNIC_STAT_passes_thread), passes + 6);
	assert_false(engine->sched.cpu.is_limited);
}

static void serve_count(struct rnic_bell *rung)
{
	os.served_cnt++;
}

static struct rnic_bell bell = { .serve = serve_count };

static void ring(void)
{
	rnic_engine_bell(engine, &bell);
}

static void ring_beside_a_leader(void)
{
	ring();
	must(util_trylock(&engine->lead));
}

static void arrive(void)
{
	with_lead(rnic_sched_note_arrival(&engine->sched));
}

/* The thread spins before it sleeps. */
static void spin_next(void)
{
	engine->sched.cpu.has_idle = true;
	engine->sched.cpu.looked_ns = fake_now_ns;
	engine->sched.spin.skip_cnt = 0;
	arrive();
}

/* Before it sleeps. */
static void ring_later(void)
{
	spin_next();
	rnic_burst_watch(&engine->sched.burst);
	os.spin_act = ring;
}

static void lead_later(void)
{
	assert_false(rnic_burst_is_watched(&engine->sched.burst));
	spin_next();
	os.spin_act = ring_beside_a_leader;
}

static void end_lead(void)
{
	util_unlock(&engine->lead);
}

/* Whoever leads serves them. */
THREAD_CASE(does_not_sleep_over_bells)
{
	static const struct wait waits[] = {
		{ "the first one", 0, ring_later, .has_event = true },
		{ "a bell", 0, lead_later, .has_event = true },
		{ "a bell beside a leader", -1, end_lead, .has_event = true },
		{ "no bell", -1, NULL, .has_event = true },
		{ NULL },
	};

	run(waits);
	assert_int_equal(os.served_cnt, 2);
	assert_int_equal(os.spin_cnt, 2);
	assert_int_equal(os.pass_cnt, 4);
}

static void is_restless_now(void)
{
	os.is_restless = true;
	with_lead(rnic_engine_await(engine, &source));
}

static void is_quiet_now(void)
{
	os.is_restless = false;
}

static void spins_in_memory(void)
{
	spin_next();
	os.spin_ret = RNIC_SPIN_NEWS;
}

THREAD_CASE(does_not_sleep_over_news)
{
	static const struct wait waits[] = {
		{ "the first one", 0, is_restless_now, .has_event = true },
		{ "news that does not end", 0, is_quiet_now,
		  .has_event = true },
		/* The pass for the news of a spin has no wait. */
		{ "quiet", -1, spins_in_memory, .has_event = true },
		{ "behind a spin", -1, NULL, .has_event = true },
		{ NULL },
	};

	uint64_t passes = test_stat(RNIC_STAT_passes_thread);

	add_memory();
	run(waits);
	assert_int_equal(os.pass_cnt, 4);
	assert_int_equal(os.spin_cnt, 1);
	assert_int_equal(test_stat(RNIC_STAT_passes_thread), passes + 6);
	close(source.wake_fd);
}

static void wake(void)
{
	rnic_engine_thread_wake(engine);
}

THREAD_CASE(takes_its_wakeup)
{
	static const struct wait waits[] = {
		{ "the first one", 0, wake, .is_woken = true },
		{ NULL },
	};

	run(waits);
	assert_false(rnic_engine_is_woken(engine));
	assert_int_equal(os.pass_cnt, 0);
}

THREAD_CASE(ends_when_epoll_fails)
{
	static const struct wait waits[] = {
		{ "a signal", 0, .err = EINTR },
		{ "for ever", -1, .err = EBADF },
		{ NULL },
	};

	run(waits);
	assert_int_equal(os.broken_cnt, 1);
	assert_int_equal(os.said_cnt, 1);
	assert_int_equal(rnic_engine_thread_start(engine), -EIO);
	assert_int_equal(os.start_cnt, 1);
}

THREAD_CASE(is_started_once)
{
	os.start_rc = -EAGAIN;
	assert_int_equal(rnic_engine_thread_start(engine), -EAGAIN);
	assert_int_equal(os.said_cnt, 1);
	assert_false(engine->thread.is_started);
	os.start_rc = 0;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rnic_engine_thread_start(engine), 0);
		assert_true(engine->thread.is_started);
	}
	assert_int_equal(os.start_cnt, 2);
	engine->thread.is_started = false;
}

/* ---- parking ---- */

static void poll_once(void)
{
	atomic_store(&engine->sched.polls.last_ns, fake_now_ns);
}

static void stop_polls(void)
{
	if (os.park_cnt == 8)
		rnic_engine_unpark(engine);
	else
		atomic_store(&engine->sched.polls.last_ns, fake_now_ns);
}

static void wake_a_poller(void)
{
	wake();
	poll_once();
}

static const struct park {
	const char *name;
	void (*act)(void), (*park_act)(void);
	bool is_woken; /* by its descriptor */
	int cnt;
	uint64_t ns[8];
} parks[] = {
	{ "nobody polls", NULL, NULL, false, 0, { 0 } },
	{ "one has polled", poll_once, NULL, false, 1, { 50000 } },
	{ "one has, and there is a wake-up", poll_once, NULL, true, 0, { 0 } },
	{ "one polls",
	  poll_once,
	  stop_polls,
	  false,
	  8,
	  { 50000, 100000, 200000, 400000, 800000, 1600000, 3200000,
	    6400000 } },
	{ "it is woken", poll_once, wake_a_poller, false, 1, { 50000 } },
};

THREAD_CASE(parks_while_another_thread_polls)
{
	for (size_t i = 0; i < ARRAY_LEN(parks); i++) {
		const struct wait waits[] = {
			{ "the first one", 0, parks[i].act,
			  .has_event = !parks[i].is_woken,
			  .is_woken = parks[i].is_woken },
			{ "then", .timeout_ms = parks[i].cnt ? 0 : -1 },
			{ NULL },
		};
		uint64_t cnt = test_stat(RNIC_STAT_parks);

		os.park_act = parks[i].park_act;
		run(waits);
		assert_row(parks[i].name, os.park_cnt == parks[i].cnt);
		assert_row(parks[i].name, !memcmp(os.park_ns, parks[i].ns,
						  sizeof(os.park_ns)));
		assert_row(parks[i].name, test_stat(RNIC_STAT_parks) - cnt ==
						  (parks[i].cnt > 0));
		assert_row(parks[i].name, !engine->thread.park_word);
		/* The poller gets the event. */
		assert_row(parks[i].name, os.pass_cnt == 0 || !parks[i].cnt);
		teardown(NULL);
		setup(NULL);
	}
}

static void stop_now(void)
{
	atomic_store(&engine->sched.polls.last_ns, fake_now_ns);
	atomic_store(&engine->is_stopping, true);
}

THREAD_CASE(the_end_ends_a_park)
{
	static const struct wait waits[] = {
		{ "the first one", 0, poll_once, .has_event = true },
		{ NULL },
	};

	os.park_act = stop_now;
	run(waits);
	assert_int_equal(os.park_cnt, 1);
}

static void ask_park(void)
{
	atomic_store(&engine->sched.burst.wants_park, true);
	poll_once();
}

static void ask_park_unpolled(void)
{
	atomic_store(&engine->sched.polls.last_ns, 0);
	atomic_store(&engine->sched.burst.wants_park, true);
}

/* All is served before it does. */
THREAD_CASE(parks_when_a_poller_asks)
{
	static const struct wait waits[] = {
		{ "the first one", 0, ask_park, .is_woken = true },
		{ "parked", .timeout_ms = 0 },
		{ "asleep", -1, ask_park_unpolled, .is_woken = true },
		/* Nobody polls: it comes back at once. */
		{ "not parked", .timeout_ms = 0 },
		{ NULL },
	};

	run(waits);
	assert_int_equal(os.park_cnt, 1);
	assert_false(atomic_load(&engine->sched.burst.wants_park));
}

/* ---- trust ---- */

static void write_word(void)
{
	atomic_fetch_add(&word, 1);
}

static void poll_and_leave(void)
{
	atomic_store(&engine->sched.polls.has_left, true);
	poll_once();
}

/* Behind a park: what was left, and how often the thread has parked when it has
 * seen the next event. */
static const struct {
	const char *name;
	bool has_memory;
	void (*park_act)(void);
	bool has_event; /* is left */
	void (*act)(void);
	int timeout_ms; /* if there is none */
	int park_cnt;
} trusts[] = {
	{ "nothing", false, NULL, false, poll_once, -1, 2 },
	{ "nothing in memory", true, NULL, false, poll_once, -1, 2 },
	{ "an event", false, NULL, true, poll_once, 0, 1 },
	{ "an event behind arrivals", false, arrive, true, poll_once, 0, 2 },
	{ "an event, and it comes back", false, NULL, true, poll_and_leave, 0,
	  1 + 6 },
	{ "news in memory", true, write_word, false, poll_once, -1, 1 },
};

THREAD_CASE(trusts_a_poller_that_leaves_nothing)
{
	for (size_t i = 0; i < ARRAY_LEN(trusts); i++) {
		const struct wait with_event[] = {
			{ "the first one", 0, NULL, .has_event = true },
			{ "the second one", -1, poll_once, .has_event = true },
			{ trusts[i].name, 0, trusts[i].act, .has_event = true },
			{ NULL },
		};
		const struct wait without[] = {
			{ "the first one", 0, NULL, .has_event = true },
			{ "the second one", -1, poll_once, .has_event = true },
			{ "parked", .timeout_ms = 0 },
			{ trusts[i].name, trusts[i].timeout_ms, trusts[i].act,
			  .has_event = true },
			{ NULL },
		};

		if (trusts[i].has_memory)
			add_memory();
		os.park_act = trusts[i].park_act;
		run(trusts[i].has_event ? with_event : without);
		assert_row(trusts[i].name, os.park_cnt == trusts[i].park_cnt);
		if (trusts[i].has_memory)
			close(source.wake_fd);
		teardown(NULL);
		setup(NULL);
	}
}

/* ---- where it runs ---- */

static const struct place {
	const char *name;
	int post_cpu, cpu;
	bool fails;
	int place_cnt;	 /* moves so far */
	uint32_t places; /* of the last one */
} places[] = {
	{ "nobody has posted", -1, 1, .place_cnt = 0 },
	{ "another CPU", 2, 1, .place_cnt = 0 },
	{ "its own", 1, 1, .place_cnt = 1, .places = 5 },
	{ "the same again", 1, 1, .place_cnt = 1, .places = 5 },
	{ "its own again", 0, 0, .place_cnt = 2, .places = 6 },
	{ "back", 1, 1, .place_cnt = 3, .places = 5 },
	{ "denied", 0, 0, .fails = true, .place_cnt = 4, .places = 6 },
	{ "tried again", 0, 0, .place_cnt = 5, .places = 6 },
	{ "none that is known", CPU_SETSIZE, CPU_SETSIZE, .place_cnt = 5,
	  .places = 6 },
};

static size_t place_at;

static void place_check(void)
{
	const struct place *place = &places[place_at];
	uint32_t mask = 0;

	for (int i = 0; i < 3; i++)
		mask |= CPU_ISSET(i, &os.places) ? 1u << i : 0;
	assert_row(place->name, os.place_cnt == place->place_cnt);
	assert_row(place->name, mask == place->places);
}

static void place_next(void)
{
	const struct place *place;

	if (fake_now_ns > BEGIN_NS) {
		place_check();
		place_at++;
	}
	place = &places[place_at];
	fake_now_ns += place_at == 0;
	os.cpu = place->cpu;
	os.has_no_place = place->fails;
	atomic_store(&engine->sched.post_cpu, place->post_cpu);
}

THREAD_CASE(keeps_off_the_cpu_of_the_poster)
{
	struct wait waits[ARRAY_LEN(places) + 1] = { { NULL } };

	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		waits[i] = (struct wait){ "a place", i ? -1 : 0, place_next,
					  .has_event = true };
	place_at = 0;
	run(waits);
	assert_int_equal(place_at, ARRAY_LEN(places) - 1);
	place_check();
}

THREAD_CASE(stays_on_the_only_cpu)
{
	static const struct wait waits[] = {
		{ "the first one", 0, NULL, .has_event = true },
		{ NULL },
	};

	CPU_ZERO(&os.allowed);
	CPU_SET(1, &os.allowed);
	atomic_store(&engine->sched.post_cpu, 1);
	run(waits);
	assert_int_equal(os.place_cnt, 0);
	assert_true(engine->sched.cpu.is_limited);
}

/* An idle CPU is not free of charge. */
THREAD_CASE(a_quota_limits_it)
{
	static const struct wait none[] = { { NULL } };

	os.has_quota = true;
	run(none);
	assert_true(engine->sched.cpu.is_limited);
}

static void lose_cpu(void)
{
	os.lost_cnt += 1000;
	fake_now_ns += 1000 * NS_PER_MS;
}

static void lose_no_cpu(void)
{
	assert_true(atomic_load(&engine->sched.is_crowded));
	fake_now_ns += 1000 * NS_PER_MS;
}

static void is_not_crowded(void)
{
	assert_false(atomic_load(&engine->sched.is_crowded));
}

THREAD_CASE(notes_that_cpus_are_lost)
{
	static const struct wait waits[] = {
		{ "the first one", 0, NULL, .has_event = true },
		{ "CPUs are lost", -1, lose_cpu, .has_event = true },
		{ "none is", -1, lose_no_cpu, .has_event = true },
		{ "idle", -1, is_not_crowded, .has_event = true },
		{ NULL },
	};

	run(waits);
}

/* ---- its priority ---- */

static const struct {
	const char *name;
	struct sched attr;
	int get_err, set_err, set_cnt, nice[2];
	int said_cnt;
} scheds[] = {
	{ "nicer", { .nice = 0 }, .set_cnt = 1, .nice = { 5 } },
	{ "as nice as can be", { .nice = 17 }, .set_cnt = 1, .nice = { 19 } },
	{ "another policy", .attr.policy = SCHED_BATCH },
	{ "nothing is known", { .nice = 0 }, .get_err = ENOSYS },
	{ "denied",
	  { .nice = 3 },
	  .set_err = EPERM,
	  .set_cnt = 2,
	  .nice = { 8, 3 },
	  .said_cnt = 1 },
	{ "denied again",
	  { .nice = 3 },
	  .set_err = EPERM,
	  .set_cnt = 2,
	  .nice = { 8, 3 } },
	{ "denied, and the same",
	  { .nice = 19 },
	  .set_err = EPERM,
	  .set_cnt = 1,
	  .nice = { 19 } },
};

THREAD_CASE(asks_for_a_short_slice)
{
	static const struct wait none[] = { { NULL } };
	char name[16];

	for (size_t i = 0; i < ARRAY_LEN(scheds); i++) {
		os.attr = scheds[i].attr;
		os.get_err = scheds[i].get_err;
		os.set_err = scheds[i].set_err;
		must(!prctl(PR_SET_TIMERSLACK, 50000ul, 0, 0, 0));
		run(none);
		assert_int_equal(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), 1);
		/* Each engine would say the same. */
		assert_row(scheds[i].name, os.said_cnt == scheds[i].said_cnt);
		assert_row(scheds[i].name, os.set_cnt == scheds[i].set_cnt);
		for (int j = 0; j < os.set_cnt; j++) {
			assert_row(scheds[i].name,
				   os.set[j].nice == scheds[i].nice[j]);
			assert_row(scheds[i].name, os.set[j].runtime == 100000);
		}
		teardown(NULL);
		setup(NULL);
	}
	must(!pthread_getname_np(pthread_self(), name, sizeof(name)));
	assert_string_equal(name, "usiw-engine");
}

BEFORE_CASES()
{
	setenv("USIW_NICE", "5", 1);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The engine's completion thread: when it sleeps, parks, and where it runs. */
#define _GNU_SOURCE
#include "engine-internal.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../util/cancel.h"
#include "../util/env.h"
#include "../util/log.h"
#include "../util/thread.h"
#include "os/stat.h"

/* A poll so recent that the poller is taken to be still at it. */
#define ENGINE_LIVE_NS 50000ull
/* One that sleeps on the sockets is, for longer; a pause of this length costs
 * one wake-up too many, since then the thread sleeps there as well. */
#define ENGINE_ASLEEP_NS (10 * NS_PER_MS)
/* Between such a sleep and the next poll lies what the program does with what
 * it has got, which may take longer than a spinning poller is trusted. */
#define ENGINE_ATTENDED_NS (2 * NS_PER_MS)
/*
 * A parked thread looks after the poller at growing intervals: who has polled
 * for a while is trusted for as long again.  Each look costs the poller some
 * 10 us where cores are few, so looking every 50 us would double its latency.
 */
#define ENGINE_PARK_MIN_NS 50000ull
#define ENGINE_PARK_MAX_NS (1 * NS_PER_MS)
/* Data waited unread behind a parked thread: no parking for a while, longer
 * each time that it happens again. */
#define ENGINE_DISTRUST_MIN_NS (1 * NS_PER_MS)
#define ENGINE_DISTRUST_MAX_NS (128 * NS_PER_MS)
/* The least time between two wishes that it park. */
#define ENGINE_ASK_NS (1 * NS_PER_MS)
/* Requested slice of the completion thread: short, so that a waking thread
 * goes before a spinning one of the same machine. */
#define ENGINE_SLICE_NS 100000ull
/* Least time between two moves of the completion thread. */
#define ENGINE_MOVE_NS (10 * NS_PER_MS)

/* ---- waking ------------------------------------------------------------- */

void rnic_engine_thread_wake(struct rnic_engine *engine)
{
	uint64_t one = 1;
	ssize_t rc;

	/* With the lead, but for the end of the engine: the note and the
	 * descriptor say the same.  seq_cst: who is about to sleep on epfd sees
	 * the note, or is woken by the write. */
	atomic_store_explicit(&engine->is_woken, true, memory_order_seq_cst);
	rc = util_sys_write(engine->wake_fd, &one, sizeof(one));

	(void)rc; /* EAGAIN: it is awake already */
}

void rnic_engine_wake_clear(struct rnic_engine *engine,
			    const struct epoll_event *ev, int cnt)
{
	uint64_t drain;
	ssize_t rc;

	for (int i = 0; i < cnt; i++) {
		if (ev[i].data.u64 != ENGINE_WAKE_TOKEN)
			continue;
		atomic_store_explicit(&engine->is_woken, false,
				      memory_order_seq_cst);
		rc = util_sys_read(engine->wake_fd, &drain, sizeof(drain));
		(void)rc; /* only the counter is reset */
	}
}

/* ---- parking ------------------------------------------------------------ */

static uint64_t engine_live_ns(const struct rnic_engine *engine)
{
	if (rnic_engine_has_sleeper(engine))
		return ENGINE_ASLEEP_NS;
	return rnic_engine_is_attended(engine) ? ENGINE_ATTENDED_NS
					       : ENGINE_LIVE_NS;
}

static bool engine_is_polled(const struct rnic_engine *engine, uint64_t now_ns)
{
	/* relaxed: a hint; the octets themselves are handed over by the lead */
	uint64_t poll_ns =
		atomic_load_explicit(&engine->poll_ns, memory_order_relaxed);

	return poll_ns && now_ns - poll_ns < engine_live_ns(engine);
}

void rnic_engine_unpark(struct rnic_engine *engine)
{
	atomic_store_explicit(&engine->is_attended, false,
			      memory_order_relaxed);
	atomic_store_explicit(&engine->poll_ns, 0, memory_order_relaxed);
	/* seq_cst: pairs with the store before the wait in engine_park() */
	if (atomic_exchange_explicit(&engine->park_word, 0,
				     memory_order_seq_cst))
		syscall(SYS_futex, &engine->park_word, FUTEX_WAKE_PRIVATE, 1,
			NULL, NULL, 0);
}

void rnic_engine_ask_park(struct rnic_engine *engine, uint64_t now_ns)
{
	util_lock_assert_held(&engine->lead);
	if (rnic_engine_is_watched(engine) || now_ns < engine->ask_ns)
		return;
	engine->ask_ns = now_ns + ENGINE_ASK_NS;
	atomic_store_explicit(&engine->wants_park, true, memory_order_relaxed);
	rnic_engine_watch(engine);
	rnic_engine_thread_wake(engine);
}

bool rnic_engine_sleep_begin(struct rnic_engine *engine)
{
	atomic_fetch_add_explicit(&engine->sleeper_cnt, 1,
				  memory_order_seq_cst);
	/* seq_cst: pairs with rnic_engine_thread_wake() */
	if (!atomic_load_explicit(&engine->is_woken, memory_order_seq_cst))
		return true;
	atomic_fetch_sub_explicit(&engine->sleeper_cnt, 1,
				  memory_order_relaxed);
	rnic_engine_unpark(engine);
	return false;
}

void rnic_engine_sleep_end(struct rnic_engine *engine)
{
	/* It is about to poll: the thread does not come back in between. */
	atomic_store_explicit(&engine->poll_ns, rnic_now_ns(),
			      memory_order_relaxed);
	atomic_store_explicit(&engine->is_attended, true, memory_order_relaxed);
	atomic_fetch_sub_explicit(&engine->sleeper_cnt, 1,
				  memory_order_relaxed);
}

/* What the completion thread has learnt about the threads that poll. */
struct engine_trust {
	bool was_parked;
	uint64_t distrust_ns;
	uint64_t distrust_until_ns;
};

/* Out of epoll for as long as somebody polls. */
static void engine_park(struct rnic_engine *engine)
{
	struct timespec ts = { .tv_nsec = (long)ENGINE_PARK_MIN_NS };
	bool is_polled = true;

	rnic_stat_add(RNIC_STAT_parks, 1);
	rnic_engine_watch(engine);
	while (is_polled && !atomic_load_explicit(&engine->is_stopping,
						  memory_order_relaxed)) {
		/* seq_cst: pairs with rnic_engine_unpark(), which ends the
		 * run of polls first. */
		atomic_store_explicit(&engine->park_word, 1,
				      memory_order_seq_cst);
		if (!atomic_load_explicit(&engine->poll_ns,
					  memory_order_seq_cst))
			break;
		syscall(SYS_futex, &engine->park_word, FUTEX_WAIT_PRIVATE, 1,
			&ts, NULL, 0);
		if (ts.tv_nsec < (long)ENGINE_PARK_MAX_NS / 2)
			ts.tv_nsec *= 2;
		else
			ts.tv_nsec = (long)ENGINE_PARK_MAX_NS - 1;
		is_polled = engine_is_polled(engine, rnic_now_ns()) &&
			    !atomic_load_explicit(&engine->is_woken,
						  memory_order_relaxed);
	}
	atomic_store_explicit(&engine->park_word, 0, memory_order_relaxed);
}

/*
 * Data lay unread when the parked thread came back: the poller had gone.  One
 * that sleeps on the sockets has not, as long as it polls at all: it was busy
 * with what it had got before, and is not disturbed by a thread that reads and
 * completes beside it.
 */
static void trust_lose(const struct rnic_engine *engine,
		       struct engine_trust *trust)
{
	uint64_t now_ns = rnic_now_ns();

	if (rnic_engine_is_attended(engine) && engine_is_polled(engine, now_ns))
		return;
	if (now_ns > trust->distrust_until_ns + 2 * trust->distrust_ns)
		trust->distrust_ns = ENGINE_DISTRUST_MIN_NS;
	else if (trust->distrust_ns < ENGINE_DISTRUST_MAX_NS)
		trust->distrust_ns *= 2;
	trust->distrust_until_ns = now_ns + trust->distrust_ns;
}

/* Only posts waited, whose burst the thread ends: no long punishment. */
static void trust_pause(struct engine_trust *trust)
{
	trust->distrust_until_ns = rnic_now_ns() + ENGINE_DISTRUST_MIN_NS;
}

/* ---- the completion thread ---------------------------------------------- */

/* Under the lead: how long epoll may block. */
static int engine_timeout_ms(const struct rnic_engine *engine)
{
	uint64_t now_ns;

	if (!engine->deadline_ns)
		return -1;
	now_ns = rnic_now_ns();
	if (engine->deadline_ns <= now_ns)
		return 0;
	return (int)((engine->deadline_ns - now_ns + NS_PER_MS - 1) /
		     NS_PER_MS);
}

/* Spin a while after activity before blocking, where the setting asks. */
static int engine_spin(struct rnic_engine *engine, struct epoll_event *ev)
{
	uint64_t end_ns = rnic_now_ns() + util_settings()->spin_us * 1000ull;
	int cnt;

	do {
		cnt = util_sys_epoll_wait(engine->epfd, ev, ENGINE_EVENT_MAX,
					  0);
	} while (cnt == 0 && rnic_now_ns() < end_ns);
	return cnt;
}

/* struct sched_attr of sched_setattr(2), first version. */
struct engine_sched {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static void engine_thread_setup(void)
{
	struct engine_sched attr = { .size = sizeof(attr) };

	pthread_setname_np(pthread_self(), "usiw-engine");
	prctl(PR_SET_TIMERSLACK, 1ul, 0, 0, 0);
	/*
	 * Kernels before 6.12 ignore the slice; it is a wish.  All else stays
	 * what the application's starter chose.
	 */
	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) < 0 ||
	    attr.policy != SCHED_OTHER)
		return;
	attr.runtime = ENGINE_SLICE_NS;
	syscall(SYS_sched_setattr, 0, &attr, 0);
}

/*
 * Where the completion thread runs.  A program that spins on its memory
 * between posts keeps its CPU busy: a completion thread that shares that CPU
 * must be sent there by an interrupt and takes the CPU from the very thread
 * that waits for it.  On another one, at best the sender's, it needs neither.
 */
struct engine_place {
	cpu_set_t allowed;
	int avoided_cpu; /* -1: none */
	uint64_t moved_ns;
};

static void engine_place_init(struct engine_place *place)
{
	place->avoided_cpu = -1;
	place->moved_ns = 0;
	if (sched_getaffinity(0, sizeof(place->allowed), &place->allowed) < 0)
		CPU_ZERO(&place->allowed);
}

static void engine_place_check(struct rnic_engine *engine,
			       struct engine_place *place)
{
	int cpu = atomic_load_explicit(&engine->post_cpu, memory_order_relaxed);
	cpu_set_t others = place->allowed;
	uint64_t now_ns;

	if (cpu == place->avoided_cpu || cpu != sched_getcpu() ||
	    cpu >= CPU_SETSIZE)
		return;
	now_ns = rnic_now_ns();
	if (now_ns - place->moved_ns < ENGINE_MOVE_NS)
		return;
	CPU_CLR(cpu, &others);
	if (CPU_COUNT(&others) == 0 ||
	    sched_setaffinity(0, sizeof(others), &others) < 0)
		return;
	place->avoided_cpu = cpu;
	place->moved_ns = now_ns;
}

/*
 * Is a bell rung that nobody serves?  Who leads looks for bells when it lets
 * the lead go.  A program that spins on its memory posts the moment the octets
 * are there, so it often leads when the thread that has placed them comes
 * here; to contend for the lead would cost it a system call to wake the thread.
 */
static bool engine_has_orphan(const struct rnic_engine *engine)
{
	if (!rnic_engine_has_bells(engine))
		return false;
	/* Pairs with the fence in rnic_engine_unlead(): who is seen to lead
	 * sees the bell. */
	atomic_thread_fence(memory_order_seq_cst);
	return !util_lock_is_held(&engine->lead);
}

/* Asleep, it watches nobody: what waits to be served is served before. */
static int engine_block(struct rnic_engine *engine, struct epoll_event *ev,
			int timeout_ms)
{
	atomic_store_explicit(&engine->is_watching, false,
			      memory_order_relaxed);
	/* Pairs with the fence in rnic_engine_post(): who was taken for
	 * watched has rung a bell that is seen here. */
	atomic_thread_fence(memory_order_seq_cst);
	if (engine_has_orphan(engine))
		timeout_ms = 0;
	return util_sys_epoll_wait(engine->epfd, ev, ENGINE_EVENT_MAX,
				   timeout_ms);
}

/* The next events.  Return: how many; 0: time-out, or bells; -errno: there is
 * no waiting any more. */
static int engine_wait(struct rnic_engine *engine, struct epoll_event *ev,
		       int timeout_ms, struct engine_trust *trust)
{
	int cnt = 0;

	if (trust->was_parked) {
		trust->was_parked = false;
		cnt = util_sys_epoll_wait(engine->epfd, ev, ENGINE_EVENT_MAX,
					  0);
		if (cnt > 0)
			trust_lose(engine, trust);
		else if (rnic_engine_has_bells(engine))
			trust_pause(trust);
	}
	if (cnt <= 0 && util_settings()->spin_us)
		cnt = engine_spin(engine, ev);
	if (cnt <= 0)
		cnt = engine_block(engine, ev, timeout_ms);
	return cnt > 0 ? cnt : rnic_engine_wait_error(cnt);
}

/* Somebody polls, and has not let us down lately. */
static bool engine_trusts_poller(const struct rnic_engine *engine,
				 const struct engine_trust *trust)
{
	uint64_t now_ns = rnic_now_ns();

	return now_ns >= trust->distrust_until_ns &&
	       engine_is_polled(engine, now_ns);
}

/* ... and will find this himself. */
static bool engine_may_park(const struct rnic_engine *engine,
			    const struct epoll_event *ev, int cnt,
			    const struct engine_trust *trust)
{
	return cnt && ev[0].data.u64 != ENGINE_WAKE_TOKEN &&
	       engine_trusts_poller(engine, trust);
}

/* All is served; somebody asked for it. */
static bool engine_shall_park(struct rnic_engine *engine,
			      const struct engine_trust *trust)
{
	if (!atomic_load_explicit(&engine->wants_park, memory_order_relaxed))
		return false;
	atomic_store_explicit(&engine->wants_park, false, memory_order_relaxed);
	return rnic_now_ns() >= trust->distrust_until_ns;
}

static void *engine_thread(void *arg)
{
	struct rnic_engine *engine = arg;
	struct epoll_event ev[ENGINE_EVENT_MAX];
	struct engine_trust trust = { .distrust_ns = ENGINE_DISTRUST_MIN_NS };
	struct engine_place place;
	int cnt, timeout_ms = 0;

	engine_thread_setup();
	engine_place_init(&place);
	while (!atomic_load_explicit(&engine->is_stopping,
				     memory_order_acquire)) {
		cnt = engine_wait(engine, ev, timeout_ms, &trust);
		if (cnt < 0) {
			rnic_engine_lead(engine);
			rnic_engine_break(engine, cnt);
			rnic_engine_unlead(engine);
			break;
		}
		if (engine_may_park(engine, ev, cnt, &trust)) {
			engine_park(engine);
			trust.was_parked = true;
			continue;
		}
		rnic_stat_add(RNIC_STAT_passes_thread, 1);
		rnic_engine_lead(engine);
		rnic_engine_wake_clear(engine, ev, cnt);
		rnic_engine_serve_events(engine, ev, cnt);
		timeout_ms = engine_timeout_ms(engine);
		rnic_engine_unlead(engine);
		engine_place_check(engine, &place);
		if (engine_shall_park(engine, &trust)) {
			engine_park(engine);
			trust.was_parked = true;
		}
	}
	return NULL;
}

int rnic_engine_thread_start(struct rnic_engine *engine)
{
	sigset_t old;
	int rc;

	if (engine->has_thread)
		return 0;
	/* The application's signal handlers must not run in it. */
	util_signals_block(&old);
	rc = pthread_create(&engine->thread, NULL, engine_thread, engine);
	util_signals_restore(&old);
	if (rc) {
		util_err("rnic", "engine: cannot start its thread: %s",
			 strerror(rc));
		return -rc;
	}
	engine->has_thread = true;
	return 0;
}

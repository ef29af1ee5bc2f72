/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The engine's completion thread: when it sleeps, parks, and where it runs. */
#define _GNU_SOURCE
#include "thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/env.h"
#include "util/log.h"
#include "util/thread.h"
#include "engine.h"
#include "hot.h"
#include "os/cpus.h"
#include "os/stat.h"
#include "spin.h"
#include "wake.h"

/* Requested slice of the completion thread: short, so that a waking thread
 * goes before a spinning one of the same machine. */
#define ENGINE_SLICE_NS 100000ull
#define NICE_MIN (-20)
#define NICE_MAX 19
/* How long the completion thread waits for a poster, as
 * rnic_engine_let_finish() counts. */
#define ENGINE_POSTER_SPINS 1500

/* ---- parking ------------------------------------------------------------ */

/* Out of epoll for as long as another thread polls.  Return: whether octets
 * were read meanwhile. */
static bool engine_park(struct rnic_engine *engine)
{
	uint32_t arrival_no = rnic_sched_arrival_no(&engine->sched);
	struct rnic_engine_thread *thread = &engine->thread;
	struct timespec ts = { 0 };
	uint64_t park_ns = 0;

	rnic_stat_add(RNIC_STAT_parks, 1);
	rnic_burst_watch(&engine->sched.burst);
	do {
		atomic_store_explicit(&thread->park_word, 1,
				      memory_order_relaxed);
		/* Pairs with rnic_engine_unpark(), which ends the run of polls
		 * first. */
		atomic_thread_fence(memory_order_seq_cst);
		park_ns = rnic_sched_park_ns(&engine->sched, util_now_ns(),
					     park_ns);
		if (!park_ns)
			break;
		ts.tv_nsec = (long)park_ns;
		syscall(SYS_futex, &thread->park_word, FUTEX_WAIT_PRIVATE, 1,
			&ts, NULL, 0);
	} while (
		!atomic_load_explicit(&engine->is_stopping,
				      memory_order_relaxed) &&
		!atomic_load_explicit(&thread->is_woken, memory_order_relaxed));
	atomic_store_explicit(&thread->park_word, 0, memory_order_relaxed);
	return rnic_sched_arrival_no(&engine->sched) != arrival_no;
}

/* ---- the completion thread ---------------------------------------------- */

/* Under the lead: how long epoll may block. */
static int engine_timeout_ms(const struct rnic_engine *engine)
{
	uint64_t first_ns = rnic_due_first_ns(engine->due), now_ns;

	if (!first_ns)
		return -1;
	now_ns = util_now_ns();
	if (first_ns <= now_ns)
		return 0;
	return (int)((first_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS);
}

/* struct sched_attr of sched_setattr(2), first version. */
struct engine_sched {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* Once for the process: each engine would say the same. */
static void engine_nice_complain(int err)
{
	static atomic_flag is_said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&is_said))
		util_err("rnic",
			 "engine: USIW_NICE=%d: %s: the completion thread "
			 "keeps the nice value of the program; a lower one "
			 "needs CAP_SYS_NICE, or 'ulimit -e'",
			 util_settings()->nice, strerror(err));
}

static void engine_thread_setup(void)
{
	struct engine_sched attr = { .size = sizeof(attr) };
	int32_t nice;

	pthread_setname_np(pthread_self(), "usiw-engine");
	prctl(PR_SET_TIMERSLACK, 1ul, 0, 0, 0);
	/*
	 * Kernels before 6.12 ignore the slice.  All else stays what was chosen
	 * for the application.
	 */
	if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) < 0 ||
	    attr.policy != SCHED_OTHER)
		return;
	attr.runtime = ENGINE_SLICE_NS;
	nice = attr.nice;
	attr.nice += util_settings()->nice;
	attr.nice = attr.nice < NICE_MIN ? NICE_MIN : attr.nice;
	attr.nice = attr.nice > NICE_MAX ? NICE_MAX : attr.nice;
	if (syscall(SYS_sched_setattr, 0, &attr, 0) == 0 || attr.nice == nice)
		return;
	engine_nice_complain(errno);
	attr.nice = nice;
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
};

static void engine_place_init(struct engine_place *place)
{
	place->avoided_cpu = -1;
	if (sched_getaffinity(0, sizeof(place->allowed), &place->allowed) < 0)
		CPU_ZERO(&place->allowed);
}

static void engine_place_check(struct rnic_engine *engine,
			       struct engine_place *place)
{
	int cpu = atomic_load_explicit(&engine->sched.post_cpu,
				       memory_order_relaxed);
	cpu_set_t others = place->allowed;

	if (cpu == place->avoided_cpu || cpu != sched_getcpu() ||
	    cpu >= CPU_SETSIZE)
		return;
	CPU_CLR(cpu, &others);
	if (CPU_COUNT(&others) == 0 ||
	    sched_setaffinity(0, sizeof(others), &others) < 0)
		return;
	place->avoided_cpu = cpu;
}

/*
 * Is a bell rung, and no thread leads?  The leader looks for bells when it lets
 * the lead go.  A program that spins on its memory posts the moment the octets
 * are there, so it often leads when the thread that has placed them comes
 * here; to contend for the lead would cost it a system call to wake the thread.
 */
static bool engine_is_unserved(const struct rnic_engine *engine)
{
	if (!rnic_engine_has_bells(engine))
		return false;
	/* Pairs with the fence in rnic_engine_unlead(): a thread that is seen
	 * to lead sees the bell. */
	atomic_thread_fence(memory_order_seq_cst);
	return !util_lock_is_held(&engine->lead);
}

/* Did octets wait in memory, where epoll does not see them? */
static bool engine_has_news(struct rnic_engine *engine)
{
	bool has_news;

	if (!rnic_engine_has_memory(engine) || !util_trylock(&engine->lead))
		return false; /* the leader looks */
	has_news = rnic_engine_has_news(engine);
	rnic_engine_unlead(engine);
	return has_news;
}

/* Asleep, it does not watch posts: those that wait are served before. */
static int engine_block(struct rnic_engine *engine, struct epoll_event *ev,
			int timeout_ms)
{
	rnic_burst_unwatch(&engine->sched.burst);
	if (engine_is_unserved(engine) || !rnic_engine_rest(engine))
		timeout_ms = 0;
	return util_sys_epoll_wait(engine->epfd, ev, ENGINE_EVENT_MAX,
				   timeout_ms);
}

/*
 * The next events.  @next: what the thread does until they come.
 * Return: how many; 0: time-out, bells, or news in memory; -errno: there is no
 * waiting any more.
 */
static int engine_wait(struct rnic_engine *engine, struct epoll_event *ev,
		       int timeout_ms, enum rnic_sched_next next)
{
	bool was_served;
	int cnt = 0;

	if (next == RNIC_NEXT_PARK) {
		was_served = engine_park(engine);
		cnt = util_sys_epoll_wait(engine->epfd, ev, ENGINE_EVENT_MAX,
					  0);
		if (cnt > 0 || engine_has_news(engine))
			rnic_sched_parked(&engine->sched, util_now_ns(),
					  was_served);
	} else if (next == RNIC_NEXT_SPIN) {
		cnt = rnic_spin(engine, ev);
		if (cnt == RNIC_SPIN_NEWS)
			return 0;
	}
	if (cnt <= 0)
		cnt = engine_block(engine, ev, timeout_ms);
	return cnt > 0 ? cnt : rnic_engine_wait_error(cnt);
}

/*
 * A thread that posts may lose its CPU while it leads: what it sends wakes the
 * peer's completion thread there, which runs for some microseconds. The answer
 * may arrive before the poster goes on. To sleep until it gives up the lead
 * would cost a system call here and another one there, and an interrupt.
 */
static void engine_thread_lead(struct rnic_engine *engine)
{
	rnic_engine_let_finish(engine, ENGINE_POSTER_SPINS);
	rnic_engine_lead(engine);
}

/* Without the lead: the call takes longer the more threads there are. */
static void engine_note_cpu(struct rnic_engine *engine, uint64_t now_ns)
{
	struct rnic_sched *sched = &engine->sched;

	if (rnic_cpu_is_due(&sched->cpu, now_ns))
		rnic_sched_note_cpu(sched, now_ns, rnic_cpus_lost_cnt());
}

static enum rnic_sched_next engine_thread_serve(struct rnic_engine *engine,
						const struct epoll_event *ev,
						int cnt, int *ret_timeout_ms)
{
	enum rnic_sched_next next;

	engine_thread_lead(engine);
	rnic_stat_count(engine->stat, RNIC_STAT_passes_thread, 1);
	rnic_engine_wake_clear(engine, ev, cnt);
	rnic_engine_serve_events(engine, ev, cnt);
	*ret_timeout_ms = engine_timeout_ms(engine);
	next = rnic_sched_served(&engine->sched, rnic_engine_now_ns(engine));
	rnic_engine_unlead(engine);
	return next;
}

static void *engine_thread(void *arg)
{
	enum rnic_sched_next next = RNIC_NEXT_SLEEP;
	struct rnic_engine *engine = arg;
	struct epoll_event ev[ENGINE_EVENT_MAX];
	struct engine_place place;
	int cnt, timeout_ms = 0;
	uint64_t now_ns;

	engine_thread_setup();
	engine_place_init(&place);
	engine->sched.cpu.is_limited |= CPU_COUNT(&place.allowed) < 2;
	while (!atomic_load_explicit(&engine->is_stopping,
				     memory_order_acquire)) {
		cnt = engine_wait(engine, ev, timeout_ms, next);
		if (cnt < 0) {
			rnic_engine_lead(engine);
			rnic_engine_break(engine, cnt);
			rnic_engine_unlead(engine);
			break;
		}
		now_ns = util_now_ns();
		next = rnic_sched_woke(&engine->sched, now_ns, cnt > 0,
				       cnt && ev[0].data.u64 ==
						       ENGINE_WAKE_TOKEN);
		if (next == RNIC_NEXT_PARK)
			continue;
		engine_note_cpu(engine, now_ns);
		next = engine_thread_serve(engine, ev, cnt, &timeout_ms);
		engine_place_check(engine, &place);
	}
	return NULL;
}

int rnic_engine_thread_start(struct rnic_engine *engine)
{
	int rc;

	if (engine->is_broken)
		return -EIO;
	if (engine->thread.is_started)
		return 0;
	/* By the caller: the thread may begin after the program's call has
	 * returned, and a file it opens takes the lowest free number. */
	engine->sched.cpu.is_limited = rnic_cpus_have_quota();
	rc = util_thread_start(&engine->thread.id, engine_thread, engine);
	if (rc < 0) {
		util_err("rnic", "engine: cannot start its thread: %s",
			 strerror(-rc));
		return rc;
	}
	engine->thread.is_started = true;
	return 0;
}

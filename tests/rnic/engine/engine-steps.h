/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * An engine without a completion thread, whose sources only count, in a system
 * that a test controls: for tests of engine.c, post.c and pass.c, linked with
 * --wrap (see ../CMakeLists.txt).  Include it in one source file.
 */
#ifndef TEST_RNIC_ENGINE_STEPS_H
#define TEST_RNIC_ENGINE_STEPS_H

#include "test.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/bell.h"
#include "engine/engine.h"
#include "engine/hot.h"
#include "engine/sockets.h"
#include "engine/wake.h"
#include "must.h"
#include "wrap-syscall.h"

/* ---- the system ---- */

#define BEGIN_NS (1000 * NS_PER_MS)
#define CPU 5

static uint64_t fake_now_ns; /* 0: the real time */
static uint64_t step_ns;     /* from one question to the next */
static uint32_t ask_cnt;     /* questions for the time */
static bool is_full;	     /* epoll takes nothing more, nor is there memory */
static int wait_err;	     /* of epoll_wait() */
static uint32_t yield_cnt;
static uint32_t getcpu_cnt; /* a post that transmits, or tries to, asks */
static uint64_t away_ns;    /* for which a thread that yields has no CPU */
static uint32_t read_at;    /* the yield in which the peer reads; 0: none */
static uint32_t where_cnt;  /* questions for the CPU */

static void peer_reads(void);

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	if (!fake_now_ns)
		return __real_clock_gettime(id, ts);
	ts->tv_sec = (time_t)(fake_now_ns / 1000000000);
	ts->tv_nsec = (long)(fake_now_ns % 1000000000);
	fake_now_ns += step_ns;
	ask_cnt++;
	return 0;
}

int __wrap_sched_getcpu(void);
int __wrap_sched_getcpu(void)
{
	getcpu_cnt++;
	where_cnt++;
	return CPU;
}

int __real_sched_yield(void);
int __wrap_sched_yield(void);
int __wrap_sched_yield(void)
{
	yield_cnt++;
	if (fake_now_ns)
		fake_now_ns += away_ns;
	if (yield_cnt == read_at)
		peer_reads();
	return __real_sched_yield();
}

int __real_epoll_ctl(int epfd, int op, int fd, struct epoll_event *ev);
int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *ev);
int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *ev)
{
	if (!is_full)
		return __real_epoll_ctl(epfd, op, fd, ev);
	errno = ENOSPC;
	return -1;
}

void *__real_realloc(void *mem, size_t size);
void *__wrap_realloc(void *mem, size_t size);
void *__wrap_realloc(void *mem, size_t size)
{
	return is_full ? NULL : __real_realloc(mem, size);
}

static int syscall_error(long nr, long first_arg)
{
	(void)first_arg;
	return nr == SYS_epoll_pwait ? wait_err : 0;
}

/* ---- the engine's owner ---- */

struct fake {
	struct rnic_source source;
	_Atomic uint64_t word;
	uint32_t pass_events;
	int pass_cnt, look_cnt, due_cnt, drain_cnt, abort_cnt, gone_cnt;
	uint64_t abort_ns;
};

#define FAKE_MAX 40

static struct fake fakes[FAKE_MAX];
static struct rnic_engine *engine;
static struct {
	int broken_cnt, all_due_cnt, served_cnt;
	bool ends_with_pass; /* a source, when it is drained */
	bool was_led, may_leave;
	uint32_t poll_turn;
	int served_before_abort;
	_Atomic uint64_t read; /* of what was written last */
	uint64_t written;
} seen;

static void peer_reads(void)
{
	atomic_store(&seen.read, seen.written);
}

static struct fake *fake_of(struct rnic_source *source)
{
	return RNIC_CONTAINER_OF(source, struct fake, source);
}

static void fake_pass(struct rnic_source *source, uint32_t events)
{
	struct fake *fake = fake_of(source);

	fake->pass_cnt++;
	fake->pass_events = events;
	if (fake->drain_cnt && seen.ends_with_pass)
		rnic_engine_remove(engine, source);
}

static void fake_look(struct rnic_source *source, bool is_woken)
{
	(void)is_woken;
	fake_of(source)->look_cnt++;
	source->in_seen = atomic_load(&fake_of(source)->word);
}

static bool fake_sleep(struct rnic_source *source)
{
	(void)source;
	return true;
}

static bool fake_handover(struct rnic_source *source,
			  struct rnic_handover *ret_handover)
{
	(void)source;
	*ret_handover = (struct rnic_handover){ .read = &seen.read,
						.written = seen.written,
						.was_asleep = true };
	return true;
}

static void fake_drain(struct rnic_source *source)
{
	fake_of(source)->drain_cnt++;
}

static void fake_abort(struct rnic_source *source)
{
	fake_of(source)->abort_cnt++;
	fake_of(source)->abort_ns = fake_now_ns;
	seen.served_before_abort = seen.served_cnt;
	rnic_engine_remove(engine, source);
}

static void fake_mr_gone(struct rnic_source *source, uint32_t stag,
			 const void *addr, size_t len)
{
	must(stag == 7 && addr == &seen && len == 9);
	fake_of(source)->gone_cnt++;
}

static void fake_broken(struct rnic_engine *broken)
{
	must(broken == engine);
	seen.broken_cnt++;
}

static void fake_all_due(struct rnic_engine *due)
{
	must(due == engine);
	seen.all_due_cnt++;
	seen.was_led = util_lock_is_held(&engine->lead);
	atomic_store(engine->all_bells, NULL);
}

static const struct rnic_source_ops fake_source_ops = {
	.pass = fake_pass,
	.look = fake_look,
	.sleep = fake_sleep,
	.handover = fake_handover,
	.drain = fake_drain,
	.abort = fake_abort,
	.mr_gone = fake_mr_gone,
};

static const struct rnic_engine_ops fake_ops = {
	.broken = fake_broken,
	.all_due = fake_all_due,
};

#define led(expr)                                                              \
	({                                                                     \
		rnic_engine_lead(engine);                                      \
		__typeof__(expr) value_ = (expr);                              \
		rnic_engine_unlead(engine);                                    \
		value_;                                                        \
	})

/* Of an eventfd, which is readable once it has been written to. */
static void fake_open(struct fake *fake)
{
	memset(fake, 0, sizeof(*fake));
	fake->source.fd = eventfd(0, EFD_NONBLOCK);
	fake->source.events = EPOLLOUT;
	must(fake->source.fd >= 0);
	fake->source.ops = &fake_source_ops;
	must(!led(rnic_engine_add(engine, &fake->source)));
}

/* Its memory has news when the word changes. */
static inline void fake_open_memory(struct fake *fake)
{
	fake_open(fake);
	must(!led(rnic_engine_add_wake(engine, &fake->source,
				       eventfd(0, EFD_NONBLOCK))));
	fake->source.in = &fake->word;
}

static void fake_close(struct fake *fake)
{
	rnic_engine_lead(engine);
	rnic_engine_remove(engine, &fake->source);
	rnic_engine_unlead(engine);
	close(fake->source.fd);
}

static int setup(void **state)
{
	memset(&seen, 0, sizeof(seen));
	seen.written = 1;
	yield_cnt = 0;
	where_cnt = 0;
	read_at = 0;
	away_ns = 0;
	must(!rnic_engine_new(&fake_ops, NULL, &engine));
	return 0;
}

static int teardown(void **state)
{
	fake_now_ns = 0;
	step_ns = 0;
	rnic_engine_free(engine);
	return 0;
}

static inline void serve_count(struct rnic_bell *bell)
{
	(void)bell;
	seen.served_cnt++;
	seen.may_leave = engine->turn.may_leave;
	seen.poll_turn = engine->turn.poll_no;
}

#define STEP_CASE(name) CASE_WITH(name, setup, teardown)

#endif

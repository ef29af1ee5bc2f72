/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The completion thread woken, unparked, and asked to park. */
#include "wake.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cancel.h"

/* A poll so recent that the poller is taken to be still at it. */
#define ENGINE_LIVE_NS 50000ull
/* One that sleeps on the sockets is, for longer; a pause of this length costs
 * one wake-up too many, since then the thread sleeps there as well. */
#define ENGINE_ASLEEP_NS (10 * NS_PER_MS)
/* Between such a sleep and the next poll lies what the program does with what
 * it has got, which may take longer than a spinning poller is trusted. */
#define ENGINE_ATTENDED_NS (2 * NS_PER_MS)
/* The least time between two requests that it park. */
#define ENGINE_ASK_NS (1 * NS_PER_MS)
/* A thread that sleeps on the sockets, and did not poll for so long, waited for
 * something else. */
#define ENGINE_ABSENT_NS (1 * NS_PER_MS)

/* ---- waking ------------------------------------------------------------- */

void rnic_engine_thread_wake(struct rnic_engine *engine)
{
	uint64_t one = 1;
	ssize_t rc;

	/* With the lead, but for the end of the engine: the note and the
	 * descriptor say the same.  seq_cst: a thread that is about to sleep on
	 * epfd sees the note, or is woken by the write. */
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

void rnic_engine_unpark(struct rnic_engine *engine)
{
	atomic_store_explicit(&engine->is_attended, false,
			      memory_order_relaxed);
	atomic_store_explicit(&engine->poll_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&engine->armed_cnt, RNIC_ENGINE_ARMED_POSTS,
			      memory_order_relaxed);
	/* seq_cst: pairs with the store before the wait in engine_park() */
	if (atomic_exchange_explicit(&engine->park_word, 0,
				     memory_order_seq_cst))
		syscall(SYS_futex, &engine->park_word, FUTEX_WAKE_PRIVATE, 1,
			NULL, NULL, 0);
}

static uint64_t engine_live_ns(const struct rnic_engine *engine)
{
	if (rnic_engine_has_sleeper(engine))
		return ENGINE_ASLEEP_NS;
	return rnic_engine_comes_back(engine) ? ENGINE_ATTENDED_NS
					      : ENGINE_LIVE_NS;
}

bool rnic_engine_is_polled(const struct rnic_engine *engine, uint64_t now_ns)
{
	/* relaxed: a hint; the octets themselves are handed over by the lead */
	uint64_t poll_ns =
		atomic_load_explicit(&engine->poll_ns, memory_order_relaxed);

	/* It may have polled since the caller looked at the clock. */
	return poll_ns && now_ns < poll_ns + engine_live_ns(engine);
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
	if (!rnic_engine_is_woken(engine))
		return true;
	atomic_fetch_sub_explicit(&engine->sleeper_cnt, 1,
				  memory_order_relaxed);
	rnic_engine_unpark(engine);
	return false;
}

void rnic_engine_note_attended(struct rnic_engine *engine, bool may_gather)
{
	uint64_t now_ns = util_now_ns();
	uint64_t noted_ns =
		atomic_load_explicit(&engine->poll_ns, memory_order_relaxed);

	/* It is about to poll: the thread does not come back in between. */
	if (now_ns - noted_ns >= ENGINE_ABSENT_NS)
		atomic_store_explicit(&engine->run_ns, now_ns,
				      memory_order_relaxed);
	atomic_store_explicit(&engine->poll_ns, now_ns, memory_order_relaxed);
	atomic_store_explicit(&engine->is_attended, true, memory_order_relaxed);
	atomic_store_explicit(&engine->has_slept, true, memory_order_relaxed);
	atomic_store_explicit(&engine->may_gather, may_gather,
			      memory_order_relaxed);
}

void rnic_engine_sleep_end(struct rnic_engine *engine)
{
	rnic_engine_note_attended(engine, false);
	atomic_fetch_sub_explicit(&engine->sleeper_cnt, 1,
				  memory_order_relaxed);
}

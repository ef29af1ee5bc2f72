/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See wake.h. */
#include "wake.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cancel.h"

void rnic_engine_thread_wake(struct rnic_engine *engine)
{
	uint64_t one = 1;
	ssize_t rc;

	/* With the lead, but for the end of the engine: the note and the
	 * descriptor say the same.  seq_cst: a thread that is about to sleep on
	 * epfd sees the note, or is woken by the write. */
	atomic_store_explicit(&engine->thread.is_woken, true,
			      memory_order_seq_cst);
	rc = util_sys_write(engine->thread.wake_fd, &one, sizeof(one));

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
		atomic_store_explicit(&engine->thread.is_woken, false,
				      memory_order_seq_cst);
		rc = util_sys_read(engine->thread.wake_fd, &drain,
				   sizeof(drain));
		(void)rc; /* only the counter is reset */
	}
}

void rnic_engine_unpark(struct rnic_engine *engine)
{
	rnic_polls_end(&engine->sched.polls);
	/* seq_cst: pairs with the fence in engine_park() */
	if (atomic_exchange_explicit(&engine->thread.park_word, 0,
				     memory_order_seq_cst))
		syscall(SYS_futex, &engine->thread.park_word,
			FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

bool rnic_engine_sleep_begin(struct rnic_engine *engine)
{
	atomic_fetch_add_explicit(&engine->sched.polls.sleeper_cnt, 1,
				  memory_order_seq_cst);
	if (!rnic_engine_is_woken(engine))
		return true;
	atomic_fetch_sub_explicit(&engine->sched.polls.sleeper_cnt, 1,
				  memory_order_relaxed);
	rnic_engine_unpark(engine);
	return false;
}

void rnic_engine_sleep_end(struct rnic_engine *engine)
{
	rnic_sched_note_attended(&engine->sched, util_now_ns(), false);
	rnic_polls_note_slept(&engine->sched.polls);
	atomic_fetch_sub_explicit(&engine->sched.polls.sleeper_cnt, 1,
				  memory_order_relaxed);
}

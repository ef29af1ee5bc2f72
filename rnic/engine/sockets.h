/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sources that have a socket only: which of them a poll reads.
 *
 * To read one takes a system call, and so does epoll, which knows all of them.
 * If there are few, a poll reads each, and quiet ones seldom.  If there are
 * many, it reads those that epoll has named lately, and asks epoll seldom, as
 * long as it names no other.  So a busy connection costs the same among many
 * idle ones as alone.
 *
 * All under the lead.
 */
#ifndef RNIC_ENGINE_SOCKETS_H
#define RNIC_ENGINE_SOCKETS_H

#include "object.h"

/* So many sources are few. */
#define ENGINE_FEW_SOCKETS 4

/* One that has been read so often in vain is quiet. */
#define ENGINE_QUIET_POLLS 256u
/* If there are few: one poll in so many reads quiet ones, while another one is
 * not quiet. */
#define ENGINE_QUIET_TURNS 8u
/* If there are many: at least one poll in so many asks epoll.  After an answer
 * with a source that was not read anyway the next poll asks again, and each
 * time that there is none the gap doubles up to this. */
#define ENGINE_BUSY_TURNS 32u
/* For at most so long, polls do not ask epoll. */
#define ENGINE_UNASKED_NS 50000u

/* Gaps are counted in polls, and a thread may do other things between two.  So
 * a poll asks epoll if the last question was long ago. */
static inline bool rnic_engine_is_question_due(const struct rnic_engine *engine)
{
	/* The clock of a test may be set back. */
	return (int64_t)(engine->now_ns - engine->asked_ns) >=
	       (int64_t)ENGINE_UNASKED_NS;
}

/* Has a thread slept on epfd since the last poll that asked?  It may poll once,
 * and sleep again. */
static inline bool rnic_engine_take_slept(struct rnic_engine *engine)
{
	/* relaxed: the thread that set it, or a hint */
	if (!atomic_load_explicit(&engine->has_slept, memory_order_relaxed))
		return false;
	atomic_store_explicit(&engine->has_slept, false, memory_order_relaxed);
	return true;
}

/* Reads.  Return: whether epoll has to be asked for others. */
bool rnic_engine_pass_sockets(struct rnic_engine *engine);

/* Epoll has named this one.  Return: whether no poll has read it lately. */
bool rnic_engine_note_busy(struct rnic_engine *engine,
			   struct rnic_source *source);

/* Epoll has been asked at that time. */
void rnic_engine_note_asked(struct rnic_engine *engine, uint64_t now_ns,
			    bool has_named_others);

/* It goes, or has memory now. */
void rnic_engine_forget_busy(struct rnic_engine *engine,
			     const struct rnic_source *source);

#endif

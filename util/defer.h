/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Signal handlers of the program run outside a preload library, not inside it.
 *
 * Socket calls are async-signal-safe. A handler that makes one while its thread
 * is inside the library would wait for a lock that the same thread holds. So
 * the library installs a handler of its own in front of the program's. Inside
 * the library it keeps the signal. The end of the call, or a sleep in it, sends
 * it to the thread again. Handlers of faults, and those that the program
 * installs by a system call of its own, run at once.
 */
#ifndef UTIL_DEFER_H
#define UTIL_DEFER_H

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "thread.h"

/* The signals of realtime queue; others are kept once. */
#define UTIL_DEFER_MAX 8

struct util_defer {
	volatile unsigned int depth; /* 0: outside */
	/* A handler has run outside, and no sleep has told of it since. */
	volatile bool has_run;
	_Atomic unsigned int kept_cnt; /* changed by this thread only */
	siginfo_t kept[UTIL_DEFER_MAX];
};

extern _Thread_local struct util_defer util_defer_me;

/* Sends the signals again. Their handlers may not return. */
void util_defer_deliver(void);

static inline bool util_defer_has_kept(void)
{
	/* relaxed: for this thread's own handler */
	return atomic_load_explicit(&util_defer_me.kept_cnt,
				    memory_order_relaxed) > 0;
}

/* The thread is inside. It nests. */
static inline void util_defer_begin(void)
{
	if (util_defer_me.depth++ == 0)
		util_defer_me.has_run = false;
	atomic_signal_fence(memory_order_seq_cst);
}

/* The thread holds no lock, and what it leaves is whole. */
static inline void util_defer_end(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	if (--util_defer_me.depth == 0 && util_defer_has_kept())
		util_defer_deliver();
}

/* Has a handler run in this call, after the last sleep that told of it? */
static inline bool util_defer_take_run(void)
{
	bool has_run = util_defer_me.has_run;

	util_defer_me.has_run = false;
	return has_run;
}

/* The thread is about to sleep for the program, and holds no lock. Nested calls
 * are not interrupted. Return: whether a handler has run. */
static inline bool util_defer_open(bool *ret_is_open)
{
	*ret_is_open = util_defer_me.depth == 1;
	if (!*ret_is_open)
		return false;
	atomic_signal_fence(memory_order_seq_cst);
	util_defer_me.depth = 0;
	atomic_signal_fence(memory_order_seq_cst);
	if (util_defer_has_kept())
		util_defer_deliver();
	return util_defer_take_run();
}

static inline void util_defer_close(bool is_open)
{
	if (is_open)
		util_defer_me.depth = 1;
	atomic_signal_fence(memory_order_seq_cst);
}

/* In a forked child: what was kept is the parent's. */
static inline void util_defer_fork_child(void)
{
	atomic_store_explicit(&util_defer_me.kept_cnt, 0, memory_order_relaxed);
}

/* No handler runs in this thread any more. */
static inline void util_defer_for_good(void)
{
	util_defer_me.depth += 2;
}

/* The thread has left the call without returning. */
static inline void util_defer_left(void)
{
	if (util_defer_me.depth > 1)
		util_defer_me.depth = 1;
	if (util_defer_me.depth > 0)
		util_defer_end();
}

/* @call: a system call that may sleep for the program. If a handler has run
 * before it, also at the end of a sleep that ended for another reason, -1 and
 * EINTR, unless @goes_on: the call restarts, or it does not sleep. A handler
 * may leave it without returning: then the thread is outside. */
#define UTIL_DEFER_SLEEP(call, goes_on)                                        \
	__extension__({                                                        \
		bool util_is_open;                                             \
		bool util_has_run = util_defer_open(&util_is_open);            \
		__typeof__(call) util_ret = -1;                                \
		if (util_has_run && !(goes_on))                                \
			errno = EINTR;                                         \
		else                                                           \
			util_ret = (call);                                     \
		util_defer_close(util_is_open);                                \
		if (util_is_open && util_ret < 0 && errno == EINTR)            \
			(void)util_defer_take_run();                           \
		util_ret;                                                      \
	})

static inline void util_defer_scope_end(const char *unused)
{
	(void)unused;
	util_defer_end();
}

/* Inside until the scope is left. Declarations; put them at the beginning of
 * the scope. */
/* clang-format off */
#define UTIL_DEFER()                                                           \
	__attribute__((cleanup(util_defer_scope_end), unused))                 \
	const char util_defer_scope = (util_defer_begin(), 0)

/* The same, and no sleep in it is interrupted. */
#define UTIL_UNINTERRUPTED()                                                   \
	UTIL_DEFER();                                                          \
	UTIL_SIGNALS_OFF()
/* clang-format on */

/* libc's function, or the next library's. */
typedef int util_sigaction_fn(int sig, const struct sigaction *action,
			      struct sigaction *ret_old);

/*
 * sigaction(2) for the program. @real: its work. @may_wrap: false: in a child
 * that shares the memory of its parent.
 */
int util_defer_sigaction(util_sigaction_fn *real, bool may_wrap, int sig,
			 const struct sigaction *action,
			 struct sigaction *ret_old);

/* After libc has installed a handler itself (signal(3) and others). @old: what
 * libc returned. Return: what the program gets. */
typedef void (*util_sighandler)(int sig);
util_sighandler util_defer_installed(util_sigaction_fn *real, bool may_wrap,
				     int sig, util_sighandler old);

#endif

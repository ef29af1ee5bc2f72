/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a call holds while it sleeps, given back when its thread does not
 * return to it: siglongjmp() out of a signal handler, pthread_exit() in one,
 * cancellation.
 *
 * libc tells frames that a jump leaves from those that it does not, and runs
 * what was pushed in the former; its own stdio counts on that.  It knows
 * nothing of a handler that leaves by setcontext(), or by an exception of C++.
 */
#ifndef UTIL_UNWIND_H
#define UTIL_UNWIND_H

#include <pthread.h>

/* In the frame that pushes it. */
struct util_unwind {
	struct _pthread_cleanup_buffer buffer;
	void (*fn)(void *arg);
	void *arg;
};

/*
 * @fn(@arg) runs, with signals blocked, if this frame is left without
 * util_unwind_pop().  It may take locks: where the thread can be left it holds
 * none.  The innermost one runs first.
 */
void util_unwind_push(struct util_unwind *unwind, void (*fn)(void *arg),
		      void *arg);

/* In the frame that has pushed, in reverse order. */
void util_unwind_pop(struct util_unwind *unwind);

#endif

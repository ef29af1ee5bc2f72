/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Clean-up for a call that sleeps and to which its thread does not return:
 * because of siglongjmp() out of a signal handler, pthread_exit() in one, or
 * cancellation.
 *
 * libc knows which frames a jump leaves, and runs the functions pushed in them;
 * its own stdio depends on that.  It does not see a handler that leaves by
 * setcontext() or by a C++ exception.
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
 * util_unwind_pop().  It may take locks, because the thread holds none where it
 * can be interrupted.  The innermost function runs first.
 */
void util_unwind_push(struct util_unwind *unwind, void (*fn)(void *arg),
		      void *arg);

/* Call it in the frame of the push, in reverse order. */
void util_unwind_pop(struct util_unwind *unwind);

#endif

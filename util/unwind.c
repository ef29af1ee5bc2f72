/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See unwind.h. */
#include "unwind.h"

#include "defer.h"
#include "thread.h"

/* From the LSB.  The macros of the current header cover cancellation only. */
extern void _pthread_cleanup_push(struct _pthread_cleanup_buffer *buffer,
				  void (*fn)(void *arg), void *arg);
extern void _pthread_cleanup_pop(struct _pthread_cleanup_buffer *buffer,
				 int runs);

/* Otherwise a second handler could leave in the middle of @fn. */
static void unwind_run(void *arg)
{
	util_defer_left();
	UTIL_SIGNALS_OFF();
	const struct util_unwind *unwind = arg;

	unwind->fn(unwind->arg);
}

void util_unwind_push(struct util_unwind *unwind, void (*fn)(void *arg),
		      void *arg)
{
	unwind->fn = fn;
	unwind->arg = arg;
	_pthread_cleanup_push(&unwind->buffer, unwind_run, unwind);
}

void util_unwind_pop(struct util_unwind *unwind)
{
	_pthread_cleanup_pop(&unwind->buffer, 0);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Cancellation points.
 *
 * libc must not end a thread inside a call. The thread holds locks and
 * references, and with PTHREAD_CANCEL_ASYNCHRONOUS it could end at any
 * instruction. So the call disables cancellation. pthread_cancel() is recorded
 * here and wakes sleeping threads. The call then returns as if a signal had
 * interrupted it. Before it returns, it enables cancellation again, which ends
 * the thread.
 */
#include "point.h"

#include <pthread.h>

#include "verbs/dev/dev.h"
#include "verbs/link/notice.h"
#include "verbs/sdp-link.h"

struct point_thread {
	pthread_t self;
	struct point_thread *next, *prev;
	int old_state, old_type; /* the program's settings during a call */
	volatile int depth;	 /* signal handlers make calls too */
	_Atomic bool is_asked;	 /* pthread_cancel() was called */
	bool is_listed;		 /* in threads */
	bool is_over; /* its thread-specific data is being destroyed */
};

static _Thread_local struct point_thread me;
static struct util_lock lock = UTIL_LOCK_INIT(UTIL_RANK_SDP_POOL);
static struct point_thread *threads;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

static void thread_end(void *arg)
{
	struct point_thread *t = arg;

	util_lock(&lock);
	if (t->prev)
		t->prev->next = t->next;
	else
		threads = t->next;
	if (t->next)
		t->next->prev = t->prev;
	util_unlock(&lock);
	t->is_listed = false;
	t->is_over = true;
}

static void key_make(void)
{
	has_key = pthread_key_create(&key, thread_end) == 0;
}

/* A thread that cannot be listed is cancelled only at the end of its call. */
static void thread_list(struct point_thread *t)
{
	pthread_once(&key_once, key_make);
	if (t->is_over || !has_key || pthread_setspecific(key, t))
		return;
	t->self = pthread_self();
	util_lock(&lock);
	t->prev = NULL;
	t->next = threads;
	if (t->next)
		t->next->prev = t;
	threads = t;
	util_unlock(&lock);
	t->is_listed = true;
}

int sdp_point_enter(void)
{
	if (me.depth++ > 0)
		return me.depth - 1;
	pthread_testcancel();
	/* The type must change too: libc's signal handler checks nothing else,
	 * and its setcancelstate() would lose PTHREAD_CANCELED. */
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &me.old_type);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &me.old_state);
	if (!me.is_listed)
		thread_list(&me);
	return 0;
}

void sdp_point_left(int depth)
{
	bool is_inside = me.depth > 0;

	me.depth = depth;
	if (depth > 0 || !is_inside)
		return;
	pthread_setcancelstate(me.old_state, NULL);
	pthread_setcanceltype(me.old_type, NULL);
}

void sdp_point_leave(void)
{
	/* A signal handler that runs after depth was changed has its own old
	 * state. */
	int old_state = me.old_state, old_type = me.old_type;

	if (me.depth-- > 1)
		return;
	pthread_setcancelstate(old_state, NULL);
	pthread_setcanceltype(old_type, NULL);
	pthread_testcancel();
}

bool sdp_point_is_cancelled(void)
{
	/* seq_cst: pairs with sdp_point_cancel(). A thread that is about to
	 * sleep has published that before. */
	return me.depth > 0 && me.old_state == PTHREAD_CANCEL_ENABLE &&
	       atomic_load_explicit(&me.is_asked, memory_order_seq_cst);
}

void sdp_point_cancel(pthread_t thread)
{
	bool is_known = false;

	util_lock(&lock);
	for (struct point_thread *t = threads; t; t = t->next) {
		if (!pthread_equal(t->self, thread))
			continue;
		atomic_store_explicit(&t->is_asked, true, memory_order_seq_cst);
		is_known = true;
	}
	util_unlock(&lock);
	for (struct sdp_dev *dev = sdp_dev_first(); dev && is_known;
	     dev = dev->next)
		sdp_notice_wake_all(dev);
}

void sdp_point_forget(void)
{
	util_lock_init(&lock, UTIL_RANK_SDP_POOL);
	threads = me.is_listed ? &me : NULL;
	me.next = me.prev = NULL;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Cancellation: a thread inside a call continues to the call's end, whatever
 * its cancellation type. Then it ends. */
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "verbs/sdp-link.h"

#ifdef __SANITIZE_THREAD__
/* TSan has locks of its own. A thread that ends at any instruction would keep
 * them. */
#define ANYWHERE PTHREAD_CANCEL_DEFERRED
#else
#define ANYWHERE PTHREAD_CANCEL_ASYNCHRONOUS
#endif

enum step { INSIDE, ASKED, LEAVING, BEHIND };

struct scene {
	int type, state;
	bool by_handler; /* a signal handler makes a call during the call */
	/* Expected. */
	bool is_cancelled, goes_on;
	/* Seen. */
	_Atomic int step;
	bool was_cancelled;
};

static void a_call(int sig)
{
	(void)sig;
	sdp_point_enter();
	sdp_point_leave();
}

static void *thread_main(void *arg)
{
	struct scene *s = arg;

	pthread_setcanceltype(s->type, NULL);
	pthread_setcancelstate(s->state, NULL);
	sdp_point_enter();
	if (s->by_handler)
		pthread_kill(pthread_self(), SIGUSR1);
	s->step = INSIDE;
	while (s->step != ASKED)
		;
	s->was_cancelled = sdp_point_is_cancelled();
	s->step = LEAVING;
	sdp_point_leave();
	s->step = BEHIND;
	return NULL;
}

static void scene_play(struct scene *s)
{
	pthread_t thread;
	void *result;

	assert_int_equal(pthread_create(&thread, NULL, thread_main, s), 0);
	while (s->step != INSIDE)
		;
	assert_int_equal(pthread_cancel(thread), 0);
	sdp_point_cancel(thread);
	s->step = ASKED;
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_int_equal(s->was_cancelled, s->is_cancelled);
	assert_int_equal(s->step, s->goes_on ? BEHIND : LEAVING);
	assert_true(result == (s->goes_on ? NULL : PTHREAD_CANCELED));
}

CASE(test_scenes)
{
	static struct scene scenes[] = {
		{ .type = PTHREAD_CANCEL_DEFERRED,
		  .state = PTHREAD_CANCEL_ENABLE,
		  .is_cancelled = true },
		{ .type = PTHREAD_CANCEL_ASYNCHRONOUS,
		  .state = PTHREAD_CANCEL_ENABLE,
		  .is_cancelled = true },
		{ .type = PTHREAD_CANCEL_DEFERRED,
		  .state = PTHREAD_CANCEL_DISABLE,
		  .goes_on = true },
		{ .type = PTHREAD_CANCEL_ASYNCHRONOUS,
		  .state = PTHREAD_CANCEL_DISABLE,
		  .goes_on = true },
		{ .type = PTHREAD_CANCEL_DEFERRED,
		  .state = PTHREAD_CANCEL_ENABLE,
		  .by_handler = true,
		  .is_cancelled = true },
		{ .type = PTHREAD_CANCEL_ASYNCHRONOUS,
		  .state = PTHREAD_CANCEL_ENABLE,
		  .by_handler = true,
		  .is_cancelled = true },
	};
	struct sigaction action = { .sa_handler = a_call };

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
		scenes[i].step = -1;
		scene_play(&scenes[i]);
	}
}

static void *calls_main(void *arg)
{
	_Atomic bool *has_begun = arg;

	pthread_setcanceltype(ANYWHERE, NULL);
	do {
		a_call(0);
		*has_begun = true;
	} while (*has_begun);
	return NULL;
}

/* At any point, between calls and inside them. */
CASE(test_anywhere)
{
	for (int i = 0; i < 500; i++) {
		_Atomic bool has_begun = false;
		pthread_t thread;
		void *result;

		assert_int_equal(
			pthread_create(&thread, NULL, calls_main, &has_begun),
			0);
		while (!has_begun)
			;
		assert_int_equal(pthread_cancel(thread), 0);
		sdp_point_cancel(thread);
		assert_int_equal(pthread_join(thread, &result), 0);
		assert_true(result == PTHREAD_CANCELED);
	}
}

/* Threads that have ended, or never made a call. */
CASE(test_others)
{
	_Atomic bool has_begun = false;
	pthread_t thread;

	a_call(0);
	assert_int_equal(pthread_create(&thread, NULL, calls_main, &has_begun),
			 0);
	while (!has_begun)
		;
	assert_int_equal(pthread_cancel(thread), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	sdp_point_cancel(thread);
	sdp_point_enter();
	assert_false(sdp_point_is_cancelled());
	sdp_point_leave();
}

/* The thread has left its calls, as by siglongjmp(): it can be cancelled as
 * before the calls that it has left. */
CASE(test_left)
{
	int outer, inner, type, cancel_state;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (int i = 0; i < 2; i++) {
		outer = sdp_point_enter();
		inner = sdp_point_enter();
		assert_int_equal(inner, outer + 1);
		sdp_point_left(inner);
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
		assert_int_equal(cancel_state, PTHREAD_CANCEL_DISABLE);
		if (i == 0)
			sdp_point_left(outer);
		else
			sdp_point_leave();
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancel_state);
		assert_int_equal(cancel_state, PTHREAD_CANCEL_ENABLE);
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
		assert_int_equal(type, PTHREAD_CANCEL_ASYNCHRONOUS);
	}
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
}

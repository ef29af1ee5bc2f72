/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Turns of threads and of processes. */
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sock/base/turn.h"

#define ROUNDS 20000
#define CHILDREN 2

static struct sdp_turn *turn;
static struct {
	volatile int cnt; /* not atomic: only a turn keeps it right */
} *page;

static int begin(void **state)
{
	turn = sdp_turn_new();
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return !turn || page == MAP_FAILED;
}

static int end(void **state)
{
	munmap(page, sizeof(*page));
	sdp_turn_free(turn);
	return 0;
}

static void *run(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		sdp_turn_take(turn);
		page->cnt = page->cnt + 1;
		sdp_turn_leave(turn);
	}
	return NULL;
}

CASE_WITH(is_one_at_a_time, begin, end)
{
	pthread_t thread;
	int status;

	for (int i = 0; i < CHILDREN; i++) {
		if (fork() == 0) {
			run(NULL);
			_exit(0);
		}
	}
	assert_int_equal(pthread_create(&thread, NULL, run, NULL), 0);
	run(NULL);
	pthread_join(thread, NULL);
	for (int i = 0; i < CHILDREN; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(page->cnt, (CHILDREN + 2) * ROUNDS);
}

CASE_WITH(comes_back_from_the_dead, begin, end)
{
	for (int i = 0; i < 2; i++) {
		if (fork() == 0) {
			sdp_turn_take(turn);
			raise(SIGKILL);
		}
		assert_true(wait(NULL) > 0);
		sdp_turn_take(turn);
		sdp_turn_leave(turn);
	}
}

CASE(alone_needs_none)
{
	sdp_turn_take(NULL);
	sdp_turn_leave(NULL);
	sdp_turn_free(NULL);
}

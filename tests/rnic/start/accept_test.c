/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Accepting: what is accepted, the limits, and when there is a pause. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "must.h"
#include "test.h"
#include "loop/loop.h"
#include "os/tcp.h"
#include "start/accept.h"
#include "start/start.h"

#define MAX 4 /* USIW_HALF_OPEN_MAX */
#define BATCH 64

static uint64_t refs[2 * BATCH];
static int taken;

static void take(struct rnic_acceptor *acceptor, int fd)
{
	struct rnic_start *start =
		rnic_start_new(sizeof(*start), RNIC_LOOP_CONN);

	must(start);
	start->fd = fd;
	refs[taken++] = start->ref;
	rnic_half_open_add(acceptor, start);
}

static struct rnic_acceptor acceptor = {
	.take = take,
	.pause_list = RNIC_TIMER_OOB_PAUSED,
};

/* Results of accept4() in order: 0: a socket; else an errno. */
static const int *answers;
static struct rnic_tcp_ops ops;

static int fake_accept4(int fd, struct sockaddr *addr, socklen_t *len,
			int flags)
{
	(void)fd;
	(void)addr;
	(void)len;
	if (!answers || *answers == 0) {
		answers += answers ? 1 : 0;
		return socket(AF_UNIX, SOCK_STREAM | flags, 0);
	}
	errno = *answers++;
	return -1;
}

static int begin(void **state)
{
	ops = *rnic_tcp();
	ops.accept4 = fake_accept4;
	rnic_tcp_replace(&ops);
	util_lock(&rnic_loop.lock);
	taken = 0;
	return 0;
}

static int end(void **state)
{
	while (acceptor.half_open_cnt)
		rnic_start_free(TAILQ_FIRST(&acceptor.half_open));
	rnic_timer_stop(&acceptor.pause);
	util_unlock(&rnic_loop.lock);
	rnic_tcp_replace(NULL);
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, begin, end)

static bool is_alive(int i)
{
	return rnic_ref_get(&rnic_starts, refs[i]) != NULL;
}

/* A connection that ended in TCP's queue is skipped. */
FILE_CASE(takes_what_has_come)
{
	static const int come[] = { 0, ECONNABORTED, 0, EAGAIN };

	answers = come;
	assert_int_equal(rnic_acceptor_take(&acceptor, -1), 0);
	assert_int_equal(taken, 2);
	assert_int_equal(acceptor.half_open_cnt, 2);
	/* One sends its Request: it no longer counts. */
	rnic_half_open_remove(rnic_ref_get(&rnic_starts, refs[0]));
	rnic_half_open_remove(rnic_ref_get(&rnic_starts, refs[0]));
	assert_int_equal(acceptor.half_open_cnt, 1);
	rnic_start_free(rnic_ref_get(&rnic_starts, refs[0]));
	assert_int_equal(acceptor.half_open_cnt, 1);
}

FILE_CASE(the_newest_are_kept)
{
	static const int come[] = { 0, 0, 0, 0, 0, 0, EAGAIN };

	answers = come;
	assert_int_equal(rnic_acceptor_take(&acceptor, -1), 0);
	assert_int_equal(acceptor.half_open_cnt, MAX);
	for (int i = 0; i < taken; i++)
		assert_int_equal(is_alive(i), i >= taken - MAX);
}

FILE_CASE(others_have_their_turn)
{
	answers = NULL; /* repeats for ever */
	assert_int_equal(rnic_acceptor_take(&acceptor, -1), 1);
	assert_int_equal(taken, BATCH);
}

/* Half-open connections are closed first. If there is none, the acceptor
 * pauses. */
FILE_CASE(a_shortage_closes_the_oldest)
{
	static const int come[] = { 0, 0, EMFILE, ENFILE, ENOMEM };

	answers = come;
	assert_int_equal(rnic_acceptor_take(&acceptor, -1), -ENOMEM);
	assert_int_equal(taken, 2);
	assert_int_equal(acceptor.half_open_cnt, 0);
	assert_false(is_alive(0) || is_alive(1));
	rnic_acceptor_pause(&acceptor);
	assert_int_equal(acceptor.pause.list, RNIC_TIMER_OOB_PAUSED);
	/* A forked child has neither. */
	rnic_timer_stop(&acceptor.pause);
	acceptor.half_open_cnt = 3;
	acceptor.pause.list = RNIC_TIMER_OOB_PAUSED;
	rnic_acceptor_fork_child(&acceptor);
	assert_int_equal(acceptor.half_open_cnt, 0);
	assert_false(rnic_timer_runs(&acceptor.pause));
}

/* A peer in TCP's queue would wait for its Reply. */
FILE_CASE(a_shortage_refuses_what_has_come)
{
	static const int come[] = { EMFILE, 0, EMFILE, 0, EMFILE, EAGAIN };

	rnic_acceptor_reserve();
	answers = come;
	assert_int_equal(rnic_acceptor_take(&acceptor, -1), 0);
	assert_int_equal(taken, 0);
	assert_int_equal(acceptor.half_open_cnt, 0);
	assert_ptr_equal(answers, come + 6);
}

/* accept4() says EMFILE before it looks whether anyone waits. */
FILE_CASE(a_shortage_closes_none_if_none_waits)
{
	static const int come[] = {
		0, EMFILE, EAGAIN, EMFILE, 0, EMFILE, EAGAIN
	};

	rnic_acceptor_reserve();
	answers = come;
	assert_int_equal(rnic_acceptor_take(&acceptor, -1), 0);
	assert_int_equal(taken, 1);
	assert_true(is_alive(0));
	/* The newest is kept. */
	assert_int_equal(rnic_acceptor_take(&acceptor, -1), 0);
	assert_int_equal(taken, 2);
	assert_true(!is_alive(0) && is_alive(1));
	assert_ptr_equal(answers, come + 7);
}

/* Another thread has taken the descriptor meanwhile. */
FILE_CASE(a_refusal_may_fail)
{
	static const int come[] = { EMFILE, EMFILE };

	rnic_acceptor_reserve();
	answers = come;
	assert_int_equal(rnic_acceptor_take(&acceptor, -1), -EMFILE);
}

BEFORE_CASES()
{
	/* Before the settings are read for the first time. */
	setenv("USIW_HALF_OPEN_MAX", "4", 1);
}

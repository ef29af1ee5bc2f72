/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* post.c: which posts of a pair yield the CPU. */
#define _GNU_SOURCE
#include "test.h"

#include <pthread.h>
#include <sched.h>

#include "engine/engine.h"
#include "engine/wake.h"
#include "mem/context.h"
#include "rnicpair.h"

static pthread_t main_thread;
static uint32_t yield_cnt; /* of the main thread */

int __real_sched_yield(void);
int __wrap_sched_yield(void);
int __wrap_sched_yield(void)
{
	if (pthread_equal(pthread_self(), main_thread))
		yield_cnt++;
	return __real_sched_yield();
}

static struct rnic_sched *sched_of(struct rnicpair *p, int side)
{
	return &p->side[side].ctx->engine->sched;
}

static enum rnic_answer answer_due(struct rnicpair *p)
{
	return atomic_load(&sched_of(p, 1)->answers.due);
}

/* An octet of one side's memory to the same place of the other's.  Return: how
 * often the post yields. */
static uint32_t write_octet(struct rnicpair *p, int from)
{
	struct usiw_sge sge = rnicpair_sge(&p->side[from], 0, 1);

	/* A yield before may have lasted, beside other programs. */
	atomic_store(&sched_of(p, from)->skip.cnt, 0);
	yield_cnt = 0;
	rnicpair_post_wr(&p->side[from], .opcode = USIW_WR_WRITE, .sge = &sge,
			 .sge_cnt = 1, .rkey = p->side[!from].stag,
			 .remote_addr = rnicpair_addr(&p->side[!from], 0));
	return yield_cnt;
}

/* When this READ is done, nothing is on its way to either side. No thread
 * polls: the completion threads move it. It may have answered what came at the
 * start. */
static void settle(struct rnicpair *p)
{
	struct rnicpair_side *s = &p->side[1];
	struct usiw_cqe cqe;

	rnicpair_post_read(p, 1, 1, 1);
	wait_until(rnicpair_peek(s, s->scq, &cqe));
	for (int i = 0; i < 2; i++)
		(void)rnic_answer_take(&sched_of(p, i)->answers);
}

/* The octet of side 0 has come.  Return: false: side 1's thread came from its
 * park with it, as beside a poller. */
static bool has_come_to_a_spinner(struct rnicpair *p)
{
	settle(p);
	assert_int_equal(write_octet(p, 0), 0); /* there is no question */
	wait_until(answer_due(p));
	return answer_due(p) == RNIC_ANSWER_SPINNER;
}

/* Side 1 posts an answer, and a second post.  The same is not answered
 * twice. */
PAIR_CASE(an_answer_yields)
{
	struct rnicpair *p = *state;
	int cnt = 0;

	for (int i = 0; i < 2; i++)
		rnic_engine_unpark(p->side[i].ctx->engine);
	for (int i = 0; i < 1000 && cnt < 20; i++) {
		if (!has_come_to_a_spinner(p))
			continue;
		assert_int_equal(write_octet(p, 1), 1);
		assert_int_equal(write_octet(p, 1), 0);
		cnt++;
	}
	assert_int_equal(cnt, 20);
}

/* A program polls for the completion of its READ, and for a Send. */
PAIR_CASE(what_completes_is_not_answered)
{
	struct rnicpair *p = *state;
	struct rnicpair_side *s = &p->side[1];
	struct usiw_cqe cqe;
	struct usiw_sge sge;

	settle(p);
	rnicpair_post_read(p, 1, 1, 1);
	wait_until(rnicpair_peek(s, s->scq, &cqe));
	assert_int_equal(answer_due(p), RNIC_ANSWER_NONE);
	rnicpair_post_echo(p, 0, 1);
	wait_until(rnicpair_peek(s, s->rcq, &cqe));
	assert_int_equal(answer_due(p), RNIC_ANSWER_NONE);
	/* A Write is told by what follows it. */
	assert_int_equal(rnicpair_post_recv(s, 0, NULL, 0), 0);
	sge = rnicpair_sge(&p->side[0], 0, 1);
	rnicpair_post_wr(&p->side[0], .opcode = USIW_WR_WRITE_IMM, .sge = &sge,
			 .sge_cnt = 1, .rkey = s->stag,
			 .remote_addr = rnicpair_addr(s, 0));
	wait_until(rnicpair_peek(s, s->rcq, &cqe));
	assert_int_equal(answer_due(p), RNIC_ANSWER_NONE);
}

BEFORE_CASES()
{
	/* A completion thread that looks before it sleeps asks for no yield. */
	setenv("USIW_SPIN_US", "0", 1);
	main_thread = pthread_self();
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * engine.c: which thread makes progress when, bells rung by many threads,
 * errno, and the end of an engine.
 */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mem/context.h"
#include "engine/engine.h"
#include "engine/sockets.h"
#include "engine/thread.h"
#include "engine/wake.h"
#include "util/clock.h"
#include "qp/qp.h"
#include "rawpeer.h"
#include "qp/object.h"
#include "stream/attach.h"
#include "stream/object.h"
#include "wrap-syscall.h"

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

/* ---- stopping the completion threads ---- */

/* Locked for writing while the completion threads must stop. */
static pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;
static _Atomic bool is_gate_closed;
static struct rnicpair *_Atomic gate_pair;
static _Atomic uint32_t at_gate_cnt;

static bool is_completion_thread(void)
{
	char name[16];

	return pthread_getname_np(pthread_self(), name, sizeof(name)) == 0 &&
	       strcmp(name, "usiw-engine") == 0;
}

/* A thread that watches or spins lets sources with memory stay awake: what they
 * receive makes no descriptor readable. It goes on to the wait where it does
 * neither. */
static bool lets_stay_awake(int epfd)
{
	struct rnicpair *p = atomic_load(&gate_pair);

	for (int i = 0; i < 2; i++) {
		struct rnic_engine *engine = p->side[i].ctx->engine;

		if (engine->epfd == epfd)
			return rnic_burst_is_watched(&engine->sched.burst) ||
			       rnic_sched_is_spinning(&engine->sched);
	}
	return false;
}

/* Simulates a descriptor that the application has closed. */
static _Atomic int broken_epfd = -1;

/* The system calls of the thread set errno, and are counted. */
static __thread bool is_errno_disturbed;
static __thread uint32_t disturbance_cnt;

/* epoll_wait(2) of the engine is util_sys_epoll_wait(). */
static int syscall_error(long nr, long first_arg)
{
	if (is_errno_disturbed) {
		disturbance_cnt++;
		errno = ETIMEDOUT;
	}
	if (nr != SYS_epoll_pwait)
		return 0;
	if (first_arg == atomic_load(&broken_epfd))
		return EBADF;
	if (atomic_load(&is_gate_closed) && is_completion_thread() &&
	    !lets_stay_awake((int)first_arg)) {
		atomic_fetch_add(&at_gate_cnt, 1);
		pthread_rwlock_rdlock(&gate);
		pthread_rwlock_unlock(&gate);
	}
	return 0;
}

/* Both completion threads are stopped from here on. */
static void gate_close(struct rnicpair *p)
{
	pthread_rwlock_wrlock(&gate);
	atomic_store(&at_gate_cnt, 0);
	atomic_store(&gate_pair, p);
	atomic_store(&is_gate_closed, true);
	for (int i = 0; i < 2; i++) {
		rnic_engine_lead(p->side[i].ctx->engine);
		/* One wake ends its sleep. */
		must(!eventfd_write(p->side[i].ctx->engine->thread.wake_fd, 1));
		rnic_engine_unlead(p->side[i].ctx->engine);
		rnic_engine_unpark(p->side[i].ctx->engine);
	}
	wait_until(atomic_load(&at_gate_cnt) == 2);
}

static void gate_open(void)
{
	atomic_store(&is_gate_closed, false);
	pthread_rwlock_unlock(&gate);
}

/* ---- which thread makes progress ---- */

PAIR_CASE(polling_alone_makes_progress)
{
	struct rnicpair *p = *state;

	gate_close(p);
	for (int i = 0; i < 50; i++) {
		int from = i & 1;

		rnicpair_post_echo(p, from, 40000);
		assert_int_equal(
			rnicpair_take(&p->side[!from], p->side[!from].rcq)
				.wr_id,
			2);
		assert_int_equal(
			rnicpair_take(&p->side[from], p->side[from].scq).wr_id,
			1);
	}
	gate_open();
}

/* Closing the gate has woken the completion thread; if it did not sleep, the
 * wake-up is still pending.  So is a wake of the local path that was sent after
 * the thread had come to the gate. */
static void take_wakes(struct rnicpair_side *s)
{
	struct rnic_engine *engine = s->ctx->engine;
	struct pollfd pfd = { .fd = engine->epfd, .events = POLLIN };
	eventfd_t woken;

	wait_until(((void)!eventfd_read(engine->thread.wake_fd, &woken),
		    rnic_cq_progress(s->rcq), poll(&pfd, 1, 0) == 0));
}

/* Locks the gate after everything of the MPA start was received. */
static void open_and_close_gate(struct rnicpair *p)
{
	struct rnicpair_options opt = defaults;

	opt.has_chan = true;
	rnicpair_open(p, &opt);
	rnicpair_post_echo(p, 0, 8);
	(void)rnicpair_take(&p->side[1], p->side[1].rcq);
	(void)rnicpair_take(&p->side[0], p->side[0].scq);
	gate_close(p);
	for (int i = 0; i < 2; i++)
		take_wakes(&p->side[i]);
}

/* Return: the descriptor. */
static int sleep_begin(struct rnicpair_side *s)
{
	int fd = rnic_cq_sleep_begin(s->rcq);

	must(fd >= 0);
	return fd;
}

/* Side 0 sends eight octets, and posts that are gathered go with them. */
static void send_echo(struct rnicpair *p)
{
	rnicpair_post_echo(p, 0, 8);
	rnic_cq_progress(p->side[0].scq);
}

static void wait_readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&pfd, 1, RNICPAIR_LIMIT_MS), 1);
}

/* The thread that waits for the event makes progress itself. */
CASE(waiting_for_an_event_makes_progress)
{
	static struct rnicpair pair;
	struct rnicpair *p = &pair;
	struct rnicpair_side *b = &p->side[1];
	struct usiw_comp_event ev;
	struct usiw_cqe cqe;

	open_and_close_gate(p);
	for (int i = 0; i < 50; i++) {
		rnic_cq_arm(b->rcq, false);
		send_echo(p);
		assert_int_equal(rnic_chan_read(b->chan, &ev, sizeof(ev)),
				 sizeof(ev));
		assert_true(rnicpair_peek(b, b->rcq, &cqe));
		assert_int_equal(cqe.wr_id, 2);
		assert_int_equal(
			rnicpair_take(&p->side[0], p->side[0].scq).wr_id, 1);
	}
	gate_open();
	rnicpair_close(p);
}

/* The next poll of side 1 finds the receive of send_echo(). */
static void assert_look_finds_it(struct rnicpair *p)
{
	struct rnicpair_side *b = &p->side[1];
	struct usiw_cqe cqe;

	rnic_cq_progress(b->rcq);
	assert_true(rnicpair_peek(b, b->rcq, &cqe));
	assert_int_equal(cqe.wr_id, 2);
}

/* A thread that sleeps on the sockets wakes without the completion thread. */
CASE(sleeping_alone_makes_progress)
{
	struct rnicpair p;
	struct rnicpair_side *a = &p.side[0], *b = &p.side[1];

	open_and_close_gate(&p);
	for (int i = 0; i < 50; i++) {
		struct pollfd pfd = { .events = POLLIN };

		pfd.fd = sleep_begin(b);
		rnic_cq_progress(b->rcq);
		assert_int_equal(poll(&pfd, 1, 0), 0);
		send_echo(&p);
		wait_readable(pfd.fd);
		rnic_cq_sleep_end(b->rcq);
		assert_int_equal(rnicpair_take(b, b->rcq).wr_id, 2);
		(void)rnicpair_take(a, a->scq);
	}
	gate_open();
	rnicpair_close(&p);
}

/* A poll after a sleep finds what has come, even if the thread has polled just
 * before, and did not sleep after all. */
CASE(a_poll_after_the_sleep_finds_new_work)
{
	struct rnicpair p;
	struct rnicpair_side *b = &p.side[1];
	int fd;

	open_and_close_gate(&p);
	rnic_cq_progress(b->rcq);
	fd = sleep_begin(b);
	send_echo(&p);
	wait_readable(fd);
	rnic_cq_sleep_end(b->rcq);
	assert_look_finds_it(&p);
	gate_open();
	rnicpair_close(&p);
}

/* A thread may poll only between the begin of a sleep and the sleep. */
CASE(a_poll_before_the_sleep_may_be_the_only_one)
{
	struct rnicpair p;
	struct rnicpair_side *a = &p.side[0], *b = &p.side[1];

	open_and_close_gate(&p);
	for (int i = 0; i < 50; i++) {
		send_echo(&p);
		wait_readable(sleep_begin(b));
		rnic_cq_sleep_end(b->rcq);
		(void)sleep_begin(b);
		assert_look_finds_it(&p);
		rnic_cq_sleep_end(b->rcq);
		(void)rnicpair_take(a, a->scq);
	}
	gate_open();
	rnicpair_close(&p);
}

PAIR_CASE(polls_many_streams)
{
	enum { CNT = RNIC_BUSY_MAX * 3 };
	struct rnic_qp *qp[CNT][2];
	struct rnicpair *p = *state;
	uint32_t async;

	for (int i = 0; i < CNT; i++) {
		qp[i][0] = rnicpair_qp_new(p, 0);
		qp[i][1] = rnicpair_qp_new(p, 1);
		rnicpair_join(p, qp[i][0], qp[i][1]);
	}
	gate_close(p);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < CNT; i++) {
			struct usiw_sge src = rnicpair_sge(
				&p->side[0], (size_t)i * 100000, 100000);
			struct usiw_sge dst = rnicpair_sge(
				&p->side[1], (size_t)i * 100000, 100000);

			rnicpair_fill(p->side[0].buf + i * 100000, 100000,
				      (uint32_t)(i + round));
			must(!rnicpair_post_recv_qp(&p->side[1], qp[i][1],
						    (uint64_t)i, &dst, 1));
			must(!rnicpair_post_qp(
				&p->side[0], qp[i][0],
				&(struct rnicpair_wr){
					.wr_id = (uint64_t)i,
					.opcode = USIW_WR_SEND,
					.flags = USIW_SQE_SIGNALED,
					.sge = &src,
					.sge_cnt = 1 }));
		}
		for (int i = 0; i < CNT; i++) {
			struct usiw_cqe cqe =
				rnicpair_take(&p->side[1], p->side[1].rcq);

			assert_int_equal(cqe.status, 0);
			assert_true(rnicpair_is_filled(
				p->side[1].buf + cqe.wr_id * 100000, 100000,
				(uint32_t)cqe.wr_id + (uint32_t)round));
			cqe = rnicpair_take(&p->side[0], p->side[0].scq);
			assert_int_equal(cqe.status, 0);
		}
	}
	gate_open();
	for (int i = 0; i < CNT; i++) {
		must(!rnic_qp_destroy(qp[i][0], &async));
		must(!rnic_qp_destroy(qp[i][1], &async));
	}
}

/* ---- bells ---- */

#define BELL_QP_CNT 6
#define BELL_THREAD_CNT 4
#define BELL_POST_CNT 1500

static struct {
	struct rnicpair p;
	struct rnic_qp *qp[BELL_QP_CNT][2];
	_Atomic uint64_t sent, received, bad;
} bells;

static void *bell_post(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	struct rnicpair_side *a = &bells.p.side[0];

	for (int i = 0; i < BELL_POST_CNT;) {
		struct rnicpair_wr wr = { .wr_id = 5,
					  .opcode = USIW_WR_SEND,
					  .flags = USIW_SQE_SIGNALED };

		seed = seed * 1103515245u + 12345u;
		if (rnicpair_post_qp(a, bells.qp[(seed >> 16) % BELL_QP_CNT][0],
				     &wr) == 0)
			i++;
		else
			sched_yield();
	}
	return NULL;
}

static void bell_count(struct rnicpair_side *s, struct rnic_cq *cq,
		       _Atomic uint64_t *cnt)
{
	struct usiw_cqe cqe;

	while (rnicpair_poll(s, cq, &cqe)) {
		if (cqe.status != USIW_WC_SUCCESS)
			atomic_fetch_add(&bells.bad, 1);
		if (cq == s->rcq)
			for (int i = 0; i < BELL_QP_CNT; i++)
				if (rnic_qp_num(bells.qp[i][1]) == cqe.qp_num)
					must(!rnicpair_post_recv_qp(
						s, bells.qp[i][1], 0, NULL, 0));
		atomic_fetch_add(cnt, 1);
	}
}

static void *bell_poll(void *arg)
{
	const uint64_t total = BELL_THREAD_CNT * BELL_POST_CNT;
	uint64_t end_ms = until_ms() + 5 * RNICPAIR_LIMIT_MS;

	(void)arg;
	while (atomic_load(&bells.sent) < total ||
	       atomic_load(&bells.received) < total) {
		bell_count(&bells.p.side[0], bells.p.side[0].scq, &bells.sent);
		bell_count(&bells.p.side[1], bells.p.side[1].rcq,
			   &bells.received);
		must(until_ms() < end_ms);
	}
	return NULL;
}

/* Threads post on any QP while others poll: each WR is sent once. */
CASE(no_bell_is_lost)
{
	struct rnicpair_options opt = defaults;
	pthread_t poster[BELL_THREAD_CNT], poller[2];
	uint32_t async;

	opt.max_wr = 32;
	opt.cqe = BELL_THREAD_CNT * BELL_POST_CNT;
	memset(&bells, 0, sizeof(bells));
	rnicpair_open_idle(&bells.p, &opt);
	for (int i = 0; i < BELL_QP_CNT; i++) {
		/* A message must always find a receive: as many as SQ slots,
		 * plus those whose completions are not polled. */
		bells.p.opt.max_wr = 32;
		bells.qp[i][0] = rnicpair_qp_new(&bells.p, 0);
		bells.p.opt.max_wr = BELL_THREAD_CNT * BELL_POST_CNT + 64;
		bells.qp[i][1] = rnicpair_qp_new(&bells.p, 1);
		rnicpair_join(&bells.p, bells.qp[i][0], bells.qp[i][1]);
		for (int j = 0; j < BELL_THREAD_CNT * BELL_POST_CNT; j++)
			must(!rnicpair_post_recv_qp(
				&bells.p.side[1], bells.qp[i][1], 0, NULL, 0));
	}
	for (int i = 0; i < 2; i++)
		must(!pthread_create(&poller[i], NULL, bell_poll, NULL));
	for (uintptr_t i = 0; i < BELL_THREAD_CNT; i++)
		must(!pthread_create(&poster[i], NULL, bell_post,
				     (void *)(i + 1)));
	for (int i = 0; i < BELL_THREAD_CNT; i++)
		pthread_join(poster[i], NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(poller[i], NULL);
	assert_int_equal(atomic_load(&bells.bad), 0);
	assert_int_equal(atomic_load(&bells.sent),
			 BELL_THREAD_CNT * BELL_POST_CNT);
	assert_int_equal(atomic_load(&bells.received),
			 BELL_THREAD_CNT * BELL_POST_CNT);
	for (int i = 0; i < BELL_QP_CNT; i++) {
		/* First those whose receives would be flushed. */
		must(!rnic_qp_destroy(bells.qp[i][1], &async));
		must(!rnic_qp_destroy(bells.qp[i][0], &async));
	}
	rnicpair_close(&bells.p);
}

/* No thread polls or waits. What a bell requests is sent nevertheless, also if
 * the lead was taken at that moment. */
PAIR_CASE(a_bell_beside_the_leader_is_served)
{
	struct rnicpair *p = *state;
	struct rnicpair_side *a = &p->side[0];

	for (int i = 0; i < 100; i++) {
		struct usiw_cqe cqe;

		rnic_engine_lead(a->ctx->engine);
		rnicpair_post_echo(p, 0, 8); /* finds the lead taken */
		assert_false(rnicpair_peek(a, a->scq, &cqe));
		rnic_engine_unlead(a->ctx->engine);
		wait_until(rnicpair_peek(a, a->scq, &cqe));
		wait_until(rnicpair_peek(&p->side[1], p->side[1].rcq, &cqe));
	}
}

/* ---- bursts ---- */

/* An empty post, which this test can count. */
static void burst_post(struct rnicpair_side *s, uint64_t wr_id)
{
	rnicpair_post_wr(s, .wr_id = wr_id, .opcode = USIW_WR_SEND,
			 .flags = USIW_SQE_SIGNALED);
}

static void burst_poll(struct rnicpair_side *s)
{
	rnic_cq_progress(s->scq);
}

static void burst_arm(struct rnicpair_side *s)
{
	rnic_cq_arm(s->scq, false);
}

static void burst_lead(struct rnicpair_side *s)
{
	rnic_engine_lead(s->ctx->engine);
	assert_false(rnic_engine_has_bells(s->ctx->engine));
	rnic_engine_unlead(s->ctx->engine);
}

static void burst_disconnect(struct rnicpair_side *s)
{
	rnic_qp_disconnect(s->qp, 0);
}

/* What the thread that posts does else: it polls, it sleeps on the sockets, or
 * it waits for an event; it has posted in bursts before. */
enum poster { POLLS, SLEEPS, SLEEPS_BURSTY, WAITS, WAITS_BURSTY };

/* Of @cnt posts, @completed are sent at once. @flush transmits the rest. */
static const struct burst {
	const char *name;
	bool is_watched;
	uint32_t cnt, completed;
	void (*flush)(struct rnicpair_side *s);
	enum poster poster;
} bursts[] = {
	{ "one", true, 1, 1, burst_poll, POLLS },
	{ "two", true, 2, 1, burst_poll, POLLS },
	{ "most", true, 16, 1, burst_poll, POLLS },
	{ "full", true, 17, 17, burst_poll, POLLS },
	{ "full, and more", true, 20, 17, burst_poll, POLLS },
	{ "not watched", false, 20, 20, burst_poll, POLLS },
	{ "few, not watched", false, 7, 7, burst_poll, POLLS },
	{ "arm", true, 5, 1, burst_arm, POLLS },
	{ "lead", true, 5, 1, burst_lead, POLLS },
	{ "disconnect", true, 5, 1, burst_disconnect, POLLS },
	{ "sleeper", true, 5, 5, burst_poll, SLEEPS },
	{ "sleeper, bursts", true, 5, 5, burst_poll, SLEEPS_BURSTY },
	{ "waits for events", true, 5, 5, burst_poll, WAITS },
	{ "waits for events, first burst", true, 20, 20, burst_poll, WAITS },
	{ "waits for events, bursts", true, 5, 1, burst_poll, WAITS_BURSTY },
};

CASE(a_burst_shares_transmissions)
{
	for (size_t i = 0; i < ARRAY_LEN(bursts); i++) {
		const struct burst *burst = &bursts[i];
		struct rnicpair_options opt = defaults;
		struct rnicpair p;
		struct rnicpair_side *a = &p.side[0], *b = &p.side[1];
		struct rnic_engine *engine;

		print_message("%s\n", burst->name);
		opt.has_chan = true;
		rnicpair_open(&p, &opt);
		engine = a->ctx->engine;
		gate_close(&p);
		atomic_store(&engine->sched.burst.is_watched,
			     burst->is_watched);
		for (uint32_t j = 0; j < burst->cnt; j++)
			must(!rnicpair_post_recv(b, j, NULL, 0));
		rnic_cq_progress(a->scq);
		if (burst->poster != POLLS)
			rnic_sched_note_attended(&engine->sched, util_now_ns(),
						 burst->poster >= WAITS);
		atomic_store(&engine->sched.burst.is_bursty,
			     burst->poster == SLEEPS_BURSTY ||
				     burst->poster == WAITS_BURSTY);
		for (uint32_t j = 0; j < burst->cnt; j++)
			burst_post(a, j);
		assert_int_equal(usiw_ring_used(rnic_cq_ring(a->scq)),
				 burst->completed);
		assert_int_equal(rnic_engine_has_bells(engine),
				 burst->completed < burst->cnt);
		assert_int_equal(rnic_cq_wants_progress(a->scq),
				 burst->cnt > burst->completed ||
					 burst->cnt >= RNIC_BURST_MANY);
		burst->flush(a);
		if (burst->poster != POLLS)
			assert_int_equal(
				atomic_load(&engine->sched.burst.is_bursty),
				burst->cnt >= RNIC_BURST_MANY);
		for (uint32_t j = 0; j < burst->cnt; j++) {
			struct usiw_cqe cqe = rnicpair_take(a, a->scq);

			assert_int_equal(cqe.wr_id, j);
			assert_int_equal(cqe.status, USIW_WC_SUCCESS);
			cqe = rnicpair_take(b, b->rcq);
			assert_int_equal(cqe.wr_id, j);
			assert_int_equal(cqe.status, USIW_WC_SUCCESS);
		}
		burst_poll(a);
		assert_false(rnic_cq_wants_progress(a->scq));
		atomic_store(&engine->sched.burst.is_watched, false);
		gate_open();
		rnicpair_close(&p);
	}
}

static uint32_t held_cnt(const struct rnicpair_side *s)
{
	return with_lead(s->qp->engine, s->qp->held_in_idx);
}

/* Receives that held Sends wait for are posts of a burst, too.  They ring once,
 * so only the first one is served before the poll. */
CASE(a_burst_of_receives_is_served_together)
{
	const uint32_t cnt = RNIC_BURST_MAX + 4;

	for (int is_watched = 0; is_watched < 2; is_watched++) {
		struct rnicpair p;
		struct rnicpair_side *a = &p.side[0], *b = &p.side[1];
		const struct usiw_ring *done;

		rnicpair_open(&p, &defaults);
		done = rnic_cq_ring(b->rcq);
		gate_close(&p);
		for (uint32_t j = 0; j < cnt; j++)
			burst_post(a, j);
		burst_poll(a);
		wait_until((burst_poll(b), held_cnt(b) == cnt));
		atomic_store(&b->ctx->engine->sched.burst.is_watched,
			     is_watched);
		burst_poll(b);
		for (uint32_t j = 0; j < cnt; j++)
			must(!rnicpair_post_recv(b, j, NULL, 0));
		assert_int_equal(usiw_ring_used(done), is_watched ? 1 : cnt);
		assert_int_equal(rnic_cq_wants_progress(b->rcq), true);
		burst_poll(b);
		assert_int_equal(usiw_ring_used(done), cnt);
		for (uint32_t j = 0; j < cnt; j++)
			assert_int_equal(rnicpair_take(b, b->rcq).wr_id, j);
		atomic_store(&b->ctx->engine->sched.burst.is_watched, false);
		gate_open();
		rnicpair_close(&p);
	}
}

/* ---- errno ---- */

static void errno_post(struct rnicpair_side *s)
{
	burst_post(s, 1);
}

/* A program may call each of them before it looks at the errno of another
 * call. */
static const struct {
	const char *name;
	void (*call)(struct rnicpair_side *s);
	bool has_bell; /* a post that the call serves */
} errno_calls[] = {
	{ "post", errno_post, false },
	{ "poll", burst_poll, false },
	{ "arm", burst_arm, true },
};

/* librdmacm's rsockets do so. */
CASE(the_data_path_keeps_errno)
{
	for (size_t i = 0; i < ARRAY_LEN(errno_calls); i++) {
		struct rnicpair p;
		struct rnicpair_side *peer = &p.side[0], *s = &p.side[1];

		print_message("%s\n", errno_calls[i].name);
		rnicpair_open(&p, &defaults);
		gate_close(&p);
		burst_post(peer, 3);
		wait_until((burst_poll(s), held_cnt(s) == 1));
		atomic_store(&s->ctx->engine->sched.burst.is_watched,
			     errno_calls[i].has_bell);
		if (errno_calls[i].has_bell) {
			errno_post(s);
			errno_post(s);
		}
		disturbance_cnt = 0;
		is_errno_disturbed = true;
		errno = EXDEV;
		errno_calls[i].call(s);
		is_errno_disturbed = false;
		assert_int_equal(errno, EXDEV);
		/* Over the local path there may be none. */
		assert_true(disturbance_cnt > 0 ||
			    rnic_qp_stream(s->qp)->local);
		atomic_store(&s->ctx->engine->sched.burst.is_watched, false);
		gate_open();
		rnicpair_close(&p);
	}
}

/* ---- the end of an engine ---- */

#define DRAIN_LEN (1u << 20)

/* As at exit(): what waits for TCP, or for room in the ring, goes out first. */
CASE(a_drain_sends_what_was_posted)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair p;
	struct rnicpair_side *a = &p.side[0], *b = &p.side[1];
	struct usiw_sge from, to;

	opt.sockbuf = 16384;
	rnicpair_open(&p, &opt);
	from = rnicpair_sge(a, 0, DRAIN_LEN);
	to = rnicpair_sge(b, 0, DRAIN_LEN);
	rnicpair_fill(a->buf, DRAIN_LEN, 1);
	must(!rnicpair_post_recv(b, 2, &to, 1));
	/* The peer reads only when the drain is about to begin. */
	rnic_engine_lead(b->ctx->engine);
	rnicpair_post_wr(a, .opcode = USIW_WR_SEND, .sge = &from, .sge_cnt = 1);
	rnic_engine_unlead(b->ctx->engine);
	assert_true(rnic_engine_drain(
		a->ctx->engine, util_now_ns() + RNICPAIR_LIMIT_MS * NS_PER_MS));
	assert_int_equal(rnicpair_take(b, b->rcq).status, USIW_WC_SUCCESS);
	assert_true(rnicpair_is_filled(b->buf, DRAIN_LEN, 1));
	rnicpair_close(&p);
}

static bool uses_no_cpu(void)
{
	uint64_t cpu = rnicpair_cpu_us();

	usleep(100000);
	return rnicpair_cpu_us() - cpu < 50000;
}

/* The engine is broken: another break changes nothing. */
static void nothing_begins(struct rnic_engine *engine)
{
	struct rnic_source source = { .fd = engine->thread.wake_fd };

	assert_int_equal(with_lead(engine, rnic_engine_thread_start(engine)),
			 -EIO);
	assert_int_equal(with_lead(engine, rnic_engine_add(engine, &source)),
			 -EIO);
	rnic_engine_lead(engine);
	rnic_engine_break(engine, -EBADF);
	rnic_engine_unlead(engine);
}

/* The error is reported once. All posted work completes, the peer sees an end,
 * no thread uses the CPU, and the context can be closed. */
CASE(an_engine_that_cannot_wait_is_fatal)
{
	struct rnicpair p;
	struct rnicpair_side *a = &p.side[0], *b = &p.side[1];
	struct usiw_sge sge;

	rnicpair_open(&p, &defaults);
	sge = rnicpair_sge(a, 0, 64);
	for (uint64_t i = 0; i < 4; i++) {
		must(!rnicpair_post_recv(a, i, &sge, 1));
		must(!rnicpair_post_recv(b, i, &sge, 0));
	}
	/* It waits for the peer, which does not answer. */
	rnic_engine_lead(b->ctx->engine);
	rnicpair_post_read(&p, 0, 7, 64);
	atomic_store(&broken_epfd, a->ctx->engine->epfd);
	must(!eventfd_write(a->ctx->engine->thread.wake_fd, 1));
	assert_int_equal(rnicpair_async(a, NULL), USIW_EVENT_DEVICE_FATAL);
	assert_int_equal(rnicpair_async(a, NULL), USIW_EVENT_QP_FATAL);
	rnic_engine_unlead(b->ctx->engine);
	assert_int_equal(rnicpair_take(a, a->scq).wr_id, 7);
	for (uint64_t i = 0; i < 4; i++) {
		struct usiw_cqe cqe = rnicpair_take(a, a->rcq);

		assert_int_equal(cqe.wr_id, i);
		assert_int_equal(cqe.status, USIW_WC_WR_FLUSH_ERR);
		assert_int_equal(rnicpair_take(b, b->rcq).status,
				 USIW_WC_WR_FLUSH_ERR);
	}
	rnicpair_post_wr(a, .wr_id = 8, .opcode = USIW_WR_SEND,
			 .flags = USIW_SQE_SIGNALED);
	assert_int_equal(rnicpair_take(a, a->scq).status, USIW_WC_WR_FLUSH_ERR);
	/* After what is left to be done for the end, which takes long under
	 * ThreadSanitizer. */
	wait_until(uses_no_cpu());
	nothing_begins(a->ctx->engine);
	assert_false(rnicpair_has_async(a));
	rnicpair_close(&p);
	atomic_store(&broken_epfd, -1);
}

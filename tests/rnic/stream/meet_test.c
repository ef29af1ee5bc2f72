/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* meet.c: tries to meet, and the first looks at the ring, one by one. */
#define _GNU_SOURCE /* memfd_create */
#include "descriptors.h"
#include "maps.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/engine.h"
#include "local/local.h"
#include "local/handover.h"
#include "local/meet.h"
#include "local/ring.h"
#include "mem/context.h"
#include "os/fd.h"
#include "qp/object.h"
#include "rnicpair.h"
#include "stats.h"
#include "stream/end.h"
#include "stream/object.h"
#include "stream/pass.h"
#include "stream/ring.h"
#include "stream/serve.h"

static int listen_rc; /* 0: as it is */

int __wrap_rnic_meet_listen(int tcp_fd);
int __real_rnic_meet_listen(int tcp_fd);

int __wrap_rnic_meet_listen(int tcp_fd)
{
	return listen_rc ? listen_rc : __real_rnic_meet_listen(tcp_fd);
}

static struct {
	int rc;				       /* 0: as it is */
	void (*meanwhile)(struct rnicpair *p); /* NULL: nothing */
	struct rnicpair *p;
} add_wake;

int __wrap_rnic_engine_add_wake(struct rnic_engine *engine,
				struct rnic_source *source, int wake_fd);
int __real_rnic_engine_add_wake(struct rnic_engine *engine,
				struct rnic_source *source, int wake_fd);

int __wrap_rnic_engine_add_wake(struct rnic_engine *engine,
				struct rnic_source *source, int wake_fd)
{
	int rc = add_wake.rc;

	if (!rc)
		return __real_rnic_engine_add_wake(engine, source, wake_fd);
	add_wake.rc = 0;
	if (add_wake.meanwhile)
		add_wake.meanwhile(add_wake.p);
	return rc;
}

static struct rnic_stream *lead(struct rnicpair *p, int side)
{
	rnic_engine_lead(p->side[side].ctx->engine);
	return rnic_qp_stream(p->side[side].qp);
}

static void unlead(struct rnicpair *p, int side)
{
	rnic_engine_unlead(p->side[side].ctx->engine);
}

/* One step towards the local path. */
static void step(struct rnicpair *p, int side)
{
	struct rnic_stream *stream = lead(p, side);

	stream->meet_at = 0;
	rnic_stream_tx(stream);
	unlead(p, side);
}

/* Nothing is under way behind this.  An Initiator that has received nothing
 * probes its peer. */
static void quiesce(struct rnicpair *p)
{
	for (int from = 0; from < 2; from++) {
		struct rnicpair_side *to = &p->side[!from];

		rnicpair_post_echo(p, from, 8);
		rnicpair_take(&p->side[from], p->side[from].scq);
		rnicpair_take(to, to->rcq);
	}
}

static const struct {
	const char *name;
	int rc;
	bool tries_again;
	bool is_said; /* in the log; the others are no surprise */
} tries[] = {
	{ "the peer is elsewhere", -EREMOTE, false, false },
	{ "the peer is another user's", -EACCES, false, true },
	{ "few descriptors are left", -EMFILE, true, true },
	{ "the name is in use", -EADDRINUSE, true, true },
	{ "nobody listens", -ECONNREFUSED, true, false },
	{ "nothing is offered yet", -EAGAIN, true, false },
	{ "the peer has hung up", -EPIPE, true, false },
};

/* Return: whether the log says that there is no shared memory. */
static bool step_says(struct rnicpair *p, int side)
{
	int fd = memfd_create("stderr", MFD_CLOEXEC),
	    saved = dup(STDERR_FILENO);
	char said[4096] = "";

	must(fd >= 0 && saved >= 0);
	must(dup2(fd, STDERR_FILENO) == STDERR_FILENO);
	step(p, side);
	must(dup2(saved, STDERR_FILENO) == STDERR_FILENO);
	must(pread(fd, said, sizeof(said) - 1, 0) >= 0);
	close(saved);
	close(fd);
	return strstr(said, "no shared memory");
}

PAIR_CASE(tries_again_where_that_may_help)
{
	struct rnicpair *p = *state;
	struct rnic_stream *stream;
	bool is_said;

	for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
		stream = lead(p, 0);
		stream->meet_tries = 3;
		unlead(p, 0);
		listen_rc = tries[i].rc;
		is_said = step_says(p, 0);
		listen_rc = 0;
		assert_row(tries[i].name, is_said == tries[i].is_said);
		stream = lead(p, 0);
		assert_row(tries[i].name,
			   stream->meet_tries ==
				   (tries[i].tries_again ? 2 : 0));
		unlead(p, 0);
	}
}

/* The last try leaves no listener behind. */
PAIR_CASE(does_not_listen_for_ever)
{
	struct rnicpair *p = *state;

	for (uint8_t left = 2; left > 0; left--) {
		struct rnic_stream *stream = lead(p, 0);

		stream->meet_tries = left;
		unlead(p, 0);
		step(p, 0);
		stream = lead(p, 0);
		assert_int_equal(stream->meet_fd >= 0, left > 1);
		unlead(p, 0);
	}
}

/* One step, and the FPDUs at which the side takes the next one. */
static uint64_t step_next(struct rnicpair *p, int side, uint64_t *ret_fpdu_cnt)
{
	struct rnic_stream *stream = lead(p, side);
	const struct smpa_counters *cnt = smpa_conn_counters(stream->conn);
	uint64_t next;

	*ret_fpdu_cnt = cnt->tx_fpdu + cnt->rx_fpdu;
	stream->meet_at = 0;
	rnic_stream_tx(stream);
	next = stream->meet_at;
	unlead(p, side);
	return next;
}

/* At least twice as many FPDUs, and at least one: else a stream that carries
 * little, or nothing yet, tries at each pass.  The Initiator that has begun to
 * listen comes in between the Responder's two tries. */
PAIR_CASE(tries_more_and_more_seldom)
{
	struct rnicpair *p = *state;
	uint64_t listening, taking, offering, cnt;

	for (uint32_t i = 0; i < 20; i++) {
		rnicpair_post_echo(p, 0, 8);
		rnicpair_take(&p->side[1], p->side[1].rcq);
	}
	offering = step_next(p, 1, &cnt);
	assert_true(cnt >= 20);
	assert_true(offering > 2 * cnt);
	listening = step_next(p, 0, &cnt);
	assert_true(listening > cnt + cnt / 2);
	assert_true(listening < offering);
	taking = step_next(p, 0, &cnt);
	assert_true(taking > 2 * cnt);
}

/* TCP may be full when the ring takes over. */
PAIR_CASE(a_full_tcp_does_not_hold_up_the_ring)
{
	struct rnicpair *p = *state;
	struct rnic_stream *stream;

	step(p, 0); /* listens */
	step(p, 1); /* offers */
	stream = lead(p, 0);
	stream->is_tx_blocked = true;
	unlead(p, 0);
	step(p, 0); /* takes */
	stream = lead(p, 0);
	assert_true(stream->local && stream->local->is_tx_on);
	assert_false(stream->is_tx_blocked);
	unlead(p, 0);
}

/* A later message wakes nobody who is awake. */
PAIR_CASE(a_wake_up_is_put_off_once)
{
	struct rnicpair *p = *state;
	struct rnic_stream *stream;
	bool is_on, is_due = true;

	for (int i = 0; i < 3; i++)
		step(p, i % 2);
	stream = lead(p, 0);
	is_on = stream->local && stream->local->is_tx_on;
	if (is_on) {
		stream->local->is_wake_due = true;
		rnic_stream_ring_wake(stream);
		is_due = stream->local->is_wake_due;
	}
	unlead(p, 0);
	assert_true(is_on);
	assert_false(is_due);
}

/* The socket tells of the rest; the ring would tell of octets again and
 * again. */
CASE(looks_at_the_ring_behind_the_rest_of_tcp)
{
	static const uint32_t rests[] = { 10, 0 };

	for (size_t i = 0; i < ARRAY_LEN(rests); i++) {
		struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
		struct rnic_stream *stream;
		struct rnic_local *peer;
		struct rnicpair p;
		int listener;

		(void)state;
		rnicpair_open(&p, &opt);
		quiesce(&p);
		stream = lead(&p, 0);
		listener = rnic_meet_listen(stream->source.fd);
		unlead(&p, 0);
		assert_true(listener >= 0);
		step(&p, 1);
		assert_int_equal(rnic_meet_take(listener, &peer), 0);
		stream = lead(&p, 1);
		assert_int_equal(
			rnic_local_tx_begin(peer, stream->rx_octets + rests[i]),
			0);
		rnic_stream_pass(stream, POLLIN);
		assert_true(stream->local && stream->local->is_rx_on);
		assert_int_equal(stream->local->tcp_rest, rests[i]);
		assert_int_equal(stream->source.in != NULL, rests[i] == 0);
		unlead(&p, 1);
		rnic_local_free(peer);
		rnic_fd_close(listener);
		rnicpair_close(&p);
	}
}

static void *step_of_initiator(void *arg)
{
	step(arg, 0);
	return NULL;
}

/* From a thread that has the other side's lead. */
static void initiator_steps(struct rnicpair *p)
{
	pthread_t thread;

	must(!pthread_create(&thread, NULL, step_of_initiator, p));
	must(!pthread_join(thread, NULL));
}

static const struct {
	const char *name;
	int side; /* whose engine cannot wait for one more socket */
	void (*meanwhile)(struct rnicpair *p);
	bool keeps; /* the ring: the other end has begun to send by it */
} unwakeable[] = {
	{ "the Initiator", 0, NULL, false },
	{ "the Responder", 1, NULL, false },
	{ "the Responder, whose peer has begun", 1, initiator_steps, true },
};

/* No thread polls: what is not seen when it comes is not seen at all. */
static void exchange_unpolled(struct rnicpair *p, int from)
{
	struct rnicpair_side *a = &p->side[from], *b = &p->side[!from];
	struct usiw_cqe cqe;

	rnicpair_post_echo(p, from, 8);
	wait_until(rnicpair_peek(b, b->rcq, &cqe));
	assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	wait_until(rnicpair_peek(a, a->scq, &cqe));
	assert_int_equal(cqe.status, USIW_WC_SUCCESS);
}

/* As where fs.epoll.max_user_watches is used up. */
CASE(stays_on_tcp_where_an_end_cannot_be_woken)
{
	for (size_t i = 0; i < ARRAY_LEN(unwakeable); i++) {
		struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
		struct rnic_stream *stream;
		struct rnicpair p;
		bool has_ring;

		rnicpair_open(&p, &opt);
		quiesce(&p);
		step(&p, 0); /* listens */
		for (int side = 1; side >= 0; side--) {
			if (side == unwakeable[i].side)
				add_wake.rc = -ENOSPC;
			add_wake.meanwhile = unwakeable[i].meanwhile;
			add_wake.p = &p;
			step(&p, side); /* offers; takes */
			stream = lead(&p, side);
			has_ring = stream->local;
			unlead(&p, side);
			if (side == unwakeable[i].side)
				assert_row(unwakeable[i].name,
					   has_ring == unwakeable[i].keeps);
		}
		for (int k = 0; k < 8; k++)
			exchange_unpolled(&p, k % 2);
		rnicpair_close(&p);
	}
}

/* ---- both ways ---- */

static bool are_local(struct rnicpair *p)
{
	bool are = true;

	for (int side = 0; side < 2; side++) {
		struct rnic_stream *stream = lead(p, side);

		are &= stream->local && stream->local->is_tx_on &&
		       stream->local->is_rx_on;
		unlead(p, side);
	}
	return are;
}

/* Both ends send by the ring behind it. */
static void change(struct rnicpair *p)
{
	for (int i = 0; i < 3; i++)
		step(p, i % 2);
	wait_until((quiesce(p), are_local(p)));
}

CASE(the_end_leaves_nothing_open)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	int fd_cnt = 0;

	for (int i = 0; i < 3; i++) {
		struct rnicpair p;

		rnicpair_open(&p, &opt);
		assert_int_equal(maps_cnt("memfd:usiw-local"), 0);
		change(&p);
		assert_int_equal(maps_cnt("memfd:usiw-local"), 2);
		rnicpair_close(&p);
		assert_int_equal(maps_cnt("memfd:usiw-local"), 0);
		/* The first pair leaves what the process needs once. */
		if (i > 0)
			assert_int_equal(test_fd_cnt(), fd_cnt);
		fd_cnt = test_fd_cnt();
	}
}

PAIR_CASE(both_ways_are_counted)
{
	static const enum rnic_stat stats[] = { RNIC_STAT_local_opened,
						RNIC_STAT_local_left,
						RNIC_STAT_local_tx_octets,
						RNIC_STAT_local_rx_octets };
	uint64_t before[ARRAY_LEN(stats)];
	struct rnicpair *p = *state;

	for (size_t i = 0; i < ARRAY_LEN(stats); i++)
		before[i] = test_stat(stats[i]);
	change(p);
	rnicpair_post_echo(p, 0, 100000);
	rnicpair_take(&p->side[1], p->side[1].rcq);
	rnicpair_take(&p->side[0], p->side[0].scq);
	assert_int_equal(test_stat(stats[0]), before[0] + 2);
	assert_int_equal(test_stat(stats[1]), before[1]);
	assert_true(test_stat(stats[2]) >= before[2] + 100000);
	assert_true(test_stat(stats[3]) >= before[3] + 100000);
	rnic_stream_ring_lost(lead(p, 0));
	unlead(p, 0);
	quiesce(p);
	wait_until((quiesce(p), test_stat(stats[1]) == before[1] + 2));
	assert_int_equal(test_stat(stats[0]), before[0] + 2);
}

struct reached {
	bool is_asleep, is_awake, hands_over, stays;
};

static struct reached reach(struct rnic_stream *stream)
{
	const struct rnic_local *local = stream->local;
	struct rnic_ring_shared *in = local->rx.shared;
	struct rnic_source *source = &stream->source;
	struct rnic_handover handover = { .read = NULL };
	struct reached reached;

	reached.is_asleep = rnic_stream_ops.sleep(source) &&
			    atomic_load(&in->reader) == RNIC_RING_ASLEEP;
	rnic_stream_ops.stay_awake(source);
	reached.is_awake = atomic_load(&in->reader) == RNIC_RING_AWAKE;
	reached.hands_over = rnic_stream_ops.handover(source, &handover) &&
			     handover.read == &local->tx.shared->tail &&
			     handover.written == local->tx.own;
	rnic_stream_ops.unwakeable(source);
	reached.stays = !local->has_left_tx;
	return reached;
}

/* What the engine calls for a source changes the memory of both ends. */
PAIR_CASE(the_engine_reaches_the_ring)
{
	struct rnicpair *p = *state;
	struct reached reached;

	change(p);
	reached = reach(lead(p, 0));
	unlead(p, 0);
	assert_true(reached.is_asleep);
	assert_true(reached.is_awake);
	assert_true(reached.hands_over);
	assert_false(reached.stays);
	quiesce(p);
}

/* It may not have come back for long: it would write to another file. */
PAIR_CASE(a_thread_that_wakes_keeps_its_descriptor)
{
	struct rnicpair *p = *state;
	struct rnic_engine *engine = p->side[0].ctx->engine;
	struct rnic_stream *stream;
	bool is_open;
	int fd;

	change(p);
	stream = lead(p, 0);
	fd = stream->local->wake_fd;
	atomic_fetch_add(&engine->hot.waker_cnt, 1);
	rnic_stream_lost(stream, -ETIMEDOUT);
	is_open = fcntl(fd, F_GETFD) >= 0;
	atomic_fetch_sub(&engine->hot.waker_cnt, 1);
	unlead(p, 0);
	assert_true(fd >= 0);
	assert_true(is_open);
	rnic_fd_close(fd);
}

BEFORE_CASES()
{
	setenv("USIW_LOG", "info", 1);
	setenv("USIW_LOCAL", "auto", 1);
	setenv("USIW_LOCAL_AFTER", "65536", 1); /* see step() */
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * modify.c: what is asked of a QP, in each of its states. What a step does is
 * shown by the tests of its own file; here it leaves a letter.
 */
#include "test.h"
#include "stream/steps.h"

#include <errno.h>
#include <string.h>

#include "qp/modify.h"
#include "qp/transport.h"

#define LIFE 7

static struct {
	uint32_t lost;	  /* rights */
	bool is_harmless; /* that they are lost */
	int bells_left;	  /* rounds until none is rung */
} fake;

static struct rnic_engine engine;
static char link; /* not looked into */
static struct usiw_ring_hdr sq_hdr;
static struct rnic_qp qp;

/* clang-format off */
STEP(rnic_engine_lead, struct rnic_engine, '(')
STEP(rnic_engine_unlead, struct rnic_engine, ')')
STEP(rnic_qp_table_remove, struct rnic_qp, 't')
STEP(rnic_rnr_drop, struct rnic_qp, 'h')
STEP(rnic_mw_owner_gone, struct rnic_mw_owner, 'w')
/* clang-format on */

WRAP(void, rnic_qp_unreached, (struct rnic_qp * q))
{
	step('U');
	if (!q->transport->is_lossy)
		atomic_store(&q->state, RNIC_QPS_ERROR);
}

WRAP(void, rnic_qp_set_state, (struct rnic_qp * q, enum rnic_qp_state state))
{
	step('s');
	atomic_store(&q->state, state);
}

WRAP(void, rnic_qp_fail,
     (struct rnic_qp * q, enum rnic_qp_state state, enum usiw_wc_status first,
      enum rnic_qp_event event))
{
	assert_int_equal(state, RNIC_QPS_ERROR);
	assert_int_equal(first, USIW_WC_WR_FLUSH_ERR);
	assert_int_equal(event, RNIC_QP_EV_CNT);
	q->cause.is_due = true;
	step('f');
}

WRAP(void, rnic_qp_end_due, (struct rnic_qp * q))
{
	q->cause.is_due = false;
	step('q');
}

WRAP(int, rnic_qp_reset, (struct rnic_qp * q))
{
	step('r');
	return -EINVAL;
}

WRAP(uint32_t, rnic_qp_life, (const struct rnic_qp *q))
{
	return LIFE;
}

WRAP(bool, rnic_qp_access_gone, (struct rnic_qp * q, uint32_t lost))
{
	step('a');
	fake.lost = lost;
	return !fake.is_harmless;
}

WRAP(void, rnic_cq_user_remove, (struct rnic_cq * c, struct rnic_cq_user *user))
{
	step(user == &qp.send_user ? 'S' : 'R');
}

WRAP(void, rnic_engine_serve_bells, (struct rnic_engine * e))
{
	step('b');
	atomic_store(&qp.all_bell.is_rung, fake.bells_left-- > 0);
}

WRAP(void, rnic_due_clear, (struct rnic_due * *heap, struct rnic_due *due))
{
	assert_ptr_equal(heap, &engine.due);
	assert_ptr_equal(due, &qp.gone);
	step('g');
}

/* ---- the transport ------------------------------------------------------- */

static void fake_close(struct rnic_qp *q)
{
	step('c');
}

static void fake_detach(struct rnic_qp *q, int status)
{
	assert_int_equal(status, 0);
	step('d');
}

static void fake_step(void *l)
{
	assert_ptr_equal(l, &link);
	step('e');
}

static void fake_failed(struct rnic_qp *q)
{
	step('x');
}

static void fake_names(const struct rnic_qp *q, struct sockaddr_storage *local,
		       struct sockaddr_storage *peer)
{
	local->ss_family = AF_INET;
	peer->ss_family = AF_INET6;
	step('n');
}

static const struct rnic_transport fake_transport = {
	.close = fake_close,
	.detach = fake_detach,
	.step = fake_step,
	.failed = fake_failed,
	.names = fake_names,
};

/* A QP in that state, with its link where a state has one. */
static void qp_begin(enum rnic_qp_state state, bool has_link)
{
	memset(&fake, 0, sizeof(fake));
	steps_clear();
	memset(&qp, 0, sizeof(qp));
	memset(&sq_hdr, 0, sizeof(sq_hdr));
	qp.engine = &engine;
	qp.sq.ring.hdr = &sq_hdr;
	atomic_store(&qp.state, state);
	qp.transport = &fake_transport;
	qp.link = has_link ? &link : NULL;
}

/* ---- transitions --------------------------------------------------------- */

#define IDLE RNIC_QPS_IDLE
#define CONNECTING RNIC_QPS_CONNECTING
#define RTS RNIC_QPS_RTS
#define CLOSING RNIC_QPS_CLOSING
#define TERMINATE RNIC_QPS_TERMINATE
#define ERROR RNIC_QPS_ERROR

static const struct {
	enum rnic_qp_state from, to;
	bool has_link;
	int rc;
	const char *log;
} changes[] = {
	{ IDLE, IDLE, false, 0, "()" },
	{ CONNECTING, IDLE, false, -EINVAL, "(r)" },
	{ RTS, IDLE, true, -EINVAL, "(dfqer)" },
	{ RTS, IDLE, false, -EINVAL, "(fqr)" },
	{ CLOSING, IDLE, true, -EINVAL, "(dfqer)" },
	{ TERMINATE, IDLE, false, -EINVAL, "(r)" },
	{ ERROR, IDLE, false, -EINVAL, "(r)" },
	{ IDLE, ERROR, false, 0, "(fq)" },
	{ CONNECTING, ERROR, false, 0, "(fq)" },
	{ RTS, ERROR, true, 0, "(dfqe)" },
	{ TERMINATE, ERROR, false, 0, "(sfq)" },
	{ ERROR, ERROR, false, 0, "(fq)" },
	{ IDLE, CLOSING, false, -EINVAL, "()" },
	{ CONNECTING, CLOSING, false, -EINVAL, "()" },
	{ RTS, CLOSING, true, 0, "(sc)" },
	{ RTS, CLOSING, false, 0, "(fq)" },
	{ CLOSING, CLOSING, true, 0, "()" },
	{ TERMINATE, CLOSING, false, 0, "()" },
	{ ERROR, CLOSING, false, 0, "()" },
	{ RTS, RTS, true, 0, "()" },
	{ IDLE, RTS, false, -EINVAL, "()" },
	{ IDLE, CONNECTING, false, -EINVAL, "()" },
	{ RTS, TERMINATE, true, -EINVAL, "()" },
};

CASE(a_change_depends_on_the_state)
{
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		int rc;

		qp_begin(changes[i].from, changes[i].has_link);
		rc = rnic_qp_change(&qp, changes[i].to);
		print_message("%d to %d: %s\n", changes[i].from, changes[i].to,
			      steps_log);
		assert_string_equal(steps_log, changes[i].log);
		assert_int_equal(rc, changes[i].rc);
	}
}

/* ---- a peer that does not come ----------------------------------------- */

static const struct {
	enum rnic_qp_state state;
	uint32_t life;
	const char *log;
} not_coming[] = {
	{ IDLE, LIFE, "(U)" },
	{ IDLE, LIFE - 1, "()" },
	{ CONNECTING, LIFE, "()" },
	{ RTS, LIFE, "()" },
};

CASE(only_the_life_that_waited_fails)
{
	for (size_t i = 0; i < ARRAY_LEN(not_coming); i++) {
		qp_begin(not_coming[i].state, false);
		rnic_qp_not_coming(&qp, not_coming[i].life);
		assert_string_equal(steps_log, not_coming[i].log);
	}
}

static const struct {
	enum rnic_qp_state state;
	bool is_lossy;
	uint32_t work;
	bool has_left;
	const char *log;
} given_up[] = {
	{ CONNECTING, false, 0, false, "()" },
	{ CONNECTING, false, 1, true, "(U)" },
	{ CONNECTING, true, 1, false, "(U)" },
	{ RTS, false, 1, true, "()" },
	{ IDLE, false, 0, true, "()" },
};

static const struct rnic_transport lossy = { .is_lossy = true };

CASE(only_posted_work_fails)
{
	for (size_t i = 0; i < ARRAY_LEN(given_up); i++) {
		bool has_left;

		qp_begin(given_up[i].state, false);
		if (given_up[i].is_lossy)
			qp.transport = &lossy;
		sq_hdr.prod_idx = given_up[i].work;
		has_left = rnic_qp_give_up(&qp);
		assert_string_equal(steps_log, given_up[i].log);
		assert_int_equal(has_left, given_up[i].has_left);
	}
}

/* ---- rights and query ---------------------------------------------------- */

static const struct {
	bool has_link, has_access, is_harmless;
	uint32_t old, now, lost;
	const char *log;
} rights[] = {
	{ true, true, false, 7, 5, 2, "(ax)" },
	{ true, true, true, 7, 5, 2, "(a)" },
	{ true, true, true, 5, 7, 0, "(a)" },
	/* One that was never told has all. */
	{ true, false, false, 0, 5, UINT32_MAX - 5, "(ax)" },
	{ false, true, false, 7, 5, 0, "()" },
};

CASE(lost_rights_are_told)
{
	for (size_t i = 0; i < ARRAY_LEN(rights); i++) {
		qp_begin(RTS, rights[i].has_link);
		fake.is_harmless = rights[i].is_harmless;
		qp.has_access = rights[i].has_access;
		qp.access = rights[i].old;
		assert_int_equal(rnic_qp_set_access(&qp, rights[i].now), 0);
		assert_string_equal(steps_log, rights[i].log);
		assert_int_equal(fake.lost, rights[i].lost);
		assert_int_equal(qp.access, rights[i].now);
		assert_true(qp.has_access);
	}
}

static const struct {
	bool has_link, is_ack_on;
	uint32_t max;
	uint32_t ird;
} queries[] = {
	{ true, false, 4, 4 },
	{ true, true, 4, 3 },
	{ true, true, 0, 0 },
	{ false, false, 4, 4 },
};

CASE(a_query_tells_what_was_set)
{
	for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
		struct rnic_qp_attr attr;

		memset(&attr, 0xff, sizeof(attr));
		qp_begin(RTS, queries[i].has_link);
		qp.sq.ack.is_on = queries[i].is_ack_on;
		qp.irq.max = queries[i].max;
		qp.sq.orq.limit = 5;
		qp.access = 6;
		qp.timeout = 14;
		rnic_qp_query(&qp, &attr);
		assert_string_equal(steps_log,
				    queries[i].has_link ? "(n)" : "()");
		assert_int_equal(attr.state, RTS);
		assert_int_equal(attr.ird, queries[i].ird);
		assert_int_equal(attr.ord, 5);
		assert_int_equal(attr.access, 6);
		assert_int_equal(attr.timeout, 14);
		assert_int_equal(attr.local.ss_family,
				 queries[i].has_link ? AF_INET : 0);
		assert_int_equal(attr.peer.ss_family,
				 queries[i].has_link ? AF_INET6 : 0);
	}
}

/* ---- the end ------------------------------------------------------------- */

static const struct {
	bool has_link;
	int bells;
	const char *log;
} leaves[] = {
	{ false, 0, "t(SR)(bghw)" },
	{ true, 0, "t(SR)(bdeghw)" },
	{ true, 2, "t(SR)(b)(b)(bdeghw)" },
};

CASE(nothing_finds_a_queue_pair_that_has_left)
{
	for (size_t i = 0; i < ARRAY_LEN(leaves); i++) {
		qp_begin(RTS, leaves[i].has_link);
		fake.bells_left = leaves[i].bells;
		rnic_qp_leave(&qp);
		assert_string_equal(steps_log, leaves[i].log);
		assert_true(qp.is_retired);
	}
}

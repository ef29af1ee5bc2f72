/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * attach.c: the steps by which a QP takes a stream, and what is left when one
 * of them fails. What a step does is shown by the tests of its own file; here
 * it leaves a letter.
 */
#include "test.h"
#include "steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"
#include "qp/transport.h"
#include "stream/attach.h"
#include "stream/object.h"
#include "stream/serve.h"

#define REF 0x1000

static struct {
	int prepare, lend, thread, add; /* what they return */
} fake;

static struct rnic_engine engine;
static struct rnic_stream stream;
static struct usiw_res_qp qp_res;
static struct rnic_qp qp;

/* clang-format off */
STEP(rnic_engine_lead, struct rnic_engine, '(')
STEP(rnic_engine_unlead, struct rnic_engine, ')')
STEP(rnic_stream_meet_begin, struct rnic_stream, 'c')
STEP(rnic_stream_probe_start, struct rnic_stream, 'o')
STEP(rnic_stream_close, struct rnic_stream, 'e')
/* clang-format on */

/* The last step: everything is in its place. */
WRAP(void, rnic_stream_tx, (struct rnic_stream * s))
{
	assert_ptr_equal(s->qp, &qp);
	assert_ptr_equal(s->engine, &engine);
	assert_ptr_equal(qp.link, s);
	assert_ptr_equal(qp.due, &s->source.due);
	assert_int_equal(s->phase, RNIC_STREAM_RUN);
	assert_true(s->cm_ref == REF);
	assert_true(s->source.due.serve == rnic_stream_serve_due);
	step('t');
}

WRAP(int, rnic_qp_prepare, (struct rnic_qp * q, uint16_t ird, uint16_t ord))
{
	assert_int_equal(ird, 3);
	assert_int_equal(ord, 5);
	step('p');
	return fake.prepare;
}

WRAP(int, smpa_conn_rx_lend, (struct smpa_conn * c, void *mem, size_t len))
{
	assert_null(mem);
	assert_int_equal(len, 0);
	step('l');
	return fake.lend;
}

WRAP(int, rnic_engine_thread_start, (struct rnic_engine * e))
{
	step('h');
	return fake.thread;
}

WRAP(int, rnic_engine_add, (struct rnic_engine * e, struct rnic_source *source))
{
	assert_ptr_equal(source, &stream.source);
	step('a');
	return fake.add;
}

WRAP(void, rnic_qp_set_state, (struct rnic_qp * q, enum rnic_qp_state state))
{
	step(state == RNIC_QPS_RTS ? 's' : 'x');
	atomic_store(&q->state, state);
}

static const struct rnic_transport plain, lossy = { .is_lossy = true };

static const struct {
	const char *name;
	const struct rnic_transport *transport;
	bool is_ack_on;
	int prepare, lend, thread, add;
	const char *log;
	bool has_start_rx; /* still */
} rows[] = {
	{ "with rdma_cm", &plain, false, 0, 0, 0, 0, "(plhascot)", false },
	{ "out of band", &plain, true, 0, 0, 0, 0, "(plhasct)", false },
	{ "without answers", &lossy, false, 0, 0, 0, 0, "(plhasct)", false },
	{ "another state", &plain, false, -EINVAL, 0, 0, 0, "(p)", true },
	{ "a start frame is in", &plain, false, 0, -EBUSY, 0, 0, "(pl)", true },
	{ "no thread", &plain, false, 0, 0, -EAGAIN, 0, "(plh)", false },
	{ "no entry in epoll", &plain, false, 0, 0, 0, -ENOMEM, "(plha)",
	  false },
};

CASE(a_queue_pair_takes_all_or_nothing)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t opened = test_stat(RNIC_STAT_streams_opened);
		int failed = rows[i].prepare  ? rows[i].prepare
			     : rows[i].lend   ? rows[i].lend
			     : rows[i].thread ? rows[i].thread
					      : rows[i].add;
		int rc;

		memset(&fake, 0, sizeof(fake));
		steps_clear();
		qp = (struct rnic_qp){ .res = &qp_res };
		memset(&stream, 0, sizeof(stream));
		fake.prepare = rows[i].prepare;
		fake.lend = rows[i].lend;
		fake.thread = rows[i].thread;
		fake.add = rows[i].add;
		qp.engine = &engine;
		qp.transport = rows[i].transport;
		qp.sq.ack.is_on = rows[i].is_ack_on;
		stream.conn = (void *)&fake; /* not looked into */
		stream.source.fd = -1;
		stream.start_rx = malloc(1);
		rc = rnic_qp_attach_stream(&qp, &stream, 3, 5, REF);
		print_message("%s: %s\n", rows[i].name, steps_log);
		assert_string_equal(steps_log, rows[i].log);
		assert_int_equal(rc, failed);
		assert_int_equal(test_stat(RNIC_STAT_streams_opened) - opened,
				 !failed);
		assert_int_equal(stream.start_rx != NULL, rows[i].has_start_rx);
		if (failed) {
			assert_null(stream.engine);
			assert_null(stream.qp);
			assert_null(qp.link);
		}
		free(stream.start_rx);
	}
}

static const struct {
	const char *name;
	enum rnic_qp_state state;
	bool has_stream;
	uint64_t ref;
	const char *log;
} disconnects[] = {
	{ "its stream", RNIC_QPS_RTS, true, REF, "(xe)" },
	{ "another stream", RNIC_QPS_RTS, true, REF + 1, "()" },
	{ "no stream", RNIC_QPS_RTS, false, REF, "()" },
	{ "closing", RNIC_QPS_CLOSING, true, REF, "()" },
};

CASE(only_the_named_stream_is_disconnected)
{
	for (size_t i = 0; i < ARRAY_LEN(disconnects); i++) {
		steps_clear();
		qp = (struct rnic_qp){ .res = &qp_res };
		qp.engine = &engine;
		atomic_store(&qp.state, disconnects[i].state);
		stream.cm_ref = REF;
		qp.link = disconnects[i].has_stream ? &stream : NULL;
		rnic_qp_disconnect(&qp, disconnects[i].ref);
		print_message("%s: %s\n", disconnects[i].name, steps_log);
		assert_string_equal(steps_log, disconnects[i].log);
		if (disconnects[i].log[1] == 'x')
			assert_int_equal(qp.state, RNIC_QPS_CLOSING);
	}
}

BEFORE_CASES()
{
	rnic_stat_init();
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pass.c: which steps a pass takes, and in which order. What a step does is
 * shown by the tests of its own file; here it leaves a letter.
 */
#include "test.h"
#include "steps.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "util/clock.h"
#include "stream/carrier.h"
#include "stream/object.h"
#include "stream/pass.h"

/* ---- the steps ----------------------------------------------------------- */

static struct usiw_res_qp qp_res;
static struct rnic_qp qp;
static struct rnic_engine engine;
static struct rnic_stream stream;

static struct {
	int rx, discard, transmit, lend, submit; /* what they return */
	int reads_left;				 /* then no octets are left */
	bool has_work, is_full, tx_is_pending;
	int error;
	int lost, part;
	uint32_t emss_cnt, mulpdu;
	uint64_t tx_fpdu, deadline_ns;
} fake;

#define STEP_RETURNS(function, letter, value)                                  \
	WRAP(int, function, (struct rnic_stream * s))                          \
	{                                                                      \
		step(letter);                                                  \
		return value;                                                  \
	}
#define ANSWER(function, object, value)                                        \
	WRAP(bool, function, (object * s))                                     \
	{                                                                      \
		return value;                                                  \
	}

/* clang-format off */
STEP(rnic_stream_meet_check, struct rnic_stream, 'm')
STEP_RETURNS(rnic_stream_rx, 'r', fake.rx)
STEP_RETURNS(rnic_stream_read, 'i', fake.reads_left-- > 0)
STEP_RETURNS(rnic_stream_discard, 'd', fake.discard)
STEP_RETURNS(rnic_stream_transmit, 't', fake.transmit)
STEP(rnic_stream_end_step, struct rnic_stream, 'e')
STEP(rnic_stream_events, struct rnic_stream, 'v')
ANSWER(rnic_stream_has_work, const struct rnic_stream, fake.has_work)
ANSWER(rnic_stream_is_full, const struct rnic_stream, fake.is_full)
ANSWER(smpa_conn_tx_pending, const struct smpa_conn, fake.tx_is_pending)
STEP_RETURNS(rnic_stream_lend_tx, 'l', fake.lend)
STEP_RETURNS(rnic_stream_submit_empty, 's', fake.submit)
/* clang-format on */

WRAP(void, rnic_stream_lost, (struct rnic_stream * s, int status))
{
	step('L');
	fake.lost = status;
}

WRAP(void, rnic_stream_part, (struct rnic_stream * s, int status))
{
	step('P');
	fake.part = status;
}

WRAP(void, rnic_qp_end_due, (struct rnic_qp * q))
{
	q->cause.is_due = false;
	step('q');
}

WRAP(void, smpa_conn_set_mulpdu, (struct smpa_conn * c, uint32_t mulpdu))
{
	fake.mulpdu = mulpdu;
}

WRAP(const struct smpa_counters *, smpa_conn_counters,
     (const struct smpa_conn *c))
{
	static struct smpa_counters counters;

	counters.tx_fpdu = fake.tx_fpdu;
	return &counters;
}

WRAP(void, rnic_engine_deadline,
     (struct rnic_engine * e, struct rnic_due *due, uint64_t ns))
{
	assert_ptr_equal(due, &stream.source.due);
	step('n');
	fake.deadline_ns = ns;
}

/* ---- the carrier --------------------------------------------------------- */

static int fake_error(const struct rnic_stream *s)
{
	return fake.error;
}

static uint32_t fake_emss(const struct rnic_stream *s)
{
	return 1000 + ++fake.emss_cnt;
}

static void fake_look(struct rnic_stream *s, bool is_woken)
{
	step(is_woken ? 'W' : 'w');
}

static void fake_unwakeable(struct rnic_stream *s)
{
	step('u');
}

static const struct rnic_carrier fake_carrier = {
	.error = fake_error,
	.emss = fake_emss,
	.look = fake_look,
	.unwakeable = fake_unwakeable,
};

/* A stream in RDMA mode, and steps that succeed. */
static void steps_begin(void)
{
	memset(&fake, 0, sizeof(fake));
	steps_clear();
	qp = (struct rnic_qp){ .res = &qp_res };
	memset(&stream, 0, sizeof(stream));
	fake.lost = fake.part = 1;
	qp.state = RNIC_QPS_RTS;
	qp.link = &stream;
	stream.phase = RNIC_STREAM_RUN;
	stream.engine = &engine;
	stream.carrier = &fake_carrier;
	stream.qp = &qp;
}

/* ---- passes -------------------------------------------------------------- */

#define BOTH (EPOLLIN | EPOLLOUT)

enum flag {
	FIN = 1 << 0,
	FULL = 1 << 1,
	NO_QP = 1 << 2,
	DUE = 1 << 3, /* the end of the QP */
	WORK = 1 << 4,
	BLOCKED = 1 << 5,
	LEFT = 1 << 6,
	PENDING = 1 << 7,
	MEETS = 1 << 8,
	OVER = 1 << 9,
};

static void flags_set(int flags)
{
	stream.has_peer_fin = flags & FIN;
	stream.is_tx_blocked = flags & BLOCKED;
	stream.meet_tries = flags & MEETS ? 1 : 0;
	fake.is_full = flags & FULL;
	fake.has_work = flags & WORK;
	stream.is_notice_due = flags & LEFT;
	fake.tx_is_pending = flags & PENDING;
	qp.cause.is_due = flags & DUE;
	if (flags & OVER)
		qp.state = RNIC_QPS_ERROR;
	if (flags & NO_QP)
		stream.qp = NULL;
}

static const struct {
	const char *name;
	uint32_t events;
	int flags;
	int rx, discard;
	const char *log;
	int tcp_error, lost; /* lost: 1: not called */
} passes[] = {
	{ "nothing to send", BOTH, 0, 0, 0, "re", 0, 1 },
	{ "room only", EPOLLOUT, 0, 0, 0, "e", 0, 1 },
	{ "error", EPOLLERR, 0, 0, 0, "re", 0, 1 },
	{ "hang-up", EPOLLHUP, 0, 0, 0, "re", 0, 1 },
	{ "FIN has come", BOTH, FIN, 0, 0, "e", 0, 1 },
	{ "towards the local path", BOTH, MEETS, 0, 0, "mre", 0, 1 },
	{ "work", BOTH, WORK, 0, 0, "rte", 0, 1 },
	{ "TCP was full", BOTH, BLOCKED, 0, 0, "rte", 0, 1 },
	{ "the ring is left", BOTH, LEFT, 0, 0, "rte", 0, 1 },
	{ "octets wait", BOTH, PENDING, 0, 0, "rte", 0, 1 },
	{ "the QP's end", BOTH, DUE, 0, 0, "rqe", 0, 1 },
	{ "no QP", BOTH, NO_QP, 0, 0, "de", 0, 1 },
	{ "no QP, behind FIN", EPOLLERR, NO_QP | FIN, 0, 0, "Pe", 0, 1 },
	{ "no QP, failed", BOTH, NO_QP, 0, -ECONNRESET, "dL", 0, -ECONNRESET },
	{ "failed", BOTH, WORK, -ETIMEDOUT, 0, "rL", ETIMEDOUT, -ETIMEDOUT },
	{ "failed, as EPIPE", BOTH, 0, -EPIPE, 0, "rL", ECONNRESET, -EPIPE },
	{ "failed behind the end", BOTH, DUE, -EIO, 0, "rqL", EIO, -EIO },
};

CASE(a_pass_takes_the_steps_that_are_due)
{
	for (size_t i = 0; i < ARRAY_LEN(passes); i++) {
		steps_begin();
		flags_set(passes[i].flags);
		fake.rx = passes[i].rx;
		fake.discard = passes[i].discard;
		rnic_stream_pass(&stream, passes[i].events);
		print_message("%s: %s\n", passes[i].name, steps_log);
		assert_string_equal(steps_log, passes[i].log);
		assert_row(passes[i].name, qp.tcp_error == passes[i].tcp_error);
		assert_row(passes[i].name, fake.lost == passes[i].lost);
	}
}

/* It is not read, so that no call says that it has failed. */
static const struct {
	const char *name;
	uint32_t events;
	int flags, error;
	const char *log;
	int tcp_error, part; /* part: 1: not called */
} unread[] = {
	{ "its error", EPOLLERR, FIN, ETIMEDOUT, "Pe", ETIMEDOUT, -ETIMEDOUT },
	{ "hang-up", EPOLLHUP, FIN, ETIMEDOUT, "Pe", 0, 0 },
	{ "both", EPOLLERR | EPOLLHUP, FIN, EPIPE, "Pe", ECONNRESET, -EPIPE },
	{ "full memory", EPOLLHUP, FULL, 0, "Pre", 0, 0 },
	{ "octets only", EPOLLIN, FULL, EIO, "re", 0, 1 },
	{ "it is read", EPOLLERR, 0, EIO, "re", 0, 1 },
};

CASE(an_unread_socket_tells_its_error)
{
	for (size_t i = 0; i < ARRAY_LEN(unread); i++) {
		steps_begin();
		flags_set(unread[i].flags);
		fake.error = -unread[i].error;
		rnic_stream_pass(&stream, unread[i].events);
		print_message("%s: %s\n", unread[i].name, steps_log);
		assert_string_equal(steps_log, unread[i].log);
		assert_row(unread[i].name, qp.tcp_error == unread[i].tcp_error);
		assert_row(unread[i].name, fake.part == unread[i].part);
	}
}

/* What the peer sent before the end is read first. */
static const struct {
	const char *name;
	int flags, send_error, reads;
	const char *log;
} failed_sends[] = {
	{ "no error of the socket", WORK, 0, 2, "rtL" },
	{ "nothing is there", WORK, -EPIPE, 0, "rtiL" },
	{ "octets are there", WORK, -EPIPE, 2, "rtiiiL" },
	{ "QP over", WORK | OVER, -EPIPE, 2, "rtL" },
	{ "FIN has come", WORK | FIN, -EPIPE, 2, "tL" },
	{ "full memory", WORK | FULL, -EPIPE, 2, "rtL" },
	{ "no QP", PENDING | NO_QP, -EPIPE, 2, "dtL" },
};

CASE(a_failed_send_is_followed_by_reads)
{
	for (size_t i = 0; i < ARRAY_LEN(failed_sends); i++) {
		steps_begin();
		flags_set(failed_sends[i].flags);
		stream.send_error = failed_sends[i].send_error;
		fake.reads_left = failed_sends[i].reads;
		fake.transmit = -EPIPE;
		rnic_stream_pass(&stream, BOTH);
		print_message("%s: %s\n", failed_sends[i].name, steps_log);
		assert_string_equal(steps_log, failed_sends[i].log);
		assert_row(failed_sends[i].name, fake.lost == -EPIPE);
	}
}

/* Each entry of this file, and what it does before the pass. */
CASE(a_look_begins_with_the_carriers)
{
	static const char *const log[] = { "wre", "Wre" };

	for (int is_woken = 0; is_woken < 2; is_woken++) {
		steps_begin();
		rnic_stream_look(&stream.source, is_woken);
		assert_string_equal(steps_log, log[is_woken]);
		/* Only an event of the socket makes it due. */
		assert_false(stream.is_socket_due);
	}
}

CASE(other_passes_begin_with_their_cause)
{
	steps_begin();
	rnic_stream_unwakeable(&stream.source);
	assert_string_equal(steps_log, "ure");
	assert_false(stream.is_socket_due);
	rnic_stream_resume(&stream);
	assert_string_equal(steps_log, "urevre");
	assert_true(stream.is_socket_due);
}

/* ---- what is posted ------------------------------------------------------ */

static bool is_local_next;

bool __wrap_rnic_sq_is_local_next(const struct rnic_sq *sq);
bool __wrap_rnic_sq_is_local_next(const struct rnic_sq *sq)
{
	(void)sq;
	return is_local_next;
}

CASE(a_post_is_sent_unless_tcp_is_full)
{
	steps_begin();
	flags_set(MEETS);
	rnic_stream_tx(&stream);
	assert_string_equal(steps_log, "mte");
	stream.is_tx_blocked = true;
	rnic_stream_tx(&stream);
	assert_string_equal(steps_log, "mtem");
	assert_int_equal(stream.pass_cnt, 1);
	/* What needs no room, as LOCAL_INV, does not wait for it. */
	is_local_next = true;
	rnic_stream_tx(&stream);
	is_local_next = false;
	assert_string_equal(steps_log, "mtemmte");
}

/* MPA-67: often while TCP learns the peer's window, then now and then. */
CASE(mulpdu_follows_the_emss)
{
	uint32_t cnt = 0;

	for (int has_markers = 0; has_markers < 2; has_markers++) {
		steps_begin();
		stream.has_tx_markers = has_markers;
		cnt = 0;
		for (uint32_t pass = 1; pass <= 3 * 4096; pass++) {
			steps_clear();
			rnic_stream_tx(&stream);
			if (!(pass & (pass - 1)) || pass == 3 * 4096)
				cnt++;
			assert_int_equal(fake.emss_cnt, cnt);
		}
		assert_int_equal(fake.mulpdu,
				 smpa_mulpdu(1000 + cnt, has_markers));
	}
}

/* ---- probes -------------------------------------------------------------- */

#define FIRST_NS 1000u
#define SECOND_NS (FIRST_NS + 4 * 200 * NS_PER_MS)

CASE(only_an_initiator_probes)
{
	uint64_t before_ns = util_now_ns();

	steps_begin();
	rnic_stream_probe_start(&stream);
	assert_string_equal(steps_log, "");
	assert_true(stream.probe.ns == 0);
	stream.is_initiator = true;
	rnic_stream_probe_start(&stream);
	assert_string_equal(steps_log, "n");
	assert_true(stream.probe.ns == fake.deadline_ns);
	assert_true(fake.deadline_ns >= before_ns + 200 * NS_PER_MS);
	assert_true(fake.deadline_ns <= util_now_ns() + 200 * NS_PER_MS);
}

static const struct {
	const char *name;
	uint64_t probe_ns, now_ns, tx_fpdu;
	enum rnic_stream_phase phase;
	bool has_peer_fin;
	uint8_t cnt;
	bool is_due;
	uint64_t next_ns;
} probes[] = {
#define RUN RNIC_STREAM_RUN
	{ "none", 0, FIRST_NS, 1, RUN, false, 0, false, 0 },
	{ "not yet", FIRST_NS, FIRST_NS - 1, 1, RUN, false, 0, false,
	  FIRST_NS },
	{ "the first", FIRST_NS, FIRST_NS, 1, RUN, false, 0, true, SECOND_NS },
	{ "the last", SECOND_NS, SECOND_NS, 1, RUN, false, 1, true, 0 },
	{ "closing", FIRST_NS, FIRST_NS, 1, RNIC_STREAM_CLOSING, false, 0,
	  false, 0 },
	{ "FIN has come", FIRST_NS, FIRST_NS, 1, RUN, true, 0, false, 0 },
	{ "nothing was sent", FIRST_NS, FIRST_NS, 0, RUN, false, 0, false, 0 },
};

CASE(a_probe_has_its_time_and_cause)
{
	for (size_t i = 0; i < ARRAY_LEN(probes); i++) {
		bool is_due;

		steps_begin();
		stream.probe.ns = probes[i].probe_ns;
		stream.probe.cnt = probes[i].cnt;
		stream.phase = probes[i].phase;
		stream.has_peer_fin = probes[i].has_peer_fin;
		fake.tx_fpdu = probes[i].tx_fpdu;
		is_due = rnic_stream_probe_is_due(&stream, probes[i].now_ns);
		assert_row(probes[i].name, is_due == probes[i].is_due);
		assert_row(probes[i].name,
			   stream.probe.ns == probes[i].next_ns);
		assert_row(probes[i].name,
			   stream.probe.cnt == probes[i].cnt + is_due);
	}
}

static const struct {
	const char *name;
	bool is_blocked;
	int lend, submit;
	const char *log;
} probe_sends[] = {
	{ "goes out", false, 0, 0, "lste" },
	{ "TCP is full", true, 0, 0, "" },
	{ "no staging", false, -ENOMEM, 0, "l" },
	{ "no room", false, 0, -ENOBUFS, "ls" },
};

CASE(a_probe_is_an_empty_write)
{
	for (size_t i = 0; i < ARRAY_LEN(probe_sends); i++) {
		steps_begin();
		stream.is_tx_blocked = probe_sends[i].is_blocked;
		fake.lend = probe_sends[i].lend;
		fake.submit = probe_sends[i].submit;
		rnic_stream_probe(&stream);
		print_message("%s: %s\n", probe_sends[i].name, steps_log);
		assert_string_equal(steps_log, probe_sends[i].log);
	}
}

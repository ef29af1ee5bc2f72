/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * serve.c: what a bell of a QP or an SRQ leads to. What a step does is shown by
 * the tests of its own file; here it leaves a letter.
 */
#include "test.h"
#include "stream/steps.h"

#include <string.h>

#include "qp/serve.h"
#include "qp/transport.h"

static char link; /* not looked into */
static struct rnic_rnr *const rnr = (void *)&link;
static struct rnic_qp qp;

static struct {
	int held;    /* Sends that can be delivered */
	bool is_cut; /* the QP's end takes its link */
	bool is_empty, waits;
	enum usiw_wc_status first;
} fake;

/* clang-format off */
STEP(rnic_qp_unreached, struct rnic_qp, 'U')
STEP(rnic_rq_flush, struct rnic_qp, 'r')
/* clang-format on */

WRAP(void, rnic_qp_overrun, (struct rnic_qp * q))
{
	q->cause.is_due = true;
	step('o');
}

WRAP(void, rnic_qp_end_due, (struct rnic_qp * q))
{
	q->cause.is_due = false;
	if (fake.is_cut)
		q->link = NULL;
	atomic_store(&q->state, RNIC_QPS_ERROR);
	step('q');
}

WRAP(bool, rnic_rnr_deliver, (struct rnic_qp * q))
{
	step('h');
	return fake.held-- > 0;
}

WRAP(struct rnic_qp *, rnic_rnr_next_turn, (struct rnic_srq * s))
{
	return &qp;
}

WRAP(void, rnic_sq_flush, (struct rnic_qp * q, enum usiw_wc_status first))
{
	step('s');
	fake.first = first;
}

WRAP(bool, rnic_sq_is_empty, (const struct rnic_qp *q))
{
	return fake.is_empty;
}

WRAP(bool, rnic_qp_waits_for_peer, (struct rnic_qp * q))
{
	return fake.waits;
}

static void fake_transmit(struct rnic_qp *q)
{
	step('t');
}

static void fake_go_on(struct rnic_qp *q, void *l)
{
	assert_ptr_equal(l, &link);
	step('g');
}

static void fake_step(void *l)
{
	assert_ptr_equal(l, &link);
	step('e');
}

static const struct rnic_transport fake_transport = {
	.transmit = fake_transmit,
	.go_on = fake_go_on,
	.step = fake_step,
};

enum flag {
	LINK = 1 << 0,
	GONE = 1 << 1, /* its CQ */
	CUT = 1 << 2,
	HOLDS = 1 << 3,
	SRQ = 1 << 4,
	EMPTY = 1 << 5,
	WAITS = 1 << 6,
};

static struct rnic_srq srq;

static void qp_begin(enum rnic_qp_state state, int flags, int held)
{
	memset(&fake, 0, sizeof(fake));
	memset(&qp, 0, sizeof(qp));
	steps_clear();
	fake.held = held;
	fake.is_cut = flags & CUT;
	fake.is_empty = flags & EMPTY;
	fake.waits = flags & WAITS;
	qp.transport = &fake_transport;
	qp.link = flags & LINK ? &link : NULL;
	qp.rnr = flags & HOLDS ? rnr : NULL;
	qp.srq = flags & SRQ ? &srq : NULL;
	atomic_store(&qp.state, state);
	atomic_store(&qp.is_cq_gone, flags & GONE);
}

#define IDLE RNIC_QPS_IDLE
#define RTS RNIC_QPS_RTS
#define ERROR RNIC_QPS_ERROR

static const struct {
	const char *name;
	enum rnic_qp_state state;
	int flags, held;
	const char *log;
} rows[] = {
	{ "work", RTS, LINK, 0, "t" },
	{ "held Sends", RTS, LINK | HOLDS, 2, "hhhgt" },
	{ "no receive for them", RTS, LINK | HOLDS, 0, "ht" },
	{ "those of an SRQ", RTS, LINK | HOLDS | SRQ, 2, "t" },
	{ "overrun", RTS, LINK | GONE, 0, "oqt" },
	{ "overrun, detached", RTS, LINK | GONE | CUT, 0, "oqesr" },
	{ "overrun, not connected", IDLE, GONE, 0, "" },
	{ "ended", ERROR, 0, 0, "sr" },
	{ "no peer", RTS, 0, 0, "U" },
	{ "no peer, no work", RTS, EMPTY, 0, "" },
	{ "no peer for now", RTS, WAITS, 0, "" },
	{ "not connected", IDLE, 0, 0, "" },
};

CASE(a_bell_leads_to_what_is_due)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		qp_begin(rows[i].state, rows[i].flags, rows[i].held);
		rnic_qp_serve(&qp.bell);
		print_message("%s: %s\n", rows[i].name, steps_log);
		assert_string_equal(steps_log, rows[i].log);
	}
}

CASE(the_next_work_hears_of_receives_that_did_not_come)
{
	qp_begin(ERROR, 0, 0);
	rnic_qp_serve(&qp.bell);
	assert_int_equal(fake.first, USIW_WC_WR_FLUSH_ERR);
	qp.cause.first = USIW_WC_RNR_RETRY_EXC_ERR;
	rnic_qp_serve(&qp.bell);
	assert_int_equal(fake.first, USIW_WC_RNR_RETRY_EXC_ERR);
}

CASE(a_peer_that_stays_away_ends_the_work)
{
	qp_begin(RTS, 0, 0);
	rnic_qp_serve_gone(&qp.gone, 0);
	assert_string_equal(steps_log, "U");
}

/* Until each of them has had its turn in vain. */
CASE(queue_pairs_of_an_srq_take_turns)
{
	_Alignas(64) static uint8_t mem[16384];

	must(usiw_ring_size(16, sizeof(struct usiw_rqe)) <= sizeof(mem));
	usiw_ring_init(&srq.ring, mem, 16, sizeof(struct usiw_rqe));
	qp_begin(RTS, LINK | HOLDS | SRQ, 2);
	srq.rnr_cnt = 3;
	rnic_srq_serve(&srq.bell);
	assert_string_equal(steps_log, "");
	usiw_ring_commit(&srq.ring, 1);
	rnic_srq_serve(&srq.bell);
	assert_string_equal(steps_log, "hghghhh");
}

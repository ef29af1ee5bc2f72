/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connection by address and number: in any order, repeatedly, to itself, and
 * without a peer. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../harness/test.h"
#include "util/clock.h"
#include "qp/qp-num.h"
#include "rnicpair.h"
#include "tries.h"

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

#define RNR_MS 50
#define RNR_STR "50"

static void rts(struct rnic_qp *qp, uint8_t ord, uint64_t retry_ns)
{
	struct rnic_oob_send_options opt = {
		.ord = ord,
		.rnr_retry = 7,
		.retry_ns = retry_ns,
	};

	rnic_qp_oob_send(qp, &opt);
}

static void rts_both(struct rnicpair *p, uint8_t ord)
{
	for (int i = 0; i < 2; i++)
		rts(p->side[i].qp, ord, 0);
}

static void send_from(struct rnicpair *p, int i, size_t off)
{
	struct rnicpair_side *s = &p->side[i];
	struct usiw_sge sge = rnicpair_sge(s, off, 100);

	rnicpair_fill(s->buf + off, 100, (uint32_t)(off + 1));
	rnicpair_post_wr(s, .wr_id = off, .opcode = USIW_WR_SEND,
			 .flags = USIW_SQE_SIGNALED, .sge = &sge, .sge_cnt = 1);
}

static void recv_at(struct rnicpair *p, int i, size_t off)
{
	struct usiw_sge sge = rnicpair_sge(&p->side[i], off, 100);

	assert_int_equal(rnicpair_post_recv(&p->side[i], off, &sge, 1), 0);
}

static void take_ok(struct rnicpair_side *s, struct rnic_cq *cq)
{
	assert_int_equal(rnicpair_take(s, cq).status, USIW_WC_SUCCESS);
}

/* Completions of send_from(..., 0) and recv_at(..., 4096): both succeed, and
 * the data is complete. */
static void take_message(struct rnicpair_side *from, struct rnicpair_side *to)
{
	take_ok(from, from->scq);
	take_ok(to, to->rcq);
	assert_true(rnicpair_is_filled(to->buf + 4096, 100, 1));
	memset(to->buf + 4096, 0, 100);
}

/* Sends one message in each direction. */
static void talk(struct rnicpair *p)
{
	for (int i = 0; i < 2; i++) {
		recv_at(p, !i, 4096);
		send_from(p, i, 0);
	}
	for (int i = 0; i < 2; i++)
		take_message(&p->side[i], &p->side[!i]);
}

/* One thread moves both QPs, in either order. With pauses, the Request
 * waits. */
CASE(either_may_be_first)
{
	for (int round = 0; round < 8; round++) {
		int first = round & 1;
		struct rnicpair p;

		rnicpair_open_idle(&p, &defaults);
		for (int i = 0; i < 2; i++) {
			struct rnicpair_side *s = &p.side[i ? !first : first];
			struct rnicpair_side *t = &p.side[i ? first : !first];

			rnicpair_rtr_to(s->qp, t->qp);
			assert_true(rnic_qp_state(s->qp) != RNIC_QPS_IDLE);
			if (round & 2)
				wait_dialled(s->qp);
			if (round & 4)
				rts(s->qp, 4, 0);
		}
		rts_both(&p, 4);
		talk(&p);
		rnicpair_close(&p);
	}
}

/* The greater number dials. The result must not depend on which of the two that
 * is. */
CASE(work_posted_before_goes_out_when_the_peer_comes)
{
	for (int early = 0; early < 2; early++) {
		struct rnicpair_side *s, *t;
		struct rnicpair p;

		rnicpair_open_idle(&p, &defaults);
		s = &p.side[early];
		t = &p.side[!early];
		rnicpair_rtr_to(s->qp, t->qp);
		rts(s->qp, 4, 10000 * NS_PER_MS);
		recv_at(&p, !early, 4096);
		send_from(&p, early, 0);
		wait_dialled(s->qp);
		rnicpair_rtr_to(t->qp, s->qp);
		take_message(s, t);
		rnicpair_close(&p);
	}
}

IDLE_PAIR_CASE(reads_are_as_many_as_both_said)
{
	struct rnic_qp_attr attr;
	struct rnicpair *p = *state;

	rnicpair_rtr_both(p);
	rts(p->side[0].qp, 3, 0);
	rts(p->side[1].qp, 100, 0);
	talk(p);
	rnic_qp_query(p->side[0].qp, &attr);
	assert_int_equal(attr.ird, 4);
	assert_int_equal(attr.ord, 3);
	rnic_qp_query(p->side[1].qp, &attr);
	assert_int_equal(attr.ord, 4);
}

static void reset(struct rnic_qp *qp)
{
	assert_int_equal(rnic_qp_modify(qp, RNIC_QPS_ERROR), 0);
	assert_int_equal(rnic_qp_modify(qp, RNIC_QPS_IDLE), 0);
}

IDLE_PAIR_CASE(after_reset_both_connect_again)
{
	struct rnicpair *p = *state;

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 2; i++) {
			struct rnic_qp *qp = p->side[(round + i) & 1].qp;
			struct rnic_qp *peer = p->side[(round + i + 1) & 1].qp;

			rnicpair_rtr_to(qp, peer);
		}
		rts_both(p, 1);
		talk(p);
		for (int i = 0; i < 2; i++)
			reset(p->side[i].qp);
	}
}

/* The other QP is still in its previous life: it is waited for, and neither
 * takes the old stream for the new one. */
CASE(one_end_may_reset_alone)
{
	for (int i = 0; i < 2; i++) {
		struct rnic_qp *a, *b;
		struct rnicpair p;

		rnicpair_open_idle(&p, &defaults);
		a = p.side[i].qp;
		b = p.side[!i].qp;
		rnicpair_rtr_to(a, b);
		rnicpair_rtr_to(b, a);
		rts_both(&p, 1);
		talk(&p);
		reset(a);
		rnicpair_rtr_to(a, b);
		rts(a, 1, 0);
		wait_dialled(a);
		assert_int_equal(rnic_qp_state(a), RNIC_QPS_CONNECTING);
		/* It was not changed, but its peer has gone. */
		assert_int_equal(rnic_qp_state(b), RNIC_QPS_RTS);
		reset(b);
		rnicpair_rtr_to(b, a);
		rts(b, 1, 0);
		talk(&p);
		rnicpair_close(&p);
	}
}

/* A QP waits for one number. A peer with a new number connects once the QP has
 * been given it. The former number is not used again meanwhile. */
CASE(a_peer_may_come_back_as_another)
{
	for (int i = 0; i < 2; i++) {
		struct rnicpair_side *s;
		struct rnicpair p;
		uint32_t former, events;

		rnicpair_open_idle(&p, &defaults);
		s = &p.side[!i];
		former = rnic_qp_num(s->qp);
		rnicpair_rtr_both(&p);
		rts_both(&p, 1);
		talk(&p);
		assert_int_equal(rnic_qp_destroy(s->qp, &events), 0);
		s->qp = rnicpair_qp_new(&p, !i);
		assert_int_not_equal(rnic_qp_num(s->qp), former);
		reset(p.side[i].qp);
		assert_int_equal(rnicpair_rtr(p.side[i].qp, former), 0);
		rnicpair_rtr_to(s->qp, p.side[i].qp);
		wait_dialled(s->qp);
		wait_dialled(p.side[i].qp);
		assert_int_equal(rnic_qp_state(s->qp), RNIC_QPS_CONNECTING);
		assert_int_equal(rnic_qp_state(p.side[i].qp),
				 RNIC_QPS_CONNECTING);
		assert_int_equal(rnic_qp_modify(p.side[i].qp, RNIC_QPS_IDLE),
				 0);
		rnicpair_rtr_to(p.side[i].qp, s->qp);
		rts_both(&p, 1);
		talk(&p);
		rnicpair_close(&p);
	}
}

/* An abandoned attempt leaves nothing that a later one could take for its
 * own. */
CASE(what_was_given_up_is_not_taken_later)
{
	struct rnicpair p;

	for (int early = 0; early < 2; early++) {
		struct rnic_qp *a, *b;

		rnicpair_open_idle(&p, &defaults);
		a = p.side[early].qp;
		b = p.side[!early].qp;
		for (int i = 0; i < 5; i++) {
			rnicpair_rtr_to(a, b);
			if (i & 1)
				wait_dialled(a);
			assert_int_equal(rnic_qp_modify(a, RNIC_QPS_IDLE), 0);
		}
		rnicpair_rtr_to(a, b);
		rnicpair_rtr_to(b, a);
		rts_both(&p, 1);
		talk(&p);
		rnicpair_close(&p);
	}
}

IDLE_PAIR_CASE(a_qp_may_be_its_own_peer)
{
	struct rnicpair_side *s;
	struct rnicpair *p = *state;
	struct usiw_sge sge;

	s = &p->side[0];
	rnicpair_rtr_to(s->qp, s->qp);
	rts(s->qp, 4, 0);
	for (int i = 0; i < 3; i++) {
		recv_at(p, 0, 4096);
		send_from(p, 0, 0);
		take_message(s, s);
	}
	sge = rnicpair_sge(s, 8192, 100);
	rnicpair_post_wr(s, .opcode = USIW_WR_READ, .flags = USIW_SQE_SIGNALED,
			 .sge = &sge, .sge_cnt = 1, .rkey = s->stag,
			 .remote_addr = rnicpair_addr(s, 0));
	take_ok(s, s->scq);
	assert_true(rnicpair_is_filled(s->buf + 8192, 100, 1));
}

CASE(ipv6_addresses_serve_as_well)
{
	struct rnic_oob_options opt;
	struct rnicpair p;

	if (rnicpair_gid_idx("::1") == UINT32_MAX)
		skip_because("this machine has no IPv6 loopback address");
	rnicpair_open_idle(&p, &defaults);
	for (int i = 0; i < 2; i++) {
		opt = rnicpair_to("::1", rnic_qp_num(p.side[!i].qp));
		assert_int_equal(rnic_qp_oob(p.side[i].qp, &opt), 0);
	}
	rts_both(&p, 1);
	talk(&p);
	rnicpair_close(&p);
}

/* A QP in RTR gets one event for the first message of its peer. */
CASE(the_first_message_establishes)
{
	for (int early = 0; early < 2; early++) {
		struct rnicpair_side *s, *t;
		struct rnicpair p;

		rnicpair_open_idle(&p, &defaults);
		s = &p.side[early];
		t = &p.side[!early];
		rnicpair_rtr_both(&p);
		rnicpair_wait_rts(&p);
		/* The start frames do not count as a message. */
		assert_false(rnicpair_has_async(t));
		rts(s->qp, 4, 0);
		for (int i = 0; i < 2; i++) {
			recv_at(&p, !early, 4096);
			send_from(&p, early, 0);
			take_ok(t, t->rcq);
			take_ok(s, s->scq);
		}
		assert_int_equal(rnicpair_async(t, NULL), USIW_EVENT_COMM_EST);
		rts(t->qp, 4, 0);
		talk(&p);
		assert_false(rnicpair_has_async(t));
		assert_false(rnicpair_has_async(s));
		rnicpair_close(&p);
	}
}

/* Both moved to RTS before, so there is nothing to report. */
IDLE_PAIR_CASE(a_qp_in_rts_gets_no_event)
{
	struct rnicpair *p = *state;

	for (int i = 0; i < 2; i++) {
		rnicpair_rtr_to(p->side[i].qp, p->side[!i].qp);
		rts(p->side[i].qp, 4, 0);
	}
	talk(p);
	for (int i = 0; i < 2; i++)
		assert_false(rnicpair_has_async(&p->side[i]));
}

/* The start frames were sent before the applications set rnr_retry. */
IDLE_PAIR_CASE(a_send_waits_where_rnr_retry_was_set_late)
{
	struct rnicpair *p = *state;

	rnicpair_rtr_both(p);
	rnicpair_wait_rts(p);
	for (int i = 0; i < 2; i++) {
		rts(p->side[i].qp, 4, 0);
		send_from(p, i, 0);
	}
	poll(NULL, 0,
	     4 * RNR_MS); /* longer than a Send without rnr_retry waits */
	for (int i = 0; i < 2; i++)
		recv_at(p, i, 4096);
	for (int i = 0; i < 2; i++) {
		struct rnicpair_side *s = &p->side[i];

		take_ok(s, s->rcq);
		take_ok(s, s->scq);
	}
}

/* ---- without a peer ---- */

CASE(a_peer_that_never_comes_exhausts_retries)
{
	for (int i = 0; i < 2; i++) {
		struct rnicpair_side *s;
		struct rnicpair p;
		uint64_t begin_ms;

		rnicpair_open_idle(&p, &defaults);
		s = &p.side[i];
		rnicpair_rtr_to(s->qp, p.side[!i].qp);
		rts(s->qp, 1, 200 * NS_PER_MS);
		/* Without work it waits longer than the 200 ms. */
		poll(NULL, 0, 500);
		assert_int_equal(rnic_qp_state(s->qp), RNIC_QPS_CONNECTING);
		recv_at(&p, i, 4096);
		begin_ms = until_ms();
		send_from(&p, i, 0);
		send_from(&p, i, 128);
		assert_int_equal(rnicpair_take(s, s->scq).status,
				 USIW_WC_RETRY_EXC_ERR);
		assert_true(until_ms() - begin_ms < 5000);
		assert_int_equal(rnicpair_take(s, s->scq).status,
				 USIW_WC_WR_FLUSH_ERR);
		assert_int_equal(rnicpair_take(s, s->rcq).status,
				 USIW_WC_WR_FLUSH_ERR);
		assert_int_equal(rnic_qp_state(s->qp), RNIC_QPS_ERROR);
		/* It is too late now. */
		rnicpair_rtr_to(p.side[!i].qp, s->qp);
		wait_dialled(p.side[!i].qp);
		assert_int_equal(rnic_qp_state(p.side[!i].qp),
				 RNIC_QPS_CONNECTING);
		rnicpair_close(&p);
	}
}

CASE(destroying_a_waiting_qp_is_fine)
{
	for (int i = 0; i < 2; i++) {
		uint32_t events;
		struct rnicpair p;

		rnicpair_open_idle(&p, &defaults);
		rnicpair_rtr_to(p.side[i].qp, p.side[!i].qp);
		send_from(&p, i, 0);
		wait_dialled(p.side[i].qp);
		assert_int_equal(rnic_qp_destroy(p.side[i].qp, &events), 0);
		p.side[i].qp = NULL;
		rnicpair_close(&p);
	}
}

IDLE_PAIR_CASE(bad_arguments_change_nothing)
{
	struct rnic_oob_options good, opt;
	struct rnicpair *p = *state;
	struct rnic_qp *qp;

	qp = p->side[0].qp;
	good = rnicpair_to(RNICPAIR_LO4, rnic_qp_num(p->side[1].qp));
	opt = good;
	opt.gid_idx = RNIC_GID_MAX;
	assert_int_equal(rnic_qp_oob(qp, &opt), -EINVAL);
	opt = good;
	memset(opt.dgid, 0, sizeof(opt.dgid));
	assert_int_equal(rnic_qp_oob(qp, &opt), -EINVAL);
	opt = good;
	opt.dest_num = 0x1000000;
	assert_int_equal(rnic_qp_oob(qp, &opt), -EINVAL);
	opt.dest_num = 0x12; /* it contains no port */
	assert_int_equal(rnic_qp_oob(qp, &opt), -EINVAL);
	assert_int_equal(rnic_qp_state(qp), RNIC_QPS_IDLE);
	assert_int_equal(rnic_qp_oob(qp, &good), 0);
	assert_int_equal(rnic_qp_oob(qp, &good), -EINVAL);
}

BEFORE_CASES()
{
	setenv("USIW_RNR_MS", RNR_STR, 1);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The requester of a QP that may lose messages: what becomes of its work when
 * there is no peer. */
#include "lossy.h"

#include "engine/engine.h"
#include "qp/object.h"
#include "util/clock.h"

/* The provider refuses them; a ring may still have one. */
CASE(reads_and_atomics_do_not_exist)
{
	static const uint8_t opcodes[] = { USIW_WR_READ, USIW_WR_CMP_SWP,
					   USIW_WR_FETCH_ADD };

	for (size_t i = 0; i < ARRAY_LEN(opcodes); i++) {
		struct rnicpair p;
		struct rnicpair_side *s = &p.side[0];
		struct rnic_qp_attr attr;

		rnicpair_open(&p, &lossy);
		rnic_qp_query(s->qp, &attr);
		assert_int_equal(attr.ird, 0);
		assert_int_equal(attr.ord, 0);
		post(s, 1, opcodes[i], s->stag);
		assert_int_equal(rnicpair_take(s, s->scq).status,
				 USIW_WC_LOC_QP_OP_ERR);
		rnicpair_wait_state(s, RNIC_QPS_TERMINATE);
		rnicpair_close(&p);
	}
}

/* ---- no peer ------------------------------------------------------------- */

static const uint8_t sends[] = { USIW_WR_SEND, USIW_WR_SEND_IMM, USIW_WR_WRITE,
				 USIW_WR_WRITE_IMM };

/* Each kind of message completes without a peer. */
static void lose_all(struct rnicpair_side *s)
{
	uint64_t lost = test_stat(RNIC_STAT_send_lost);

	for (uint64_t i = 0; i < 4 * ARRAY_LEN(sends); i++) {
		struct usiw_cqe cqe;

		post(s, i, sends[i % ARRAY_LEN(sends)], s->stag);
		cqe = rnicpair_take(s, s->scq);
		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
		assert_int_equal(cqe.wr_id, i);
	}
	assert_int_equal(test_stat(RNIC_STAT_send_lost),
			 lost + 4 * ARRAY_LEN(sends));
}

static void wait_orphan(struct rnicpair_side *s)
{
	wait_until((rnic_cq_progress(s->scq),
		    with_lead(s->qp->engine, !s->qp->link)));
}

/* The QP does not hear of it, as one of InfiniBand does not.  A WR that is
 * wrong ends it even so. */
static void expect_orphan(struct rnicpair_side *s)
{
	wait_orphan(s);
	lose_all(s);
	assert_int_equal(rnic_qp_state(s->qp), RNIC_QPS_RTS);
	assert_false(rnicpair_has_async(s));
	post(s, 1, USIW_WR_SEND, s->stag);
	post(s, 2, USIW_WR_SEND, s->stag ^ 0x100);
	post(s, 3, USIW_WR_SEND, s->stag);
	assert_int_equal(rnicpair_take(s, s->scq).status, USIW_WC_SUCCESS);
	assert_int_equal(rnicpair_take(s, s->scq).status, USIW_WC_LOC_PROT_ERR);
	assert_int_equal(rnicpair_take(s, s->scq).status, USIW_WC_WR_FLUSH_ERR);
	rnicpair_wait_state(s, RNIC_QPS_TERMINATE);
}

CASE(messages_to_a_peer_that_has_closed_are_lost)
{
	struct rnicpair p;
	struct rnicpair_side *s = &p.side[0];
	struct rawpeer raw;

	rawpeer_open(&raw, &p, &lossy);
	rawpeer_close(&raw);
	expect_orphan(s);
	rnicpair_close(&p);
}

CASE(messages_to_a_peer_that_was_killed_are_lost)
{
	struct rnicpair p;
	struct rnicpair_side *s = &p.side[0];
	struct rawpeer raw;

	rawpeer_open(&raw, &p, &lossy);
	rawpeer_reset(&raw);
	expect_orphan(s);
	rnicpair_close(&p);
}

CASE(a_terminate_of_the_peer_is_not_heard)
{
	uint64_t received = test_stat(RNIC_STAT_term_received);
	struct rnicpair p;
	struct rnicpair_side *s = &p.side[0];
	struct rawpeer raw;

	rawpeer_open(&raw, &p, &lossy);
	smpa_conn_terminate(raw.conn,
			    (struct smpa_fault){ SMPA_F_RDMAP_STREAM_CATA });
	(void)rawpeer_try(&raw);
	wait_until((rnic_cq_progress(s->scq),
		    test_stat(RNIC_STAT_term_received) == received + 1));
	assert_int_equal(rnic_qp_state(s->qp), RNIC_QPS_RTS);
	rawpeer_close(&raw);
	expect_orphan(s);
	rnicpair_close(&p);
}

/* LOCAL_INV and BIND_MW have no message; they are done. */
CASE(local_work_is_done_without_a_peer)
{
	struct rnicpair p;
	struct rnicpair_side *s = &p.side[0];
	struct rnic_mr *mr;
	struct rnic_mw *mw;
	struct rawpeer raw;

	rawpeer_open(&raw, &p, &lossy);
	rawpeer_close(&raw);
	wait_orphan(s);
	must(!rnic_mr_reg(s->pd, s->buf, 4096, 0,
			  RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_MW_BIND, &mr));
	mw = rnicpair_window_open(s, s->qp, mr, RNIC_MW_TYPE_2,
				  RNIC_ACCESS_REMOTE_WRITE);
	assert_int_equal(rnic_mw_dealloc(mw), 0);
	assert_int_equal(rnic_mr_dereg(mr), 0);
	rnicpair_close(&p);
}

/* ---- out of band --------------------------------------------------------- */

static void rts(struct rnic_qp *qp, uint64_t retry_ns)
{
	struct rnic_oob_send_options opt = { .retry_ns = retry_ns };

	rnic_qp_oob_send(qp, &opt);
}

static void talk(struct rnicpair *p)
{
	struct rnicpair_side *a = &p->side[0], *b = &p->side[1];

	for (int i = 0; i < 200; i++) {
		post_recv(b);
		post(a, 1, sends[i % 2], a->stag);
		assert_int_equal(rnicpair_take(b, b->rcq).status,
				 USIW_WC_SUCCESS);
		assert_int_equal(rnicpair_take(a, a->scq).status,
				 USIW_WC_SUCCESS);
	}
}

/* The time is over before a peer is there; then one comes. */
CASE(messages_before_there_is_a_peer_are_lost)
{
	for (int early = 0; early < 2; early++) {
		struct rnicpair p;
		struct rnicpair_side *s = &p.side[early];

		rnicpair_open_idle(&p, &lossy);
		rnicpair_rtr_to(s->qp, p.side[!early].qp);
		rts(s->qp, 100 * NS_PER_MS);
		post(s, 1, USIW_WR_SEND, s->stag);
		assert_int_equal(rnicpair_take(s, s->scq).status,
				 USIW_WC_SUCCESS);
		assert_int_equal(rnic_qp_state(s->qp), RNIC_QPS_CONNECTING);
		rnicpair_rtr_to(p.side[!early].qp, s->qp);
		rts(p.side[!early].qp, 0);
		rnicpair_wait_rts(&p);
		talk(&p);
		rnicpair_close(&p);
	}
}

/* A Send is done when the link has it: nothing is asked of the peer. */
CASE(completions_wait_for_no_answer)
{
	struct rnicpair p;

	rnicpair_open_idle(&p, &lossy);
	rnicpair_rtr_both(&p);
	rnicpair_wait_rts(&p);
	for (int i = 0; i < 2; i++)
		assert_false(with_lead(p.side[i].qp->engine,
				       p.side[i].qp->sq.ack.is_on));
	talk(&p);
	rnicpair_close(&p);
}

/* By a socket that is connected to itself. */
CASE(a_queue_pair_may_be_its_own_peer)
{
	struct rnicpair p;
	struct rnicpair_side *s = &p.side[0];

	rnicpair_open_idle(&p, &lossy);
	rnicpair_rtr_to(s->qp, s->qp);
	rts(s->qp, 0);
	post_recv(s);
	for (size_t i = 0; i < ARRAY_LEN(sends); i++) {
		post(s, i, sends[i], s->stag);
		assert_int_equal(rnicpair_take(s, s->scq).status,
				 USIW_WC_SUCCESS);
	}
	assert_int_equal(rnicpair_take(s, s->rcq).status, USIW_WC_SUCCESS);
	assert_int_equal(rnic_qp_state(s->qp), RNIC_QPS_RTS);
	rnicpair_close(&p);
}

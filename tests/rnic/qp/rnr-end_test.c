/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* rnr.c: a QP, its peer or its memory is removed while Sends wait for
 * receives. */
#include "test.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rnr-fixture.h"
#include "qp/object.h"
#include "engine/engine.h"
#include "stream/end.h"
#include "stream/object.h"

static uint8_t octets[4096];

enum ending {
	END_DESTROY,
	END_ERROR,
	END_RESET,
	END_CLOSE,
	END_PEER_TERMINATE,
	END_PEER_RESET,
	END_CNT
};

static const char *const ending_names[] = {
	[END_DESTROY] = "destroy",
	[END_ERROR] = "error",
	[END_RESET] = "reset",
	[END_CLOSE] = "disconnect",
	[END_PEER_TERMINATE] = "terminate",
	[END_PEER_RESET] = "RST",
};

static void end_now(enum ending ending, struct rnicpair_side *side,
		    struct rawpeer *raw)
{
	uint32_t events;

	switch (ending) {
	case END_DESTROY:
		assert_int_equal(rnic_qp_destroy(side->qp, &events), 0);
		side->qp = NULL;
		return;
	case END_ERROR:
		assert_int_equal(rnic_qp_modify(side->qp, RNIC_QPS_ERROR), 0);
		return;
	case END_RESET:
		assert_int_equal(rnic_qp_modify(side->qp, RNIC_QPS_ERROR), 0);
		assert_int_equal(rnic_qp_modify(side->qp, RNIC_QPS_IDLE), 0);
		return;
	case END_CLOSE:
		assert_int_equal(rnic_qp_modify(side->qp, RNIC_QPS_CLOSING), 0);
		rawpeer_close(raw);
		rnicpair_wait_state(side, RNIC_QPS_ERROR);
		return;
	case END_PEER_TERMINATE:
		smpa_conn_terminate(
			raw->conn,
			(struct smpa_fault){ SMPA_F_RDMAP_STREAM_CATA });
		(void)rawpeer_try(raw);
		rnicpair_wait_state(side, RNIC_QPS_TERMINATE);
		return;
	case END_PEER_RESET:
		rawpeer_reset(raw);
		rnicpair_wait_state(side, RNIC_QPS_ERROR);
		return;
	case END_CNT:
		break;
	}
}

static void end_while_keeping(enum ending ending, bool has_srq)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair p;
	struct rnicpair_side *side = &p.side[1];
	struct rawpeer raw;
	struct usiw_cqe cqe;

	print_message("%s, SRQ %d\n", ending_names[ending], has_srq);
	opt.srq_wr = has_srq ? 16 : 0;
	rnicpair_open_idle(&p, &opt);
	rawpeer_join(&raw, &p, 1);
	rawpeer_send_octets(&raw, SMPA_OP_SEND, octets, 100);
	rawpeer_send_octets(&raw, SMPA_OP_SEND, octets, 100);
	wait_for(is_rnr, side);
	end_now(ending, side, &raw);
	if (side->qp)
		assert_false(is_rnr(side));
	if (has_srq) {
		assert_true(TAILQ_EMPTY(&side->srq->rnrs));
		assert_false(atomic_load(&side->srq->is_awaited));
	}
	/* None of it is delivered any more. */
	if (side->qp || has_srq)
		post_recv(side, 4, 0, 100);
	if (side->qp && !has_srq && ending != END_RESET) {
		cqe = rnicpair_take(side, side->rcq);
		assert_int_equal(cqe.status, USIW_WC_WR_FLUSH_ERR);
	}
	assert_true(rnicpair_is_quiet(&p, side->rcq));
	if (raw.stream)
		rawpeer_close(&raw);
	rnicpair_close(&p);
}

CASE(every_end_drops_the_kept_messages)
{
	for (int ending = 0; ending < END_CNT; ending++)
		for (int has_srq = 0; has_srq < 2; has_srq++)
			end_while_keeping((enum ending)ending, has_srq);
}

/* The last message of a peer that then closes is delivered, if in time. */
static void fin_behind_a_kept_message(bool is_in_time)
{
	struct rnicpair p;
	struct rnicpair_side *side = &p.side[0];
	struct rawpeer raw;

	rnicpair_open_idle(&p, &defaults);
	if (!is_in_time)
		side->qp->rnr_ns = 60 * NS_PER_MS;
	rawpeer_join(&raw, &p, 0);
	rnicpair_fill(octets, 100, 6);
	rawpeer_send_octets(&raw, SMPA_OP_SEND, octets, 100);
	wait_for(is_rnr, side);
	assert_int_equal(shutdown(raw.fd, SHUT_WR), 0);
	if (is_in_time) {
		assert_true(rnicpair_is_quiet(&p, side->rcq));
		assert_int_equal(rnic_qp_state(side->qp), RNIC_QPS_RTS);
		post_recv(side, 1, 0, 100);
		assert_int_equal(rnicpair_take(side, side->rcq).status,
				 USIW_WC_SUCCESS);
		assert_true(rnicpair_is_filled(side->buf, 100, 6));
		rnicpair_wait_state(side, RNIC_QPS_ERROR);
	} else {
		assert_int_equal(rawpeer_event(&raw).type, SMPA_EV_TERMINATE);
		rnicpair_wait_state(side, RNIC_QPS_TERMINATE);
	}
	rawpeer_close_both(&raw, &p);
}

CASE(the_last_message_is_received)
{
	fin_behind_a_kept_message(true);
	fin_behind_a_kept_message(false);
}

/* The unlimited time ends with the peer. */
CASE(a_closed_peer_is_waited_for_with_limit)
{
	struct rnicpair p;
	struct rnicpair_side *side = &p.side[0];
	struct rawpeer raw;

	rnicpair_open_idle(&p, &defaults);
	side->qp->rnr_ns = UINT64_MAX;
	rawpeer_join(&raw, &p, 0);
	rawpeer_send_octets(&raw, SMPA_OP_SEND, octets, 100);
	wait_for(is_rnr, side);
	assert_int_equal(limit_ns(side), 0);
	assert_int_equal(shutdown(raw.fd, SHUT_WR), 0);
	wait_until((rnic_cq_progress(side->rcq), limit_ns(side) != 0));
	rawpeer_close_both(&raw, &p);
}

/* Only by the completion thread, without a poll. */
static void wait_error_unpolled(struct rnicpair_side *side)
{
	wait_until(rnic_qp_state(side->qp) == RNIC_QPS_ERROR);
}

/* A peer that is not read from can only be detected as gone by epoll. */
PAIR_CASE(a_reset_behind_full_memory_is_seen)
{
	struct rnicpair *p = *state;
	struct rnicpair_side *b = &p->side[1];
	struct linger linger = { .l_onoff = 1, .l_linger = 0 };

	post_send(&p->side[0], 1, 0, 4u << 20);
	wait_for(is_full, b);
	rnic_engine_lead(p->side[0].qp->engine);
	assert_int_equal(setsockopt(rnic_qp_stream(p->side[0].qp)->source.fd,
				    SOL_SOCKET, SO_LINGER, &linger,
				    sizeof(linger)),
			 0);
	rnic_stream_lost(rnic_qp_stream(p->side[0].qp), -ETIMEDOUT);
	rnic_engine_unlead(p->side[0].qp->engine);
	wait_error_unpolled(b);
	assert_false(is_rnr(b));
}

/* After the FIN nothing is read. epoll reports the RST until the socket is
 * closed, so continuing to wait would keep the completion thread busy. */
CASE(a_reset_behind_the_fin_is_seen)
{
	struct rnicpair p;
	struct rnicpair_side *side = &p.side[0];
	struct rawpeer raw;

	rawpeer_open(&raw, &p, &defaults);
	rawpeer_send_octets(&raw, SMPA_OP_SEND, octets, 100);
	wait_for(is_rnr, side);
	assert_int_equal(shutdown(raw.fd, SHUT_WR), 0);
	wait_for(has_peer_fin, side);
	assert_int_equal(rnic_qp_state(side->qp), RNIC_QPS_RTS);
	rawpeer_reset(&raw);
	wait_error_unpolled(side);
	assert_false(is_rnr(side));
	rnicpair_close(&p);
}

/* There is no room for its completion: the QP fails while the held Sends are
 * handled. */
CASE(an_overrun_ends_the_delivery)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair p;
	struct rnicpair_side *side = &p.side[0];
	struct rawpeer raw;

	opt.cqe = 1;
	rawpeer_open(&raw, &p, &opt);
	for (int i = 0; i < 5; i++)
		rawpeer_send_octets(&raw, SMPA_OP_SEND, octets, 100);
	wait_for(is_rnr, side);
	rnic_engine_lead(side->qp->engine);
	rnic_engine_unlead(side->qp->engine);
	for (uint64_t i = 0; i < 4; i++)
		post_recv(side, i, 0, 100);
	rnicpair_wait_state(side, RNIC_QPS_ERROR);
	assert_false(is_rnr(side));
	assert_int_equal(rnicpair_take(side, side->rcq).status,
			 USIW_WC_SUCCESS);
	rawpeer_close_both(&raw, &p);
}

/* In a child, where no handler of cmocka comes first. */
static void unmapped_child(void)
{
	struct rnicpair p;
	struct rnicpair_side *side = &p.side[0];
	struct rawpeer raw;
	struct usiw_sge sge;

	rawpeer_open(&raw, &p, &defaults);
	rawpeer_send_octets(&raw, SMPA_OP_SEND, octets, 100);
	wait_for(is_rnr, side);
	must(mprotect(side->buf, side->buf_len, PROT_NONE) == 0);
	sge = rnicpair_sge(side, 0, 100);
	must(rnicpair_post_recv(side, 8, &sge, 1) == 0);
	must(rnicpair_take(side, side->rcq).status == USIW_WC_LOC_PROT_ERR);
	must(rawpeer_event(&raw).term.fault.value == SMPA_F_DDP_LOCAL);
	_exit(0);
}

/* Memory of a region is unmapped: no signal. Runs first: the guard's handlers
 * are installed once. */
FIRST_CASE(unmapped_memory_refuses_a_kept_send)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		unmapped_child();
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Deregistering a region does not affect the Sends that wait. */
CASE(a_region_goes_while_a_send_waits)
{
	struct rnicpair p;
	struct rnicpair_side *side = &p.side[0];
	struct rawpeer raw;
	struct usiw_cqe cqe;

	rawpeer_open(&raw, &p, &defaults);
	rawpeer_send_octets(&raw, SMPA_OP_SEND, octets, 100);
	wait_for(is_rnr, side);
	assert_int_equal(rnic_mr_dereg(side->mr), 0);
	side->mr = NULL;
	assert_true(rnicpair_is_quiet(&p, side->rcq));
	assert_int_equal(rnic_qp_state(side->qp), RNIC_QPS_RTS);
	post_recv(side, 8, 0, 100);
	cqe = rnicpair_take(side, side->rcq);
	assert_int_equal(cqe.wr_id, 8);
	assert_int_equal(cqe.status, USIW_WC_LOC_PROT_ERR);
	assert_int_equal(rawpeer_event(&raw).term.fault.value,
			 SMPA_F_DDP_LOCAL);
	rawpeer_close_both(&raw, &p);
}

/* A Send of which a part is held, followed by the FIN: there is nothing to
 * deliver, so nothing to wait for. */
CASE(half_a_message_is_not_waited_for)
{
	/* Without CRC: an untagged segment of 8 octets that is not the last
	 * one. */
	static const uint8_t front[2 + 18 + 8 + 4] = {
		0, 26, 0x01, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
	};
	struct rnicpair_options opt = defaults;
	struct rawpeer raw;
	struct rnicpair p;

	opt.has_crc = false;
	rawpeer_open(&raw, &p, &opt);
	assert_int_equal(write(raw.fd, front, sizeof(front)), sizeof(front));
	wait_for(is_rnr, &p.side[0]);
	assert_int_equal(shutdown(raw.fd, SHUT_WR), 0);
	wait_until(rnic_qp_state(p.side[0].qp) != RNIC_QPS_RTS);
	assert_int_equal(rnic_qp_state(p.side[0].qp), RNIC_QPS_ERROR);
	rawpeer_close_both(&raw, &p);
}

BEFORE_CASES()
{
	setenv("USIW_RNR_MS", "600000", 1);
	setenv("USIW_DRAIN_MS", "500", 1);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * rnr.c: Sends that arrive before their receive, the work after them, and the
 * end if no receive is posted. The RNR time is long here unless a test is about
 * its end.
 */
#include "test.h"

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rnr-fixture.h"
#include "qp/object.h"
#include "engine/engine.h"
#include "mem/context.h"
#include "stream/object.h"
#include "tcpfake.h"

static uint8_t octets[300000];

/* ---- the last octet of the memory ---- */

static bool is_whole(struct rnicpair_side *side)
{
	return with_lead(side->qp->engine,
			 side->qp->rnr && rnic_rnr_delays_end(side->qp));
}

/* Return: whether a message of @len octets is held to its end. */
static bool holds(uint32_t len)
{
	struct rnicpair p;
	struct rnicpair_side *side = &p.side[0];
	struct rawpeer raw;
	bool is_held;

	rnicpair_open_idle(&p, &defaults);
	rawpeer_join(&raw, &p, 0);
	rawpeer_send_octets(&raw, SMPA_OP_SEND, octets, len);
	wait_until(
		(rnic_cq_progress(side->rcq), is_whole(side) || is_full(side)));
	is_held = !is_full(side);
	rawpeer_close(&raw);
	rnicpair_close(&p);
	return is_held;
}

static uint32_t staging_size(void)
{
	struct rnicpair p;
	size_t size;

	rnicpair_open_idle(&p, &defaults);
	size = p.side[0].ctx->engine->rx_pool.size;
	rnicpair_close(&p);
	assert_in_range(size, 4096, sizeof(octets));
	return (uint32_t)size;
}

/* The memory is a number of whole records: a message may fill it, and not by
 * one octet less or more. */
CASE(a_message_may_fill_the_memory)
{
	const uint32_t record = 128;
	uint32_t len = staging_size() & ~(record - 1);

	while (!holds(len))
		len -= record;
	assert_false(holds(len + 1));
}

/* ---- a scripted peer sends, the receive comes late ---- */

struct late {
	const char *name;
	uint8_t opcode; /* enum smpa_opcode */
	uint32_t len;
	uint32_t room; /* of the receive */
	bool has_bad_key;
	bool has_bad_stag; /* to invalidate */
	uint32_t status;   /* of the receive */
	uint16_t fault;	   /* in the TERMINATE; 0: none */
};

static const struct late lates[] = {
	{ "nothing in it", SMPA_OP_SEND, 0, 100, false, false, 0, 0 },
	{ "small", SMPA_OP_SEND, 8, 100, false, false, 0, 0 },
	{ "just fits", SMPA_OP_SEND_SE, 5000, 5000, false, false, 0, 0 },
	{ "many segments", SMPA_OP_SEND, 200000, 200000, false, false, 0, 0 },
	{ "invalidates", SMPA_OP_SEND_INV, 8, 100, false, false, 0, 0 },
	{ "solicited, invalidates", SMPA_OP_SEND_SE_INV, 8, 100, false, false,
	  0, 0 },
	{ "immediate data", SMPA_OP_IMM_SE, 0, 0, false, false, 0, 0 },
	{ "too long", SMPA_OP_SEND, 101, 100, false, false, USIW_WC_LOC_LEN_ERR,
	  SMPA_F_DDP_U_TOO_LONG },
	{ "too long by far", SMPA_OP_SEND, 200000, 100, false, false,
	  USIW_WC_LOC_LEN_ERR, SMPA_F_DDP_U_TOO_LONG },
	{ "receive with a bad key", SMPA_OP_SEND, 8, 100, true, false,
	  USIW_WC_LOC_PROT_ERR, SMPA_F_DDP_LOCAL },
	{ "empty, a bad key is no matter", SMPA_OP_SEND, 0, 100, true, false, 0,
	  0 },
	{ "invalidates nothing", SMPA_OP_SEND_INV, 8, 100, false, true,
	  USIW_WC_LOC_ACCESS_ERR, SMPA_F_RDMAP_INVALIDATE },
};

static bool opcode_invalidates(uint8_t opcode)
{
	return opcode == SMPA_OP_SEND_INV || opcode == SMPA_OP_SEND_SE_INV;
}

static void late_check(const struct late *row, struct rnicpair_side *side,
		       struct rawpeer *raw, uint32_t stag)
{
	struct usiw_cqe cqe = rnicpair_take(side, side->rcq);
	struct smpa_event ev;

	assert_int_equal(cqe.wr_id, 77);
	assert_int_equal(cqe.status, row->status);
	if (!row->fault) {
		assert_int_equal(cqe.opcode, row->opcode == SMPA_OP_IMM_SE
						     ? USIW_WC_RECV_WITH_IMM
						     : USIW_WC_RECV);
		assert_int_equal(cqe.byte_len, row->len);
		assert_true(rnicpair_is_filled(side->buf, row->len, 3));
		assert_int_equal((cqe.wc_flags & USIW_WC_FLAG_SOLICITED) != 0,
				 row->opcode == SMPA_OP_SEND_SE ||
					 row->opcode == SMPA_OP_IMM_SE ||
					 row->opcode == SMPA_OP_SEND_SE_INV);
		if (opcode_invalidates(row->opcode)) {
			assert_true(cqe.wc_flags & USIW_WC_FLAG_INV);
			assert_int_equal(cqe.imm_be, stag);
		}
		assert_int_equal(rnic_qp_state(side->qp), RNIC_QPS_RTS);
		return;
	}
	ev = rawpeer_event(raw);
	assert_int_equal(ev.type, SMPA_EV_TERMINATE);
	assert_int_equal(ev.term.fault.value, row->fault);
	if (row->fault != SMPA_F_DDP_LOCAL) {
		assert_true(ev.term.has_ddp);
		assert_int_equal(ev.term.opcode, row->opcode);
		assert_int_equal(ev.term.msn, 1);
	}
	assert_int_equal(rnicpair_async(side, NULL), USIW_EVENT_QP_REQ_ERR);
}

static void late_run(const struct late *row, bool has_crc)
{
	struct rnicpair_options opt = defaults;
	struct iovec iov = { octets, row->len };
	struct smpa_msg msg = { .opcode = row->opcode,
				.quiet = true,
				.iov = &iov,
				.iovcnt = row->len ? 1 : 0,
				.len = row->len };
	struct rnic_mr *mr;
	struct rnic_mw *mw;
	struct rnicpair p;
	struct rnicpair_side *side = &p.side[0];
	struct rawpeer raw;
	struct usiw_sge sge;

	print_message("%s, CRC %d\n", row->name, has_crc);
	opt.has_crc = has_crc;
	rnicpair_open_idle(&p, &opt);
	assert_int_equal(rnic_mr_reg(side->pd, side->buf, 4096, 0,
				     RNIC_ACCESS_MW_BIND, &mr),
			 0);
	rawpeer_join(&raw, &p, 0);
	mw = rnicpair_window_open(side, side->qp, mr, RNIC_MW_TYPE_2,
				  RNIC_ACCESS_REMOTE_READ);
	rnicpair_fill(octets, row->len, 3);
	msg.stag = rnic_mw_stag(mw) ^ (row->has_bad_stag ? 0x100 : 0);
	rawpeer_send(&raw, &msg);
	wait_for(is_rnr, side);
	assert_true(rnicpair_is_quiet(&p, side->rcq));
	sge = rnicpair_sge(side, 0, row->room);
	sge.lkey ^= row->has_bad_key ? 0x100 : 0;
	assert_int_equal(rnicpair_post_recv(side, 77, &sge, 1), 0);
	late_check(row, side, &raw, msg.stag);
	assert_false(is_rnr(side));
	assert_true(rnicpair_is_quiet(&p, side->rcq));
	assert_false(rnicpair_has_async(side));
	rawpeer_close(&raw);
	assert_int_equal(rnic_mw_dealloc(mw), 0);
	assert_int_equal(rnic_mr_dereg(mr), 0);
	rnicpair_close(&p);
}

CASE(a_late_receive_works_too)
{
	for (size_t i = 0; i < ARRAY_LEN(lates); i++)
		for (int has_crc = 0; has_crc < 2; has_crc++)
			late_run(&lates[i], has_crc);
}

/* ---- no receive ---- */

/* @rnr_ms 0: at once. */
static void no_receive(uint64_t rnr_ms, uint32_t len)
{
	struct rnicpair p;
	struct rnicpair_side *side = &p.side[0];
	struct rawpeer raw;
	struct smpa_event ev;
	uint64_t began_ms;

	print_message("%u octets, %u ms\n", (unsigned)len, (unsigned)rnr_ms);
	rnicpair_open_idle(&p, &defaults);
	side->qp->rnr_ns = rnr_ms * NS_PER_MS;
	rawpeer_join(&raw, &p, 0);
	began_ms = until_ms();
	rawpeer_send_octets(&raw, SMPA_OP_SEND_SE, octets, len);
	rawpeer_send_octets(&raw, SMPA_OP_SEND, octets, 1);
	ev = rawpeer_event(&raw);
	assert_true(until_ms() - began_ms >= rnr_ms);
	assert_int_equal(ev.type, SMPA_EV_TERMINATE);
	assert_int_equal(ev.term.fault.value, SMPA_F_DDP_U_NO_BUFFER);
	assert_true(ev.term.has_ddp);
	assert_int_equal(ev.term.opcode, SMPA_OP_SEND_SE);
	assert_int_equal(ev.term.msn, 1);
	rnicpair_wait_state(side, RNIC_QPS_TERMINATE);
	assert_int_equal(rnicpair_async(side, NULL), USIW_EVENT_QP_REQ_ERR);
	/* The Sends that waited are dropped. A receive posted now is
	 * flushed. */
	assert_false(is_rnr(side));
	post_recv(side, 5, 0, 100);
	assert_int_equal(rnicpair_take(side, side->rcq).status,
			 USIW_WC_WR_FLUSH_ERR);
	assert_true(rnicpair_is_quiet(&p, side->rcq));
	assert_false(rnicpair_has_async(side));
	rawpeer_close_both(&raw, &p);
}

CASE(the_time_ends)
{
	no_receive(0, 8);
	no_receive(60, 8);
	no_receive(60, 100000);
}

/* The sender's view. */
IDLE_PAIR_CASE(the_sender_sees_rnr)
{
	struct rnicpair *p = *state;
	struct rnicpair_side *side = &p->side[0], *peer = &p->side[1];
	struct tcpfake_plan plan = { .recv_fail_at = 2, .err = EAGAIN };
	struct pollfd pfd = { .events = POLLIN };
	struct usiw_cqe cqe;

	peer->qp->rnr_ns = 50 * NS_PER_MS;
	rnicpair_connect(p);
	/* Its time begins when all is posted, however long that takes. */
	rnic_engine_lead(peer->qp->engine);
	plan.fd = pfd.fd = rnic_qp_stream(peer->qp)->source.fd;
	post_send(side, 1, 0, 8);
	assert_int_equal(rnicpair_take(side, side->scq).status,
			 USIW_WC_SUCCESS);
	assert_int_equal(poll(&pfd, 1, -1), 1);
	/* The peer reads this Send, and nothing behind it.  Else it could drop
	 * all that is posted before this side has read its TERMINATE, and no WR
	 * would be under way. */
	tcpfake_install(&plan);
	for (uint64_t id = 2; id < 60; id++)
		post_send(side, id, 0, 1u << 20);
	rnic_engine_unlead(peer->qp->engine);
	do {
		cqe = rnicpair_take(side, side->scq);
	} while (cqe.status == USIW_WC_SUCCESS);
	assert_int_equal(cqe.status, USIW_WC_RNR_RETRY_EXC_ERR);
	tcpfake_remove();
}

/* A Send over rdma_cm is complete when TCP has it: no WR is left. */
IDLE_PAIR_CASE(the_next_wr_tells_a_sender_without_one)
{
	struct rnicpair *p = *state;
	struct rnicpair_side *side = &p->side[0], *peer = &p->side[1];

	peer->qp->rnr_ns = 50 * NS_PER_MS;
	rnicpair_connect(p);
	post_send(side, 1, 0, 8);
	assert_int_equal(rnicpair_take(side, side->scq).status,
			 USIW_WC_SUCCESS);
	rnicpair_wait_state(side, RNIC_QPS_TERMINATE);
	post_send(side, 2, 0, 8);
	post_send(side, 3, 0, 8);
	assert_int_equal(rnicpair_take(side, side->scq).status,
			 USIW_WC_RNR_RETRY_EXC_ERR);
	assert_int_equal(rnicpair_take(side, side->scq).status,
			 USIW_WC_WR_FLUSH_ERR);
}

static bool has_no_source(struct rnicpair_side *side)
{
	return with_lead(side->qp->engine,
			 LIST_EMPTY(&side->qp->engine->slots.list));
}

/* The peer does not close after the TERMINATE: the drain limit applies,
 * although it was set while deadlines were being checked. */
CASE(a_peer_that_does_not_close_is_not_waited_for)
{
	struct rnicpair p;
	struct rnicpair_side *side = &p.side[0];
	struct rawpeer raw;

	rnicpair_open_idle(&p, &defaults);
	side->qp->rnr_ns = 20 * NS_PER_MS;
	rawpeer_join(&raw, &p, 0);
	rawpeer_send_octets(&raw, SMPA_OP_SEND, octets, 8);
	assert_int_equal(rawpeer_event(&raw).type, SMPA_EV_TERMINATE);
	wait_until(has_no_source(side)); /* done by the completion thread */
	rawpeer_close_both(&raw, &p);
}

/* ---- order ---- */

CASE(two_messages_take_two_receives)
{
	struct rnicpair p;
	struct rnicpair_side *side = &p.side[0];
	struct rawpeer raw;
	uint64_t first_ns;

	rawpeer_open(&raw, &p, &defaults);
	rnicpair_fill(octets, 100, 1);
	rawpeer_send_octets(&raw, SMPA_OP_SEND, octets, 100);
	rnicpair_fill(octets, 200, 2);
	rawpeer_send_octets(&raw, SMPA_OP_SEND, octets, 200);
	wait_for(is_rnr, side);
	first_ns = limit_ns(side);
	assert_true(rnicpair_is_quiet(&p, side->rcq));
	post_recv(side, 1, 0, 1000);
	assert_int_equal(rnicpair_take(side, side->rcq).byte_len, 100);
	assert_true(rnicpair_is_filled(side->buf, 100, 1));
	assert_true(rnicpair_is_quiet(&p, side->rcq));
	assert_true(is_rnr(side));
	/* The next one has its own time. */
	assert_true(limit_ns(side) > first_ns);
	post_recv(side, 2, 1000, 1000);
	assert_int_equal(rnicpair_take(side, side->rcq).byte_len, 200);
	assert_true(rnicpair_is_filled(side->buf + 1000, 200, 2));
	assert_false(is_rnr(side));
	assert_int_equal(limit_ns(side), 0);
	/* Nothing is left: a posted receive is used at once. */
	post_recv(side, 3, 2000, 1000);
	rawpeer_send_octets(&raw, SMPA_OP_SEND, octets, 10);
	assert_int_equal(rnicpair_take(side, side->rcq).wr_id, 3);
	assert_false(is_rnr(side));
	rawpeer_close_both(&raw, &p);
}

/*
 * More than can be held: the stream is not read, the sender must wait, and
 * everything arrives complete and in order once receives are posted.
 */
static void overfill(uint32_t cnt, uint32_t len, bool has_crc)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair p;
	struct rnicpair_side *a = &p.side[0], *b = &p.side[1];

	print_message("%u of %u octets, CRC %d\n", (unsigned)cnt, (unsigned)len,
		      has_crc);
	opt.has_crc = has_crc;
	opt.max_wr = 4096;
	opt.cqe = 8192;
	opt.sockbuf = 32768;
	rnicpair_open(&p, &opt);
	rnicpair_fill(a->buf, a->buf_len, 1);
	for (uint32_t i = 0; i < cnt; i++)
		post_send(a, i, i * 512, len);
	wait_for(is_full, b);
	assert_true(rnicpair_is_quiet(&p, b->rcq));
	for (uint32_t i = 0; i < cnt; i++) {
		struct usiw_cqe cqe;

		post_recv(b, i, 0, len);
		cqe = rnicpair_take(b, b->rcq);
		assert_int_equal(cqe.wr_id, i);
		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
		assert_int_equal(cqe.byte_len, len);
		assert_memory_equal(b->buf, a->buf + i * 512, len);
	}
	assert_false(is_rnr(b));
	assert_int_equal(rnic_qp_state(b->qp), RNIC_QPS_RTS);
	rnicpair_close(&p);
}

CASE(what_does_not_fit_waits_in_tcp)
{
	for (int has_crc = 0; has_crc < 2; has_crc++) {
		overfill(1, 1000000, has_crc);
		overfill(10, 100000, has_crc);
		overfill(3000, 200, has_crc);
		overfill(4000, 0, has_crc);
	}
}

/* @full_ns: the limit that rdma_cm sets when the Sends themselves have no
 *   limit. */
static void full_memory_ends(uint64_t ns, uint64_t full_ns)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair p;
	struct rnicpair_side *a = &p.side[0], *b = &p.side[1];
	struct usiw_cqe cqe;

	opt.sockbuf = 32768;
	rnicpair_open_idle(&p, &opt);
	b->qp->rnr_ns = ns;
	b->qp->rnr_full_ns = full_ns;
	rnicpair_connect(&p);
	post_send(a, 1, 0, 4u << 20);
	rnicpair_wait_state(b, RNIC_QPS_TERMINATE);
	assert_int_equal(rnicpair_async(b, NULL), USIW_EVENT_QP_REQ_ERR);
	cqe = rnicpair_take(a, a->scq);
	assert_int_equal(cqe.wr_id, 1);
	assert_int_equal(cqe.status, USIW_WC_RNR_RETRY_EXC_ERR);
	rnicpair_close(&p);
}

CASE(full_memory_ends_in_time)
{
	full_memory_ends(80 * NS_PER_MS, UINT64_MAX);
	full_memory_ends(UINT64_MAX, 80 * NS_PER_MS);
}

static bool is_not_full(struct rnicpair_side *side)
{
	return !is_full(side);
}

/* With rdma_cm and rnr_retry_count 7: there is a limit while the memory is
 * full, and none when there is room again. */
CASE(free_space_removes_the_limit)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair p;
	struct rnicpair_side *a = &p.side[0], *b = &p.side[1];

	opt.sockbuf = 32768;
	rnicpair_open_idle(&p, &opt);
	b->qp->rnr_ns = UINT64_MAX;
	b->qp->rnr_full_ns = 2 * RNICPAIR_LIMIT_MS * NS_PER_MS;
	rnicpair_connect(&p);
	for (uint32_t i = 0; i < 20; i++)
		post_send(a, i, 0, 40000);
	for (uint32_t i = 0; i < 20; i++) {
		/* Six fit, in addition to the one that is received. */
		if (i == 13) {
			wait_for(is_full, b);
			assert_true(limit_ns(b) != 0);
		}
		post_recv(b, i, BUF_RECV, 40000);
		assert_int_equal(rnicpair_take(b, b->rcq).status,
				 USIW_WC_SUCCESS);
		if (i == 13) {
			wait_for(is_not_full, b);
			assert_true(is_rnr(b));
			assert_true(limit_ns(b) == 0);
		}
	}
	rnicpair_close(&p);
}

/* ---- work after held Sends ---- */

/* A possible deadlock: b posts its receive only after its own READ, whose
 * response comes after a's Send. Also, a's one-sided work continues. */
static void reads_and_writes_pass(bool has_crc)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair p;
	struct rnicpair_side *a = &p.side[0], *b = &p.side[1];
	struct usiw_sge sge = { 0 };
	struct rnicpair_wr wr = { .sge = &sge,
				  .sge_cnt = 1,
				  .flags = USIW_SQE_SIGNALED };

	opt.has_crc = has_crc;
	rnicpair_open(&p, &opt);
	rnicpair_fill(a->buf, 100000, 1);
	post_send(a, 1, 0, 100000);
	wait_for(is_rnr, b);
	wr.wr_id = 2;
	wr.opcode = USIW_WR_READ;
	sge = rnicpair_sge(b, 0, 50000);
	wr.rkey = a->stag;
	wr.remote_addr = rnicpair_addr(a, 0);
	assert_int_equal(rnicpair_post(b, &wr), 0);
	assert_int_equal(rnicpair_take(b, b->scq).wr_id, 2);
	assert_true(rnicpair_is_filled(b->buf, 50000, 1));

	assert_int_equal(rnicpair_take(a, a->scq).wr_id, 1);
	rnicpair_fill(a->buf + 200000, 70000, 5);
	wr.wr_id = 3;
	wr.opcode = USIW_WR_WRITE;
	sge = rnicpair_sge(a, 200000, 70000);
	wr.rkey = b->stag;
	wr.remote_addr = rnicpair_addr(b, 300000);
	assert_int_equal(rnicpair_post(a, &wr), 0);
	wr.wr_id = 4;
	wr.opcode = USIW_WR_READ;
	sge = rnicpair_sge(a, 600000, 70000);
	assert_int_equal(rnicpair_post(a, &wr), 0);
	assert_int_equal(rnicpair_take(a, a->scq).wr_id, 3);
	assert_int_equal(rnicpair_take(a, a->scq).wr_id, 4);
	assert_true(rnicpair_is_filled(a->buf + 600000, 70000, 5));

	assert_true(is_rnr(b));
	assert_int_equal(usiw_ring_used(rnic_cq_ring(b->rcq)), 0);
	post_recv(b, 9, BUF_RECV, 100000);
	assert_int_equal(rnicpair_take(b, b->rcq).byte_len, 100000);
	assert_true(rnicpair_is_filled(b->buf + BUF_RECV, 100000, 1));
	rnicpair_close(&p);
}

CASE(what_stands_behind_goes_on)
{
	reads_and_writes_pass(true);
	reads_and_writes_pass(false);
}

/* ---- shared receives ---- */

static uint64_t fpdus_sent(struct rnic_qp *qp)
{
	return with_lead(qp->engine,
			 smpa_conn_counters(rnic_qp_stream(qp)->conn)->tx_fpdu);
}

static uint64_t fpdus_received(struct rnic_qp *qp)
{
	return with_lead(qp->engine,
			 smpa_conn_counters(rnic_qp_stream(qp)->conn)->rx_fpdu);
}

/* Waits until everything sent has arrived, so that it waits for receives. */
static void wait_heard(struct rnic_qp *from, struct rnic_qp *to)
{
	wait_until(fpdus_received(to) >= fpdus_sent(from));
}

CASE(shared_receives_go_round)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair p;
	struct rnicpair_side *a = &p.side[0], *b = &p.side[1];
	struct rnic_qp *other[2];
	uint32_t nums[2], got[2] = { 0, 0 }, events;

	opt.srq_wr = 16;
	rnicpair_open(&p, &opt);
	other[0] = rnicpair_qp_new(&p, 0);
	other[1] = rnicpair_qp_new(&p, 1);
	rnicpair_join(&p, other[0], other[1]);
	nums[0] = b->qp->num;
	nums[1] = other[1]->num;
	for (uint64_t i = 0; i < 8; i++) {
		struct usiw_sge sge = rnicpair_sge(a, 0, 10);
		struct rnicpair_wr wr = { .opcode = USIW_WR_SEND,
					  .flags = USIW_SQE_SIGNALED,
					  .sge = &sge,
					  .sge_cnt = 1 };

		assert_int_equal(
			rnicpair_post_qp(a, i < 4 ? a->qp : other[0], &wr), 0);
	}
	for (int i = 0; i < 8; i++)
		assert_int_equal(rnicpair_take(a, a->scq).status,
				 USIW_WC_SUCCESS);
	wait_heard(a->qp, b->qp);
	wait_heard(other[0], other[1]);
	assert_true(rnicpair_is_quiet(&p, b->rcq));
	for (int i = 0; i < 8; i++) {
		struct usiw_cqe cqe;

		post_recv(b, 1, 0, 10);
		cqe = rnicpair_take(b, b->rcq);
		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
		for (int q = 0; q < 2; q++)
			got[q] += cqe.qp_num == nums[q];
		assert_true(got[0] <= got[1] + 1 && got[1] <= got[0] + 1);
	}
	assert_int_equal(got[0], 4);
	assert_int_equal(got[1], 4);
	assert_int_equal(b->srq->rnr_cnt, 0);
	assert_false(atomic_load(&b->srq->is_awaited));
	assert_int_equal(rnic_qp_destroy(other[0], &events), 0);
	assert_int_equal(rnic_qp_destroy(other[1], &events), 0);
	rnicpair_close(&p);
}

/* All of them are served with the bell that the first one rings. */
static void rings_once(uint32_t srq_wr)
{
	enum { CNT = 40 };
	struct rnicpair_options opt = defaults;
	struct rnicpair p;
	struct rnicpair_side *a = &p.side[0], *b = &p.side[1];
	_Atomic uint32_t *post_cnt;

	opt.srq_wr = srq_wr;
	rnicpair_open(&p, &opt);
	for (uint64_t i = 0; i < CNT; i++)
		post_send(a, i, 0, 8);
	for (uint64_t i = 0; i < CNT; i++)
		rnicpair_take(a, a->scq);
	wait_heard(a->qp, b->qp);
	post_cnt = &b->qp->engine->sched.burst.cnt;
	rnic_engine_lead(b->qp->engine);
	atomic_store(post_cnt, 0);
	for (uint64_t i = 0; i < CNT; i++)
		post_recv(b, i, 0, 8);
	assert_int_equal(atomic_load(post_cnt), 1);
	rnic_engine_unlead(b->qp->engine);
	for (uint64_t i = 0; i < CNT; i++)
		assert_int_equal(rnicpair_take(b, b->rcq).wr_id, i);
	rnicpair_close(&p);
}

CASE(receives_ring_once_until_they_are_served)
{
	rings_once(0);
	rings_once(64);
}

/* An invalid message of one QP takes one receive, and the others continue. */
CASE(one_bad_qp_does_not_stop_the_others)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair p;
	struct rnicpair_side *a = &p.side[0], *b = &p.side[1];
	struct rnic_qp *other[2];
	uint32_t events, bad = 0, good = 0;

	opt.srq_wr = 16;
	rnicpair_open(&p, &opt);
	other[0] = rnicpair_qp_new(&p, 0);
	other[1] = rnicpair_qp_new(&p, 1);
	rnicpair_join(&p, other[0], other[1]);
	for (int i = 0; i < 4; i++) {
		struct usiw_sge sge = rnicpair_sge(a, 0, i < 2 ? 100 : 10);
		struct rnicpair_wr wr = { .opcode = USIW_WR_SEND,
					  .sge = &sge,
					  .sge_cnt = 1 };

		assert_int_equal(
			rnicpair_post_qp(a, i < 2 ? a->qp : other[0], &wr), 0);
	}
	wait_for(is_rnr, b);
	assert_true(rnicpair_is_quiet(&p, b->rcq));
	for (int i = 0; i < 3; i++)
		post_recv(b, 1, 0, 10);
	for (int i = 0; i < 3; i++) {
		struct usiw_cqe cqe = rnicpair_take(b, b->rcq);

		bad += cqe.status == USIW_WC_LOC_LEN_ERR &&
		       cqe.qp_num == b->qp->num;
		good += cqe.status == USIW_WC_SUCCESS &&
			cqe.qp_num == other[1]->num;
	}
	assert_int_equal(bad, 1);
	assert_int_equal(good, 2);
	assert_int_equal(rnic_qp_state(other[1]), RNIC_QPS_RTS);
	assert_int_equal(rnic_qp_destroy(other[0], &events), 0);
	assert_int_equal(rnic_qp_destroy(other[1], &events), 0);
	rnicpair_close(&p);
}

/* ---- random times ---- */

#define CHANCE_CNT 400u
#define CHANCE_WR 4

static const uint32_t chance_lens[] = { 0, 1, 700, 20000, 90000, 300000 };

static sem_t chance_places; /* of the queue, for receives */

static void *chance_poster(void *arg)
{
	struct rnicpair_side *side = arg;
	uint32_t seed = 12345;

	for (uint32_t i = 0; i < CHANCE_CNT; i++) {
		struct usiw_sge sge =
			rnicpair_sge(side, (size_t)i % 8 * 300000, 300000);

		while (sem_wait(&chance_places) < 0)
			must(errno == EINTR);
		seed = seed * 1664525u + 1013904223u;
		/* This test needs the random delay. */
		if (seed >> 24 & 1)
			usleep(seed >> 16 & 0x1ff);
		wait_until(rnicpair_post_recv(side, i, &sge, 1) == 0);
	}
	return NULL;
}

/* Receives are posted at any time, octets arrive in small pieces: each message
 * gets the next receive, once, completely. */
static void by_chance(bool has_crc, bool has_srq, size_t recv_max)
{
	struct rnicpair_options opt = defaults;
	struct tcpfake_plan plan = { .recv_max = recv_max, .fd = -1 };
	struct rnicpair p;
	struct rnicpair_side *a = &p.side[0], *b = &p.side[1];
	uint32_t sent = 0, done = 0;
	struct usiw_cqe cqe;
	pthread_t poster;

	assert_int_equal(sem_init(&chance_places, 0, CHANCE_WR), 0);
	print_message("CRC %d, SRQ %d, %u octets at a time\n", has_crc, has_srq,
		      (unsigned)recv_max);
	opt.has_crc = has_crc;
	opt.max_wr = CHANCE_WR;
	opt.srq_wr = has_srq ? CHANCE_WR : 0;
	rnicpair_open(&p, &opt);
	if (recv_max)
		tcpfake_install(&plan);
	rnicpair_fill(a->buf, 300000, 7);
	assert_int_equal(pthread_create(&poster, NULL, chance_poster, b), 0);
	while (done < CHANCE_CNT) {
		if (sent < CHANCE_CNT) {
			struct usiw_sge sge =
				rnicpair_sge(a, 0, chance_lens[sent % 6]);
			struct rnicpair_wr wr = { .opcode = USIW_WR_SEND,
						  .sge = &sge,
						  .sge_cnt = 1 };

			sent += rnicpair_post(a, &wr) == 0;
		}
		rnic_cq_progress(a->scq);
		if (!rnicpair_poll(b, b->rcq, &cqe))
			continue;
		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
		assert_int_equal(cqe.wr_id, done);
		assert_int_equal(cqe.byte_len, chance_lens[done % 6]);
		assert_true(rnicpair_is_filled(b->buf + done % 8 * 300000,
					       cqe.byte_len, 7));
		done++;
		sem_post(&chance_places);
	}
	pthread_join(poster, NULL);
	sem_destroy(&chance_places);
	assert_false(is_rnr(b));
	assert_true(rnicpair_is_quiet(&p, b->rcq));
	tcpfake_remove();
	rnicpair_close(&p);
}

CASE(receives_come_at_any_time)
{
	for (int mode = 0; mode < 4; mode++) {
		by_chance(mode & 1, mode & 2, 0);
		by_chance(mode & 1, mode & 2, 9000);
	}
}

BEFORE_CASES()
{
	setenv("USIW_RNR_MS", "600000", 1);
	setenv("USIW_DRAIN_MS", "500", 1);
}

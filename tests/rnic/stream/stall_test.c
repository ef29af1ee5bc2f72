/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* stall.c: an FPDU whose rest does not arrive, and similar states that are not
 * a stall. */
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "../../harness/test.h"
#include "mem/context.h"
#include "engine/engine.h"
#include "util/env.h"
#include "qp/rnr.h"
#include "rawpeer.h"
#include "qp/qp.h"
#include "qp/object.h"
#include "stream/object.h"
#include "stream/stall.h"

#define STALL_MS 400

/* ---- a part of an FPDU ---- */

/* Sends the beginning of a Write whose length field says @len octets. */
static void send_front(struct rawpeer *raw, struct rnicpair_side *s,
		       uint32_t len, size_t octets)
{
	static uint8_t front[65536];
	uint64_t to = rnicpair_addr(s, 0);
	uint32_t ulpdu = 14 + len;

	memset(front, 0x33, sizeof(front));
	front[0] = (uint8_t)(ulpdu >> 8);
	front[1] = (uint8_t)ulpdu;
	front[2] = 0xc1; /* tagged, last, DDP 1 */
	front[3] = 0x40; /* RDMAP 1, Write */
	for (int i = 0; i < 4; i++)
		front[4 + i] = (uint8_t)(s->stag >> (24 - 8 * i));
	for (int i = 0; i < 8; i++)
		front[8 + i] = (uint8_t)(to >> (56 - 8 * i));
	assert_int_equal(write(raw->fd, front, octets), octets);
}

static const struct row {
	const char *name;
	bool has_crc;
	uint32_t len;  /* of the payload in the length field */
	size_t octets; /* octets that are sent */
} rows[] = {
	{ "one octet of the length", true, 8, 1 },
	{ "the length", true, 8, 2 },
	{ "a part of the header", true, 8, 9 },
	{ "all but the last octet", true, 8, 2 + 14 + 8 + 3 },
	{ "a length that is too long", true, 30000, 2 + 14 + 8 + 4 },
	{ "the same without CRC", false, 8008, 2 + 14 + 8 + 4 },
	{ "placed as it comes", false, 60000, 2 + 14 + 30000 },
	{ "placed, no pad and CRC", false, 60000, 2 + 14 + 60000 },
	{ "placed, a part of the CRC", false, 60000, 2 + 14 + 60000 + 2 },
};

CASE(the_rest_of_an_fpdu_is_waited_for_so_long)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
		const char *name = rows[i].name;
		uint64_t begin_ms = until_ms();
		struct rnicpair_side *s;
		struct rawpeer raw;
		struct rnicpair p;

		print_message("%s\n", name);
		opt.has_crc = rows[i].has_crc;
		s = rawpeer_open(&raw, &p, &opt);
		assert_int_equal(rnicpair_post_recv(s, 1, NULL, 0), 0);
		/* A complete one: payload may be placed directly. */
		rawpeer_write(&raw, s->stag, rnicpair_addr(s, 0), "x", 1);
		send_front(&raw, s, rows[i].len, rows[i].octets);
		assert_row(name, rnicpair_take(s, s->rcq).status ==
					 USIW_WC_WR_FLUSH_ERR);
		assert_row(name, until_ms() - begin_ms >= STALL_MS);
		assert_row(name,
			   rnicpair_async(s, NULL) == USIW_EVENT_QP_FATAL);
		assert_row(name, rnic_qp_state(s->qp) == RNIC_QPS_TERMINATE);
		assert_row(name, rawpeer_event(&raw).type == SMPA_EV_TERMINATE);
		rawpeer_close_both(&raw, &p);
	}
}

/* The time limit is for the whole FPDU, however slowly its octets arrive. */
CASE(slow_octets_do_not_extend_the_limit)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	uint64_t end_ms;
	struct rnicpair_side *s;
	struct rawpeer raw;
	struct rnicpair p;

	s = rawpeer_open(&raw, &p, &opt);
	rawpeer_write(&raw, s->stag, rnicpair_addr(s, 0), "x", 1);
	send_front(&raw, s, 60000, 20);
	end_ms = until_ms() + RNICPAIR_LIMIT_MS;
	while (rnic_qp_state(s->qp) == RNIC_QPS_RTS) {
		assert_true(until_ms() < end_ms);
		(void)!write(raw.fd, "x", 1);
		poll(NULL, 0, 10); /* the rate of the octets */
	}
	assert_int_equal(rnic_qp_state(s->qp), RNIC_QPS_TERMINATE);
	rawpeer_close_both(&raw, &p);
}

/* ---- not a stall ---- */

static void look_in_vain(struct rnicpair_side *s, uint32_t times)
{
	struct rnic_stream *stream;

	rnic_engine_lead(s->ctx->engine);
	stream = rnic_qp_stream(s->qp);
	for (uint32_t i = 0; i < times; i++)
		assert_false(rnic_stall_is_over(stream, util_now_ns()));
	assert_int_equal(stream->stall.next_ns, 0);
	rnic_engine_unlead(s->ctx->engine);
}

/* Nothing of an FPDU is there, at any number of checks. */
CASE(silence_between_fpdus_does_not_time_out)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rnicpair_side *s;
	struct rawpeer raw;
	struct rnicpair p;

	s = rawpeer_open(&raw, &p, &opt);
	look_in_vain(s, 20);
	assert_int_equal(rnicpair_post_recv(s, 1, NULL, 0), 0);
	rawpeer_send_octets(&raw, SMPA_OP_SEND, NULL, 0);
	assert_int_equal(rnicpair_take(s, s->rcq).status, USIW_WC_SUCCESS);
	look_in_vain(s, 20);
	rawpeer_close_both(&raw, &p);
}

/* Each check finds another FPDU, but always an incomplete one. */
CASE(a_stream_with_progress_does_not_time_out)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	uint64_t end_ms = until_ms() + RNICPAIR_LIMIT_MS;
	bool is_midway = false;
	struct rnicpair_side *s;
	struct rawpeer raw;
	struct rnicpair p;

	s = rawpeer_open(&raw, &p, &opt);
	send_front(&raw, s, 8, 9);
	while (!is_midway) {
		assert_true(until_ms() < end_ms);
		sched_yield();
		rnic_engine_lead(s->ctx->engine);
		is_midway = smpa_conn_rx_is_midway(rnic_qp_stream(s->qp)->conn);
		for (int i = 0; i < 50 && is_midway; i++) {
			rnic_qp_stream(s->qp)->stall.fpdu--;
			assert_false(rnic_stall_is_over(rnic_qp_stream(s->qp),
							util_now_ns()));
			assert_true(rnic_qp_stream(s->qp)->stall.next_ns);
		}
		rnic_engine_unlead(s->ctx->engine);
	}
	rawpeer_close_both(&raw, &p);
}

struct looks {
	uint32_t cnt; /* until the time is over; 0: there is no FPDU yet */
	bool are_even;
};

static struct looks look(struct rnic_stream *stream)
{
	struct looks looks = { .are_even = true };
	uint64_t now_ns = util_now_ns();

	if (!smpa_conn_rx_is_midway(stream->conn))
		return looks;
	stream->stall.same_cnt = 0;
	for (looks.cnt = 1; looks.cnt < 10; looks.cnt++) {
		if (rnic_stall_is_over(stream, now_ns))
			break;
		/* STALL_MS in equal parts, and a thread comes for each. */
		looks.are_even &= stream->stall.next_ns ==
				  now_ns + STALL_MS * NS_PER_MS / 4;
		looks.are_even &= stream->source.due.ns &&
				  stream->source.due.ns <=
					  stream->stall.next_ns;
	}
	return looks;
}

/* A process that was stopped finds all its times over at once. */
CASE(it_takes_four_looks_at_one_fpdu)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rnicpair_side *s;
	struct looks looks;
	struct rawpeer raw;
	struct rnicpair p;

	s = rawpeer_open(&raw, &p, &opt);
	send_front(&raw, s, 8, 9);
	wait_until(
		(looks = with_lead(s->ctx->engine, look(rnic_qp_stream(s->qp))))
			.cnt > 0);
	assert_int_equal(looks.cnt, 4);
	assert_true(looks.are_even);
	rawpeer_close_both(&raw, &p);
}

/* A Send without a receive and without space to hold it is left in TCP. */
CASE(unread_octets_do_not_time_out)
{
	static const uint8_t octets[60000];
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	uint64_t end_ms = until_ms() + RNICPAIR_LIMIT_MS;
	struct rnicpair_side *s;
	struct rawpeer raw;
	struct rnicpair p;
	bool is_full = false;

	s = rawpeer_open(&raw, &p, &opt);
	for (int i = 0; i < 6; i++)
		rawpeer_send_octets(&raw, SMPA_OP_SEND, octets, sizeof(octets));
	while (!is_full) {
		rnic_engine_lead(s->ctx->engine);
		is_full = s->qp->rnr && rnic_rnr_is_full(s->qp);
		if (is_full) {
			assert_true(smpa_conn_rx_is_midway(
				rnic_qp_stream(s->qp)->conn));
			for (int i = 0; i < 20; i++)
				assert_false(rnic_stall_is_over(
					rnic_qp_stream(s->qp), util_now_ns()));
		}
		rnic_engine_unlead(s->ctx->engine);
		assert_true(until_ms() < end_ms);
	}
	rawpeer_close_both(&raw, &p);
}

BEFORE_CASES()
{
	setenv("USIW_STALL_MS", "400", 1);
	setenv("USIW_RNR_MS", "20000", 1);
}

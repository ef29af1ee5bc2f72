/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Where FPDUs begin, as a look from outside asks. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "fpdu.h"
#include "pair.h"
#include "siw-mpa.h"

#define WIRE_MAX (1u << 20)
#define STEPS_MAX 100000u

/* ---- sizes --------------------------------------------------------------- */

CASE(tells_the_length_of_a_start_frame)
{
	uint8_t frame[20] = "MPA ID Req Frame";

	frame[18] = 1;
	frame[19] = 4;
	for (size_t len = 0; len < sizeof(frame); len++)
		assert_int_equal(smpa_start_frame_size(frame, len), 0);
	assert_int_equal(smpa_start_frame_size(frame, 20), 20 + 260);
	frame[18] = 2;
	frame[19] = 0;
	assert_int_equal(smpa_start_frame_size(frame, 20), 20 + 512);
	frame[19] = 1;
	assert_int_equal(smpa_start_frame_size(frame, 20), -EMSGSIZE);
}

CASE(tells_the_length_of_an_fpdu)
{
	static const struct {
		uint16_t ulpdu;
		uint32_t phase;
		bool has_markers;
		int size;
	} rows[] = {
		{ 14, 0, false, 20 },
		{ 14, 100, false, 20 },
		{ 15, 0, false, 24 },
		{ 65486, 0, false, 65492 },
		{ 65487, 0, false, -EMSGSIZE },
		{ 14, 0, true, 24 },   /* a marker before it */
		{ 14, 512, true, 24 }, /* the phase is modulo 512 */
		{ 14, 4, true, 20 },
		{ 14, 504, true, 24 }, /* a marker in it */
		{ 64769, 4, true, -EMSGSIZE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t buf[6] = { 0 };
		size_t lead =
			rows[i].has_markers && rows[i].phase % 512 == 0 ? 4 : 0;

		buf[lead] = (uint8_t)(rows[i].ulpdu >> 8);
		buf[lead + 1] = (uint8_t)rows[i].ulpdu;
		assert_int_equal(smpa_fpdu_size(buf, lead + 2, rows[i].phase,
						rows[i].has_markers),
				 rows[i].size);
		assert_int_equal(smpa_fpdu_size(buf, lead + 1, rows[i].phase,
						rows[i].has_markers),
				 0);
	}
}

/* ---- places -------------------------------------------------------------- */

/* What was asked, and after how many octets. */
struct asked {
	size_t at;
	struct smpa_place place;
};

struct run {
	struct pair p;
	bool has_crc, has_markers;
	uint8_t wire[WIRE_MAX];
	size_t len;
	bool is_begin[WIRE_MAX + 1]; /* an FPDU begins here */
	uint32_t phase[WIRE_MAX + 1];
	struct asked asked[STEPS_MAX];
	size_t asked_cnt, known_cnt;
	uint64_t seed;
};

static struct run run;

static void run_begin(bool has_crc, bool has_markers, uint64_t seed)
{
	struct smpa_options a = test_options(SMPA_INITIATOR);
	struct smpa_options b = test_options(SMPA_RESPONDER);

	memset(&run, 0, sizeof(run));
	run.seed = seed;
	run.has_crc = has_crc;
	run.has_markers = has_markers;
	a.no_crc = b.no_crc = !has_crc;
	a.want_markers = b.want_markers = has_markers;
	pair_init(&run.p, &a, &b);
	pair_start(&run.p);
}

/* Sends a random piece of what is prepared.  Return: false: there was none. */
static bool run_send(void)
{
	const struct iovec *iov;
	size_t total = 0, take;
	int cnt = smpa_conn_tx_prepare(run.p.a.conn, &iov);
	struct smpa_event ev;

	if (cnt == 0)
		return false;
	assert_true(cnt > 0);
	for (int i = 0; i < cnt; i++)
		total += iov[i].iov_len;
	take = 1 + (size_t)(test_random(&run.seed) % 3000);
	take = take < total ? take : total;
	total = take;
	for (int i = 0; take; i++) {
		size_t piece = take < iov[i].iov_len ? take : iov[i].iov_len;

		assert_true(WIRE_MAX - run.len >= piece);
		memcpy(run.wire + run.len, iov[i].iov_base, piece);
		run.len += piece;
		take -= piece;
	}
	assert_int_equal(smpa_conn_tx_commit(run.p.a.conn, total), 0);
	while (smpa_conn_next_event(run.p.a.conn, &ev))
		;
	return true;
}

static void run_ask(size_t at, bool is_tx)
{
	struct asked *asked = &run.asked[run.asked_cnt];
	int ret = is_tx ? smpa_conn_tx_place(run.p.a.conn, &asked->place)
			: smpa_conn_rx_place(run.p.b.conn, &asked->place);

	assert_true(run.asked_cnt < STEPS_MAX - 1);
	if (ret < 0) {
		assert_int_equal(ret, -EAGAIN);
		assert_false(is_tx);
		return;
	}
	asked->at = at;
	run.asked_cnt++;
}

/* The Initiator sends Writes and Sends of these lengths. */
static void run_messages(void)
{
	static const uint32_t lens[] = { 0, 1, 100, 70000, 5, 3000, 17000, 64 };
	static uint8_t payload[70000];
	struct iovec iov = { payload, 0 };
	struct smpa_msg msg = { .iov = &iov, .iovcnt = 1 };
	int ret;

	test_fill(payload, sizeof(payload), 1);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		msg.opcode = i % 2 ? SMPA_OP_SEND : SMPA_OP_WRITE;
		msg.len = lens[i];
		iov.iov_len = lens[i];
		msg.stag = 1;
		while ((ret = smpa_conn_submit(run.p.a.conn, &msg)) == -EAGAIN)
			assert_true(run_send());
		assert_int_equal(ret, 0);
		run_ask(run.len, true);
		run_send();
		run_ask(run.len, true);
	}
	while (run_send())
		run_ask(run.len, true);
}

/* Where FPDUs begin in the wire, with what has no part in it: their sizes. */
static void run_mark(uint32_t phase)
{
	size_t at = 0;

	while (at < run.len) {
		int size = smpa_fpdu_size(run.wire + at, run.len - at, phase,
					  run.has_markers);

		assert_true(size > 0 && (size_t)size <= run.len - at);
		run.is_begin[at] = true;
		run.phase[at] = phase;
		phase = (phase + (uint32_t)size) % FPDU_MARKER_INTERVAL;
		at += (size_t)size;
	}
	run.is_begin[at] = true;
	run.phase[at] = phase;
}

static void run_check(void)
{
	assert_true(run.asked_cnt > 0);
	for (size_t i = 0; i < run.asked_cnt; i++) {
		const struct asked *asked = &run.asked[i];
		size_t begin = asked->at + asked->place.rest;

		assert_true(begin <= run.len);
		assert_true(run.is_begin[begin]);
		assert_int_equal(asked->place.phase, run.phase[begin]);
		assert_int_equal(asked->place.has_crc, run.has_crc);
		assert_int_equal(asked->place.has_markers, run.has_markers);
		run.known_cnt += !asked->place.rest;
	}
	run.asked_cnt = 0;
}

/* The receiver gets the wire in pieces. */
static void run_receive(size_t piece_max)
{
	size_t at = 0, piece;

	while (at < run.len) {
		piece = 1 + (size_t)(test_random(&run.seed) % piece_max);
		piece = piece < run.len - at ? piece : run.len - at;
		end_feed(&run.p.b, run.wire + at, piece);
		at += piece;
		run_ask(at, false);
	}
}

CASE(knows_where_the_next_fpdu_begins)
{
	static const size_t pieces[] = { 3, 700, 40000 };
	struct smpa_place place;

	for (int mode = 0; mode < 4; mode++)
		for (size_t i = 0; i < 3; i++) {
			run_begin(mode & 1, mode & 2, i + 1);
			assert_int_equal(
				smpa_conn_tx_place(run.p.a.conn, &place), 0);
			assert_int_equal(place.rest, 0);
			run_messages();
			run_mark(place.phase);
			run_check();
			run_receive(pieces[i]);
			run_check();
			assert_true(run.known_cnt > 0);
			pair_fini(&run.p);
		}
}

CASE(knows_nothing_before_rdma_mode)
{
	struct smpa_options o = test_options(SMPA_INITIATOR);
	struct smpa_place place;
	struct end e;

	o.rev = 1;
	end_init(&e, &o);
	assert_int_equal(smpa_conn_tx_place(e.conn, &place), -EAGAIN);
	assert_int_equal(smpa_conn_rx_place(e.conn, &place), -EAGAIN);
	assert_int_equal(smpa_conn_start(e.conn, NULL, 0), 0);
	end_drain(&e);
	assert_int_equal(smpa_conn_tx_place(e.conn, &place), -EAGAIN);
	assert_int_equal(smpa_conn_rx_place(e.conn, &place), -EAGAIN);
	end_feed_hex(&e, PEER_REPLY);
	assert_int_equal(smpa_conn_tx_place(e.conn, &place), 0);
	assert_int_equal(smpa_conn_rx_place(e.conn, &place), 0);
	end_fini(&e);
}

CASE(knows_nothing_of_input_that_is_discarded)
{
	struct smpa_options o = test_options(SMPA_INITIATOR);
	struct smpa_place place;
	struct end e;

	o.rev = 1;
	end_init(&e, &o);
	end_establish(&e, PEER_REPLY);
	assert_int_equal(end_count(&e, SMPA_EV_ESTABLISHED), 1);
	end_feed_hex(&e, "000ec140000000010000000000000000ffffffff");
	assert_int_equal(end_count(&e, SMPA_EV_FAULT), 1);
	assert_int_equal(smpa_conn_rx_place(e.conn, &place), -EAGAIN);
	end_fini(&e);
}

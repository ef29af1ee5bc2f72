/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Large messages arrive, and most of their payload is read directly.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "pair.h"

#define BULK (1u << 20)

static const struct {
	const char *name;
	bool has_crc, has_markers;
	uint32_t mulpdu;
	uint8_t opcode;
	int sges, sink_pieces;
	size_t rx_max;	  /* size of pieces of the stream; 0: whole */
	int least_direct; /* minimum percentage of the payload */
} rows[] = {
	{ "Write", false, false, 64768, SMPA_OP_WRITE, 1, 1, 0, 90 },
	{ "Write, SGE lists", false, false, 64768, SMPA_OP_WRITE, 32, 32, 0,
	  90 },
	{ "Send", false, false, 64768, SMPA_OP_SEND, 7, 5, 0, 90 },
	{ "Write, short reads", false, false, 64768, SMPA_OP_WRITE, 3, 3, 9000,
	  90 },
	{ "Write, long reads", false, false, 64768, SMPA_OP_WRITE, 1, 1, 300000,
	  90 },
	{ "Write, FPDUs of 20000", false, false, 20000, SMPA_OP_WRITE, 1, 1, 0,
	  90 },
	{ "Read Response", false, false, 64768, SMPA_OP_READ_REQUEST, 1, 4, 0,
	  90 },
	{ "Write, MTU FPDUs", false, false, 1442, SMPA_OP_WRITE, 4, 2, 0, 0 },
	{ "Write, CRC", true, false, 64768, SMPA_OP_WRITE, 32, 9, 0, 0 },
	{ "Write, CRC, MTU FPDUs", true, false, 1442, SMPA_OP_WRITE, 1, 1, 9000,
	  0 },
	{ "Write, markers", false, true, 64768, SMPA_OP_WRITE, 9, 9, 0, 0 },
	{ "Send, CRC, markers", true, true, 8882, SMPA_OP_SEND, 32, 32, 5000,
	  0 },
};

static void carry(size_t row, const uint8_t *buf)
{
	struct smpa_options a = test_options(SMPA_INITIATOR);
	struct smpa_options b = test_options(SMPA_RESPONDER);
	bool is_read = rows[row].opcode == SMPA_OP_READ_REQUEST;
	struct iovec iov[SMPA_IOV_MAX];
	struct smpa_msg msg = { .opcode = rows[row].opcode };
	const struct smpa_counters *cnt;
	const uint8_t *got;
	struct pair p;

	a.no_crc = b.no_crc = !rows[row].has_crc;
	a.want_markers = b.want_markers = rows[row].has_markers;
	a.mulpdu = b.mulpdu = rows[row].mulpdu;
	a.rtr = SMPA_RTR_WRITE;
	pair_init(&p, &a, &b);
	p.a.sink_pieces = p.b.sink_pieces = rows[row].sink_pieces;
	p.a.rx_cut = (struct end_cut){ row, rows[row].rx_max };
	p.b.rx_cut = (struct end_cut){ row, rows[row].rx_max };
	pair_start(&p);
	for (int i = 0; i < rows[row].sges; i++) {
		size_t from = (size_t)BULK * (size_t)i / (size_t)rows[row].sges;
		size_t to =
			(size_t)BULK * (size_t)(i + 1) / (size_t)rows[row].sges;

		iov[i].iov_base = (uint8_t *)(uintptr_t)buf + from;
		iov[i].iov_len = to - from;
	}
	if (is_read) {
		memcpy(p.b.mem, buf, BULK);
		msg.read.len = BULK;
	} else {
		msg.iov = iov;
		msg.iovcnt = rows[row].sges;
		msg.len = BULK;
	}
	assert_row(rows[row].name, end_submit(&p.a, &msg) == 0);
	pair_run(&p);
	got = is_read			   ? p.a.mem
	      : msg.opcode == SMPA_OP_SEND ? p.b.recv
					   : p.b.mem;
	assert_row(rows[row].name, !memcmp(got, buf, BULK));
	cnt = smpa_conn_counters(is_read ? p.a.conn : p.b.conn);
	assert_row(rows[row].name, cnt->rx_direct + cnt->rx_staged == BULK);
	assert_row(rows[row].name,
		   cnt->rx_direct >= (uint64_t)BULK / 100 *
					     (uint64_t)rows[row].least_direct);
	if (!rows[row].least_direct)
		assert_row(rows[row].name, cnt->rx_direct == 0);
	cnt = smpa_conn_counters(is_read ? p.b.conn : p.a.conn);
	assert_row(rows[row].name, cnt->tx_inplace + cnt->tx_copied == BULK);
	assert_row(rows[row].name,
		   !cnt->tx_inplace == (is_read || rows[row].has_crc ||
					rows[row].has_markers));
	pair_fini(&p);
}

CASE(carries_a_megabyte)
{
	uint8_t *buf = malloc(BULK);

	assert_non_null(buf);
	test_fill(buf, BULK, 4);
	for (size_t row = 0; row < ARRAY_LEN(rows); row++)
		carry(row, buf);
	free(buf);
}

/* After the first messages nearly all payload is read directly. */
CASE(reads_directly_after_the_first_messages)
{
	struct smpa_options a = test_options(SMPA_INITIATOR);
	struct smpa_options b = test_options(SMPA_RESPONDER);
	uint8_t *buf = malloc(BULK);
	struct iovec iov = { buf, BULK };
	struct smpa_msg msg = {
		.opcode = SMPA_OP_WRITE, .iov = &iov, .iovcnt = 1, .len = BULK
	};
	const struct smpa_counters *cnt;
	struct pair p;

	assert_non_null(buf);
	memset(buf, 1, BULK);
	a.no_crc = b.no_crc = true;
	a.mulpdu = SMPA_MULPDU_MAX;
	pair_init(&p, &a, &b);
	pair_start(&p);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(end_submit(&p.a, &msg), 0);
		pair_run(&p);
	}
	cnt = smpa_conn_counters(p.b.conn);
	assert_true(cnt->rx_direct >= 20ull * BULK / 100 * 95);
	free(buf);
	pair_fini(&p);
}

/* T-32: when short messages follow, many of them come with one read. */
/* T-32 */
CASE(reads_many_short_ones_at_once)
{
	struct smpa_options a = test_options(SMPA_INITIATOR);
	struct smpa_options b = test_options(SMPA_RESPONDER);
	static uint8_t small[64];
	uint8_t *buf = calloc(1, BULK);
	struct iovec iov = { buf, BULK }, iov2 = { small, sizeof(small) };
	struct smpa_msg msg = {
		.opcode = SMPA_OP_WRITE, .iov = &iov, .iovcnt = 1, .len = BULK
	};
	struct smpa_msg msg2 = { .opcode = SMPA_OP_SEND,
				 .iov = &iov2,
				 .iovcnt = 1,
				 .len = sizeof(small) };
	size_t calls;
	struct pair p;

	assert_non_null(buf);
	a.no_crc = b.no_crc = true;
	a.mulpdu = SMPA_MULPDU_MAX;
	pair_init(&p, &a, &b);
	pair_start(&p);
	assert_int_equal(end_submit(&p.a, &msg), 0);
	pair_run(&p);
	calls = p.b.read_calls;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(end_submit(&p.a, &msg2), 0);
	pair_run(&p);
	assert_int_equal(end_count(&p.b, SMPA_EV_MESSAGE), 1001);
	assert_in_range(p.b.read_calls - calls, 1, 5);
	free(buf);
	pair_fini(&p);
}

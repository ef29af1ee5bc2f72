/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Receiving: staging, where octets are placed, the order of events, the end of
 * the stream.
 */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fpdu.h"
#include "pair.h"
#include "siw-mpa.h"

/* An established Responder, with or without CRC, that has received its first
 * FPDU. */
static void responder(struct end *e, bool has_crc)
{
	struct smpa_options o = test_options(SMPA_RESPONDER);

	o.no_crc = !has_crc;
	end_init(e, &o);
	end_establish(e, has_crc ? PEER_REQUEST : PEER_REQUEST_PLAIN);
	end_feed_hex(e, PEER_EMPTY_WRITE);
	e->event_cnt = 0;
}

/* An FPDU without CRC: the header in hex, then @len octets that count up. */
static size_t plain_fpdu(uint8_t *out, const char *hdr, size_t len)
{
	size_t hdr_len = test_unhex(hdr, out + 2, 64);
	size_t ulpdu = hdr_len + len;
	size_t size = 2 + ulpdu;

	out[0] = (uint8_t)(ulpdu >> 8);
	out[1] = (uint8_t)ulpdu;
	for (size_t i = 0; i < len; i++)
		out[2 + hdr_len + i] = (uint8_t)(i * 7);
	while (size % 4)
		out[size++] = 0xaa; /* PAD is not checked (MPA-6) */
	memset(out + size, 0xbb, 4);
	return size + 4;
}

#define WRITE_HDR                                                              \
	"c14000000001"                                                         \
	"0000000000001000"
#define SEND_HDR                                                               \
	"41430000000000000000"                                                 \
	"00000001"                                                             \
	"00000000"

CASE(lends_and_takes_back)
{
	static uint8_t big[SMPA_RX_STAGING_MIN];
	struct smpa_options o = test_options(SMPA_RESPONDER);
	struct iovec iov[33];
	struct smpa_conn *c;
	struct end e;

	assert_int_equal(smpa_conn_new(&c, &o), 0);
	assert_int_equal(smpa_conn_start(c, NULL, 0), 0);
	assert_int_equal(smpa_conn_rx_prepare(c, iov, 33), -ENOBUFS);
	assert_int_equal(smpa_conn_rx_lend(c, big, 2047), -EINVAL);
	assert_int_equal(smpa_conn_rx_lend(c, big, 2048), 0);
	assert_int_equal(smpa_conn_rx_prepare(c, iov, 33), 1);
	assert_int_equal(smpa_conn_rx_lend(c, NULL, 0), 0);
	/* the previous iovecs are void */
	assert_int_equal(smpa_conn_rx_commit(c, 1), -EINVAL);
	smpa_conn_free(c);

	responder(&e, true);
	assert_int_equal(smpa_conn_rx_lend(e.conn, big, 2048), -EINVAL);
	assert_true(smpa_conn_rx_is_idle(e.conn));
	assert_int_equal(smpa_conn_rx_lend(e.conn, NULL, 0), 0);
	assert_int_equal(smpa_conn_rx_prepare(e.conn, iov, 33), -ENOBUFS);
	assert_int_equal(smpa_conn_rx_lend(e.conn, big, sizeof(big)), 0);
	end_feed(&e, (const uint8_t *)"\0", 1);
	assert_false(smpa_conn_rx_is_idle(e.conn));
	assert_int_equal(smpa_conn_rx_lend(e.conn, NULL, 0), -EBUSY);
	assert_int_equal(smpa_conn_rx_lend(e.conn, big, sizeof(big)), -EBUSY);
	end_fini(&e);
}

CASE(requires_full_staging_in_rdma_mode)
{
	static uint8_t small[SMPA_START_STAGING_MIN];
	static uint8_t big[SMPA_RX_STAGING_MIN];
	_Alignas(16) static uint8_t tx[SMPA_START_STAGING_MIN];
	struct smpa_options o = test_options(SMPA_RESPONDER);
	const struct iovec *out;
	struct iovec iov[33];
	struct smpa_event ev;
	uint8_t frame[20];
	struct smpa_conn *c;

	assert_int_equal(smpa_conn_new(&c, &o), 0);
	assert_int_equal(smpa_conn_start(c, NULL, 0), 0);
	assert_int_equal(smpa_conn_rx_lend(c, small, sizeof(small)), 0);
	assert_int_equal(smpa_conn_tx_lend(c, tx, sizeof(tx)), 0);
	assert_int_equal(smpa_conn_rx_prepare(c, iov, 33), 1);
	memcpy(iov[0].iov_base, frame,
	       test_unhex(PEER_REQUEST, frame, sizeof(frame)));
	assert_int_equal(smpa_conn_rx_commit(c, 20), 0);
	assert_int_equal(smpa_conn_next_event(c, &ev), 1);
	assert_int_equal(smpa_conn_accept(c, NULL, 0, 1, 1), 0);
	assert_int_equal(smpa_conn_rx_prepare(c, iov, 33),
			 0); /* the exchange is pending */
	assert_int_equal(smpa_conn_next_event(c, &ev), 1);
	assert_int_equal(ev.type, SMPA_EV_ESTABLISHED);
	assert_int_equal(smpa_conn_rx_prepare(c, iov, 33), -ENOBUFS);
	assert_int_equal(smpa_conn_rx_lend(c, big, sizeof(big)), 0);
	assert_int_equal(smpa_conn_rx_prepare(c, iov, 33), 1);
	/* the Reply is sent from the small one, which may be replaced then */
	assert_int_equal(
		smpa_conn_submit(c,
				 &(struct smpa_msg){ .opcode = SMPA_OP_SEND }),
		-EAGAIN);
	assert_int_equal(smpa_conn_tx_prepare(c, &out), 1);
	assert_int_equal(smpa_conn_tx_commit(c, out[0].iov_len), 0);
	assert_int_equal(
		smpa_conn_submit(c,
				 &(struct smpa_msg){ .opcode = SMPA_OP_SEND }),
		-ENOBUFS);
	assert_int_equal(smpa_conn_tx_lend(c, NULL, 0), 0);
	smpa_conn_free(c);
}

/* Long payload without CRC: the header, then the sink, then the rest directly
 * into it. */
CASE(places_long_payload_directly)
{
	static uint8_t fpdu[70000], sink[64000];
	static const char *const hdrs[] = { WRITE_HDR, SEND_HDR };

	for (size_t i = 0; i < ARRAY_LEN(hdrs); i++) {
		size_t len = 40001, hdr = 2 + strlen(hdrs[i]) / 2, size;
		struct iovec iov[33], s[3], many[SMPA_IOV_MAX + 1] = { 0 };
		struct smpa_event ev;
		struct end e;

		responder(&e, false);
		size = plain_fpdu(fpdu, hdrs[i], len);
		memset(sink, 0, sizeof(sink));
		assert_int_equal(smpa_conn_rx_prepare(e.conn, iov, 33), 1);
		memcpy(iov[0].iov_base, fpdu, 100);
		assert_int_equal(smpa_conn_rx_commit(e.conn, 100), 0);
		assert_int_equal(smpa_conn_next_event(e.conn, &ev), 1);
		assert_int_equal(ev.type, SMPA_EV_SEGMENT);
		assert_int_equal(ev.seg.len, len);
		assert_int_equal(smpa_conn_next_event(e.conn, &ev), 0);
		assert_int_equal(smpa_conn_rx_prepare(e.conn, iov, 33), 0);
		s[0] = (struct iovec){ sink, 50 };
		s[1] = (struct iovec){ sink + 50, 20000 };
		s[2] = (struct iovec){ sink + 20050, len - 20050 - 1 };
		assert_int_equal(smpa_conn_sink(e.conn, s, 3), -EINVAL);
		s[2].iov_len++;
		many[SMPA_IOV_MAX] = (struct iovec){ sink, len };
		assert_int_equal(smpa_conn_sink(e.conn, many, SMPA_IOV_MAX + 1),
				 -EINVAL);
		assert_int_equal(smpa_conn_sink(e.conn, s, -1), -EINVAL);
		assert_int_equal(smpa_conn_sink(e.conn, s, 3), 0);
		assert_int_equal(smpa_conn_sink(e.conn, s, 3), -EINVAL);
		assert_true(smpa_conn_uses(e.conn, sink + len - 1, 1));
		assert_false(smpa_conn_uses(e.conn, sink + len, 1));
		assert_true(smpa_conn_rx_is_idle(e.conn));
		/* the sink stays open without staging */
		assert_int_equal(smpa_conn_rx_lend(e.conn, NULL, 0), 0);
		assert_int_equal(smpa_conn_rx_prepare(e.conn, iov, 33),
				 -ENOBUFS);
		assert_int_equal(
			smpa_conn_rx_lend(e.conn, e.rx_staging, END_RX_STAGING),
			0);
		assert_int_equal(smpa_conn_rx_prepare(e.conn, iov, 2), 2);
		assert_ptr_equal(iov[0].iov_base, sink + 100 - hdr);
		assert_int_equal(smpa_conn_rx_prepare(e.conn, iov, 33), 4);
		assert_ptr_equal(iov[1].iov_base, sink + 20050);
		/* Filled last. */
		assert_ptr_equal(iov[2].iov_base, sink + len - 8);
		assert_int_equal(iov[2].iov_len, 8);
		assert_true(iov[3].iov_len <= 2048 + 8);
		/* one octet, then the rest and the first of the next FPDU */
		*(uint8_t *)iov[0].iov_base = fpdu[100];
		assert_int_equal(smpa_conn_rx_commit(e.conn, 1), 0);
		assert_int_equal(smpa_conn_next_event(e.conn, &ev), 0);
		end_feed(&e, fpdu + 101, size - 101);
		end_feed_hex(&e, "00");
		assert_int_equal(e.event_cnt, 1);
		assert_int_equal(e.events[0].ev.type, SMPA_EV_MESSAGE);
		assert_int_equal(e.events[0].ev.msg.len, len);
		assert_memory_equal(sink, fpdu + hdr, len);
		assert_int_equal(smpa_conn_counters(e.conn)->rx_staged,
				 100 - hdr);
		assert_int_equal(smpa_conn_counters(e.conn)->rx_direct,
				 len - (100 - hdr));
		assert_false(smpa_conn_uses(e.conn, sink, len));
		end_fini(&e);
	}
}

/* Payload that is dropped, whole in staging or still to come, is not counted as
 * placed, and the stream goes on behind it. */
CASE(drops_payload_without_a_sink)
{
	static uint8_t fpdu[70000];
	static const size_t lens[] = { 1, 64, 16384, 40001, 64000 };

	for (size_t i = 0; i < 2 * ARRAY_LEN(lens); i++) {
		size_t len = lens[i / 2];
		size_t size =
			plain_fpdu(fpdu, i & 1 ? WRITE_HDR : SEND_HDR, len);
		size_t first = size < 100 ? size : 100;
		struct iovec iov[33];
		struct smpa_event ev;
		struct end e;

		responder(&e, false);
		assert_int_equal(smpa_conn_rx_prepare(e.conn, iov, 33), 1);
		memcpy(iov[0].iov_base, fpdu, first);
		assert_int_equal(smpa_conn_rx_commit(e.conn, first), 0);
		assert_int_equal(smpa_conn_next_event(e.conn, &ev), 1);
		assert_int_equal(ev.type, SMPA_EV_SEGMENT);
		assert_int_equal(smpa_conn_sink(e.conn, NULL, 0), 0);
		assert_int_equal(smpa_conn_sink(e.conn, NULL, 0), -EINVAL);
		assert_int_equal(smpa_conn_open_segment(e.conn, &ev), 0);
		if (first < size)
			end_feed(&e, fpdu + first, size - first);
		else
			end_feed_hex(&e, "00");
		assert_int_equal(e.event_cnt, 1);
		assert_int_equal(e.events[0].ev.type, SMPA_EV_MESSAGE);
		assert_int_equal(e.events[0].ev.msg.len, len);
		assert_int_equal(smpa_conn_counters(e.conn)->rx_staged, 0);
		assert_int_equal(smpa_conn_counters(e.conn)->rx_direct, 0);
		end_fini(&e);
	}
}

/* Below direct_min, and with CRC always: whole FPDUs only (MPA-85). */
/* Linux's siw, with an EMSS of 65483 and no markers, sends longer FPDUs than
 * RFC 5044 allows (C-12). One is received as a whole, one is placed as it
 * arrives. */
CASE(takes_the_longest_fpdus_there_can_be)
{
	static const size_t lens[] = { 65474 - 14, FPDU_PLAIN_MAX - 14 };
	static uint8_t fpdu[70000], sink[70000];

	for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
		struct iovec s = { sink, lens[i] };
		size_t size = plain_fpdu(fpdu, WRITE_HDR, lens[i]);
		struct smpa_event ev;
		struct iovec iov;
		struct end e;

		responder(&e, false);
		assert_int_equal(smpa_conn_rx_prepare(e.conn, &iov, 1), 1);
		memcpy(iov.iov_base, fpdu, 100);
		assert_int_equal(smpa_conn_rx_commit(e.conn, 100), 0);
		assert_int_equal(smpa_conn_next_event(e.conn, &ev), 1);
		assert_int_equal(ev.type, SMPA_EV_SEGMENT);
		assert_int_equal(ev.seg.len, lens[i]);
		assert_int_equal(smpa_conn_sink(e.conn, &s, 1), 0);
		end_feed(&e, fpdu + 100, size - 100);
		assert_memory_equal(sink, fpdu + 16, lens[i]);
		assert_int_equal(end_count(&e, SMPA_EV_MESSAGE), 1);
		end_fini(&e);
	}
}

CASE(waits_for_whole_fpdus_otherwise)
{
	static const char send[] =
		"001641430000000000000000000000010000000070696e67";
	uint8_t fpdu[64];
	struct end e;
	size_t size;

	responder(&e, false);
	size = plain_fpdu(fpdu, WRITE_HDR, 20);
	end_feed(&e, fpdu, size - 1);
	assert_int_equal(e.event_cnt, 0);
	end_feed(&e, fpdu + size - 1, 1);
	assert_int_equal(e.event_cnt, 2);
	end_fini(&e);

	responder(&e, true);
	end_feed_hex(&e, send);
	assert_int_equal(e.event_cnt, 0);
	end_fini(&e);
}

/* A Responder's first FPDU must be complete, however long it is (MPA-134). */
CASE(takes_the_first_fpdu_whole)
{
	static uint8_t fpdu[70000];
	struct smpa_options o = test_options(SMPA_RESPONDER);
	size_t size = plain_fpdu(fpdu, WRITE_HDR, FPDU_PLAIN_MAX - 14);
	struct end e;

	o.no_crc = true;
	end_init(&e, &o);
	end_establish(&e, PEER_REQUEST_PLAIN);
	end_feed(&e, fpdu, size - 1);
	assert_int_equal(end_count(&e, SMPA_EV_SEGMENT), 0);
	assert_true(smpa_conn_tx_is_held(e.conn));
	end_feed(&e, fpdu + size - 1, 1);
	assert_int_equal(end_count(&e, SMPA_EV_MESSAGE), 1);
	assert_false(smpa_conn_tx_is_held(e.conn));
	end_fini(&e);
}

/* U-8 */
CASE(reports_events_of_empty_messages)
{
	static const char fpdus[] =
		/* 4 octets */
		"0012c1400000000100000000000000004142434400000000"
		"000e81400000000100000000000000000000"
		"0000" /* Write, empty, not the last: no event */
		"000ec14077777777ffffffffffffffff0000"
		"0000" /* Write, empty, last, invalid STag: MESSAGE */
		"001241430000000000000000"
		"000000010000000000000000" /* Send, empty: SEGMENT, MESSAGE */;
	struct end e;

	responder(&e, false);
	end_feed_hex(&e, fpdus);
	assert_int_equal(e.event_cnt, 5);
	assert_int_equal(e.events[0].ev.type, SMPA_EV_SEGMENT);
	assert_int_equal(e.events[1].ev.type, SMPA_EV_MESSAGE);
	assert_int_equal(e.events[2].ev.type, SMPA_EV_MESSAGE);
	assert_int_equal(e.events[2].ev.msg.opcode, SMPA_OP_WRITE);
	assert_int_equal(e.events[2].ev.msg.stag, 0x77777777);
	assert_int_equal(e.events[3].ev.type, SMPA_EV_SEGMENT);
	assert_int_equal(e.events[3].ev.seg.len, 0);
	assert_int_equal(e.events[3].ev.seg.opcode, SMPA_OP_SEND);
	assert_int_equal(e.events[4].ev.type, SMPA_EV_MESSAGE);
	assert_int_equal(e.events[4].ev.msg.len, 0);
	assert_int_equal(e.events[4].ev.msg.msn, 1);
	end_fini(&e);
}

CASE(joins_the_segments_of_a_send)
{
	static const char fpdus[] =
		"001601430000000000000000000000010000000041424344"
		"00000000"
		"0012c1400000000100000000000000004142434400000000"
		"001601430000000000000000000000010000000445464748"
		"00000000"
		"00164143000000000000000000000001000000084a4b4c4d"
		"00000000";
	struct end e;

	responder(&e, false);
	end_feed_hex(&e, fpdus);
	assert_int_equal(end_count(&e, SMPA_EV_SEGMENT), 4);
	assert_int_equal(end_count(&e, SMPA_EV_MESSAGE), 2);
	assert_int_equal(end_event(&e, SMPA_EV_SEGMENT, 2)->seg.mo, 4);
	assert_int_equal(end_event(&e, SMPA_EV_MESSAGE, 1)->msg.len, 12);
	assert_memory_equal(e.recv, "ABCDEFGHJKLM", 12);
	end_fini(&e);
}

CASE(refuses_an_open_sink)
{
	static uint8_t fpdu[30000];
	/* M, D; segment length 0x4e2e: 20000 + 14 */
	static const char term[] = "1102c0004e2e" WRITE_HDR;
	uint8_t want[64];
	size_t len = test_unhex(term, want, sizeof(want));
	struct end e;

	responder(&e, false);
	plain_fpdu(fpdu, WRITE_HDR, 20000);
	end_feed(&e, fpdu, 5000);
	assert_true(smpa_conn_uses(e.conn, e.mem + 0x1000, 20000));
	smpa_conn_refuse(e.conn, (struct smpa_fault){ SMPA_F_DDP_T_STREAM });
	smpa_conn_refuse(e.conn, (struct smpa_fault){ SMPA_F_DDP_T_STAG });
	assert_false(smpa_conn_uses(e.conn, e.mem, END_MEM_SIZE));
	e.out_end = 0;
	end_drain(&e);
	assert_int_equal(e.out_end, 2 + 18 + len + 4);
	assert_memory_equal(e.out + 20, want, len);
	end_feed(&e, fpdu + 5000, 10000);
	assert_int_equal(e.mem[0x1000 + 6000], 0);
	assert_int_equal(end_count(&e, SMPA_EV_MESSAGE), 0);
	end_fini(&e);
}

static int guard_ret;

/* Leaves the access in the middle, like a caught fault. */
static int guard(void (*access)(void *arg), void *arg)
{
	if (guard_ret == 0)
		access(arg);
	return guard_ret;
}

/* The owner is told, may answer anything, and nothing is reported as placed. */
CASE(tells_the_owner_that_its_memory_is_gone)
{
	static uint8_t fpdu[30000];
	struct smpa_options o = test_options(SMPA_RESPONDER);
	struct iovec iov[SMPA_IOV_MAX + 1];
	struct smpa_event ev;
	struct iovec v;
	size_t size;
	struct end e;

	o.no_crc = true;
	o.guard = guard;
	end_init(&e, &o);
	end_establish(&e, PEER_REQUEST_PLAIN);
	guard_ret = -EFAULT;
	size = plain_fpdu(fpdu, WRITE_HDR, 100);
	assert_int_equal(smpa_conn_rx_prepare(e.conn, iov, SMPA_IOV_MAX + 1),
			 1);
	memcpy(iov[0].iov_base, fpdu, size);
	assert_int_equal(smpa_conn_rx_commit(e.conn, size), 0);
	assert_int_equal(smpa_conn_next_event(e.conn, &ev), 1);
	assert_int_equal(ev.type, SMPA_EV_SEGMENT);
	assert_int_equal(smpa_conn_open_segment(e.conn, &ev), 0);
	v.iov_base = e.mem;
	v.iov_len = 100;
	assert_int_equal(smpa_conn_sink(e.conn, &v, 1), -EFAULT);
	assert_false(smpa_conn_uses(e.conn, e.mem, 100));
	assert_int_equal(smpa_conn_sink(e.conn, &v, 1), -EFAULT);
	smpa_conn_refuse(e.conn, (struct smpa_fault){ SMPA_F_DDP_T_BOUNDS });
	assert_int_equal(smpa_conn_next_event(e.conn, &ev), 0);
	e.out_end = 0;
	assert_true(end_drain(&e));
	end_fini(&e);
}

CASE(tells_which_sink_is_open)
{
	static uint8_t fpdu[30000];
	struct smpa_event ev;
	struct end e;

	responder(&e, false);
	plain_fpdu(fpdu, WRITE_HDR, 20000);
	assert_int_equal(smpa_conn_open_segment(e.conn, &ev), 0);
	end_feed(&e, fpdu, 5000);
	assert_int_equal(smpa_conn_open_segment(e.conn, &ev), 1);
	assert_int_equal(ev.type, SMPA_EV_SEGMENT);
	assert_int_equal(ev.seg.len, 20000);
	assert_int_equal(ev.seg.opcode, SMPA_OP_WRITE);
	end_feed(&e, fpdu + 5000, 20000 + 20 - 5000);
	assert_int_equal(smpa_conn_open_segment(e.conn, &ev), 0);
	end_fini(&e);
}

/* ---- smpa_conn_placed() ---- */

static const struct placed_row {
	const char *name;
	const char *hdr;
	size_t len, fed; /* payload; octets of the FPDU that have come */
	bool is_refused, is_placed;
} placed_rows[] = {
	{ "a Write", WRITE_HDR, 64, SIZE_MAX, false, true },
	{ "a Send", SEND_HDR, 64, SIZE_MAX, false, true },
	{ "a Send of nothing", SEND_HDR, 0, SIZE_MAX, false, true },
	{ "a long one, but for its trailer", WRITE_HDR, 20000, 20010, false,
	  false },
	{ "the begin of a long one", SEND_HDR, 20000, 5000, false, false },
	{ "not the last segment",
	  "8140"
	  "00000001"
	  "0000000000001000",
	  64, SIZE_MAX, false, false },
	{ "refused", WRITE_HDR, 64, SIZE_MAX, true, false },
};

static void placed_run(const struct placed_row *row)
{
	static uint8_t fpdu[30000], sink[30000];
	struct iovec iov[33], s = { sink, row->len };
	size_t size = plain_fpdu(fpdu, row->hdr, row->len);
	size_t fed = row->fed < size ? row->fed : size;
	struct smpa_event ev, none = { .type = SMPA_EV_NONE };
	struct end e;

	responder(&e, false);
	assert_int_equal(smpa_conn_placed(e.conn, &none), 0);
	assert_true(smpa_conn_rx_prepare(e.conn, iov, 33) > 0);
	memcpy(iov[0].iov_base, fpdu, fed);
	assert_int_equal(smpa_conn_rx_commit(e.conn, fed), 0);
	assert_int_equal(smpa_conn_next_event(e.conn, &ev), 1);
	assert_int_equal(ev.type, SMPA_EV_SEGMENT);
	assert_int_equal(smpa_conn_placed(e.conn, &none), 0);
	assert_int_equal(smpa_conn_sink(e.conn, &s, row->len ? 1 : 0), 0);
	if (row->is_refused)
		smpa_conn_refuse(e.conn,
				 (struct smpa_fault){ SMPA_F_DDP_T_STAG });
	if (row->is_placed) {
		assert_int_equal(smpa_conn_placed(e.conn, &ev), 1);
		assert_int_equal(ev.type, SMPA_EV_MESSAGE);
		assert_int_equal(ev.msg.len, row->len);
	}
	/* Once, and next_event has nothing of it. */
	assert_int_equal(smpa_conn_placed(e.conn, &none), 0);
	assert_int_equal(none.type, SMPA_EV_NONE);
	assert_int_equal(smpa_conn_next_event(e.conn, &ev), 0);
	/* The stream goes on. */
	if (fed < size)
		end_feed(&e, fpdu + fed, size - fed);
	assert_int_equal(end_count(&e, SMPA_EV_MESSAGE), fed < size);
	end_fini(&e);
}

CASE(tells_of_a_message_at_once)
{
	for (size_t i = 0; i < ARRAY_LEN(placed_rows); i++) {
		print_message("%s\n", placed_rows[i].name);
		placed_run(&placed_rows[i]);
	}
}

/* T-27: where a FIN may arrive. */
CASE(tells_a_clean_end_from_a_cut_one)
{
	static uint8_t fpdu[40000];
	static const size_t cuts[] = { 1, 2, 10, 16, 100, 30000, 30015, 30019 };
	const struct smpa_event *ev;
	struct end e;
	size_t size;

	size = plain_fpdu(fpdu, WRITE_HDR, 30000);
	assert_int_equal(size, 30020);
	for (size_t i = 0; i < ARRAY_LEN(cuts); i++) {
		responder(&e, false);
		end_feed(&e, fpdu, cuts[i]);
		end_feed_eof(&e);
		assert_int_equal(end_count(&e, SMPA_EV_CLOSED), 0);
		ev = end_event(&e, SMPA_EV_FAULT, 0);
		assert_non_null(ev);
		assert_int_equal(ev->fault.fault.value, SMPA_F_MPA_CLOSED);
		assert_true(ev->fault.is_truncated);
		assert_false(ev->fault.has_terminate);
		assert_false(smpa_conn_uses(e.conn, e.mem, END_MEM_SIZE));
		end_fini(&e);
	}
	responder(&e, false);
	end_feed(&e, fpdu, size);
	end_feed_eof(&e);
	end_feed_eof(&e);
	assert_int_equal(e.event_cnt, 3);
	assert_int_equal(e.events[1].ev.type, SMPA_EV_MESSAGE);
	assert_int_equal(e.events[2].ev.type, SMPA_EV_CLOSED);
	end_fini(&e);
}

/* C-14: after a marker of zeros alone the end is clean, inside it is not, and
 * neither is it after a marker that points into an FPDU. */
CASE(takes_a_lone_marker_for_a_boundary)
{
	/* ULPDU_Length at 4: an empty Write of 20 octets, then one that ends at
	 * 512: 4 + 20 + 488 */
	static uint8_t fpdu[600];
	static const struct {
		uint8_t octets[5];
		size_t len;
		bool is_clean;
	} tails[] = {
		{ { 0 }, 0, true },	      { { 0 }, 1, false },
		{ { 0 }, 2, false },	      { { 0 }, 3, false },
		{ { 0 }, 4, true },	      { { 0 }, 5, false },
		{ { 0, 0, 0, 3 }, 4, true }, /* MPA-44 */
		{ { 0, 0, 0, 4 }, 4, false }, { { 0, 0, 1, 0 }, 4, false },
	};
	size_t size;

	for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
		struct smpa_options o = test_options(SMPA_RESPONDER);
		bool is_clean = tails[i].is_clean;
		struct end e;

		o.no_crc = true;
		o.want_markers = true;
		end_init(&e, &o);
		end_establish(&e, PEER_REQUEST_PLAIN);
		end_feed_hex(&e, "00000000"
				 "000ec14000000001000000000000000000"
				 "000000");
		size = plain_fpdu(fpdu, WRITE_HDR, 488 - 20);
		assert_int_equal(size, 488);
		end_feed(&e, fpdu, size);
		end_feed(&e, tails[i].octets, tails[i].len);
		end_feed_eof(&e);
		assert_int_equal(end_count(&e, SMPA_EV_MESSAGE), 2);
		assert_int_equal(end_count(&e, SMPA_EV_CLOSED), is_clean);
		assert_int_equal(end_count(&e, SMPA_EV_FAULT), !is_clean);
		end_fini(&e);
	}
}

/* T-49, C-2c: octets that the peer is not allowed to send yet. */
CASE(refuses_octets_that_come_too_early)
{
	struct smpa_options o = test_options(SMPA_RESPONDER);
	const struct smpa_event *ev;
	uint8_t request[20];
	struct end e;

	end_init(&e, &o);
	assert_int_equal(smpa_conn_start(e.conn, NULL, 0), 0);
	end_feed(&e, request, test_unhex(PEER_REQUEST, request, 20));
	end_feed(&e, (const uint8_t *)"\0", 1); /* the Reply is not sent yet */
	ev = end_event(&e, SMPA_EV_FAULT, 0);
	assert_non_null(ev);
	assert_int_equal(ev->fault.fault.value, SMPA_F_MPA_START);
	end_fini(&e);
}

/* The kernel's siw as Responder does not wait for the first FPDU of the
 * Initiator. Nothing that it sends is lost, read twice, or taken for the
 * Reply. */
CASE(takes_fpdus_behind_the_reply)
{
	static const char send[] =
		"001641430000000000000000000000010000000070696e67";
	uint8_t octets[20 + 28];
	size_t len = test_unhex(PEER_REPLY, octets, 20);

	assert_int_equal(test_unhex(send, octets + len, 24), 24);
	for (size_t piece = 1; piece <= sizeof(octets); piece++) {
		struct smpa_options o = test_options(SMPA_INITIATOR);
		struct smpa_msg msg = { .opcode = SMPA_OP_SEND };
		struct end e;

		o.rev = 1;
		o.no_crc = true;
		octets[16] = 0; /* C=0 */
		memset(octets + 44, 0, 4);
		end_init(&e, &o);
		assert_int_equal(smpa_conn_start(e.conn, NULL, 0), 0);
		end_drain(&e);
		e.out_end = 0;
		e.rx_cut = (struct end_cut){ piece, piece };
		end_feed(&e, octets, sizeof(octets));
		assert_int_equal(e.event_cnt, 3);
		assert_int_equal(e.events[0].ev.type, SMPA_EV_ESTABLISHED);
		assert_int_equal(e.events[1].ev.type, SMPA_EV_SEGMENT);
		assert_int_equal(e.events[2].ev.type, SMPA_EV_MESSAGE);
		assert_memory_equal(e.recv, "ping", 4);
		/* and the stream continues */
		assert_int_equal(end_submit(&e, &msg), 0);
		assert_true(end_drain(&e));
		assert_int_equal(e.out_end, 24);
		end_fini(&e);
	}
}

CASE(reports_a_terminate_and_nothing_else)
{
	static const char term[] =
		"00464147000000000000000200000001000000000100e000002e4141"
		"00000000000000010000000100000000010203040000000000001000"
		"00001000deadbeef0000000000002000ee37f57e";
	struct smpa_msg msg = { .opcode = SMPA_OP_SEND };
	const struct smpa_event *ev;
	struct end e;

	responder(&e, true);
	end_feed_hex(&e, term);
	end_feed_hex(&e, PEER_EMPTY_WRITE);
	end_feed_eof(&e);
	assert_int_equal(e.event_cnt, 1);
	ev = &e.events[0].ev;
	assert_int_equal(ev->type, SMPA_EV_TERMINATE);
	assert_int_equal(ev->term.fault.value, 0x0100);
	assert_true(ev->term.has_ddp);
	assert_true(ev->term.has_read);
	assert_false(ev->term.is_tagged);
	assert_int_equal(ev->term.opcode, SMPA_OP_READ_REQUEST);
	assert_int_equal(ev->term.qn, 1);
	assert_int_equal(ev->term.msn, 1);
	assert_int_equal(ev->term.read.sink_stag, 0x01020304);
	assert_int_equal(ev->term.read.sink_to, 0x1000);
	assert_int_equal(ev->term.read.len, 4096);
	assert_int_equal(ev->term.read.src_stag, 0xdeadbeef);
	assert_int_equal(ev->term.read.src_to, 0x2000);
	assert_int_equal(smpa_conn_submit(e.conn, &msg), -EPIPE);
	assert_int_equal(smpa_conn_tx_pending(e.conn), 0);
	end_fini(&e);
}

/* How many requests are behind the one that the peer refuses; the last of them
 * waits for room in staging. */
CASE(counts_the_requests_behind_the_refused_one)
{
	static const char hex[] =
		"00464147000000000000000200000001000000000100e000002e4141"
		"00000000000000010000000100000000010203040000000000001000"
		"00001000deadbeef000000000000200000000000";
	const uint32_t refused = 3;
	struct smpa_options o = test_options(SMPA_INITIATOR);
	struct smpa_msg read = { .opcode = SMPA_OP_READ_REQUEST };
	const struct smpa_event *ev;
	uint8_t term[80];
	uint32_t cnt = 0;
	struct end e;

	o.rev = 1;
	o.no_crc = true;
	end_init(&e, &o);
	end_establish(&e, PEER_REPLY_PLAIN);
	while (smpa_conn_submit(e.conn, &read) == 0)
		cnt++;
	assert_true(cnt > refused);
	assert_int_equal(test_unhex(hex, term, sizeof(term)), 76);
	term[39] = refused; /* the MSN of its DDP header */
	end_feed(&e, term, 76);
	ev = end_event(&e, SMPA_EV_TERMINATE, 0);
	assert_non_null(ev);
	assert_int_equal(ev->term.msn, refused);
	assert_int_equal(ev->term.behind, cnt - refused);
	end_fini(&e);
}

/* Only the empty message that was agreed on is the RTR; others are reported. */
CASE(takes_nothing_else_for_the_rtr)
{
#define REQUEST "4d504120494420526571204672616d6510020004"
#define READ(len)                                                              \
	"002e4141000000000000000100000001000000000000000100000000"             \
	"00000000" len "00000001000000000000000000000000"
	static const struct {
		const char *name, *request, *fpdu;
		uint8_t rtr;
		enum smpa_event_type type; /* NONE: it is the RTR */
	} rows[] = {
		{ "Read", REQUEST "80084008", READ("00000000"), SMPA_RTR_READ,
		  SMPA_EV_NONE },
		{ "Read of octets", REQUEST "80084008", READ("00000010"),
		  SMPA_RTR_READ, SMPA_EV_READ },
		{ "Read in place of a Write", REQUEST "80088008",
		  READ("00000000"), SMPA_RTR_WRITE, SMPA_EV_READ },
		{ "Write", REQUEST "80088008", PEER_EMPTY_WRITE, SMPA_RTR_WRITE,
		  SMPA_EV_NONE },
		{ "Write of octets", REQUEST "80088008",
		  "0012c1400000000100000000000000004142434400000000",
		  SMPA_RTR_WRITE, SMPA_EV_MESSAGE },
		{ "Write in place of a Read", REQUEST "80084008",
		  PEER_EMPTY_WRITE, SMPA_RTR_READ, SMPA_EV_MESSAGE },
		{ "Send", REQUEST "c0080008",
		  "001241430000000000000000000000010000000000000000",
		  SMPA_RTR_SEND, SMPA_EV_NONE },
		{ "Send of octets", REQUEST "c0080008",
		  "00164143000000000000000000000001000000004142434400000000",
		  SMPA_RTR_SEND, SMPA_EV_MESSAGE },
		{ "Send with Solicited Event", REQUEST "c0080008",
		  "001241450000000000000000000000010000000000000000",
		  SMPA_RTR_SEND, SMPA_EV_MESSAGE },
	};
#undef READ
#undef REQUEST

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct smpa_options o = test_options(SMPA_RESPONDER);
		enum smpa_event_type type = rows[i].type;
		struct end e;

		o.no_crc = true;
		o.rtr = rows[i].rtr;
		end_init(&e, &o);
		end_establish(&e, rows[i].request);
		e.event_cnt = 0;
		end_feed_hex(&e, rows[i].fpdu);
		assert_row(rows[i].name, !smpa_conn_tx_is_held(e.conn));
		assert_row(rows[i].name, type == SMPA_EV_NONE
						 ? e.event_cnt == 0
						 : end_count(&e, type) == 1);
		end_fini(&e);
	}
}

/* CRC in use, long FPDUs: about one read each, and little copying. */
CASE(collects_long_fpdus_with_few_reads)
{
	struct smpa_options a = test_options(SMPA_INITIATOR);
	struct smpa_options b = test_options(SMPA_RESPONDER);
	uint8_t *buf = malloc(2u << 20);
	struct iovec v = { buf, 2u << 20 };
	struct smpa_msg msg = {
		.opcode = SMPA_OP_WRITE, .iov = &v, .iovcnt = 1, .len = 2u << 20
	};
	size_t calls;
	struct pair p;

	assert_non_null(buf);
	test_fill(buf, 2u << 20, 1);
	a.mulpdu = SMPA_MULPDU_MAX;
	pair_init(&p, &a, &b);
	pair_start(&p);
	calls = p.b.read_calls;
	assert_int_equal(end_submit(&p.a, &msg), 0);
	pair_run(&p);
	assert_memory_equal(p.b.mem, buf, 2u << 20);
	assert_in_range(p.b.read_calls - calls, 1, 40); /* 33 FPDUs */
	free(buf);
	pair_fini(&p);
}

/* ... and of short ones as many at once as arrive. */
CASE(reads_many_short_fpdus_at_once)
{
	static uint8_t fpdus[1u << 20];
	size_t len = 0, first;
	struct iovec iov;
	struct end e;

	while (len + 100 < sizeof(fpdus))
		len += plain_fpdu(fpdus + len, WRITE_HDR, 50);
	responder(&e, false);
	assert_int_equal(smpa_conn_rx_prepare(e.conn, &iov, 1), 1);
	first = iov.iov_len;
	end_feed(&e, fpdus, len);
	assert_int_equal(smpa_conn_rx_prepare(e.conn, &iov, 1), 1);
	assert_true(iov.iov_len >= 4 * first);
	end_fini(&e);
}

/* Also within an FPDU: a wrong CRC is a fault, unless it has been dropped. */
CASE(checks_no_crc_that_was_dropped)
{
	struct smpa_options o = test_options(SMPA_RESPONDER);
	uint8_t fpdu[256];
	size_t len = plain_fpdu(fpdu, WRITE_HDR, 100);
	struct smpa_conn *c;
	struct end e;

	assert_int_equal(smpa_conn_new(&c, &o), 0);
	assert_int_equal(smpa_conn_rx_drop_crc(c), -EINVAL);
	smpa_conn_free(c);
	for (int is_dropped = 0; is_dropped < 2; is_dropped++) {
		for (size_t at = 0; at < len; at++) {
			responder(&e, true);
			end_feed(&e, fpdu, at);
			if (is_dropped)
				assert_int_equal(smpa_conn_rx_drop_crc(e.conn),
						 0);
			end_feed(&e, fpdu + at, len - at);
			assert_int_equal(end_count(&e, SMPA_EV_MESSAGE),
					 is_dropped);
			assert_int_equal(end_count(&e, SMPA_EV_FAULT),
					 !is_dropped);
			end_fini(&e);
		}
	}
}

/* The other direction keeps its CRC. */
CASE(computes_no_crc_that_was_dropped)
{
	struct smpa_msg msg = { .opcode = SMPA_OP_WRITE, .stag = 1 };
	struct smpa_options o = test_options(SMPA_RESPONDER);
	uint8_t bad[256];
	size_t len = plain_fpdu(bad, WRITE_HDR, 100);
	struct smpa_conn *c;
	struct end e;

	assert_int_equal(smpa_conn_new(&c, &o), 0);
	assert_int_equal(smpa_conn_tx_drop_crc(c), -EINVAL);
	smpa_conn_free(c);
	responder(&e, true);
	assert_int_equal(smpa_conn_tx_drop_crc(e.conn), 0);
	(void)end_drain(&e);
	e.out_pos = e.out_end;
	assert_int_equal(end_submit(&e, &msg), 0);
	(void)end_drain(&e);
	assert_true(e.out_end >= 4);
	assert_memory_equal(e.out + e.out_end - 4, "\0\0\0\0", 4);
	end_feed(&e, bad, len);
	assert_int_equal(end_count(&e, SMPA_EV_FAULT), 1);
	end_fini(&e);
}

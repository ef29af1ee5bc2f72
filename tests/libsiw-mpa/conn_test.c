/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The life of a connection: options, start, accept, reject, RTR, held sends,
 * end.
 */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "siw-mpa.h"

/* ---- options ---- */

struct counting {
	int left, allocs, frees;
	size_t size;
};

static void *counting_alloc(void *ctx, size_t size)
{
	struct counting *cnt = ctx;

	if (cnt->left-- <= 0)
		return NULL;
	cnt->allocs++;
	cnt->size = size;
	return malloc(size);
}

static void counting_free(void *ctx, void *ptr)
{
	struct counting *cnt = ctx;

	cnt->frees++;
	free(ptr);
}

CASE(refuses_options_out_of_range)
{
	struct smpa_options good = test_options(SMPA_INITIATOR);
	struct smpa_options o;
	struct smpa_conn *c = NULL;

#define refuse(field, value)                                                   \
	do {                                                                   \
		o = good;                                                      \
		o.field = (value);                                             \
		assert_int_equal(smpa_conn_new(&c, &o), -EINVAL);              \
		assert_null(c);                                                \
	} while (0)
	refuse(role, (enum smpa_role)2);
	refuse(rev, 3);
	refuse(ird, 0x4000);
	refuse(ord, 0x4000);
	refuse(rtr, 8);
	refuse(rev0, 2);
	refuse(free, counting_free);
	refuse(size, 4);
#undef refuse
	assert_int_equal(smpa_conn_new(&c, &good), 0);
	smpa_conn_free(c);
	smpa_conn_free(NULL);
}

CASE(takes_options_of_other_sizes)
{
	struct {
		struct smpa_options o;
		uint64_t more;
	} longer = { .o = test_options(SMPA_RESPONDER) };
	struct smpa_conn *c = NULL;

	longer.o.size = sizeof(longer);
	assert_int_equal(smpa_conn_new(&c, &longer.o), 0);
	smpa_conn_free(c);
	c = NULL;
	longer.more = 1;
	assert_int_equal(smpa_conn_new(&c, &longer.o), -E2BIG);
	assert_null(c);
	longer.o.size = offsetof(struct smpa_options, rev);
	longer.o.rev = 77; /* beyond the end */
	assert_int_equal(smpa_conn_new(&c, &longer.o), 0);
	smpa_conn_free(c);
}

CASE(allocates_once_and_may_fail)
{
	struct counting cnt = { 0 };
	struct smpa_options o = test_options(SMPA_INITIATOR);
	struct smpa_conn *c = NULL;

	o.alloc = counting_alloc;
	o.free = counting_free;
	o.mem_ctx = &cnt;
	assert_int_equal(smpa_conn_new(&c, &o), -ENOMEM);
	assert_null(c);
	assert_int_equal(cnt.frees, 0);
	cnt.left = 1;
	assert_int_equal(smpa_conn_new(&c, &o), 0);
	assert_true(cnt.size <= 2048);
	smpa_conn_free(c);
	assert_int_equal(cnt.allocs, 1);
	assert_int_equal(cnt.frees, 1);
}

/* ---- start ---- */

CASE(starts_once_and_with_staging_only)
{
	struct smpa_options o = test_options(SMPA_INITIATOR);
	uint8_t pd[SMPA_PD_MAX] = { 0 };
	_Alignas(16) uint8_t staging[SMPA_START_STAGING_MIN];
	struct smpa_conn *c;

	assert_int_equal(smpa_conn_new(&c, &o), 0);
	assert_int_equal(smpa_conn_start(c, NULL, 0), -ENOBUFS);
	assert_int_equal(smpa_conn_tx_lend(c, staging, 100), -EINVAL);
	assert_int_equal(smpa_conn_tx_lend(c, staging + 8, sizeof(staging)),
			 -EINVAL);
	assert_int_equal(smpa_conn_tx_lend(c, staging, sizeof(staging)), 0);
	assert_int_equal(smpa_conn_start(c, pd, 509), -EMSGSIZE);
	assert_int_equal(smpa_conn_start(c, pd, 508), 0);
	assert_int_equal(smpa_conn_start(c, pd, 508), -EINVAL);
	assert_int_equal(smpa_conn_tx_lend(c, NULL, 0), -EBUSY);
	assert_int_equal(smpa_conn_tx_pending(c), 20 + 512);
	smpa_conn_free(c);

	o.rev = 1;
	assert_int_equal(smpa_conn_new(&c, &o), 0);
	assert_int_equal(smpa_conn_tx_lend(c, staging, sizeof(staging)), 0);
	assert_int_equal(smpa_conn_start(c, pd, 512), 0);
	smpa_conn_free(c);
}

CASE(refuses_calls_out_of_turn)
{
	struct smpa_msg msg = { .opcode = SMPA_OP_SEND };
	struct smpa_options o = test_options(SMPA_RESPONDER);
	struct smpa_event ev;
	struct end e;

	end_init(&e, &o);
	assert_int_equal(smpa_conn_accept(e.conn, NULL, 0, 1, 1), -EINVAL);
	assert_int_equal(smpa_conn_reject(e.conn, NULL, 0), -EINVAL);
	assert_int_equal(smpa_conn_submit(e.conn, &msg), -EPIPE);
	assert_int_equal(smpa_conn_sink(e.conn, NULL, 0), -EINVAL);
	assert_int_equal(smpa_conn_next_event(e.conn, &ev), 0);
	assert_int_equal(smpa_conn_start(e.conn, "x", 1), -EINVAL);
	smpa_conn_refuse(e.conn, SMPA_FAULT(0, 2, 7));
	smpa_conn_terminate(e.conn, SMPA_FAULT(0, 2, 7));
	assert_int_equal(smpa_conn_tx_pending(e.conn), 0);
	end_establish(&e, PEER_REQUEST);
	assert_int_equal(smpa_conn_accept(e.conn, NULL, 0, 1, 1), -EINVAL);
	end_fini(&e);
}

/* T-40, T-41, U-15 */
CASE(carries_private_data_both_ways)
{
	struct smpa_options a = test_options(SMPA_INITIATOR);
	struct smpa_options b = test_options(SMPA_RESPONDER);
	static const size_t lens[] = { 0, 1, 255, 256, 507, 508 };

	for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
		struct pair p;

		pair_init(&p, &a, &b);
		p.a.rx_cut = (struct end_cut){ i, 7 };
		p.b.rx_cut = (struct end_cut){ i, 1 };
		p.a.pd_len = lens[i];
		p.b.pd_len = lens[ARRAY_LEN(lens) - 1 - i];
		test_fill(p.a.pd, p.a.pd_len, 1);
		test_fill(p.b.pd, p.b.pd_len, 2);
		pair_start(&p);
		assert_int_equal(p.b.events[0].ev.type, SMPA_EV_REQUEST);
		assert_int_equal(p.b.events[0].ev.start.pd_len, p.a.pd_len);
		assert_memory_equal(p.b.events[0].pd, p.a.pd, SMPA_PD_MAX);
		assert_int_equal(p.a.events[0].ev.type, SMPA_EV_ESTABLISHED);
		assert_int_equal(p.a.events[0].ev.start.pd_len, p.b.pd_len);
		assert_memory_equal(p.a.events[0].pd, p.b.pd, SMPA_PD_MAX);
		pair_fini(&p);
	}
}

CASE(never_reads_beyond_the_start_frame)
{
	struct smpa_options o = test_options(SMPA_RESPONDER);
	uint8_t frame[64];
	size_t len = test_unhex("4d504120494420526571204672616d65400100056865"
				"6c6c6f",
				frame, sizeof(frame));
	struct iovec iov[SMPA_IOV_MAX + 1];
	struct smpa_event ev;
	struct end e;
	size_t at = 0;

	end_init(&e, &o);
	assert_int_equal(smpa_conn_start(e.conn, NULL, 0), 0);
	while (at < len) {
		size_t room;

		assert_int_equal(smpa_conn_rx_prepare(e.conn, iov, 33), 1);
		room = iov[0].iov_len;
		assert_int_equal(room, at < 20 ? 20 - at : len - at);
		*(uint8_t *)iov[0].iov_base = frame[at++];
		assert_int_equal(smpa_conn_rx_commit(e.conn, room + 1),
				 -EINVAL);
		assert_int_equal(smpa_conn_rx_commit(e.conn, 0), -EINVAL);
		assert_int_equal(smpa_conn_rx_commit(e.conn, 1), 0);
		assert_int_equal(smpa_conn_next_event(e.conn, &ev), at == len);
	}
	assert_int_equal(ev.type, SMPA_EV_REQUEST);
	assert_int_equal(ev.start.pd_len, 5);
	assert_memory_equal(ev.start.pd, "hello", 5);
	assert_int_equal(smpa_conn_rx_prepare(e.conn, iov, 33), 0);
	assert_false(smpa_conn_rx_is_idle(e.conn));
	end_fini(&e);
}

/* T-52 */
CASE(reports_a_rejection)
{
	struct smpa_options a = test_options(SMPA_INITIATOR);
	struct smpa_options b = test_options(SMPA_RESPONDER);
	struct smpa_msg msg = { .opcode = SMPA_OP_SEND };
	struct pair p;

	b.ord = 32;
	pair_init(&p, &a, &b);
	p.b.is_rejecting = true;
	p.b.pd_len = 2;
	memcpy(p.b.pd, "no", 2);
	pair_start(&p);
	assert_int_equal(p.a.event_cnt, 1);
	assert_int_equal(p.a.events[0].ev.type, SMPA_EV_REJECTED);
	assert_int_equal(p.a.events[0].ev.start.pd_len, 2);
	assert_memory_equal(p.a.events[0].pd, "no", 2);
	assert_int_equal(p.a.events[0].ev.start.ord, 32); /* MPA2-14 */
	assert_int_equal(smpa_conn_submit(p.a.conn, &msg), -EPIPE);
	assert_int_equal(smpa_conn_submit(p.b.conn, &msg), -EPIPE);
	end_feed_eof(&p.b);
	assert_int_equal(end_count(&p.b, SMPA_EV_CLOSED), 1);
	pair_fini(&p);
}

/* An invalid Request, and what the peer receives in answer. */
static const struct {
	const char *name, *hex;
	uint8_t rev;
	const char *reply;
} bad_requests[] = {
	{ "another protocol", "474554202f20485454502f312e300d0a", 2, "" },
	{ "a Reply", PEER_REPLY, 2, "" },
	{ "PD_Length 513", "4d504120494420526571204672616d6540010201", 2, "" },
	{ "Rev 0", "4d504120494420526571204672616d65c0000000", 2,
	  "4d504120494420526570204672616d6560020000" },
	{ "Rev 3", "4d504120494420526571204672616d6540030000", 2,
	  "4d504120494420526570204672616d6560020000" },
	{ "Rev 255", "4d504120494420526571204672616d6540ff0000", 1,
	  "4d504120494420526570204672616d6560010000" },
	{ "MPA2-9: enhanced, to revision 1",
	  "4d504120494420526571204672616d65500200048008c008", 1, "" },
	{ "Rev 2 without S, to revision 1",
	  "4d504120494420526571204672616d6540020000", 1,
	  "4d504120494420526570204672616d6560010000" },
};

/* T-42, T-44, T-46, T-47 */
CASE(fails_on_bad_requests)
{
	for (size_t i = 0; i < ARRAY_LEN(bad_requests); i++) {
		struct smpa_options o = test_options(SMPA_RESPONDER);
		const char *name = bad_requests[i].name;
		uint8_t want[64];
		size_t len =
			test_unhex(bad_requests[i].reply, want, sizeof(want));
		const struct smpa_event *ev;
		struct end e;

		o.rev = bad_requests[i].rev;
		end_init(&e, &o);
		assert_int_equal(smpa_conn_start(e.conn, NULL, 0), 0);
		end_feed_hex(&e, bad_requests[i].hex);
		assert_row(name, e.event_cnt == 1);
		ev = end_event(&e, SMPA_EV_FAULT, 0);
		assert_row(name,
			   ev && ev->fault.fault.value == SMPA_F_MPA_START);
		assert_row(name, !ev->fault.has_terminate);
		end_drain(&e);
		assert_row(name, e.out_end == len &&
					 (!len || !memcmp(e.out, want, len)));
		end_fini(&e);
	}
}

/* EOF at each octet of a start frame: code 1 (T-58). */
CASE(fails_on_eof_inside_a_start_frame)
{
	uint8_t frame[32];
	size_t len = test_unhex(PEER_REPLY, frame, sizeof(frame));

	for (size_t cut = 0; cut < len; cut++) {
		struct smpa_options o = test_options(SMPA_INITIATOR);
		const struct smpa_event *ev;
		struct end e;

		o.rev = 1;
		end_init(&e, &o);
		assert_int_equal(smpa_conn_start(e.conn, NULL, 0), 0);
		end_drain(&e);
		end_feed(&e, frame, cut);
		end_feed_eof(&e);
		assert_int_equal(e.event_cnt, 1);
		ev = end_event(&e, SMPA_EV_FAULT, 0);
		assert_non_null(ev);
		assert_int_equal(ev->fault.fault.value, SMPA_F_MPA_CLOSED);
		assert_int_equal(ev->fault.is_truncated, cut > 0);
		end_fini(&e);
	}
}

/* ---- RTR, held sends ---- */

/*
 * U-16. For each pair of masks: the RTR is the first FPDU and is not reported.
 * Then either side sends, with the MSN after that of the RTR.
 */
CASE(sends_the_rtr_first_and_unseen)
{
	static const char *const fpdu[] = {
		[SMPA_RTR_SEND] =
			"0012414300000000000000000000000100000000587be8c4",
		[SMPA_RTR_WRITE] = PEER_EMPTY_WRITE,
		[SMPA_RTR_READ] =
			"002e4141000000000000000100000001000000000000000100000"
			"000000000000000000000000001000000000000000027dbd7e7",
	};
	static const char *const answer[] = {
		[SMPA_RTR_READ] = "000ec14200000001000000000000000021a3e83e",
	};

	for (uint8_t a_rtr = 1; a_rtr < 8; a_rtr++) {
		for (uint8_t b_rtr = 1; b_rtr < 8; b_rtr++) {
			struct smpa_options a = test_options(SMPA_INITIATOR);
			struct smpa_options b = test_options(SMPA_RESPONDER);
			uint8_t both = a_rtr & b_rtr;
			uint8_t kind = both & SMPA_RTR_WRITE  ? SMPA_RTR_WRITE
				       : both & SMPA_RTR_READ ? SMPA_RTR_READ
							      : SMPA_RTR_SEND;
			struct smpa_msg msg = { .opcode = SMPA_OP_SEND };
			uint8_t want[64];
			size_t len, start = 24;
			struct pair p;

			if (!both)
				continue;
			a.rtr = a_rtr;
			b.rtr = b_rtr;
			pair_init(&p, &a, &b);
			p.is_recording = true;
			pair_start(&p);
			len = test_unhex(fpdu[kind], want, sizeof(want));
			assert_int_equal(p.wire_a_len, start + len);
			assert_memory_equal(p.wire_a + start, want, len);
			len = kind == SMPA_RTR_READ
				      ? test_unhex(answer[kind], want,
						   sizeof(want))
				      : 0;
			assert_int_equal(p.wire_b_len, start + len);
			if (len)
				assert_memory_equal(p.wire_b + start, want,
						    len);
			assert_int_equal(p.a.event_cnt, 1);
			assert_int_equal(p.b.event_cnt, 2);
			assert_true(p.a.events[0].ev.start.is_peer_to_peer);
			assert_true(p.b.events[1].ev.start.is_peer_to_peer);
			assert_false(smpa_conn_tx_is_held(p.b.conn));

			assert_int_equal(end_submit(&p.b, &msg), 0);
			assert_int_equal(end_submit(&p.a, &msg), 0);
			pair_run(&p);
			assert_int_equal(
				end_event(&p.a, SMPA_EV_MESSAGE, 0)->msg.msn,
				1);
			assert_int_equal(
				end_event(&p.b, SMPA_EV_MESSAGE, 0)->msg.msn,
				kind == SMPA_RTR_SEND ? 2 : 1);
			pair_fini(&p);
		}
	}
}

/* U-16, X-9 */
CASE(terminates_without_a_common_rtr)
{
	static const char term[] =
		"0016414700000000000000020000000100000000200700001bd2babe";
	struct smpa_options a = test_options(SMPA_INITIATOR);
	struct smpa_options b = test_options(SMPA_RESPONDER);
	const struct smpa_event *ev;
	uint8_t want[32];
	struct pair p;

	a.rtr = SMPA_RTR_SEND;
	b.rtr = SMPA_RTR_READ;
	pair_init(&p, &a, &b);
	p.is_recording = true;
	pair_start(&p);
	assert_int_equal(end_count(&p.a, SMPA_EV_ESTABLISHED), 0);
	ev = end_event(&p.a, SMPA_EV_FAULT, 0);
	assert_non_null(ev);
	assert_int_equal(ev->fault.fault.value, SMPA_F_MPA_RTR);
	assert_true(ev->fault.has_terminate);
	test_unhex(term, want, sizeof(want)); /* */
	assert_int_equal(p.wire_a_len, 24 + 28);
	assert_memory_equal(p.wire_a + 24, want, 28);
	ev = end_event(&p.b, SMPA_EV_TERMINATE, 0);
	assert_non_null(ev);
	assert_int_equal(ev->term.fault.value, SMPA_F_MPA_RTR);
	pair_fini(&p);
}

/* D-22: the owner cannot provide the IRD that the Reply asks for. */
CASE(terminates_in_place_of_the_rtr)
{
	struct smpa_options a = test_options(SMPA_INITIATOR);
	uint8_t want[32];
	struct end e;

	a.rtr = SMPA_RTR_WRITE;
	end_init(&e, &a);
	assert_int_equal(smpa_conn_start(e.conn, NULL, 0), 0);
	end_drain(&e);
	e.out_end = 0;
	end_feed_hex(&e, "4d504120494420526570204672616d655002000480088040");
	assert_int_equal(end_event(&e, SMPA_EV_ESTABLISHED, 0)->start.ird, 64);
	smpa_conn_terminate(e.conn, (struct smpa_fault){ SMPA_F_MPA_IRD });
	end_drain(&e);
	test_unhex("0016414700000000000000020000000100000000200600006540fb1b",
		   want, sizeof(want));
	assert_int_equal(e.out_end, 28);
	assert_memory_equal(e.out, want, 28);
	end_fini(&e);

	/* The engine itself refuses what exceeds the maximum (MPA2-16). */
	for (uint16_t most = 63; most <= 64; most++) {
		a.ird_max = most;
		end_init(&e, &a);
		assert_int_equal(smpa_conn_start(e.conn, NULL, 0), 0);
		end_drain(&e);
		e.out_end = 0;
		end_feed_hex(&e, "4d504120494420526570204672616d65"
				 "5002000480088040");
		end_drain(&e);
		assert_int_equal(end_count(&e, SMPA_EV_ESTABLISHED),
				 most == 64);
		assert_int_equal(end_count(&e, SMPA_EV_FAULT), most == 63);
		if (most == 63) {
			assert_int_equal(e.out_end, 28);
			assert_memory_equal(e.out, want, 28);
		}
		end_fini(&e);
	}
}

/* D-15: the answer is one segment without octets. */
CASE(faults_on_a_wrong_answer_to_the_rtr)
{
	static const char reply[] = /* only D was offered */
		"4d504120494420526570204672616d655002000480084008";
	static const struct {
		const char *name, *hex;
	} answers[] = {
		{ "X-3, with payload",
		  "001ec142010203040000000000001000000102030405060708090a0b"
		  "0c0d0e0f499ac02b" },
		{ "X-14, not the last segment",
		  "000e81420000000100000000000000008430a773" },
	};

	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		struct smpa_options o = test_options(SMPA_INITIATOR);
		const struct smpa_event *ev;
		struct end e;

		o.rtr = SMPA_RTR_READ;
		end_init(&e, &o);
		end_establish(&e, reply);
		end_feed_hex(&e, answers[i].hex);
		ev = end_event(&e, SMPA_EV_FAULT, 0);
		assert_row(answers[i].name, ev != NULL);
		assert_row(answers[i].name,
			   ev->fault.fault.value == SMPA_F_DDP_T_BOUNDS);
		assert_row(answers[i].name, ev->fault.has_terminate);
		end_fini(&e);
	}
}

/* D-26: a Read RTR is one of the ORD Reads until it is answered. */
CASE(counts_the_read_rtr_against_ord)
{
	static const char answer[] = "000ec14200000001000000000000000021a3e83e";

	for (uint16_t ord = 0; ord < 4; ord++) {
		struct smpa_options o = test_options(SMPA_INITIATOR);
		struct smpa_msg read = { .opcode = SMPA_OP_READ_REQUEST };
		struct smpa_msg atomic = { .opcode = SMPA_OP_ATOMIC_REQUEST };
		struct smpa_msg send = { .opcode = SMPA_OP_SEND };
		struct end e;

		o.rtr = SMPA_RTR_READ;
		o.ord = ord;
		end_init(&e, &o);
		/* D, IRD 8, ORD 8 */
		end_establish(&e, "4d504120494420526570204672616d65"
				  "5002000480084008");
		for (uint16_t i = 1; i < ord; i++)
			assert_int_equal(
				smpa_conn_submit(e.conn,
						 i == 1 ? &atomic : &read),
				0);
		assert_int_equal(smpa_conn_submit(e.conn, &read), -EAGAIN);
		assert_int_equal(smpa_conn_submit(e.conn, &atomic), -EAGAIN);
		assert_int_equal(smpa_conn_submit(e.conn, &send), 0);
		end_feed_hex(&e, answer);
		assert_int_equal(smpa_conn_submit(e.conn, &read), 0);
		assert_int_equal(end_count(&e, SMPA_EV_FAULT), 0);
		end_fini(&e);
	}
}

/* T-55 */
CASE(keeps_the_responder_silent)
{
	struct smpa_options o = test_options(SMPA_RESPONDER);
	struct iovec v = { (char[]){ "ping" }, 4 };
	struct smpa_msg msg = {
		.opcode = SMPA_OP_SEND, .iov = &v, .iovcnt = 1, .len = 4
	};
	const struct iovec *iov;
	struct end e;

	end_init(&e, &o);
	assert_int_equal(smpa_conn_start(e.conn, NULL, 0), 0);
	end_feed_hex(&e, PEER_REQUEST);
	/* The Reply is not sent yet. It is sent, and the FPDU after it is
	 * held. */
	assert_int_equal(smpa_conn_submit(e.conn, &msg), 0);
	assert_true(smpa_conn_tx_is_held(e.conn));
	assert_int_equal(smpa_conn_tx_prepare(e.conn, &iov), 1);
	assert_int_equal(iov[0].iov_len, 20);
	assert_int_equal(smpa_conn_tx_commit(e.conn, 21), -EINVAL);
	assert_int_equal(smpa_conn_tx_commit(e.conn, 7), 0);
	assert_int_equal(smpa_conn_tx_prepare(e.conn, &iov), 1);
	assert_int_equal(iov[0].iov_len, 13);
	assert_int_equal(smpa_conn_tx_commit(e.conn, 13), 0);
	assert_int_equal(smpa_conn_tx_prepare(e.conn, &iov), 0);
	assert_int_equal(smpa_conn_tx_pending(e.conn), 28);
	assert_false(smpa_conn_tx_is_idle(e.conn));
	end_feed_hex(&e, PEER_EMPTY_WRITE);
	assert_false(smpa_conn_tx_is_held(e.conn));
	assert_int_equal(smpa_conn_tx_prepare(e.conn, &iov), 1);
	assert_int_equal(iov[0].iov_len, 28);
	end_fini(&e);
}

/* T-56, C-17: the first FPDU is bad, so nothing may be sent, not even a
 * TERMINATE. */
CASE(stays_silent_after_a_bad_first_fpdu)
{
	struct smpa_options o = test_options(SMPA_RESPONDER);
	struct end e;

	end_init(&e, &o);
	end_establish(&e, PEER_REQUEST);
	end_feed_hex(&e, "000ec140000000010000000000000000ebd34c5e");
	assert_int_equal(end_event(&e, SMPA_EV_FAULT, 0)->fault.fault.value,
			 SMPA_F_MPA_CRC);
	assert_false(end_event(&e, SMPA_EV_FAULT, 0)->fault.has_terminate);
	smpa_conn_terminate(e.conn, SMPA_FAULT(2, 0, 5));
	end_drain(&e);
	assert_int_equal(e.out_end, 0);
	assert_int_equal(smpa_conn_tx_pending(e.conn), 0);
	end_fini(&e);
}

/* ---- end ---- */

CASE(terminates_once_and_drops_the_rest)
{
	static uint8_t big[400000];
	static const char term[] = "0016414700000000000000020000000100000000";
	struct smpa_options o = test_options(SMPA_INITIATOR);
	struct iovec v = { big, sizeof(big) };
	struct smpa_msg msg = { .opcode = SMPA_OP_WRITE,
				.iov = &v,
				.iovcnt = 1,
				.len = sizeof(big) };
	uint8_t want[32];
	size_t len = test_unhex(term, want, sizeof(want));
	struct end e;

	o.rev = 1;
	end_init(&e, &o);
	end_establish(&e, PEER_REPLY);
	assert_int_equal(smpa_conn_submit(e.conn, &msg), 0);
	assert_int_equal(smpa_conn_submit(e.conn, &msg), -EAGAIN);
	smpa_conn_terminate(e.conn, SMPA_FAULT(0, 2, 7));
	smpa_conn_terminate(e.conn, SMPA_FAULT(0, 2, 8));
	assert_int_equal(smpa_conn_submit(e.conn, &msg), -EPIPE);
	end_drain(&e);
	end_pull(&e);
	assert_int_equal(end_count(&e, SMPA_EV_SENT), 0);
	assert_true(e.out_end < sizeof(big));
	assert_memory_equal(e.out + e.out_end - 28, want, len);
	assert_int_equal(e.out[e.out_end - 28 + 20], 0x02);
	assert_int_equal(e.out[e.out_end - 28 + 21], 0x07);
	assert_true(smpa_conn_tx_is_idle(e.conn));
	assert_false(smpa_conn_uses(e.conn, big, sizeof(big)));
	end_fini(&e);
}

/* A TERMINATE up to its CRC, with the Read Request as it is after @done octets
 * were answered. */
static void copied_read_request(const struct smpa_event *read, uint32_t done,
				uint8_t want[72])
{
	assert_int_equal(test_unhex("004641470000000000000002000000010000000001"
				    "00e000002e4141000000000000000100000009"
				    "00000000010203040000000000001000000493e0"
				    "deadbeef0000000000002000",
				    want, 72),
			 72);
	for (int at = 0; at < 4; at++) {
		int shift = 24 - 8 * at;

		want[44 + 8 + at] =
			(uint8_t)((read->read.sink_to + done) >> shift);
		want[44 + 12 + at] =
			(uint8_t)((read->read.len - done) >> shift);
		want[44 + 24 + at] =
			(uint8_t)((read->read.src_to + done) >> shift);
	}
}

/* U-14, RDMAP-68: the source of a Read becomes unreadable in the middle. */
CASE(advances_the_copied_read_request)
{
	static uint8_t src[300000];
	static const struct {
		const char *name;
		bool is_submitted, is_other;
	} rows[] = {
		{ "not begun", false, false },
		{ "half-way", true, false },
		{ "another's response half-way", true, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct smpa_options o = test_options(SMPA_INITIATOR);
		struct iovec v = { src, sizeof(src) };
		struct smpa_msg msg = { .opcode = SMPA_OP_READ_RESPONSE,
					.iov = &v,
					.iovcnt = 1,
					.len = sizeof(src),
					.stag = 0x01020304,
					.to = 0x1000,
					.quiet = true };
		struct smpa_event read = { .type = SMPA_EV_READ };
		uint8_t want[96], *term;
		uint32_t done = 0;
		struct end e;

		read.read.sink_stag = 0x01020304;
		read.read.sink_to = 0x1000 + rows[i].is_other;
		read.read.len = sizeof(src);
		read.read.src_stag = 0xdeadbeef;
		read.read.src_to = 0x2000;
		read.read.msn = 9;
		o.rev = 1;
		o.mulpdu = 1014; /* 1000 octets of payload each */
		end_init(&e, &o);
		end_establish(&e, PEER_REPLY);
		if (rows[i].is_submitted) {
			assert_int_equal(smpa_conn_submit(e.conn, &msg), 0);
			done = (uint32_t)(smpa_conn_counters(e.conn)->tx_fpdu *
					  1000);
			assert_row(rows[i].name,
				   done > 0 && done < sizeof(src));
		}
		smpa_conn_refuse_read(e.conn, &read,
				      (struct smpa_fault){ SMPA_F_RDMAP_STAG });
		/* only once */
		smpa_conn_refuse_read(e.conn, &read,
				      (struct smpa_fault){ SMPA_F_RDMAP_PROT });
		assert_row(rows[i].name,
			   smpa_conn_submit(e.conn, &msg) == -EPIPE);
		end_drain(&e);
		/* what was encoded, then the TERMINATE, and nothing else */
		assert_row(rows[i].name, e.out_end == done / 1000 * 1020 + 76);
		term = e.out + e.out_end - 76;
		if (rows[i].is_other)
			done = 0;
		copied_read_request(&read, done, want);
		assert_memory_equal(term, want, 72);
		assert_false(smpa_conn_uses(e.conn, src, sizeof(src)));
		end_fini(&e);
	}
}

/* A Send that was accepted, held, and then found no receive (D-11). */
CASE(names_the_segment_that_was_kept)
{
	static const struct {
		const char *name;
		bool is_last, has_peer_closed;
	} rows[] = {
		{ "the last one", true, false },
		{ "one of many", false, false },
		{ "after the peer's FIN", true, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct smpa_options o = test_options(SMPA_INITIATOR);
		struct smpa_event kept = { .type = SMPA_EV_SEGMENT };
		struct smpa_msg msg = { .opcode = SMPA_OP_SEND };
		uint8_t want[64];
		struct end e;

		kept.seg.opcode = SMPA_OP_SEND_INV;
		kept.seg.is_last = rows[i].is_last;
		kept.seg.inv_stag = 0xdeadbeef;
		kept.seg.msn = 9;
		kept.seg.mo = 5;
		kept.seg.len = 100;
		o.rev = 1;
		end_init(&e, &o);
		end_establish(&e, PEER_REPLY);
		if (rows[i].has_peer_closed) {
			smpa_conn_rx_eof(e.conn);
			end_pull(&e);
			assert_int_equal(end_count(&e, SMPA_EV_CLOSED), 1);
		}
		smpa_conn_refuse_segment(
			e.conn, &kept,
			(struct smpa_fault){ SMPA_F_DDP_U_NO_BUFFER });
		/* only once */
		smpa_conn_refuse_segment(
			e.conn, &kept,
			(struct smpa_fault){ SMPA_F_DDP_U_TOO_LONG });
		assert_row(rows[i].name,
			   smpa_conn_submit(e.conn, &msg) == -EPIPE);
		end_drain(&e);
		assert_row(rows[i].name, e.out_end == 48);
		assert_int_equal(
			test_unhex("002a41470000000000000002000000010000000012"
				   "02c00000764144deadbeef000000000000000900"
				   "000005",
				   want, sizeof(want)),
			44);
		want[26] = rows[i].is_last ? 0x41 : 0x01;
		assert_memory_equal(e.out, want, 44);
		end_fini(&e);
	}
}

CASE(discards_input_after_its_own_terminate)
{
	struct smpa_options o = test_options(SMPA_RESPONDER);
	size_t events;
	struct end e;

	end_init(&e, &o);
	end_establish(&e, PEER_REQUEST);
	end_feed_hex(&e, PEER_EMPTY_WRITE);
	smpa_conn_terminate(e.conn, SMPA_FAULT(0, 2, 7));
	events = e.event_cnt;
	for (int i = 0; i < 1000; i++)
		end_feed_hex(&e, PEER_EMPTY_WRITE);
	assert_int_equal(e.event_cnt, events);
	assert_true(smpa_conn_rx_is_idle(e.conn));
	end_fini(&e);
}

/* What the owner still submits goes first, then the TERMINATE. */
CASE(a_refusal_that_follows_lets_answers_go_first)
{
	struct smpa_options o = test_options(SMPA_RESPONDER);
	struct smpa_msg msg = { .opcode = SMPA_OP_SEND };
	size_t events, sent;
	struct end e;

	end_init(&e, &o);
	end_establish(&e, PEER_REQUEST);
	end_feed_hex(&e, PEER_EMPTY_WRITE);
	smpa_conn_refuse_later(e.conn);
	smpa_conn_refuse_later(e.conn);
	events = e.event_cnt;
	end_feed_hex(&e, PEER_EMPTY_WRITE);
	assert_int_equal(e.event_cnt, events);
	end_drain(&e);
	e.out_end = 0;
	assert_int_equal(smpa_conn_submit(e.conn, &msg), 0);
	end_drain(&e);
	sent = e.out_end;
	assert_true(sent > 0);
	smpa_conn_refuse(e.conn, (struct smpa_fault){ SMPA_F_DDP_T_STAG });
	/* only once */
	smpa_conn_refuse(e.conn, (struct smpa_fault){ SMPA_F_DDP_T_WRAP });
	assert_int_equal(smpa_conn_submit(e.conn, &msg), -EPIPE);
	end_drain(&e);
	/* TERMINATE with the header of the Write */
	assert_int_equal(e.out_end, sent + 44);
	assert_int_equal(e.out[sent + 20], SMPA_F_DDP_T_STAG >> 8);
	assert_int_equal(e.out[sent + 21], SMPA_F_DDP_T_STAG & 0xff);
	end_fini(&e);
}

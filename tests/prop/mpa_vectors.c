/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whole FPDUs through a connection in four ways: received, sent, every prefix,
 * every single-bit flip.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "pair.h"
#include "segments.h"

static void responder(struct end *e, const struct segment_vector *v)
{
	struct smpa_options o = test_options(SMPA_RESPONDER);

	end_init(e, &o);
	end_establish(e, PEER_REQUEST);
	/* so that faults can be answered and nothing is held */
	end_feed_hex(e, PEER_EMPTY_WRITE);
	if (v->before)
		end_feed_hex(e, v->before);
	e->event_cnt = 0;
	end_drain(e);
	e->out_end = 0;
}

static bool has_segment(const struct segment_vector *v)
{
	return v->type == SMPA_EV_MESSAGE &&
	       (v->payload || (v->msn && v->msg.opcode != SMPA_OP_WRITE));
}

static void check_message(const struct segment_vector *v,
			  const struct smpa_event *ev, uint32_t len)
{
	assert_row(v->name, ev->msg.opcode == v->msg.opcode);
	assert_row(v->name, ev->msg.len == len);
	assert_row(v->name, ev->msg.msn == v->msn);
	assert_row(v->name, !memcmp(ev->msg.imm, v->msg.imm, 8));
	if (v->msn == 0) {
		assert_row(v->name, ev->msg.stag == v->msg.stag);
		assert_row(v->name, ev->msg.to == v->msg.to);
	} else {
		assert_row(v->name, ev->msg.inv_stag == v->msg.stag);
	}
}

static void check_event(const struct segment_vector *v, const struct end *e,
			uint32_t len)
{
	const struct smpa_event *ev = end_event(e, v->type, 0);

	assert_row(v->name, ev);
	assert_row(v->name, e->event_cnt == 1u + (has_segment(v) ? 1u : 0u));
	switch (v->type) {
	case SMPA_EV_MESSAGE:
		check_message(v, ev, len);
		return;
	case SMPA_EV_READ:
		assert_row(v->name,
			   ev->read.sink_stag == v->msg.read.sink_stag &&
				   ev->read.sink_to == v->msg.read.sink_to &&
				   ev->read.len == v->msg.read.len &&
				   ev->read.src_stag == v->msg.read.src_stag &&
				   ev->read.src_to == v->msg.read.src_to &&
				   ev->read.msn == v->msn);
		return;
	case SMPA_EV_ATOMIC:
		assert_row(
			v->name,
			ev->atomic.op == v->msg.atomic.op &&
				ev->atomic.id == v->msg.atomic.id &&
				ev->atomic.stag == v->msg.atomic.stag &&
				ev->atomic.to == v->msg.atomic.to &&
				ev->atomic.add_swap == v->msg.atomic.add_swap &&
				ev->atomic.add_swap_mask ==
					v->msg.atomic.add_swap_mask &&
				ev->atomic.compare == v->msg.atomic.compare &&
				ev->atomic.compare_mask ==
					v->msg.atomic.compare_mask);
		return;
	case SMPA_EV_ATOMIC_DONE:
		assert_row(v->name, ev->atomic_done.id == v->msg.atomic.id &&
					    ev->atomic_done.value ==
						    v->msg.atomic.value);
		return;
	case SMPA_EV_TERMINATE:
		assert_row(v->name, ev->term.fault.value == v->fault);
		return;
	default:
		fail();
	}
}

/* U-1 */
CASE(receives_each)
{
	for (size_t i = 0; i < ARRAY_LEN(segment_vectors); i++) {
		const struct segment_vector *v = &segment_vectors[i];
		uint8_t payload[64];
		size_t len = test_unhex(v->payload ? v->payload : "", payload,
					sizeof(payload));
		struct end e;

		responder(&e, v);
		/* X-1's TO is far outside: accept it there */
		if (v->msg.to > END_MEM_SIZE) {
			e.refuse_type = SMPA_EV_SEGMENT;
			e.refuse_fault = SMPA_F_DDP_T_BOUNDS;
			end_feed_hex(&e, v->hex);
			assert_row(v->name,
				   e.event_cnt == 1 &&
					   e.events[0].ev.seg.to == v->msg.to &&
					   e.events[0].ev.seg.stag ==
						   v->msg.stag &&
					   e.events[0].ev.seg.len == len);
		} else {
			end_feed_hex(&e, v->hex);
			check_event(v, &e, (uint32_t)len);
			assert_row(v->name,
				   !memcmp(v->msn ? e.recv : e.mem + v->msg.to,
					   payload, len));
		}
		end_fini(&e);
	}
}

/* U-1 */
CASE(sends_each)
{
	for (size_t i = 0; i < ARRAY_LEN(segment_vectors); i++) {
		const struct segment_vector *v = &segment_vectors[i];
		struct smpa_options o = test_options(SMPA_INITIATOR);
		uint8_t payload[64], want[128];
		size_t len = test_unhex(v->hex, want, sizeof(want));
		struct iovec iov = { payload, 0 };
		struct smpa_msg msg = v->msg;
		struct end e;

		if (v->type == SMPA_EV_TERMINATE)
			continue;
		o.rev = 1;
		end_init(&e, &o);
		end_establish(&e, PEER_REPLY);
		if (v->before) {
			assert_int_equal(
				end_submit(&e, &segment_vectors[i - 1].msg), 0);
			end_drain(&e);
			e.out_end = 0;
		}
		if (v->payload) {
			iov.iov_len = test_unhex(v->payload, payload,
						 sizeof(payload));
			msg.iov = &iov;
			msg.iovcnt = 1;
			msg.len = (uint32_t)iov.iov_len;
		}
		assert_row(v->name, end_submit(&e, &msg) == 0);
		end_drain(&e);
		assert_row(v->name, e.out_end == len);
		assert_row(v->name, !memcmp(e.out, want, len));
		end_fini(&e);
	}
}

CASE(accepts_no_prefix)
{
	for (size_t i = 0; i < ARRAY_LEN(segment_vectors); i++) {
		const struct segment_vector *v = &segment_vectors[i];
		uint8_t buf[128];
		size_t len = test_unhex(v->hex, buf, sizeof(buf));

		for (size_t cut = 0; cut < len; cut++) {
			struct end e;

			responder(&e, v);
			end_feed(&e, buf, cut);
			assert_row(v->name, e.event_cnt == 0);
			end_feed_eof(&e);
			assert_row(v->name, e.event_cnt == 1);
			assert_row(v->name, e.events[0].ev.type ==
						    (cut ? SMPA_EV_FAULT
							 : SMPA_EV_CLOSED));
			end_fini(&e);
		}
	}
}

/* With a CRC a flipped bit causes a fault, and no event before it. */
CASE(delivers_no_flipped_bit)
{
	static const uint8_t zeros[70000];

	for (size_t i = 0; i < ARRAY_LEN(segment_vectors); i++) {
		const struct segment_vector *v = &segment_vectors[i];
		uint8_t buf[128];
		size_t len = test_unhex(v->hex, buf, sizeof(buf));

		for (size_t bit = 0; bit < 8 * len; bit++) {
			const struct smpa_event *ev;
			struct end e;

			responder(&e, v);
			buf[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
			end_feed(&e, buf, len);
			end_feed(&e, zeros, bit < 16 ? sizeof(zeros) : 0);
			buf[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
			assert_row(v->name, e.event_cnt == 1);
			ev = &e.events[0].ev;
			assert_row(v->name, ev->type == SMPA_EV_FAULT);
			assert_row(v->name,
				   ev->fault.fault.value == SMPA_F_MPA_CRC ||
					   (bit < 16 &&
					    ev->fault.fault.value ==
						    SMPA_F_MPA_MARKER));
			assert_row(v->name, ev->fault.has_terminate);
			end_fini(&e);
		}
	}
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Start frames in four ways, and tables of negotiation.
 */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "frames.h"
#include "pair.h"
#include "start-frame.h"

CASE(decodes_vectors)
{
	for (size_t i = 0; i < ARRAY_LEN(frame_vectors); i++) {
		const struct frame_vector *v = &frame_vectors[i];
		uint8_t buf[600], pd[512];
		size_t len = test_unhex(v->hex, buf, sizeof(buf));
		size_t pd_len = test_unhex(v->pd, pd, sizeof(pd));
		struct start_frame f, want = v->f;

		assert_row(v->name, start_frame_decode(buf, len, v->f.is_reply,
						       &f) == (int)len);
		assert_row(v->name,
			   f.pd_len == pd_len && !memcmp(f.pd, pd, pd_len));
		want.pd = f.pd;
		want.pd_len = f.pd_len;
		assert_row(v->name,
			   f.has_markers == want.has_markers &&
				   f.has_crc == want.has_crc &&
				   f.is_rejected == want.is_rejected &&
				   f.is_enhanced == want.is_enhanced &&
				   f.is_peer_to_peer == want.is_peer_to_peer &&
				   f.rtr == want.rtr && f.rev == want.rev &&
				   f.ird == want.ird && f.ord == want.ord);
	}
}

CASE(encodes_vectors)
{
	for (size_t i = 0; i < ARRAY_LEN(frame_vectors); i++) {
		const struct frame_vector *v = &frame_vectors[i];
		uint8_t want[600], pd[512], out[START_FRAME_MAX];
		size_t len = test_unhex(v->hex, want, sizeof(want));
		struct start_frame f = v->f;

		if (!v->is_canonical)
			continue;
		f.pd = pd;
		f.pd_len = (uint16_t)test_unhex(v->pd, pd, sizeof(pd));
		assert_row(v->name, start_frame_encode(&f, out) == len);
		assert_row(v->name, !memcmp(out, want, len));
	}
}

CASE(needs_more_after_each_prefix)
{
	for (size_t i = 0; i < ARRAY_LEN(frame_vectors); i++) {
		const struct frame_vector *v = &frame_vectors[i];
		uint8_t buf[600];
		size_t len = test_unhex(v->hex, buf, sizeof(buf));
		struct start_frame f;

		for (size_t cut = 0; cut < len; cut++) {
			size_t need = start_frame_need(buf, cut);

			assert_row(v->name,
				   start_frame_decode(buf, cut, v->f.is_reply,
						      &f) == 0);
			/* C-2: never more than the frame */
			assert_row(v->name, need > cut && need <= len);
		}
	}
}

CASE(refuses_each_bit_flip_of_the_key)
{
	for (size_t i = 0; i < ARRAY_LEN(frame_vectors); i++) {
		const struct frame_vector *v = &frame_vectors[i];
		struct start_frame f;
		uint8_t buf[600];
		size_t len = test_unhex(v->hex, buf, sizeof(buf));

		for (size_t bit = 0; bit < 8 * len; bit++) {
			size_t at = bit / 8;
			int ret;

			test_unhex(v->hex, buf, sizeof(buf));
			buf[at] ^= (uint8_t)(0x80 >> bit % 8);
			ret = start_frame_decode(buf, len, v->f.is_reply, &f);
			if (at >= START_KEY_SIZE) {
				assert_row(v->name, ret <= (int)len);
				continue;
			}
			assert_row(v->name, ret == -EPROTO);
			/* T-42, C-21: fails at the first octet that differs */
			assert_row(v->name, start_frame_decode(buf, at + 1,
							       v->f.is_reply,
							       &f) == -EPROTO);
			assert_row(v->name,
				   start_frame_decode(buf, at, v->f.is_reply,
						      &f) == 0);
		}
	}
}

CASE(refuses_malformed_frames)
{
	for (size_t i = 0; i < ARRAY_LEN(frame_malformed); i++) {
		uint8_t buf[64];
		size_t len =
			test_unhex(frame_malformed[i].hex, buf, sizeof(buf));
		struct start_frame f;

		assert_row(frame_malformed[i].name,
			   start_frame_decode(buf, len,
					      frame_malformed[i].is_reply,
					      &f) == -EPROTO);
	}
}

CASE(carries_private_data_of_any_length)
{
	uint8_t pd[SMPA_PD_MAX], out[START_FRAME_MAX];

	test_fill(pd, sizeof(pd), 1);
	for (size_t len = 0; len <= SMPA_PD_MAX; len++) {
		for (uint8_t rev = 1; rev <= 2; rev++) {
			struct start_frame f = {
				.rev = rev, .is_enhanced = rev == 2,
				.pd = pd, .pd_len = (uint16_t)len,
			}, got;
			size_t size;

			if (len > start_pd_max(f.is_enhanced))
				continue;
			size = start_frame_encode(&f, out);
			assert_int_equal(
				start_frame_decode(out, size, false, &got),
				size);
			assert_int_equal(got.pd_len, len);
			assert_memory_equal(got.pd, pd, len);
		}
	}
}

/* U-15: section 3, examples of negotiation, and the rules for 0x3fff (MPA2-12
 * to -17). */
static const struct {
	const char *name;
	uint16_t req_ird, req_ord; /* Initiator */
	uint8_t req_rtr, rsp_rtr;
	uint16_t rsp_ird, rsp_ord; /* Responder's limits and requests */
	uint16_t rep_ird, rep_ord; /* on the wire */
	uint16_t b_ird, b_ord;	   /* Responder afterwards */
	uint16_t a_ird, a_ord;	   /* Initiator afterwards */
} ird_rows[] = {
	{ "8/8 against 16/32", 8, 8, 0, 6, 16, 32, 8, 8, 8, 8, 8, 8 },
	{ "4/32 against 16/8", 4, 32, 0, 6, 16, 8, 16, 4, 16, 4, 4, 16 },
	{ "0/0 with Read RTR", 0, 0, 4, 4, 16, 16, 1, 0, 1, 0, 0, 0 },
	{ "0/0 with Write RTR", 0, 0, 2, 6, 16, 16, 0, 0, 0, 0, 0, 0 },
	{ "both unnegotiated", 0x3fff, 0x3fff, 0, 6, 7, 9, 0x3fff, 0x3fff, 7, 9,
	  0x3fff, 0x3fff },
	{ "only ORD unnegotiated", 8, 0x3fff, 0, 6, 7, 9, 0x3fff, 8, 7, 8, 8,
	  0x3fff },
	{ "only IRD unnegotiated", 0x3fff, 8, 0, 6, 7, 9, 7, 0x3fff, 7, 9,
	  0x3fff, 7 },
	{ "Responder without limits", 5, 6, 0, 6, 0x3fff, 0x3fff, 6, 5, 6, 5, 5,
	  6 },
	{ "Responder grants nothing", 5, 6, 0, 6, 0, 0, 0, 0, 0, 0, 5, 0 },
};

CASE(negotiates_ird_and_ord)
{
	for (size_t i = 0; i < ARRAY_LEN(ird_rows); i++) {
		struct smpa_options a = test_options(SMPA_INITIATOR);
		struct smpa_options b = test_options(SMPA_RESPONDER);
		struct start_frame req, rep;
		struct start_outcome oa, ob;
		const char *name = ird_rows[i].name;

		a.rev = 2;
		a.rtr = ird_rows[i].req_rtr;
		b.rtr = ird_rows[i].rsp_rtr;
		a.ird = ird_rows[i].req_ird;
		a.ord = ird_rows[i].req_ord;
		start_request(&a, &req);
		start_reply(&b, &req, false, ird_rows[i].rsp_ird,
			    ird_rows[i].rsp_ord, &rep, &ob);
		assert_row(name, rep.ird == ird_rows[i].rep_ird);
		assert_row(name, rep.ord == ird_rows[i].rep_ord);
		assert_row(name, ob.ird == ird_rows[i].b_ird);
		assert_row(name, ob.ord == ird_rows[i].b_ord);
		assert_row(name, start_reply_check(&a, &rep, &oa) == 0);
		assert_row(name, oa.ird == ird_rows[i].a_ird);
		assert_row(name, oa.ord == ird_rows[i].a_ord);
	}
}

/* MPA2-15: a Responder that requires more than it was offered. */
CASE(raises_ird_to_the_ord_of_the_responder)
{
	struct smpa_options a = test_options(SMPA_INITIATOR);
	struct start_frame rep = { .is_reply = true,
				   .rev = 2,
				   .is_enhanced = true,
				   .ird = 4,
				   .ord = 8 };
	struct start_outcome o;

	a.rev = 2;
	a.ird = 4;
	a.ord = 4;
	assert_int_equal(start_reply_check(&a, &rep, &o), 0);
	assert_int_equal(o.ird, 8);
	assert_int_equal(o.ord, 4);
}

/* U-16, MPA2-18 to -25: offered, supported -> chosen in the Reply, result. */
CASE(negotiates_rtr)
{
	for (uint8_t offered = 0; offered < 8; offered++) {
		for (uint8_t supported = 1; supported < 8; supported++) {
			struct smpa_options a = test_options(SMPA_INITIATOR);
			struct smpa_options b = test_options(SMPA_RESPONDER);
			struct start_frame req, rep;
			struct start_outcome oa = { 0 }, ob;
			uint8_t common = offered & supported;
			uint16_t fault;

			a.rev = 2;
			a.rtr = offered;
			b.rtr = supported;
			start_request(&a, &req);
			assert_int_equal(req.is_peer_to_peer, offered != 0);
			start_reply(&b, &req, false, 8, 8, &rep, &ob);
			assert_int_equal(rep.is_peer_to_peer, offered != 0);
			assert_int_equal(ob.rtr, common);
			if (offered == 0)
				assert_int_equal(rep.rtr, 0);
			else
				assert_int_equal(rep.rtr,
						 common ? common : supported);
			fault = start_reply_check(&a, &rep, &oa);
			if (offered && !common) {
				assert_int_equal(fault, SMPA_F_MPA_RTR);
				continue;
			}
			assert_int_equal(fault, 0);
			assert_int_equal(oa.rtr, common);
		}
	}
}

/* T-46: revisions and S bits of the Reply that the Initiator accepts. */
CASE(checks_revisions_of_the_reply)
{
	static const struct {
		const char *name;
		uint8_t own, rev;
		bool is_enhanced, is_rejected;
		uint16_t want;
	} rows[] = {
		{ "2 to 2", 2, 2, true, false, 0 },
		{ "1 to 1", 1, 1, false, false, 0 },
		{ "D-21: 2 without S", 2, 2, false, false, SMPA_F_MPA_START },
		{ "D-21: 1 to 2", 2, 1, false, false, SMPA_F_MPA_START },
		{ "D-36: 2 to 1", 1, 2, false, false, 0 },
		{ "D-36: 2 with S to 1", 1, 2, true, false, SMPA_F_MPA_START },
		{ "0", 2, 0, false, false, SMPA_F_MPA_START },
		{ "3", 2, 3, false, false, SMPA_F_MPA_START },
		{ "255", 1, 255, false, false, SMPA_F_MPA_START },
		{ "rejection with 1", 2, 1, false, true, 0 },
		{ "rejection with 2", 2, 2, true, true, 0 },
		{ "rejection with 0", 2, 0, false, true, SMPA_F_MPA_START },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct smpa_options a = test_options(SMPA_INITIATOR);
		struct start_frame rep = {
			.is_reply = true,
			.rev = rows[i].rev,
			.is_enhanced = rows[i].is_enhanced,
			.is_rejected = rows[i].is_rejected,
		};
		struct start_outcome o;

		a.rev = rows[i].own;
		assert_row(rows[i].name,
			   start_reply_check(&a, &rep, &o) == rows[i].want);
	}
}

/* T-53, T-54 */
CASE(decides_on_crc_and_markers)
{
	for (int bits = 0; bits < 16; bits++) {
		struct smpa_options a = test_options(SMPA_INITIATOR);
		struct smpa_options b = test_options(SMPA_RESPONDER);
		struct start_frame req, rep;
		struct start_outcome oa, ob;

		a.rev = 2;
		a.no_crc = bits & 1;
		b.no_crc = bits & 2;
		a.want_markers = bits & 4;
		b.want_markers = bits & 8;
		start_request(&a, &req);
		assert_int_equal(req.has_crc, !a.no_crc);
		start_reply(&b, &req, false, 8, 8, &rep, &ob);
		assert_int_equal(start_reply_check(&a, &rep, &oa), 0);
		assert_int_equal(oa.has_crc, !(a.no_crc && b.no_crc));
		assert_int_equal(ob.has_crc, oa.has_crc);
		assert_int_equal(oa.tx_markers, b.want_markers);
		assert_int_equal(oa.rx_markers, a.want_markers);
		assert_int_equal(ob.tx_markers, a.want_markers);
		assert_int_equal(ob.rx_markers, b.want_markers);
		/* MPA-24: CRC is used if the Initiator requests it, even if the
		 * Responder does not. */
		rep.has_crc = false;
		assert_int_equal(start_reply_check(&a, &rep, &oa), 0);
		assert_int_equal(oa.has_crc, !a.no_crc);
	}
}

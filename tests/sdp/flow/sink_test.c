/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The Data Sink: the effect of payload on advertisements, SendSm, cancels,
 * modes.
 */
#include "test.h"

#include <stdbool.h>

#include "flow/sink.h"

#define CAP 4

struct fixture {
	struct sdp_sink s;
	struct sdp_in_advert in[CAP];
	struct sdp_out_advert out[CAP];
};

static struct sdp_sink *make(struct fixture *f, enum sdp_mode mode)
{
	sdp_sink_init(&f->s, f->in, f->out, CAP);
	f->s.mode = mode;
	return &f->s;
}

static enum sdp_fault src_avail(struct sdp_sink *s, uint32_t len,
				uint32_t inlined, bool *is_taken)
{
	struct sdp_msg msg = { .mid = SDP_MID_SRC_AVAIL,
			       .payload_len = inlined };

	msg.avail.len = len;
	return sdp_sink_on_src_avail(s, &msg, is_taken);
}

/* T65, SDP-173, SDP-174 */
CASE(gives_one_message_to_an_advertised_buffer)
{
	struct fixture f;
	struct sdp_sink *s = make(&f, SDP_MODE_PIPELINED);
	enum sdp_sink_payload kind;

	sdp_sink_sent_sink_avail(s, 1, 1000);
	assert_int_equal(sdp_sink_on_payload(s, 10, &kind), 0);
	assert_int_equal(kind, SDP_SINK_SOLO);
	assert_int_equal(s->nd, 0);
	assert_int_equal(s->out_cnt, 0);
	assert_int_equal(sdp_sink_on_payload(s, 10, &kind), 0);
	assert_int_equal(kind, SDP_SINK_STREAM);
	assert_int_equal(s->nd, 1);
}

CASE(refuses_src_avails_in_buffered)
{
	struct fixture f;
	struct sdp_sink *s = make(&f, SDP_MODE_BUFFERED);
	bool is_taken = false;

	assert_int_equal(src_avail(s, 100, 0, &is_taken), SDP_FAULT_SRC_AVAIL);
	assert_int_equal(src_avail(s, 100, 1, &is_taken), SDP_FAULT_SRC_AVAIL);
	assert_false(is_taken);
	assert_int_equal(s->in_cnt, 0);
}

/* SDP-210 */
CASE(ignores_src_avails_that_a_sink_avail_crossed)
{
	struct fixture f;
	struct sdp_sink *s = make(&f, SDP_MODE_PIPELINED);
	bool is_taken = true;

	sdp_sink_sent_sink_avail(s, 1, 1000);
	assert_int_equal(src_avail(s, 500, 0, &is_taken), 0);
	assert_false(is_taken);
	assert_null(sdp_sink_head(s));
	assert_int_equal(s->out_cnt, 1);
}

/* V9, T46 */
CASE(refuses_src_avails_by_mode)
{
	static const struct {
		const char *name;
		enum sdp_mode mode;
		uint32_t inlined;
		uint16_t before; /* number before */
		enum sdp_fault fault;
	} rows[] = {
		{ "Buffered", SDP_MODE_BUFFERED, 1, 0, SDP_FAULT_SRC_AVAIL },
		{ "Combined", SDP_MODE_COMBINED, 1, 0, 0 },
		{ "Combined, empty", SDP_MODE_COMBINED, 0, 0,
		  SDP_FAULT_SRC_AVAIL },
		{ "Combined, second", SDP_MODE_COMBINED, 1, 1,
		  SDP_FAULT_SRC_AVAIL },
		{ "Pipelined", SDP_MODE_PIPELINED, 0, 3, 0 },
		{ "Pipelined, payload", SDP_MODE_PIPELINED, 1, 0,
		  SDP_FAULT_SRC_AVAIL },
		{ "Pipelined, too many", SDP_MODE_PIPELINED, 0, CAP,
		  SDP_FAULT_ADVERTS },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fixture f;
		struct sdp_sink *s = make(&f, SDP_MODE_PIPELINED);
		bool is_taken;

		for (int n = 0; n < rows[i].before; n++)
			assert_int_equal(src_avail(s, 500, 0, &is_taken), 0);
		s->mode = rows[i].mode;
		assert_row(rows[i].name, src_avail(s, 500, rows[i].inlined,
						   &is_taken) == rows[i].fault);
	}
}

/* V15, T47 */
CASE(refuses_payload_behind_a_src_avail)
{
	struct fixture f;
	struct sdp_sink *s = make(&f, SDP_MODE_PIPELINED);
	enum sdp_sink_payload kind;
	bool is_taken;

	src_avail(s, 500, 0, &is_taken);
	src_avail(s, 300, 0, &is_taken);
	assert_int_equal(sdp_sink_on_payload(s, 1, &kind), SDP_FAULT_PAYLOAD);
	sdp_sink_sent_send_sm(s);
	assert_int_equal(s->owed, 500);
	assert_null(sdp_sink_head(s)); /* SDP-156 */
	assert_int_equal(sdp_sink_on_payload(s, 400, &kind), 0);
	assert_int_equal(sdp_sink_on_payload(s, 101, &kind), SDP_FAULT_PAYLOAD);
	assert_int_equal(sdp_sink_on_payload(s, 100, &kind), 0);
	assert_non_null(sdp_sink_head(s));
	assert_int_equal(sdp_sink_head(s)->len, 300);
}

/* SDP-146, SDP-148, SDP-157 */
CASE(reads_in_pieces)
{
	struct fixture f;
	struct sdp_sink *s = make(&f, SDP_MODE_COMBINED);
	bool is_taken;

	assert_int_equal(src_avail(s, 500, 16, &is_taken), 0);
	assert_int_equal(s->nd, 1);
	assert_int_equal(sdp_sink_head(s)->done, 16);
	assert_false(sdp_sink_sent_rd_compl(s, 84));
	sdp_sink_sent_send_sm(s);
	assert_int_equal(s->owed, 400);
	s = make(&f, SDP_MODE_COMBINED);
	src_avail(s, 500, 16, &is_taken);
	assert_true(sdp_sink_sent_rd_compl(s, 484));
	assert_null(sdp_sink_head(s));
}

/* V13, T69 */
CASE(checks_write_completions)
{
	struct fixture f;
	struct sdp_sink *s = make(&f, SDP_MODE_PIPELINED);
	uint32_t stag = 0;

	assert_int_equal(sdp_sink_on_wr_compl(s, 1, &stag), SDP_FAULT_WR_COMPL);
	sdp_sink_sent_sink_avail(s, 7, 1000);
	assert_int_equal(sdp_sink_on_wr_compl(s, 1001, &stag),
			 SDP_FAULT_WR_COMPL);
	assert_int_equal(sdp_sink_on_wr_compl(s, 1000, &stag), 0);
	assert_int_equal(stag, 7);
	assert_int_equal(s->out_cnt, 0);
}

/* SDP-183 to SDP-187, T76 */
CASE(cancels_src_avails)
{
	struct fixture f;
	struct sdp_sink *s = make(&f, SDP_MODE_PIPELINED);
	bool is_taken;

	assert_int_equal(sdp_sink_on_src_cancel(s, false),
			 SDP_SINK_CANCEL_IGNORE);
	src_avail(s, 500, 0, &is_taken);
	src_avail(s, 300, 0, &is_taken);
	assert_int_equal(sdp_sink_on_src_cancel(s, false), SDP_SINK_CANCEL_NOW);
	assert_null(sdp_sink_head(s));
	assert_int_equal(s->owed, 0);
	src_avail(s, 500, 0, &is_taken);
	assert_int_equal(sdp_sink_on_src_cancel(s, true), SDP_SINK_CANCEL_WAIT);
	assert_true(sdp_sink_sent_rd_compl(s, 500));
	assert_false(sdp_sink_finish_src_cancel(s)); /* nothing was left */
}

/* SDP-194, SDP-195, C14 */
CASE(cancels_its_own_adverts)
{
	struct fixture f;
	struct sdp_sink *s = make(&f, SDP_MODE_PIPELINED);
	enum sdp_sink_payload kind;

	sdp_sink_sent_sink_avail(s, 1, 1000);
	sdp_sink_sent_sink_avail(s, 2, 1000);
	sdp_sink_sent_cancel(s, 5);
	assert_false(sdp_sink_may_advertise(s));
	sdp_sink_on_cancel_ack(s, false); /* an older one */
	assert_int_equal(s->out_cnt, 2);
	assert_int_equal(sdp_sink_on_payload(s, 1, &kind), 0);
	assert_true(s->is_cancelling);
	sdp_sink_on_cancel_ack(s, true);
	assert_int_equal(s->out_cnt, 0);
	assert_true(sdp_sink_may_advertise(s));
	/* An ack that arrives although all adverts were used is ignored. */
	sdp_sink_sent_sink_avail(s, 1, 1000);
	sdp_sink_sent_cancel(s, 6);
	sdp_sink_on_payload(s, 1, &kind);
	assert_false(s->is_cancelling);
	sdp_sink_on_cancel_ack(s, true);
}

/* SDP-209 */
CASE(advertises_only_when_it_may)
{
	struct fixture f;
	struct sdp_sink *s = make(&f, SDP_MODE_COMBINED);
	bool is_taken;

	assert_false(sdp_sink_may_advertise(s));
	s->mode = SDP_MODE_PIPELINED;
	assert_true(sdp_sink_may_advertise(s));
	src_avail(s, 500, 0, &is_taken);
	assert_false(sdp_sink_may_advertise(s));
	sdp_sink_sent_send_sm(s);
	assert_false(sdp_sink_may_advertise(s)); /* octets are owed */
}

/* V17, SDP-219, SDP-226 */
CASE(follows_mode_changes)
{
	struct fixture f;
	struct sdp_sink *s = make(&f, SDP_MODE_COMBINED);
	bool is_taken;

	assert_int_equal(sdp_sink_on_change(s, SDP_MODE_COMBINED),
			 SDP_FAULT_MODE);
	src_avail(s, 500, 1, &is_taken);
	assert_int_equal(sdp_sink_on_change(s, SDP_MODE_BUFFERED),
			 SDP_FAULT_MODE);
	assert_int_equal(sdp_sink_on_change(s, SDP_MODE_PIPELINED), 0);
	assert_non_null(sdp_sink_head(s));
	assert_int_equal(sdp_sink_on_change(s, SDP_MODE_BUFFERED),
			 SDP_FAULT_MODE);
	s = make(&f, SDP_MODE_PIPELINED);
	sdp_sink_sent_sink_avail(s, 1, 1000);
	assert_int_equal(sdp_sink_on_change(s, SDP_MODE_COMBINED), 0);
	assert_int_equal(s->out_cnt, 0);
	assert_int_equal(sdp_sink_on_change(s, SDP_MODE_BUFFERED), 0);
	assert_int_equal(sdp_sink_on_change(s, SDP_MODE_COMBINED),
			 SDP_FAULT_MODE); /* the Sink is the master */
	sdp_sink_sent_change(s);
	assert_int_equal(s->mode, SDP_MODE_COMBINED);
}

/* SDP-98 */
CASE(forgets_its_adverts_at_the_end)
{
	struct fixture f;
	struct sdp_sink *s = make(&f, SDP_MODE_PIPELINED);

	sdp_sink_sent_sink_avail(s, 1, 1000);
	sdp_sink_sent_cancel(s, 3);
	sdp_sink_on_discon(s);
	assert_int_equal(s->out_cnt, 0);
	assert_false(s->is_cancelling);
}

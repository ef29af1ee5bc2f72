/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The Data Source: stale and crossing advertisements, SendSm, cancels, the
 * window after Pipelined.
 */
#include "test.h"

#include <stdbool.h>

#include "flow/source.h"

#define CAP 4

struct fixture {
	struct sdp_source s;
	struct sdp_src_advert src[CAP];
	struct sdp_snk_advert snk[CAP];
};

static struct sdp_source *make(struct fixture *f, enum sdp_mode mode)
{
	sdp_source_init(&f->s, f->src, f->snk, CAP);
	f->s.mode = mode;
	return &f->s;
}

static enum sdp_fault sink_avail(struct sdp_source *s, uint32_t nd)
{
	struct sdp_msg msg = { .mid = SDP_MID_SINK_AVAIL };

	msg.avail.len = 1000;
	msg.avail.stag = 0x100 + s->snk_cnt;
	msg.avail.non_discards = nd;
	return sdp_source_on_sink_avail(s, &msg);
}

/* T64: pnd 2, three adverts with NonDiscards 0: the third is used. */
CASE(discards_stale_adverts)
{
	struct fixture f;
	struct sdp_source *s = make(&f, SDP_MODE_PIPELINED);

	sdp_source_sent_payload(s, 10);
	sdp_source_sent_payload(s, 10);
	assert_int_equal(sink_avail(s, 0), 0);
	assert_null(sdp_source_target(s));
	assert_int_equal(sink_avail(s, 0), 0);
	assert_null(sdp_source_target(s));
	assert_int_equal(s->pnd, 0);
	assert_int_equal(sink_avail(s, 0), 0);
	assert_non_null(sdp_source_target(s));
	/* A message that is sent now removes the advert (C10). */
	sdp_source_sent_payload(s, 1);
	assert_null(sdp_source_target(s));
	assert_int_equal(s->pnd, 0);
}

/* T67 */
CASE(compares_counters_that_wrap)
{
	struct fixture f;
	struct sdp_source *s = make(&f, SDP_MODE_PIPELINED);

	s->pnd = 0xffffffff;
	sdp_source_sent_payload(s, 1);
	assert_int_equal(sink_avail(s, 0xffffffff), 0);
	assert_int_equal(s->pnd, 0xffffffff);
	assert_null(sdp_source_target(s));
	assert_int_equal(sink_avail(s, 0xffffffff), 0);
	assert_non_null(sdp_source_target(s));
	assert_int_equal(sink_avail(s, 0), SDP_FAULT_NON_DISCARDS);
}

/* T66, SDP-207 */
CASE(lets_a_sink_avail_win)
{
	struct fixture f;
	struct sdp_source *s = make(&f, SDP_MODE_PIPELINED);

	sdp_source_sent_src_avail(s, 0, 1, 500, 0);
	sdp_source_sent_src_avail(s, 1, 2, 300, 0);
	assert_int_equal(sdp_source_next_pos(s), 800);
	assert_int_equal(sink_avail(s, 0), 0);
	assert_int_equal(s->src_cnt, 0);
	assert_int_equal(sdp_source_next_pos(s), 0);
	sdp_source_sent_wr_compl(s, 700);
	assert_int_equal(s->data_pos, 700);
	assert_true(sdp_source_may_advertise(s)); /* the rest, again */
}

/* T48, T49, V12 */
CASE(adds_up_read_completions)
{
	struct fixture f;
	struct sdp_source *s = make(&f, SDP_MODE_COMBINED);
	uint32_t stag = 0;

	assert_int_equal(sdp_source_on_rd_compl(s, 1, &stag),
			 SDP_FAULT_RD_COMPL);
	sdp_source_sent_src_avail(s, 0, 77, 500, 16);
	assert_int_equal(s->pnd, 1);
	assert_false(sdp_source_may_advertise(s)); /* one at a time */
	assert_true(sdp_source_data_end(s, 1000) <= s->data_pos);
	assert_int_equal(sdp_source_on_rd_compl(s, 485, &stag),
			 SDP_FAULT_RD_COMPL);
	assert_int_equal(sdp_source_on_rd_compl(s, 400, &stag), 0);
	assert_int_equal(stag, 77);
	assert_int_equal(s->src_cnt, 1);
	assert_int_equal(sdp_source_on_rd_compl(s, 84, &stag), 0);
	assert_int_equal(s->src_cnt, 0);
	assert_int_equal(s->data_pos, 500);
}

/* T50, SDP-155, SDP-204, SDP-205 */
CASE(sends_what_a_send_sm_wants)
{
	struct fixture f;
	struct sdp_source *s = make(&f, SDP_MODE_PIPELINED);
	uint32_t stag;

	assert_int_equal(sdp_source_on_send_sm(s, false), SDP_FAULT_RD_COMPL);
	sdp_source_sent_src_avail(s, 0, 1, 500, 0);
	sdp_source_sent_src_avail(s, 1, 2, 300, 0);
	assert_int_equal(sdp_source_on_rd_compl(s, 100, &stag), 0);
	assert_int_equal(sdp_source_on_send_sm(s, false), 0);
	/* Octets 100 to 499 go by Data. The second advert stays. */
	assert_int_equal(s->data_pos, 100);
	assert_int_equal(sdp_source_data_end(s, 1000), 500);
	assert_false(sdp_source_may_advertise(s));
	assert_int_equal(sdp_source_on_rd_compl(s, 1, &stag),
			 SDP_FAULT_RD_COMPL); /* not before it has them */
	sdp_source_sent_payload(s, 400);
	assert_int_equal(sdp_source_on_rd_compl(s, 300, &stag), 0);
	assert_int_equal(s->data_pos, 800);
}

/* T71, T72, C13 */
CASE(ends_a_cancel)
{
	struct fixture f;
	struct sdp_source *s = make(&f, SDP_MODE_PIPELINED);
	uint32_t stag;

	sdp_source_sent_src_avail(s, 0, 1, 500, 0);
	sdp_source_sent_src_avail(s, 1, 2, 300, 0);
	sdp_source_sent_cancel(s, 2);
	assert_false(sdp_source_may_advertise(s));
	assert_int_equal(sdp_source_on_send_sm(s, false), 0); /* they crossed */
	assert_true(s->is_cancelling);
	assert_int_equal(sdp_source_on_send_sm(s, true), 0);
	assert_false(s->is_cancelling);
	assert_int_equal(s->src_cnt, 0);
	assert_int_equal(s->owed_end, 500); /* still promised */
	s = make(&f, SDP_MODE_PIPELINED);
	sdp_source_sent_src_avail(s, 0, 1, 500, 0);
	sdp_source_sent_cancel(s, 1);
	assert_int_equal(sdp_source_on_rd_compl(s, 500, &stag), 0);
	assert_false(s->is_cancelling); /* all were read */
}

/* T57, T58, T60 */
CASE(changes_mode_when_it_may)
{
	struct fixture f;
	struct sdp_source *s = make(&f, SDP_MODE_COMBINED);

	sdp_source_sent_src_avail(s, 0, 1, 500, 1);
	assert_false(sdp_source_may_change(s, SDP_MODE_BUFFERED));
	assert_true(sdp_source_may_change(s, SDP_MODE_PIPELINED));
	sdp_source_sent_change(s, SDP_MODE_PIPELINED, 1);
	sdp_source_sent_change(s, SDP_MODE_COMBINED, 2);
	assert_false(sdp_source_may_change(s, SDP_MODE_PIPELINED));
	sdp_source_on_change_ack(s);
	assert_true(sdp_source_may_change(s, SDP_MODE_PIPELINED));
}

/* T59, T70b: a SinkAvail that the ModeChange crossed. */
CASE(reissues_in_the_window)
{
	static const struct {
		const char *name;
		bool has_old;	  /* a SrcAvail from before the ModeChange */
		bool has_new;	  /* one from after it */
		bool has_snk;	  /* a SinkAvail that arrived before */
		bool is_stale;	  /* the late one */
		uint16_t src_cnt; /* SrcAvails outstanding afterwards */
	} rows[] = {
		{ "valid", true, false, false, false, 0 },
		{ "stale", true, false, false, true, 1 },
		{ "valid, newer SrcAvail", false, true, false, false, 1 },
		{ "stale, newer SrcAvail", false, true, false, true, 1 },
		{ "had come before", false, true, true, false, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fixture f;
		struct sdp_source *s = make(&f, SDP_MODE_PIPELINED);
		uint32_t pnd;

		sdp_source_sent_payload(s, 1);
		if (rows[i].has_snk)
			assert_int_equal(sink_avail(s, 1), 0);
		if (rows[i].has_old)
			sdp_source_sent_src_avail(s, 5, 1, 500, 0);
		sdp_source_sent_change(s, SDP_MODE_COMBINED, 6);
		assert_row(rows[i].name, s->snk_cnt == 0);
		if (rows[i].has_new)
			sdp_source_sent_src_avail(s, 7, 1, 500, 1);
		pnd = s->pnd;
		assert_row(rows[i].name,
			   !sink_avail(s, rows[i].is_stale ? 0 : 1));
		assert_row(rows[i].name, s->src_cnt == rows[i].src_cnt);
		assert_row(rows[i].name, s->snk_cnt == 0);
		/* C11 */
		assert_row(rows[i].name, s->pnd == pnd - rows[i].is_stale);
		sdp_source_on_change_ack(s);
		assert_row(rows[i].name,
			   sink_avail(s, 1) == SDP_FAULT_SINK_AVAIL);
	}
}

/* T104 */
CASE(refuses_sink_avails_by_mode)
{
	struct fixture f;

	assert_int_equal(sink_avail(make(&f, SDP_MODE_COMBINED), 0),
			 SDP_FAULT_SINK_AVAIL);
	assert_int_equal(sink_avail(make(&f, SDP_MODE_BUFFERED), 0),
			 SDP_FAULT_SINK_AVAIL);
}

/* T74, T76 */
CASE(answers_a_sink_cancel_once)
{
	struct fixture f;
	struct sdp_source *s = make(&f, SDP_MODE_PIPELINED);

	assert_false(sdp_source_on_sink_cancel(s, false));
	sink_avail(s, 0);
	sink_avail(s, 0);
	assert_true(sdp_source_on_sink_cancel(s, false));
	assert_false(sdp_source_on_sink_cancel(s, false));
	assert_true(sdp_source_on_sink_cancel(s, true));
	/* A stale one was not cancelled by this. */
	sdp_source_sent_payload(s, 1);
	sink_avail(s, 0);
	assert_false(sdp_source_on_sink_cancel(s, false));
}

CASE(takes_change_from_the_sink)
{
	struct fixture f;
	struct sdp_source *s = make(&f, SDP_MODE_BUFFERED);

	assert_int_equal(sdp_source_on_change(s, SDP_MODE_PIPELINED),
			 SDP_FAULT_MODE);
	assert_int_equal(sdp_source_on_change(s, SDP_MODE_COMBINED), 0);
	assert_int_equal(sdp_source_on_change(s, SDP_MODE_COMBINED),
			 SDP_FAULT_MODE);
}

/* SDP-244 */
CASE(keeps_its_place_over_a_restart)
{
	struct fixture f;
	struct sdp_source *s = make(&f, SDP_MODE_PIPELINED);
	uint32_t stag;

	sdp_source_sent_src_avail(s, 0, 1, 500, 0);
	assert_int_equal(sdp_source_on_rd_compl(s, 100, &stag), 0);
	sdp_source_restart(s);
	assert_int_equal(s->data_pos, 100);
	assert_int_equal(sdp_source_next_pos(s), 100);
	assert_int_equal(s->mode, SDP_MODE_COMBINED);
	assert_int_equal(s->pnd, 0);
}

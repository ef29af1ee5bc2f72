/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The Data Sink of a half-connection.
 */
#include "flow/sink.h"

#include <assert.h>
#include <string.h>

#include "flow/mode.h"

void sdp_sink_init(struct sdp_sink *s, struct sdp_in_advert *in,
		   struct sdp_out_advert *out, uint16_t cap)
{
	memset(s, 0, sizeof(*s));
	s->in = in;
	s->out = out;
	s->cap = cap;
	s->mode = SDP_MODE_COMBINED; /* SDP-197 */
}

void sdp_sink_restart(struct sdp_sink *s)
{
	sdp_sink_init(s, s->in, s->out, s->cap);
}

/* ---- queues ---- */

static void in_pop(struct sdp_sink *s)
{
	s->in_head = (uint16_t)((s->in_head + 1) % s->cap);
	s->in_cnt--;
}

static void out_pop(struct sdp_sink *s)
{
	s->out_head = (uint16_t)((s->out_head + 1) % s->cap);
	if (!--s->out_cnt)
		s->is_cancelling = false; /* SDP-195, C14 */
}

static void out_clear(struct sdp_sink *s)
{
	s->out_cnt = 0;
	s->is_cancelling = false;
}

struct sdp_in_advert *sdp_sink_head(struct sdp_sink *s)
{
	return s->in_cnt && !s->owed ? &s->in[s->in_head] : NULL;
}

bool sdp_sink_may_advertise(const struct sdp_sink *s)
{
	return sdp_mode_has_sink_avail(s->mode) && !s->in_cnt && !s->owed &&
	       !s->is_cancelling && s->out_cnt < s->cap;
}

/* ---- messages sent ---- */

void sdp_sink_sent_sink_avail(struct sdp_sink *s, uint32_t stag, uint32_t len)
{
	struct sdp_out_advert *a = &s->out[(s->out_head + s->out_cnt) % s->cap];

	assert(sdp_sink_may_advertise(s));
	a->stag = stag;
	a->len = len;
	s->out_cnt++;
}

bool sdp_sink_sent_rd_compl(struct sdp_sink *s, uint32_t len)
{
	struct sdp_in_advert *a = &s->in[s->in_head];

	assert(s->in_cnt && len <= a->len - a->done);
	a->done += len;
	if (a->done < a->len)
		return false;
	in_pop(s);
	return true;
}

void sdp_sink_sent_send_sm(struct sdp_sink *s)
{
	struct sdp_in_advert *a = &s->in[s->in_head];

	assert(s->in_cnt);
	s->owed += a->len - a->done; /* SDP-157 */
	in_pop(s);
}

void sdp_sink_sent_cancel(struct sdp_sink *s, uint32_t mseq)
{
	assert(s->out_cnt && !s->is_cancelling);
	s->is_cancelling = true;
	s->cancel_mseq = mseq;
}

void sdp_sink_sent_change(struct sdp_sink *s)
{
	assert(s->mode == SDP_MODE_BUFFERED);
	s->mode = SDP_MODE_COMBINED;
}

/* ---- messages received ---- */

enum sdp_fault sdp_sink_on_payload(struct sdp_sink *s, uint32_t len,
				   enum sdp_sink_payload *ret_kind)
{
	if (s->out_cnt) {
		out_pop(s); /* SDP-174 */
		*ret_kind = SDP_SINK_SOLO;
		return SDP_FAULT_NONE;
	}
	/* After a SrcAvail, only data that a SendSm asked for (SDP-204). */
	if (s->in_cnt && len > s->owed)
		return SDP_FAULT_PAYLOAD;
	s->nd++;
	s->owed -= len < s->owed ? len : s->owed;
	*ret_kind = SDP_SINK_STREAM;
	return SDP_FAULT_NONE;
}

enum sdp_fault sdp_sink_on_src_avail(struct sdp_sink *s,
				     const struct sdp_msg *msg,
				     bool *ret_is_taken)
{
	bool has_inline = sdp_mode_has_inline(s->mode);
	enum sdp_sink_payload kind;
	struct sdp_in_advert *a;

	if (s->in_cnt >= sdp_mode_src_avail_max(s->mode) ||
	    has_inline != (msg->payload_len > 0))
		return SDP_FAULT_SRC_AVAIL;
	/* Data that a SendSm asked for comes first, by Data Messages
	 * (SDP-155). */
	if (has_inline && (s->owed || s->in_cnt))
		return SDP_FAULT_SRC_AVAIL;
	*ret_is_taken = false;
	if (s->out_cnt) { /* SDP-210 */
		s->in_cnt = 0;
		return SDP_FAULT_NONE;
	}
	if (s->in_cnt == s->cap)
		return SDP_FAULT_ADVERTS;
	if (has_inline) {
		enum sdp_fault fault =
			sdp_sink_on_payload(s, msg->payload_len, &kind);

		if (fault)
			return fault;
	}
	a = &s->in[(s->in_head + s->in_cnt++) % s->cap];
	a->va = msg->avail.va;
	a->stag = msg->avail.stag;
	a->len = msg->avail.len;
	a->done = msg->payload_len;
	*ret_is_taken = true;
	return SDP_FAULT_NONE;
}

enum sdp_fault sdp_sink_on_wr_compl(struct sdp_sink *s, uint32_t len,
				    uint32_t *ret_stag)
{
	if (!s->out_cnt || len > s->out[s->out_head].len)
		return SDP_FAULT_WR_COMPL;
	*ret_stag = s->out[s->out_head].stag;
	out_pop(s);
	return SDP_FAULT_NONE;
}

enum sdp_sink_cancel sdp_sink_on_src_cancel(struct sdp_sink *s, bool is_reading)
{
	if (!s->in_cnt)
		return SDP_SINK_CANCEL_IGNORE;
	if (is_reading)
		return SDP_SINK_CANCEL_WAIT;
	s->in_cnt = 0;
	return SDP_SINK_CANCEL_NOW;
}

bool sdp_sink_finish_src_cancel(struct sdp_sink *s)
{
	bool had = s->in_cnt;

	s->in_cnt = 0;
	return had;
}

void sdp_sink_on_cancel_ack(struct sdp_sink *s, bool acks_cancel)
{
	if (s->is_cancelling && acks_cancel)
		out_clear(s);
}

void sdp_sink_on_discon(struct sdp_sink *s)
{
	out_clear(s); /* SDP-98 */
}

enum sdp_fault sdp_sink_on_change(struct sdp_sink *s, enum sdp_mode to)
{
	if (!sdp_mode_may_change(s->mode, to, true))
		return SDP_FAULT_MODE;
	/* SDP-219: the Source must wait for the completion of its SrcAvail. */
	if (to == SDP_MODE_BUFFERED && s->in_cnt)
		return SDP_FAULT_MODE;
	if (s->mode == SDP_MODE_PIPELINED)
		out_clear(s); /* SDP-226 */
	s->mode = to;	      /* SDP-216 */
	return SDP_FAULT_NONE;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The Data Source of a half-connection.
 */
#include "flow/source.h"

#include <assert.h>
#include <string.h>

#include "flow/mode.h"
#include "flow/seq.h"

void sdp_source_init(struct sdp_source *s, struct sdp_src_advert *src,
		     struct sdp_snk_advert *snk, uint16_t cap)
{
	memset(s, 0, sizeof(*s));
	s->src = src;
	s->snk = snk;
	s->cap = cap;
	s->mode = SDP_MODE_COMBINED; /* SDP-197 */
}

void sdp_source_restart(struct sdp_source *s)
{
	uint64_t pos = s->data_pos;

	sdp_source_init(s, s->src, s->snk, s->cap);
	s->data_pos = pos;
	s->owed_end = pos;
}

/* ---- queues ---- */

static struct sdp_src_advert *src_at(const struct sdp_source *s, uint16_t i)
{
	return &s->src[(s->src_head + i) % s->cap];
}

static void src_pop(struct sdp_source *s)
{
	s->src_head = (uint16_t)((s->src_head + 1) % s->cap);
	if (!--s->src_cnt)
		s->is_cancelling = false; /* SDP-189 */
}

/* Removes all SrcAvails. Octets that were not transferred stay to be sent. */
static void src_clear(struct sdp_source *s)
{
	s->src_cnt = 0;
	s->is_cancelling = false;
}

static void snk_pop(struct sdp_source *s)
{
	s->snk_head = (uint16_t)((s->snk_head + 1) % s->cap);
	s->snk_cnt--;
}

/* SDP-177: checked on arrival and before each use (C10). */
static void drop_stale(struct sdp_source *s)
{
	while (s->snk_cnt && s->snk[s->snk_head].non_discards != s->pnd) {
		snk_pop(s);
		s->pnd--;
	}
}

/* ---- checks before sending ---- */

uint64_t sdp_source_next_pos(const struct sdp_source *s)
{
	const struct sdp_src_advert *last;

	if (!s->src_cnt)
		return s->data_pos;
	last = src_at(s, (uint16_t)(s->src_cnt - 1));
	return last->pos + last->len;
}

uint64_t sdp_source_data_end(const struct sdp_source *s, uint64_t end)
{
	return s->src_cnt ? src_at(s, 0)->pos : end;
}

bool sdp_source_may_advertise(const struct sdp_source *s)
{
	/* Data that a SendSm asked for goes by Data Messages, all of it
	 * (SDP-155). */
	return !s->is_cancelling && s->data_pos >= s->owed_end &&
	       s->src_cnt < s->cap && !s->snk_cnt &&
	       s->src_cnt < sdp_mode_src_avail_max(s->mode);
}

const struct sdp_snk_advert *sdp_source_target(struct sdp_source *s)
{
	drop_stale(s);
	return s->snk_cnt ? &s->snk[s->snk_head] : NULL;
}

bool sdp_source_may_change(const struct sdp_source *s, enum sdp_mode to)
{
	if (!sdp_mode_may_change(s->mode, to, true) || s->is_switching)
		return false;
	return to != SDP_MODE_BUFFERED || !s->src_cnt; /* SDP-219 */
}

/* ---- messages sent ---- */

void sdp_source_sent_payload(struct sdp_source *s, uint32_t len)
{
	s->data_pos += len;
	s->pnd++;
	drop_stale(s);
}

void sdp_source_sent_src_avail(struct sdp_source *s, uint32_t mseq,
			       uint32_t stag, uint32_t len, uint32_t inlined)
{
	struct sdp_src_advert *a = src_at(s, s->src_cnt);

	assert(s->src_cnt < s->cap && inlined < len);
	assert(!inlined || !s->src_cnt);
	a->pos = sdp_source_next_pos(s);
	a->mseq = mseq;
	a->stag = stag;
	a->len = len;
	s->src_cnt++;
	if (inlined)
		sdp_source_sent_payload(s, inlined);
}

void sdp_source_sent_wr_compl(struct sdp_source *s, uint32_t len)
{
	assert(s->snk_cnt && len <= s->snk[s->snk_head].len);
	snk_pop(s);
	s->data_pos += len;
}

void sdp_source_sent_cancel(struct sdp_source *s, uint32_t mseq)
{
	assert(s->src_cnt && !s->is_cancelling);
	s->is_cancelling = true;
	s->cancel_mseq = mseq;
}

void sdp_source_sent_change(struct sdp_source *s, enum sdp_mode to,
			    uint32_t mseq)
{
	assert(sdp_source_may_change(s, to));
	if (s->mode == SDP_MODE_PIPELINED) {
		drop_stale(s);
		s->is_switching = true;
		s->has_reissued = false;
		s->switch_mseq = mseq;
		s->switch_pnd = s->pnd;
		/* SDP-224. Removing valid ones changes no counter (C11). */
		if (s->snk_cnt) {
			s->snk_cnt = 0;
			src_clear(s);
			s->has_reissued = true;
		}
	}
	s->mode = to; /* SDP-215 */
}

/* ---- messages received ---- */

void sdp_source_on_change_ack(struct sdp_source *s)
{
	s->is_switching = false;
}

/*
 * A SinkAvail that crossed the ModeChange is ignored, but the counters are
 * updated (C11). If it was valid, the Sink discarded our SrcAvails from before
 * the ModeChange, so they are sent again (C12).
 */
static void ignore_late(struct sdp_source *s, uint32_t non_discards)
{
	if (non_discards != s->switch_pnd) {
		s->switch_pnd--;
		s->pnd--;
		return;
	}
	if (s->has_reissued || !s->src_cnt)
		return;
	s->has_reissued = true;
	if (!sdp_seq_is_reached(src_at(s, 0)->mseq, s->switch_mseq))
		src_clear(s);
}

enum sdp_fault sdp_source_on_sink_avail(struct sdp_source *s,
					const struct sdp_msg *msg)
{
	bool is_late = s->mode == SDP_MODE_COMBINED && s->is_switching;
	uint32_t non_discards = msg->avail.non_discards;
	struct sdp_snk_advert *a;

	if (!is_late && !sdp_mode_has_sink_avail(s->mode))
		return SDP_FAULT_SINK_AVAIL;
	if (sdp_seq_diff(non_discards, is_late ? s->switch_pnd : s->pnd) > 0)
		return SDP_FAULT_NON_DISCARDS;
	if (is_late) {
		ignore_late(s, non_discards); /* SDP-225 */
		return SDP_FAULT_NONE;
	}
	if (s->snk_cnt == s->cap)
		return SDP_FAULT_ADVERTS;
	a = &s->snk[(s->snk_head + s->snk_cnt) % s->cap];
	a->va = msg->avail.va;
	a->stag = msg->avail.stag;
	a->len = msg->avail.len;
	a->non_discards = non_discards;
	s->snk_cnt++;
	drop_stale(s); /* before the rules for crossing messages (SDP-206) */
	if (s->snk_cnt && s->src_cnt)
		src_clear(s); /* SDP-207 */
	return SDP_FAULT_NONE;
}

enum sdp_fault sdp_source_on_rd_compl(struct sdp_source *s, uint32_t len,
				      uint32_t *ret_stag)
{
	const struct sdp_src_advert *a = src_at(s, 0);

	/* The peer must have received all octets that it requested by SendSm
	 * (SDP-156). */
	if (!s->src_cnt || s->data_pos < a->pos)
		return SDP_FAULT_RD_COMPL;
	if (len > a->pos + a->len - s->data_pos)
		return SDP_FAULT_RD_COMPL;
	*ret_stag = a->stag;
	s->data_pos += len;
	if (s->data_pos == a->pos + a->len)
		src_pop(s);
	return SDP_FAULT_NONE;
}

enum sdp_fault sdp_source_on_send_sm(struct sdp_source *s, bool acks_cancel)
{
	const struct sdp_src_advert *a = src_at(s, 0);

	if (!s->src_cnt)
		return SDP_FAULT_RD_COMPL;
	if (s->is_cancelling && acks_cancel) {
		src_clear(s); /* SDP-189, C13 */
		return SDP_FAULT_NONE;
	}
	s->owed_end = a->pos + a->len; /* SDP-155 */
	src_pop(s);
	return SDP_FAULT_NONE;
}

bool sdp_source_on_sink_cancel(struct sdp_source *s, bool was_cut)
{
	bool had;

	drop_stale(s);
	had = s->snk_cnt || was_cut;
	s->snk_cnt = 0;
	return had;
}

enum sdp_fault sdp_source_on_change(struct sdp_source *s, enum sdp_mode to)
{
	if (!sdp_mode_may_change(s->mode, to, false))
		return SDP_FAULT_MODE;
	s->mode = to; /* SDP-216 */
	return SDP_FAULT_NONE;
}

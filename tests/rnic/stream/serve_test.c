/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* serve.c: which of a stream's times is served, and when it is asked again. */
#include "test.h"

#include <string.h>

#include "engine/engine.h"
#include "mem/context.h"
#include "qp/object.h"
#include "rnicpair.h"
#include "stream/object.h"
#include "stream/serve.h"

/* ---- times --------------------------------------------------------------- */

enum { END, RNR, RETRY, STALL, NUDGE, PROBE, TIMES };

#define PACE 65536u /* octets that give a peer another limit */

static const struct time_row {
	const char *name;
	/* From now on; OVER: a little before; 0: none. */
	int64_t at_s[TIMES];
	int served; /* -1: none */
	int next;   /* whose time the entry has afterwards; -1: none */
} time_rows[] = {
#define OVER (-1)
#define NOW INT64_MAX
	{ "none", { 0 }, -1, -1 },
	{ "END only", { [END] = OVER }, END, END },
	{ "RNR only", { [RNR] = OVER }, RNR, -1 },
	{ "RETRY only", { [RETRY] = OVER }, RETRY, -1 },
	{ "STALL only", { [STALL] = OVER }, STALL, -1 },
	{ "NUDGE only", { [NUDGE] = OVER }, NUDGE, -1 },
	{ "PROBE only", { [PROBE] = OVER }, PROBE, -1 },
	{ "STALL at this moment", { [STALL] = NOW }, STALL, -1 },
	{ "END, not yet", { [END] = 100 }, -1, END },
	{ "RNR, not yet", { [RNR] = 100 }, -1, RNR },
	{ "RETRY, not yet", { [RETRY] = 100 }, -1, RETRY },
	{ "STALL, not yet", { [STALL] = 100 }, -1, STALL },
	{ "NUDGE, not yet", { [NUDGE] = 100 }, -1, NUDGE },
	{ "PROBE, not yet", { [PROBE] = 100 }, -1, PROBE },
	{ "the first is next", { 300, 400, 200, 100, 150, 160 }, -1, STALL },
	{ "the last is next", { 300, 400, 200, 180, 150, 140 }, -1, PROBE },
	{ "one is over", { 0, 0, 200, OVER, 150, 160 }, STALL, NUDGE },
	{ "several are over", { 0, 0, OVER, OVER, 0, 160 }, RETRY, STALL },
	{ "all are over", { OVER, OVER, OVER, OVER, OVER, OVER }, END, RNR },
	{ "RNR before RETRY", { 0, OVER, OVER, 0, 0, 0 }, RNR, RETRY },
	{ "STALL before NUDGE", { 0, 0, 0, OVER, OVER, 0 }, STALL, NUDGE },
	{ "NUDGE before PROBE", { 0, 0, 0, 0, OVER, OVER }, NUDGE, PROBE },
};

static uint64_t *time_of(struct rnic_stream *stream, int which)
{
	uint64_t *times[TIMES] = {
		[END] = &stream->deadline_ns,
		[RNR] = &stream->qp->rnr_end_ns,
		[RETRY] = &stream->look.next_ns,
		[STALL] = &stream->stall.next_ns,
		[NUDGE] = &stream->nudge.ns,
		[PROBE] = &stream->probe.ns,
	};

	return times[which];
}

static uint64_t time_ns(int64_t at_s, uint64_t now_ns)
{
	if (at_s == 0 || at_s == NOW)
		return at_s ? now_ns : 0;
	return at_s < 0 ? now_ns - 1 : now_ns + (uint64_t)at_s * 1000000000;
}

struct outcome {
	int served; /* -1: none; TIMES: several */
	uint64_t due_ns, next_ns;
	bool has_due;
};

/* What follows is no more than another time. */
static struct outcome serve_row(struct rnic_stream *stream,
				const struct time_row *row)
{
	struct outcome seen = { .served = -1 };
	struct rnic_engine *engine = stream->engine;
	uint64_t now_ns = util_now_ns(), set[TIMES];

	rnic_due_clear(&engine->due, &stream->source.due);
	for (int i = 0; i < TIMES; i++) {
		set[i] = time_ns(row->at_s[i], now_ns);
		*time_of(stream, i) = set[i];
	}
	stream->nudge.cnt = UINT8_MAX;
	/* The peer takes octets: it gets another limit. */
	if (row->served == END)
		rnic_stream_enter(stream, RNIC_STREAM_CLOSING);
	stream->paced_acked = -(uint64_t)PACE;
	rnic_stream_serve_due(&stream->source.due, now_ns);
	rnic_stream_enter(stream, RNIC_STREAM_RUN);
	for (int i = 0; i < TIMES; i++) {
		if (*time_of(stream, i) != set[i])
			seen.served = seen.served < 0 ? i : TIMES;
	}
	seen.next_ns = row->next < 0 ? 0 : *time_of(stream, row->next);
	seen.due_ns = stream->source.due.ns;
	seen.has_due = engine->due;
	rnic_due_clear(&engine->due, &stream->source.due);
	for (int i = 0; i < TIMES; i++)
		*time_of(stream, i) = 0;
	return seen;
}

PAIR_CASE(one_time_is_served_and_the_next_is_set)
{
	struct rnicpair *p = *state;
	struct rnic_engine *engine = p->side[1].ctx->engine;

	for (size_t i = 0; i < ARRAY_LEN(time_rows); i++) {
		const struct time_row *row = &time_rows[i];
		struct outcome seen = with_lead(
			engine, serve_row(rnic_qp_stream(p->side[1].qp), row));

		assert_row(row->name, seen.served == row->served);
		assert_row(row->name, seen.due_ns == seen.next_ns);
		assert_row(row->name, seen.has_due == (seen.next_ns != 0));
	}
}

/* ---- the end ------------------------------------------------------------- */

static const struct {
	const char *name;
	enum rnic_stream_phase phase;
	bool begins;
} drain_rows[] = {
	{ "in use", RNIC_STREAM_RUN, true },
	{ "closing", RNIC_STREAM_CLOSING, false },
	{ "without its QP", RNIC_STREAM_DRAIN, false },
};

/* Return: whether it has a limit now. */
static bool drain(struct rnic_stream *stream, enum rnic_stream_phase phase)
{
	rnic_stream_enter(stream, phase);
	stream->deadline_ns = 0;
	rnic_stream_ops.drain(&stream->source);
	if (stream->deadline_ns)
		return true;
	/* The engine finds it as it was. */
	rnic_stream_enter(stream, RNIC_STREAM_RUN);
	return false;
}

/* One that ends already keeps its limit. */
PAIR_CASE(the_end_begins_once)
{
	struct rnicpair *p = *state;
	struct rnic_engine *engine = p->side[1].ctx->engine;

	for (size_t i = ARRAY_LEN(drain_rows); i-- > 0;)
		assert_row(
			drain_rows[i].name,
			with_lead(engine, drain(rnic_qp_stream(p->side[1].qp),
						drain_rows[i].phase)) ==
				drain_rows[i].begins);
}

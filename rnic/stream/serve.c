/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the engine calls for its streams. */
#include "serve.h"

#include <errno.h>
#include <sys/epoll.h>

#include "carrier.h"
#include "end.h"
#include "engine/engine.h"
#include "fault.h"
#include "io.h"
#include "nudge.h"
#include "pass.h"
#include "retry.h"
#include "stall.h"
#include "util/clock.h"

/* ---- times --------------------------------------------------------------- */

/* The order in which they are served if several have come. */
enum stream_time {
	TIME_END,
	TIME_RNR,
	TIME_RETRY,
	TIME_STALL,
	TIME_NUDGE,
	TIME_PROBE,
	TIME_FAULT,
	TIME_CNT,
};

struct stream_times {
	uint64_t ns[TIME_CNT]; /* 0: nothing is due */
};

static struct stream_times stream_times(const struct rnic_stream *stream)
{
	return (struct stream_times){ {
		[TIME_END] = stream->deadline_ns,
		[TIME_RNR] = stream->qp ? stream->qp->rnr_end_ns : 0,
		[TIME_RETRY] = stream->look.next_ns,
		[TIME_STALL] = stream->stall.next_ns,
		[TIME_NUDGE] = stream->nudge.ns,
		[TIME_PROBE] = stream->probe.ns,
		[TIME_FAULT] = rnic_stream_fault_ns(stream),
	} };
}

/* Clears the time, or sets it anew.  The stream may be freed. */
static void time_serve(struct rnic_stream *stream, int which, uint64_t now_ns)
{
	switch (which) {
	case TIME_END:
		rnic_stream_expire(stream);
		break;
	case TIME_RNR:
		rnic_stream_rnr(stream);
		break;
	case TIME_RETRY:
		if (rnic_retry_is_over(stream, now_ns))
			rnic_stream_lost(stream, -ETIMEDOUT);
		break;
	case TIME_STALL:
		if (rnic_stall_is_over(stream, now_ns))
			rnic_stream_stalled(stream);
		break;
	case TIME_NUDGE:
		rnic_nudge_fire(stream);
		break;
	case TIME_PROBE:
		if (rnic_stream_probe_is_due(stream, now_ns))
			rnic_stream_probe(stream);
		break;
	case TIME_FAULT:
		rnic_stream_fault_serve(stream, now_ns);
		rnic_stream_pass(stream, EPOLLIN | EPOLLOUT);
		break;
	}
}

/* The earliest time; that of @except does not count.  0: none. */
static uint64_t times_first(const struct stream_times *times, int except)
{
	uint64_t first_ns = 0;

	for (int i = 0; i < TIME_CNT; i++) {
		if (i != except)
			first_ns = util_earlier_ns(first_ns, times->ns[i]);
	}
	return first_ns;
}

/* Return: -1: none; the entry was set for a time that has been taken back. */
static int times_find_over(const struct stream_times *times, uint64_t now_ns)
{
	for (int i = 0; i < TIME_CNT; i++) {
		if (times->ns[i] && times->ns[i] <= now_ns)
			return i;
	}
	return -1;
}

/* Serves one.  The entry is set for the others first. */
void rnic_stream_serve_due(struct rnic_due *due, uint64_t now_ns)
{
	struct rnic_stream *stream =
		RNIC_CONTAINER_OF(due, struct rnic_stream, source.due);
	const struct stream_times times = stream_times(stream);
	int over = times_find_over(&times, now_ns);
	uint64_t first_ns = times_first(&times, over);

	if (first_ns)
		rnic_due_set(&stream->engine->due, due, first_ns);
	if (over >= 0)
		time_serve(stream, over, now_ns);
}

/* ---- sources ------------------------------------------------------------- */

static void serve_pass(struct rnic_source *source, uint32_t events)
{
	rnic_stream_pass(rnic_stream_of(source), events);
}

static bool serve_sleep(struct rnic_source *source)
{
	struct rnic_stream *stream = rnic_stream_of(source);

	if (!stream->carrier->sleep(stream))
		return false;
	rnic_stream_return_staging(stream);
	return true;
}

static bool serve_handover(struct rnic_source *source,
			   struct rnic_handover *ret_handover)
{
	struct rnic_stream *stream = rnic_stream_of(source);

	return stream->carrier->handover(stream, ret_handover);
}

static void serve_stay_awake(struct rnic_source *source)
{
	struct rnic_stream *stream = rnic_stream_of(source);

	stream->carrier->stay_awake(stream);
}

static void serve_drain(struct rnic_source *source)
{
	if (rnic_stream_of(source)->phase == RNIC_STREAM_RUN)
		rnic_stream_close(rnic_stream_of(source));
}

static void serve_abort(struct rnic_source *source)
{
	rnic_stream_lost(rnic_stream_of(source), -ETIMEDOUT);
}

const struct rnic_source_ops rnic_stream_ops = {
	.pass = serve_pass,
	.look = rnic_stream_look,
	.sleep = serve_sleep,
	.unwakeable = rnic_stream_unwakeable,
	.handover = serve_handover,
	.stay_awake = serve_stay_awake,
	.mr_gone = rnic_stream_mr_gone,
	.addr_gone = rnic_stream_addr_gone,
	.drain = serve_drain,
	.abort = serve_abort,
};

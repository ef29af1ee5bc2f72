/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Passes over a stream in RDMA mode: receive, transmit, and act on failures. */
#include "pass.h"

#include <errno.h>
#include <sys/epoll.h>

#include "util/log.h"
#include "carrier.h"
#include "end.h"
#include "engine/engine.h"
#include "io.h"
#include "meet.h"
#include "util/clock.h"
#include "qp/sq.h"
#include "qp/state.h"

/* Passes between two reads of the socket's EMSS (MPA-67).  At first there are
 * fewer, while TCP learns the peer's window. */
#define STREAM_EMSS_PASSES 4096u
/* A silent peer is probed after this time, and again after four times as long.
 * Most answer sooner, and siw's gap lasts microseconds. */
#define STREAM_PROBE_NS (200 * NS_PER_MS)
#define STREAM_PROBE_MAX 2

/* ---- a socket that has failed -------------------------------------------- */

/* The connection has failed.  The provider reads the reason after it has seen
 * that the QP has ended. */
static void stream_note_error(const struct rnic_stream *stream, int status)
{
	int err = status == -EPIPE ? ECONNRESET : -status;

	if (stream->qp)
		rnic_qp_note_error(stream->qp, err);
}

static void stream_failed(struct rnic_stream *stream, int status)
{
	/* A cause that was noted before comes first. */
	if (stream->qp)
		rnic_qp_end(stream->qp);
	stream_note_error(stream, status);
	rnic_stream_lost(stream, status);
}

/*
 * A send failed because the connection has ended.  What the peer sent before
 * that, above all its TERMINATE, is still in the socket.
 */
static void stream_tx_failed(struct rnic_stream *stream, int status)
{
	int rc = stream->send_error < 0;

	while (rc > 0 && stream->qp && !rnic_qp_is_over(stream->qp) &&
	       !stream->has_peer_fin && !rnic_stream_is_full(stream))
		rc = rnic_stream_read(stream);
	stream_failed(stream, status);
}

/* MULPDU follows the socket's EMSS (MPA-67). */
static void stream_update_mulpdu(struct rnic_stream *stream)
{
	smpa_conn_set_mulpdu(stream->conn,
			     smpa_mulpdu(stream->carrier->emss(stream),
					 stream->has_tx_markers));
}

/* Transmit, and end the pass. */
static void stream_transmit(struct rnic_stream *stream)
{
	int rc = rnic_stream_transmit(stream);

	if (rc < 0)
		stream_tx_failed(stream, rc);
	else
		rnic_stream_end_step(stream);
}

void rnic_stream_tx(struct rnic_stream *stream)
{
	rnic_stream_meet(stream);
	/* TCP is full: epoll or a polling thread sees when it is not.  What
	 * needs no room does not wait: it may take back what the peer reads. */
	if (stream->is_tx_blocked &&
	    !(stream->qp && rnic_sq_is_local_next(&stream->qp->sq)))
		return;
	stream->pass_cnt++;
	if (!(stream->pass_cnt & (stream->pass_cnt - 1)) ||
	    stream->pass_cnt % STREAM_EMSS_PASSES == 0)
		stream_update_mulpdu(stream);
	stream_transmit(stream);
}

/* ---- probing a silent peer ----------------------------------------------- */

static void probe_set(struct rnic_stream *stream, uint64_t probe_ns)
{
	stream->probe.ns = probe_ns;
	rnic_engine_deadline(stream->engine, &stream->source.due, probe_ns);
}

void rnic_stream_probe_start(struct rnic_stream *stream)
{
	if (stream->is_initiator)
		probe_set(stream, util_now_ns() + STREAM_PROBE_NS);
}

bool rnic_stream_probe_is_due(struct rnic_stream *stream, uint64_t now_ns)
{
	if (!stream->probe.ns || now_ns < stream->probe.ns)
		return false;
	stream->probe.ns = 0;
	/* The peer can have missed only what was sent. */
	if (stream->phase != RNIC_STREAM_RUN || stream->has_peer_fin ||
	    smpa_conn_counters(stream->conn)->tx_fpdu == 0)
		return false;
	stream->probe.cnt++;
	if (stream->probe.cnt < STREAM_PROBE_MAX)
		probe_set(stream,
			  now_ns + (STREAM_PROBE_NS << 2 * stream->probe.cnt));
	return true;
}

void rnic_stream_probe(struct rnic_stream *stream)
{
	/* If TCP is full, the peer gets octets anyway. */
	if (stream->is_tx_blocked || rnic_stream_lend_tx(stream) < 0 ||
	    rnic_stream_submit_empty(stream) < 0)
		return;
	util_info("rnic",
		  "%s: nothing from the peer since the start; "
		  "an empty WRITE wakes a Linux siw that missed what "
		  "came right behind its Reply",
		  RNIC_QP_NAME(stream->qp));
	rnic_stream_tx(stream);
}

/* ---- pass --------------------------------------------------------------- */

/*
 * A socket is not read while the memory of rnr.c is full, and after the peer's
 * FIN.  Then no call reports that it has failed.  epoll does, until the socket
 * is closed, whatever events it was asked for.
 */
static bool stream_is_unread(const struct rnic_stream *stream)
{
	return stream->has_peer_fin || rnic_stream_is_full(stream);
}

static void stream_pass(struct rnic_stream *stream, uint32_t events)
{
	int rc = 0;

	rnic_stream_meet(stream);
	if (events & (EPOLLERR | EPOLLHUP) && stream_is_unread(stream)) {
		int status = 0;

		if (events & EPOLLERR)
			status = stream->carrier->error(stream);
		stream_note_error(stream, status);
		rnic_stream_part(stream, status);
	}
	if (events & (EPOLLIN | EPOLLERR | EPOLLHUP) && !stream->has_peer_fin) {
		if (stream->qp)
			rc = rnic_stream_rx(stream);
		else
			rc = rnic_stream_discard(stream);
	}
	if (rc < 0) {
		stream_failed(stream, rc);
		return;
	}
	if (stream->qp)
		rnic_qp_end(stream->qp);
	if (rnic_stream_has_work(stream) || stream->is_tx_blocked ||
	    stream->is_notice_due || smpa_conn_tx_pending(stream->conn))
		stream_transmit(stream);
	else
		rnic_stream_end_step(stream);
}

void rnic_stream_pass(struct rnic_stream *stream, uint32_t events)
{
	stream->is_socket_due = true;
	stream_pass(stream, events);
}

void rnic_stream_look(struct rnic_source *source, bool is_woken)
{
	struct rnic_stream *stream = rnic_stream_of(source);

	stream->carrier->look(stream, is_woken);
	stream_pass(stream, EPOLLIN | EPOLLOUT);
}

void rnic_stream_unwakeable(struct rnic_source *source)
{
	struct rnic_stream *stream = rnic_stream_of(source);

	stream->carrier->unwakeable(stream);
	stream_pass(stream, EPOLLIN | EPOLLOUT);
}

void rnic_stream_resume(struct rnic_stream *stream)
{
	rnic_stream_events(stream);
	rnic_stream_pass(stream, EPOLLIN | EPOLLOUT);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Passes over a stream in RDMA mode: octets from the socket to the protocol
 * engine and its events to the QP, messages of the QP to the socket.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "../../util/log.h"
#include "engine/engine.h"
#include "rnr.h"
#include "qp.h"
#include "os/stat.h"
#include "stream-internal.h"
#include "os/tcp.h"

/* Reads of one stream before the next one has its turn. */
#define STREAM_READ_MAX 16
/* Passes between two looks at the socket's EMSS (MPA-67); more often in the
 * beginning, when TCP still learns the peer's window. */
#define STREAM_EMSS_PASSES 4096u
/* A silent peer is probed after this, and again after four times as long:
 * most answer sooner, and siw's gap lasts microseconds. */
#define STREAM_PROBE_NS (200 * NS_PER_MS)
#define STREAM_PROBE_MAX 2

static size_t iov_len(const struct iovec *iov, int cnt)
{
	size_t len = 0;

	for (int i = 0; i < cnt; i++)
		len += iov[i].iov_len;
	return len;
}

/* ---- staging ------------------------------------------------------------ */

static int stream_lend_rx(struct rnic_stream *stream)
{
	struct rnic_staging_pool *pool = &stream->engine->rx_pool;

	stream->rx_staging = rnic_staging_get(pool);
	if (!stream->rx_staging)
		return -ENOMEM;
	return smpa_conn_rx_lend(stream->conn, stream->rx_staging, pool->size);
}

static int stream_lend_tx(struct rnic_stream *stream)
{
	struct rnic_staging_pool *pool = &stream->engine->tx_pool;
	int rc;

	if (stream->tx_staging)
		return 0;
	if (stream->start_tx) {
		/* The last start frame must leave before we can change. */
		rc = smpa_conn_tx_lend(stream->conn, NULL, 0);
		if (rc < 0)
			return rc;
		free(stream->start_tx);
		stream->start_tx = NULL;
	}
	stream->tx_staging = rnic_staging_get(pool);
	if (!stream->tx_staging)
		return -ENOMEM;
	return smpa_conn_tx_lend(stream->conn, stream->tx_staging, pool->size);
}

static void stream_return_staging(struct rnic_stream *stream)
{
	if (stream->rx_staging && smpa_conn_rx_is_idle(stream->conn)) {
		smpa_conn_rx_lend(stream->conn, NULL, 0);
		rnic_staging_put(&stream->engine->rx_pool, stream->rx_staging);
		stream->rx_staging = NULL;
	}
	if (stream->tx_staging && smpa_conn_tx_is_idle(stream->conn)) {
		smpa_conn_tx_lend(stream->conn, NULL, 0);
		rnic_staging_put(&stream->engine->tx_pool, stream->tx_staging);
		stream->tx_staging = NULL;
	}
}

/* ---- events ------------------------------------------------------------- */

static void stream_sent(struct rnic_qp *qp, uint64_t cookie)
{
	if (cookie == RNIC_COOKIE_RESPONSE)
		rnic_irq_sent(qp);
	else
		rnic_sq_sent(qp, (uint32_t)cookie);
}

/* Until there is none left; without a QP only what is sent matters. */
static void stream_events(struct rnic_stream *stream)
{
	struct smpa_event ev;

	while (smpa_conn_next_event(stream->conn, &ev) > 0) {
		if (!stream->qp) {
			if (ev.type != SMPA_EV_SENT)
				return;
			continue;
		}
		switch (ev.type) {
		case SMPA_EV_SENT:
			stream_sent(stream->qp, ev.sent.cookie);
			break;
		case SMPA_EV_CLOSED:
			stream->has_peer_fin = true;
			break;
		case SMPA_EV_NONE:
		case SMPA_EV_REQUEST:
		case SMPA_EV_ESTABLISHED:
		case SMPA_EV_REJECTED:
		case SMPA_EV_SEGMENT:
		case SMPA_EV_MESSAGE:
		case SMPA_EV_READ:
		case SMPA_EV_ATOMIC:
		case SMPA_EV_ATOMIC_DONE:
		case SMPA_EV_TERMINATE:
		case SMPA_EV_FAULT:
			rnic_inbound_event(stream->qp, stream->conn, &ev);
			break;
		}
	}
}

/* ---- receive ------------------------------------------------------------ */

/* The kernel could not write into an open sink.  No octet is lost by that,
 * and what may stand in front of the fault is placed. */
static int stream_unwritable(struct rnic_stream *stream)
{
	struct smpa_event ev;

	if (!smpa_conn_open_segment(stream->conn, &ev))
		return -EFAULT;
	rnic_inbound_unwritable(stream->qp, stream->conn, &ev);
	return 0;
}

/* Return: octets asked for and got in full: > 0, look again; 0: enough;
 * negative errno: the socket failed. */
static int stream_read(struct rnic_stream *stream)
{
	struct iovec iov[SMPA_IOV_MAX + 1];
	size_t want;
	ssize_t len;
	int cnt, rc;

	cnt = smpa_conn_rx_prepare(stream->conn, iov, SMPA_IOV_MAX + 1);
	if (cnt == -ENOBUFS) {
		rc = stream_lend_rx(stream);
		if (rc < 0)
			return rc;
		cnt = smpa_conn_rx_prepare(stream->conn, iov, SMPA_IOV_MAX + 1);
	}
	if (cnt <= 0)
		return cnt;
	want = iov_len(iov, cnt);
	len = rnic_tcp_recv(stream->source.fd, iov, cnt);
	if (len == -EAGAIN)
		return 0;
	rnic_stat_add(RNIC_STAT_rx_calls, 1);
	if (len == -EFAULT)
		return stream_unwritable(stream);
	if (len < 0)
		return (int)len;
	/* The send took the error: behind it, recv() says no more than EOF. */
	if (len == 0 && stream->send_error < 0)
		return stream->send_error;
	if (len == 0) {
		stream->has_peer_fin = true;
		smpa_conn_rx_eof(stream->conn);
		stream_events(stream);
		return 0;
	}
	stream->probe_ns = 0;
	rnic_stat_add(RNIC_STAT_rx_octets, (uint64_t)len);
	smpa_conn_rx_commit(stream->conn, (size_t)len);
	stream_events(stream);
	return (size_t)len == want;
}

/* Sends wait for receives, and nothing more can be kept (rnr.c). */
static bool stream_is_full(const struct rnic_stream *stream)
{
	return stream->qp && rnic_rnr_is_full(stream->qp);
}

static int stream_rx(struct rnic_stream *stream)
{
	int rc = 1;

	for (int i = 0; i < STREAM_READ_MAX && rc > 0; i++) {
		if (stream->has_peer_fin || !stream->qp)
			return 0;
		rc = stream_read(stream);
	}
	return rc < 0 ? rc : 0;
}

static int stream_discard(struct rnic_stream *stream)
{
	ssize_t len = 1;

	for (int i = 0; i < STREAM_READ_MAX && len > 0; i++) {
		len = rnic_tcp_discard(stream->source.fd, 1u << 20);
		if (len == 0)
			stream->has_peer_fin = true;
	}
	return len < 0 && len != -EAGAIN ? (int)len : 0;
}

/* ---- transmit ----------------------------------------------------------- */

/* What cannot be read ends the stream. */
static void stream_unreadable(struct rnic_stream *stream)
{
	if (stream->qp && stream->phase != RNIC_STREAM_DRAIN)
		rnic_sq_unreadable(stream->qp,
				   smpa_conn_tx_unreadable(stream->conn));
	else /* nobody is there any more to be told */
		smpa_conn_terminate(
			stream->conn,
			(struct smpa_fault){ SMPA_F_RDMAP_STREAM_CATA });
}

/* Is this the place to begin a new segment?  A QP that connected without
 * rdma_cm has a peer like us, who takes them as they come. */
static int stream_send_flags(const struct rnic_stream *stream)
{
	if (stream->qp && stream->qp->sq.ack.is_on)
		return 0;
	return smpa_conn_tx_ends_segment(stream->conn) ? MSG_EOR : 0;
}

/* Return: 1: all that was prepared went; 0: nothing prepared, or TCP is full;
 * -EFAULT: what comes next cannot be read; other -errno: the socket failed. */
static int stream_put(struct rnic_stream *stream)
{
	const struct iovec *iov;
	size_t want;
	ssize_t len;
	int cnt;

	cnt = smpa_conn_tx_prepare(stream->conn, &iov);
	if (cnt <= 0)
		return cnt == -EFAULT ? cnt : 0;
	want = iov_len(iov, cnt);
	len = rnic_tcp_send(stream->source.fd, iov, cnt,
			    stream_send_flags(stream));
	if (len == -EFAULT) {
		/* What is left to say comes with the next tx_prepare. */
		(void)smpa_conn_tx_fault(stream->conn);
		return 1;
	}
	if (len == -EAGAIN) {
		stream->is_tx_blocked = true;
		return 0;
	}
	if (len < 0) {
		stream->send_error = (int)len;
		return (int)len;
	}
	rnic_stat_add(RNIC_STAT_tx_calls, 1);
	rnic_stat_add(RNIC_STAT_tx_octets, (uint64_t)len);
	stream->tx_octets += (uint64_t)len;
	smpa_conn_tx_commit(stream->conn, (size_t)len);
	stream->is_tx_blocked = (size_t)len < want;
	return !stream->is_tx_blocked;
}

/* The same, and what comes of it. */
static int stream_send(struct rnic_stream *stream)
{
	uint64_t sent = stream->tx_octets;
	int rc = stream_put(stream);

	if (stream->tx_octets != sent)
		stream_events(stream);
	if (rc != -EFAULT)
		return rc;
	stream_unreadable(stream);
	return 1; /* TERMINATE is next */
}

static bool stream_has_work(const struct rnic_stream *stream)
{
	const struct rnic_qp *qp = stream->qp;

	return qp && (rnic_irq_is_waiting(qp) || rnic_sq_is_waiting(qp));
}

static int stream_tx(struct rnic_stream *stream)
{
	int rc = 1;

	if (stream->is_fin_sent)
		return 0;
	while (rc > 0) {
		if (stream_has_work(stream)) {
			rc = stream_lend_tx(stream);
			if (rc < 0 && rc != -EBUSY)
				return rc;
			if (rc == 0)
				rnic_sq_advance(stream->qp);
		}
		rc = stream_send(stream);
	}
	return rc;
}

void rnic_stream_answer(struct rnic_stream *stream)
{
	bool has_submitted = true;
	int rc = 1;

	if (!rnic_irq_is_waiting(stream->qp) || stream->is_tx_blocked ||
	    stream_lend_tx(stream) < 0)
		return;
	/* No events: who refuses is in the midst of one. */
	while (has_submitted || rc > 0) {
		has_submitted = rnic_irq_advance(stream->qp);
		if (!stream->qp)
			return;
		rc = stream_put(stream);
	}
}

/* MULPDU follows the socket's EMSS (MPA-67). */
static void stream_look_at_emss(struct rnic_stream *stream)
{
	smpa_conn_set_mulpdu(stream->conn,
			     smpa_mulpdu(rnic_tcp_emss(stream->source.fd),
					 stream->has_tx_markers));
}

/* ---- a socket that has failed -------------------------------------------- */

/* As a call would have told it. */
static int stream_error(const struct rnic_stream *stream)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (rnic_tcp()->getsockopt(stream->source.fd, SOL_SOCKET, SO_ERROR,
				   &err, &len) < 0 ||
	    err == 0)
		return -ECONNRESET;
	return -err;
}

/* A call, or epoll, says that the connection has failed; for those who ask why
 * once they hear that the QP has ended. */
static void stream_note_error(const struct rnic_stream *stream, int status)
{
	int err = status == -EPIPE ? ECONNRESET : -status;

	if (stream->qp) /* release: pairs with rnic_qp_error() */
		atomic_store_explicit(&stream->qp->tcp_error, err,
				      memory_order_release);
}

static void stream_failed(struct rnic_stream *stream, int status)
{
	stream_note_error(stream, status);
	rnic_stream_lost(stream, status);
}

/*
 * A send met the end of the connection.  What the peer sent before, its
 * TERMINATE most of all, is still in the socket.
 */
static void stream_tx_failed(struct rnic_stream *stream, int status)
{
	int rc = stream->send_error < 0;

	while (rc > 0 && stream->qp && !stream->has_peer_fin &&
	       !stream_is_full(stream))
		rc = stream_read(stream);
	stream_failed(stream, status);
}

void rnic_stream_tx(struct rnic_stream *stream)
{
	int rc;

	/* Full: epoll or a polling thread will tell when there is room. */
	if (stream->is_tx_blocked)
		return;
	stream->pass_cnt++;
	if (!(stream->pass_cnt & (stream->pass_cnt - 1)) ||
	    stream->pass_cnt % STREAM_EMSS_PASSES == 0)
		stream_look_at_emss(stream);
	rc = stream_tx(stream);
	if (rc < 0)
		stream_tx_failed(stream, rc);
	else
		rnic_stream_end_step(stream);
}

/* ---- probing a silent peer ----------------------------------------------- */

void rnic_stream_probe_start(struct rnic_stream *stream)
{
	if (!stream->is_initiator)
		return;
	stream->probe_ns = rnic_now_ns() + STREAM_PROBE_NS;
	rnic_engine_deadline(stream->engine, stream->probe_ns);
}

bool rnic_stream_probe_is_due(struct rnic_stream *stream, uint64_t now_ns)
{
	if (!stream->probe_ns || now_ns < stream->probe_ns)
		return false;
	stream->probe_ns = 0;
	/* It can have missed only what was sent. */
	if (stream->phase != RNIC_STREAM_RUN || stream->has_peer_fin ||
	    smpa_conn_counters(stream->conn)->tx_fpdu == 0)
		return false;
	stream->probe_cnt++;
	if (stream->probe_cnt < STREAM_PROBE_MAX)
		stream->probe_ns =
			now_ns + (STREAM_PROBE_NS << 2 * stream->probe_cnt);
	return true;
}

void rnic_stream_probe(struct rnic_stream *stream)
{
	/* The STag of an empty Write means nothing (DDP-32); 1, like that of
	 * the RTR. */
	struct smpa_msg msg = {
		.opcode = SMPA_OP_WRITE,
		.quiet = true,
		.stag = 1,
	};

	stream->is_probing = false;
	/* Whoever has more to send than TCP takes is heard anyway. */
	if (stream->is_tx_blocked || stream_lend_tx(stream) < 0 ||
	    smpa_conn_submit(stream->conn, &msg) < 0)
		return;
	if (stream->probe_cnt == 1)
		util_info("rnic",
			  "qp 0x%06x: nothing from the peer since the start; "
			  "an empty WRITE wakes a Linux siw that missed what "
			  "came right behind its Reply",
			  stream->qp->num);
	rnic_stream_tx(stream);
}

/* ---- pass --------------------------------------------------------------- */

void rnic_stream_watch(struct rnic_stream *stream)
{
	uint32_t events = 0;

	if (!stream->has_peer_fin && !stream_is_full(stream))
		events |= EPOLLIN;
	if (stream->is_tx_blocked)
		events |= EPOLLOUT;
	rnic_engine_set_events(stream->engine, &stream->source, events);
}

/*
 * A socket that is not read, because the memory of rnr.c is full or behind the
 * peer's FIN, cannot tell that it has failed.  epoll does, again and again
 * until the socket is closed, whatever it was asked for.
 */
static bool stream_is_unread(const struct rnic_stream *stream)
{
	return stream->qp && (stream->has_peer_fin || stream_is_full(stream));
}

void rnic_stream_pass(struct rnic_stream *stream, uint32_t events)
{
	int rc = 0;

	if (events & (EPOLLERR | EPOLLHUP) && stream_is_unread(stream)) {
		rc = events & EPOLLERR ? stream_error(stream) : 0;
		stream_note_error(stream, rc);
		rnic_stream_part(stream, rc);
		rc = 0;
	}
	if (events & (EPOLLIN | EPOLLERR | EPOLLHUP) && !stream->has_peer_fin) {
		if (stream->qp)
			rc = stream_rx(stream);
		else
			rc = stream_discard(stream);
	}
	if (rc < 0) {
		stream_failed(stream, rc);
		return;
	}
	if (stream_has_work(stream) || stream->is_tx_blocked ||
	    smpa_conn_tx_pending(stream->conn))
		rc = stream_tx(stream);
	if (rc < 0)
		stream_tx_failed(stream, rc);
	else
		rnic_stream_end_step(stream);
}

void rnic_stream_resume(struct rnic_stream *stream)
{
	stream_events(stream);
	rnic_stream_pass(stream, EPOLLIN | EPOLLOUT);
}

void rnic_stream_settle(struct rnic_stream *stream)
{
	rnic_stall_begin(stream);
	stream_return_staging(stream);
	rnic_stream_watch(stream);
}

int rnic_stream_flush(struct rnic_stream *stream)
{
	int rc = 1;

	while (rc > 0)
		rc = stream_send(stream);
	return rc;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Events from the octets of RDMA mode, and the memory for octets of any phase.
 */
#include <assert.h>

#include "rx.h"

#include <errno.h>
#include <string.h>

#include "tx.h"
#include "wire.h"

/* For FPDUs of at least this length the read ends near the end of the FPDU, so
 * that little of the next FPDU has to be moved to the front. */
#define RX_LONG 16384u
#define RX_LONG_AHEAD 4096u
/* Staging after a direct sink: enough for the next headers, and little of the
 * next payload, because that should go direct too. */
#define RX_BULK_AHEAD_MIN 512u
#define RX_BULK_AHEAD_MAX 2048u

/* Number of short FPDUs in a row after which long ones are no longer expected.
 * A few are usual: the tail of a message, or a Send after a Write. */
#define RX_BULK_SHORT_MAX 4u

/* Makes rx_next_event() try again. */
#define RX_AGAIN 2

static size_t rx_staged(const struct conn_rx *rx)
{
	return rx->tail - rx->head;
}

/* NULL when nothing is lent; then nothing is staged either. */
static uint8_t *rx_front(const struct conn_rx *rx)
{
	return rx->buf ? rx->buf + rx->head : NULL;
}

/* Removes octets of an FPDU from staging. */
static void rx_consume(struct conn_rx *rx, size_t len)
{
	rx->head += len;
	rx->phase = (rx->phase + (uint32_t)len) % FPDU_MARKER_INTERVAL;
	rx->need = 0;
}

void rx_discard(struct smpa_conn *c)
{
	struct conn_rx *rx = &c->rx;

	rx->is_discarding = true; /* MPA-166, DDP-53 */
	rx->state = RX_FPDU;
	rx->head = 0;
	rx->tail = 0;
	rx->sink_cnt = 0;
	rx->sink_idx = 0;
}

int rx_fault(struct smpa_conn *c, struct smpa_event *ev, uint16_t value,
	     const struct term_cause *cause)
{
	struct smpa_fault fault = { value };

	rx_discard(c);
	memset(ev, 0, sizeof(*ev));
	ev->type = SMPA_EV_FAULT;
	ev->fault.fault = fault;
	/* Without a connection there is no reader, and an invalid frame closes
	 * at once (MPA-164). */
	if (value == SMPA_F_MPA_CLOSED || value == SMPA_F_MPA_START)
		tx_close(c);
	else
		ev->fault.has_terminate = tx_terminate(c, fault, cause);
	return 1;
}

/* ---- lending --------------------------------------------------------- */

bool smpa_conn_rx_is_idle(const struct smpa_conn *conn)
{
	const struct conn_rx *rx = &conn->rx;

	if (rx->is_discarding)
		return true;
	return rx_is_drained(rx) && conn->phase != PHASE_REQUESTED &&
	       !rx->is_established_due && rx->state != RX_SEGMENT &&
	       rx->state != RX_PLACED;
}

int smpa_conn_rx_lend(struct smpa_conn *conn, void *buf, size_t size)
{
	struct conn_rx *rx = &conn->rx;
	size_t least = conn->phase == PHASE_RDMA ? SMPA_RX_STAGING_MIN
						 : SMPA_START_STAGING_MIN;

	if (buf && size < least)
		return -EINVAL;
	if (rx->buf && !smpa_conn_rx_is_idle(conn))
		return -EBUSY;
	rx->buf = buf;
	rx->size = buf ? size : 0;
	rx->head = 0;
	rx->tail = 0;
	rx->need = 0;
	rx->offered_direct = 0;
	rx->offered_staging = 0;
	return 0;
}

/* ---- prepare, commit ------------------------------------------------- */

/* Programs spin on the last octets of a Write, and take it that the others are
 * there as well.  So these are placed last. */
#define RX_LAST 8u

/* memcpy() places octets in any order, also the last ones first. */
static void octets_put(uint8_t *to, const uint8_t *from, size_t len)
{
	if (len > RX_LAST) {
		len -= RX_LAST;
		memcpy(to, from, len);
		__atomic_thread_fence(__ATOMIC_RELEASE);
		memcpy(to + len, from + len, RX_LAST);
	} else if (len > 0) {
		memcpy(to, from, len);
	}
}

struct sink_put {
	struct conn_rx *rx;
	const uint8_t *from; /* staging; NULL: they are in the sink already */
	size_t len;
};

/* Octets of the sink, which shrinks from the front. */
static void sink_put(void *arg)
{
	const struct sink_put *put = arg;
	struct conn_rx *rx = put->rx;
	const uint8_t *from = put->from;
	size_t len = put->len;

	while (len > 0) {
		struct iovec *v = &rx->sink[rx->sink_idx];
		size_t piece = len < v->iov_len ? len : v->iov_len;

		if (from) {
			octets_put(v->iov_base, from, piece);
			from += piece;
		}
		len -= piece;
		v->iov_base = (uint8_t *)v->iov_base + piece;
		v->iov_len -= piece;
		if (v->iov_len == 0)
			rx->sink_idx++;
	}
}

/* Reads ahead about 1/64 of what goes direct. */
static size_t rx_bulk_ahead(const struct conn_rx *rx)
{
	size_t ahead = rx->bulk_len / 64u;

	if (ahead < RX_BULK_AHEAD_MIN)
		return RX_BULK_AHEAD_MIN;
	return ahead < RX_BULK_AHEAD_MAX ? ahead : RX_BULK_AHEAD_MAX;
}

/* Payload of long FPDUs may go direct. */
static bool rx_is_plain(const struct smpa_conn *c)
{
	return !rx_has_crc(c) && !c->out.rx_markers;
}

/*
 * How much staging to offer.  If fewer than *ret_least octets are free at the
 * tail, the staged octets are moved to the front first.
 */
static size_t rx_want(const struct smpa_conn *c, size_t *ret_least)
{
	const struct conn_rx *rx = &c->rx;
	size_t have = rx_staged(rx);
	size_t missing = rx->need > have ? rx->need - have : 1;
	size_t want;

	if (c->phase != PHASE_RDMA) {
		missing = start_frame_need(rx->buf + rx->head, have) - have;
		*ret_least = missing;
		return missing;
	}
	if (rx->state == RX_DIRECT || rx->state == RX_TRAILER) {
		want = rx->seg.trailer + rx_bulk_ahead(rx);
	} else if (rx->need >= RX_LONG) {
		want = missing + RX_LONG_AHEAD;
	} else if (rx->bulk_left > 0) {
		want = rx_bulk_ahead(rx);
		if (want < missing)
			want = missing;
	} else {
		/* A read into less than half of staging would be too small.
		 * Moving is cheap: the staged octets are the short front of
		 * one FPDU. */
		want = rx_is_plain(c) ? rx->window : rx->size;
		*ret_least = want < rx->size / 2 ? want : rx->size / 2;
		if (*ret_least < missing)
			*ret_least = missing;
		return want < missing ? missing : want;
	}
	*ret_least = want;
	return want;
}

static void rx_compact(struct conn_rx *rx, size_t least)
{
	size_t have = rx_staged(rx);

	if (have == 0) {
		rx->head = 0;
		rx->tail = 0;
	} else if (rx->head > 0 && rx->size - rx->tail < least) {
		memmove(rx->buf, rx->buf + rx->head, have);
		rx->head = 0;
		rx->tail = have;
	}
}

/* What fills the iovecs does so one after the other, and each in any order. */
static int rx_offer_sink(struct conn_rx *rx, struct iovec *iov, int max)
{
	struct iovec *last = iov;
	int n = 0;

	for (int i = rx->sink_idx; i < rx->sink_cnt && n < max; i++) {
		if (rx->sink[i].iov_len == 0)
			continue;
		last = &iov[n];
		iov[n++] = rx->sink[i];
		rx->offered_direct += rx->sink[i].iov_len;
	}
	if (n > 0 && n < max && last->iov_len > RX_LAST) {
		last->iov_len -= RX_LAST;
		iov[n].iov_base = (uint8_t *)last->iov_base + last->iov_len;
		iov[n].iov_len = RX_LAST;
		n++;
	}
	return n;
}

/* Whether octets are expected at all in this phase. */
static bool rx_is_reading(const struct smpa_conn *c)
{
	const struct conn_rx *rx = &c->rx;

	if (rx->is_eof)
		return false;
	switch (c->phase) {
	case PHASE_IDLE:
	case PHASE_REQUESTED:
	case PHASE_LEFT:
		return false;
	case PHASE_FAILED:
		return rx->is_discarding;
	case PHASE_WAIT_REQUEST:
	case PHASE_WAIT_REPLY:
		return true;
	case PHASE_RDMA:
		break;
	}
	return rx->is_discarding ||
	       (!rx->is_established_due && rx->state != RX_SEGMENT &&
		rx->state != RX_PLACED);
}

int smpa_conn_rx_prepare(struct smpa_conn *conn, struct iovec *iov, int max)
{
	struct conn_rx *rx = &conn->rx;
	bool is_start = conn->phase != PHASE_RDMA;
	size_t want, least, room;
	int n = 0;

	rx->offered_direct = 0;
	rx->offered_staging = 0;
	if (!rx_is_reading(conn) || max < 1)
		return 0;
	if (!rx->buf)
		return -ENOBUFS;
	if (rx->is_discarding) { /* C-15: read and forget */
		iov[0].iov_base = rx->buf;
		iov[0].iov_len = rx->size;
		rx->offered_staging = rx->size;
		return 1;
	}
	if (!is_start && rx->size < SMPA_RX_STAGING_MIN)
		return -ENOBUFS;
	want = rx_want(conn, &least);
	rx_compact(rx, least);
	if (rx->state == RX_DIRECT)
		n = rx_offer_sink(rx, iov, max);
	room = rx->size - rx->tail;
	if (want > room)
		want = room;
	/* Staging may follow only if the whole rest of the sink is offered. */
	if (want > 0 && n < max &&
	    rx->offered_direct == (rx->state == RX_DIRECT ? rx->seg.rest : 0)) {
		iov[n].iov_base = rx->buf + rx->tail;
		iov[n].iov_len = want;
		rx->offered_staging = want;
		n++;
	}
	return n;
}

int smpa_conn_rx_commit(struct smpa_conn *conn, size_t len)
{
	struct conn_rx *rx = &conn->rx;
	size_t direct;

	if (len < 1 || len > rx->offered_direct + rx->offered_staging)
		return -EINVAL;
	direct = len < rx->offered_direct ? len : rx->offered_direct;
	/* Many short FPDUs arrive: read more of them at once. */
	if (len - direct >= rx->window && rx->window < rx->size)
		rx->window *= 2;
	rx->offered_direct = 0;
	rx->offered_staging = 0;
	if (rx->is_discarding)
		return 0;
	if (direct > 0) {
		sink_put(&(struct sink_put){ rx, NULL, direct });
		rx->seg.rest -= (uint32_t)direct;
		conn->cnt.rx_direct += direct;
		if (rx->seg.rest == 0)
			rx->state = RX_TRAILER;
	}
	rx->tail += len - direct;
	return 0;
}

void smpa_conn_rx_eof(struct smpa_conn *conn)
{
	conn->rx.is_eof = true;
}

/* ---- events ---------------------------------------------------------- */

/* More octets are needed, or the stream has ended. */
static int rx_more(struct smpa_conn *c, struct smpa_event *ev, size_t need,
		   bool is_boundary)
{
	struct conn_rx *rx = &c->rx;
	int ret;

	rx->need = need;
	if (!rx->is_eof)
		return 0;
	if (!is_boundary) {
		ret = rx_fault(c, ev, SMPA_F_MPA_CLOSED, NULL);
		ev->fault.is_truncated = true;
		return ret;
	}
	rx_discard(c);
	rx->is_ended = true;
	memset(ev, 0, sizeof(*ev));
	ev->type = SMPA_EV_CLOSED; /* MPA-157 */
	return 1;
}

static void ev_message(const struct smpa_conn *c, struct smpa_event *ev)
{
	const struct rx_segment *s = &c->rx.seg;

	memset(ev, 0, sizeof(*ev));
	ev->type = SMPA_EV_MESSAGE;
	ev->msg.opcode = s->opcode;
	ev->msg.len = s->len;
	if (s->ddp.is_tagged) {
		ev->msg.stag = s->ddp.stag;
		ev->msg.to = s->ddp.to;
		return;
	}
	ev->msg.len += s->ddp.mo; /* DDP-39; checked against 2^32 */
	ev->msg.msn = s->ddp.msn;
	if (rdmap_op(s->opcode)->has_inv_stag)
		ev->msg.inv_stag = s->ddp.ulp2;
	memcpy(ev->msg.imm, s->imm, sizeof(ev->msg.imm));
}

static void ev_segment(const struct smpa_conn *c, struct smpa_event *ev)
{
	const struct rx_segment *s = &c->rx.seg;

	memset(ev, 0, sizeof(*ev));
	ev->type = SMPA_EV_SEGMENT;
	ev->seg.opcode = s->opcode;
	ev->seg.is_tagged = s->ddp.is_tagged;
	ev->seg.is_last = s->ddp.is_last;
	ev->seg.stag = s->ddp.stag;
	ev->seg.to = s->ddp.to;
	ev->seg.qn = s->ddp.qn;
	ev->seg.msn = s->ddp.msn;
	ev->seg.mo = s->ddp.mo;
	ev->seg.len = s->len;
	memcpy(ev->seg.imm, s->imm, sizeof(ev->seg.imm));
	if (rdmap_op(s->opcode)->has_inv_stag)
		ev->seg.inv_stag = s->ddp.ulp2;
}

/* ---- FPDUs ----------------------------------------------------------- */

/*
 * True if the Initiator has sent before it could have had the Reply (C-2c).
 * Early octets of a Responder are accepted: kernel siw sends as Responder as
 * soon as its application posts, against MPA-134, and its FPDUs are valid.
 */
static bool rx_is_early(const struct smpa_conn *c)
{
	return c->opt.role == SMPA_RESPONDER && c->tx.taken < c->tx.start_end;
}

static int rx_read(struct smpa_conn *c, struct smpa_event *ev,
		   const uint8_t *body, bool may_be_rtr)
{
	struct conn_rx *rx = &c->rx;
	struct rdmap_read r;

	rdmap_read_decode(body, RDMAP_READ_SIZE, &r);
	if (may_be_rtr && (c->out.rtr & SMPA_RTR_READ) && r.len == 0) {
		c->tx.answer_stag = r.sink_stag; /* RDMAP-17, RDMAP-19 */
		c->tx.answer_to = r.sink_to;
		c->tx.wants |= TX_WANT_RTR_ANSWER;
		return RX_AGAIN;
	}
	memset(ev, 0, sizeof(*ev));
	ev->type = SMPA_EV_READ;
	ev->read.sink_stag = r.sink_stag;
	ev->read.sink_to = r.sink_to;
	ev->read.len = r.len;
	ev->read.src_stag = r.src_stag;
	ev->read.src_to = r.src_to;
	ev->read.msn = rx->seg.ddp.msn;
	return 1;
}

static int rx_atomic(struct smpa_conn *c, struct smpa_event *ev,
		     const uint8_t *body)
{
	memset(ev, 0, sizeof(*ev));
	ev->type = SMPA_EV_ATOMIC;
	ev->atomic.msn = c->rx.seg.ddp.msn;
	rdmap_atomic_decode(body, ev);
	if (ev->atomic.op != RDMAP_FETCH_ADD &&
	    ev->atomic.op != RDMAP_CMP_SWAP) /* D-31 */
		return rx_fault(c, ev, SMPA_F_RDMAP_OPCODE, &c->rx.cause);
	return 1;
}

static int rx_atomic_done(struct smpa_event *ev, const uint8_t *body)
{
	memset(ev, 0, sizeof(*ev));
	ev->type = SMPA_EV_ATOMIC_DONE;
	rdmap_atomic_response_decode(body, ev);
	return 1;
}

/* MSN of the last Read or Atomic Request that this side submitted. */
static uint32_t request_msn(const struct smpa_conn *c)
{
	const struct tx_msg *m = &c->tx.msg;
	uint32_t msn = c->tx.msn[DDP_QN_READ];
	bool is_next = m->is_active && (m->opcode == SMPA_OP_READ_REQUEST ||
					m->opcode == SMPA_OP_ATOMIC_REQUEST);

	return is_next ? msn : msn - 1;
}

static int rx_terminated(struct smpa_conn *c, struct smpa_event *ev,
			 const uint8_t *body, size_t len)
{
	uint32_t last_msn = request_msn(c);
	struct term_info t;

	term_decode(body, len, &t); /* rdmap_check() saw the four octets */
	rx_discard(c);
	tx_close(c); /* RDMAP-31 */
	memset(ev, 0, sizeof(*ev));
	ev->type = SMPA_EV_TERMINATE; /* RDMAP-29 */
	ev->term.fault = t.fault;
	ev->term.has_ddp = t.has_ddp;
	ev->term.has_read = t.has_read;
	ev->term.is_swapped = t.is_swapped;
	ev->term.is_tagged = t.ddp.is_tagged;
	ev->term.opcode = t.has_ddp ? rdmap_opcode(t.ddp.ulp) : 0;
	ev->term.stag = t.ddp.stag;
	ev->term.to = t.ddp.to;
	ev->term.qn = t.ddp.qn;
	ev->term.msn = t.ddp.msn;
	ev->term.mo = t.ddp.mo;
	ev->term.behind = last_msn - t.ddp.msn;
	if (!t.has_read)
		return 1;
	ev->term.read.sink_stag = t.read.sink_stag;
	ev->term.read.sink_to = t.read.sink_to;
	ev->term.read.len = t.read.len;
	ev->term.read.src_stag = t.read.src_stag;
	ev->term.read.src_to = t.read.src_to;
	return 1;
}

/* Handles a segment without payload of the user. */
static int rx_control(struct smpa_conn *c, struct smpa_event *ev,
		      bool may_be_rtr)
{
	struct conn_rx *rx = &c->rx;
	const uint8_t *body = rx->buf + rx->seg.off;

	rx_consume(rx, rx->seg.end - rx->head);
	switch (rx->seg.opcode) {
	case SMPA_OP_READ_REQUEST:
		return rx_read(c, ev, body, may_be_rtr);
	case SMPA_OP_ATOMIC_REQUEST:
		return rx_atomic(c, ev, body);
	case SMPA_OP_ATOMIC_RESPONSE:
		return rx_atomic_done(ev, body);
	default:
		assert(rx->seg.opcode == SMPA_OP_TERMINATE);
		return rx_terminated(c, ev, body, rx->seg.len);
	}
}

static int rx_tagged(struct smpa_conn *c, struct smpa_event *ev,
		     bool may_be_rtr)
{
	struct conn_rx *rx = &c->rx;
	struct rx_segment *s = &rx->seg;

	if (s->opcode == SMPA_OP_READ_RESPONSE && rx->is_rtr_answer_due) {
		/* Responses come in order, so the first one answers the RTR. */
		if (s->len > 0 || !s->ddp.is_last)
			return rx_fault(c, ev, SMPA_F_DDP_T_BOUNDS,
					&rx->cause); /* D-15 */
		rx->is_rtr_answer_due = false;
		rx_consume(rx, s->end - rx->head);
		return RX_AGAIN;
	}
	if (s->len > 0) {
		rx->state = RX_SEGMENT;
		ev_segment(c, ev);
		return 1;
	}
	rx_consume(rx, s->end - rx->head); /* DDP-32, D-35 */
	if (s->opcode == SMPA_OP_WRITE && may_be_rtr &&
	    (c->out.rtr & SMPA_RTR_WRITE))
		return RX_AGAIN;
	if (s->ddp.is_last)
		rx->state = RX_PLACED;
	return RX_AGAIN;
}

static int rx_send(struct smpa_conn *c, struct smpa_event *ev, bool may_be_rtr)
{
	struct conn_rx *rx = &c->rx;
	struct rx_segment *s = &rx->seg;

	if (may_be_rtr && (c->out.rtr & SMPA_RTR_SEND) &&
	    s->opcode == SMPA_OP_SEND && s->len == 0 && s->ddp.is_last) {
		rx_consume(rx, s->end - rx->head); /* D-25 */
		return RX_AGAIN;
	}
	if (!rdmap_op(s->opcode)->has_payload) {
		memcpy(s->imm, rx->buf + s->off, sizeof(s->imm));
		s->len = 0;
	}
	rx->state = RX_SEGMENT;
	ev_segment(c, ev);
	return 1;
}

/*
 * Checks the DDP segment at @off of staging and reports it.  @avail of its @len
 * octets have arrived.
 */
static int rx_segment(struct smpa_conn *c, struct smpa_event *ev, size_t off,
		      size_t avail, uint32_t len)
{
	struct conn_rx *rx = &c->rx;
	struct rx_segment *s = &rx->seg;
	bool may_be_rtr = rx->is_rtr_due;
	uint16_t fault;
	int used;

	rx->is_rtr_due = false;
	rx->cause.ddp_len = 0;
	used = ddp_hdr_decode(rx->buf + off, avail, &s->ddp);
	if (used < 0)
		return rx_fault(c, ev, SMPA_F_MPA_MARKER, NULL); /* D-7 */
	rx->cause.segment_len = len;
	rx->cause.ddp_len = (uint8_t)used;
	rx->cause.has_read = false;
	memcpy(rx->cause.ddp, rx->buf + off, (size_t)used);
	s->opcode = rdmap_opcode(s->ddp.ulp);
	s->off = off + (size_t)used;
	s->len = len - (uint32_t)used;
	s->rest = 0;
	memset(s->imm, 0, sizeof(s->imm));

	fault = ddp_order_check(&rx->order, &s->ddp, s->len);
	if (!fault)
		fault = rdmap_check(&s->ddp, s->len);
	/* A message changes its opcode half-way (D-9). */
	if (!fault && !s->ddp.is_tagged && s->ddp.qn == DDP_QN_SEND &&
	    rx->send_opcode && rx->send_opcode != s->opcode)
		fault = SMPA_F_RDMAP_OPCODE;
	if (fault)
		return rx_fault(c, ev, fault, &rx->cause);
	ddp_order_advance(&rx->order, &s->ddp, s->len);
	if (s->opcode == SMPA_OP_READ_REQUEST) {
		memcpy(rx->cause.read, rx->buf + s->off, RDMAP_READ_SIZE);
		rx->cause.has_read = true;
	}
	if (s->ddp.is_tagged)
		return rx_tagged(c, ev, may_be_rtr);
	if (s->ddp.qn != DDP_QN_SEND)
		return rx_control(c, ev, may_be_rtr);
	rx->send_opcode = s->ddp.is_last ? 0 : s->opcode;
	return rx_send(c, ev, may_be_rtr);
}

/* C-14: no octet, or a single zero marker, is a boundary. */
static bool rx_is_boundary(const struct smpa_conn *c)
{
	const struct conn_rx *rx = &c->rx;
	size_t have = rx_staged(rx);

	return have == 0 ||
	       (c->out.rx_markers && rx->phase == 0 &&
		have == FPDU_MARKER_SIZE &&
		(wire_get16(rx->buf + rx->head + 2) & 0xfffc) == 0);
}

bool smpa_conn_rx_is_midway(const struct smpa_conn *conn)
{
	if (conn->rx.is_discarding || conn->phase != PHASE_RDMA)
		return false;
	return conn->rx.state != RX_FPDU || !rx_is_boundary(conn);
}

/*
 * Handles one FPDU.  With CRC or markers the whole FPDU must have arrived and
 * be valid before DDP sees an octet (MPA-31, MPA-80, MPA-85).  Without them the
 * payload of a long FPDU is placed as it comes.  This deviates from MPA-85, but
 * waiting would not make the headers any more reliable.
 */
static int rx_fpdu(struct smpa_conn *c, struct smpa_event *ev)
{
	struct conn_rx *rx = &c->rx;
	struct rx_segment *s = &rx->seg;
	bool has_markers = c->out.rx_markers;
	size_t have = rx_staged(rx);
	uint8_t *p = rx_front(rx);
	size_t need, off;
	struct fpdu f;
	int ret;

	if (have > 0 && rx_is_early(c))
		return rx_fault(c, ev, SMPA_F_MPA_START, NULL);
	ret = have ? fpdu_decode_head(p, have, rx->phase, has_markers, &f) : 0;
	if (ret < 0)
		return rx_fault(c, ev, SMPA_F_MPA_MARKER, NULL); /* C-12 */
	if (ret == 0) {
		bool has_lead = has_markers && rx->phase == 0;

		need = FPDU_LEN_SIZE + (has_lead ? FPDU_MARKER_SIZE : 0);
		return rx_more(c, ev, need, rx_is_boundary(c));
	}
	need = f.wire;
	/* The first FPDU for a Responder must be complete, because it allows
	 * the Responder to send only if it is valid (MPA-134). */
	s->is_direct = rx_is_plain(c) && f.len >= c->opt.direct_min &&
		       (rx->has_fpdu || c->opt.role == SMPA_INITIATOR);
	if (s->is_direct)
		need = FPDU_LEN_SIZE + DDP_UNTAGGED_SIZE;
	if (have < need)
		return rx_more(c, ev, need, false);
	if (rx_has_crc(c) && !fpdu_is_crc_valid(p, &f)) {
		c->cnt.rx_crc_bad++;
		return rx_fault(c, ev, SMPA_F_MPA_CRC, NULL); /* MPA-32 */
	}
	if (has_markers && !fpdu_strip_markers(p, &f, rx->phase))
		return rx_fault(c, ev, SMPA_F_MPA_MARKER, NULL);
	rx->has_fpdu = true;
	if (!s->is_direct) {
		if (rx->bulk_left > 0)
			rx->bulk_left--;
	} else {
		rx->bulk_left = RX_BULK_SHORT_MAX;
		rx->bulk_len = (uint16_t)f.len;
		rx->window = RX_WINDOW_MIN;
	}
	c->cnt.rx_fpdu++;
	off = rx->head + f.lead + FPDU_LEN_SIZE;
	s->end = rx->head + f.wire;
	s->trailer = s->is_direct ? fpdu_pad(f.len) + FPDU_CRC_SIZE : 0;
	have -= f.lead + FPDU_LEN_SIZE;
	return rx_segment(c, ev, off, have < f.len ? have : f.len, f.len);
}

static int rx_trailer(struct smpa_conn *c, struct smpa_event *ev)
{
	struct conn_rx *rx = &c->rx;
	size_t have = rx_staged(rx);
	size_t piece = have < rx->seg.trailer ? have : rx->seg.trailer;

	rx_consume(rx, piece); /* MPA-8: not examined */
	rx->seg.trailer -= (uint32_t)piece;
	if (rx->seg.trailer > 0)
		return rx_more(c, ev, 0, false);
	rx->state = RX_PLACED;
	return RX_AGAIN;
}

/* All payload of a segment is placed.  Return: whether that was its message. */
static bool rx_take_message(struct smpa_conn *c, struct smpa_event *ev)
{
	if (!c->rx.seg.ddp.is_last)
		return false;
	c->rx.state = RX_FPDU;
	ev_message(c, ev);
	return true;
}

static int rx_rdma(struct smpa_conn *c, struct smpa_event *ev)
{
	struct conn_rx *rx = &c->rx;

	switch (rx->state) {
	case RX_FPDU:
		return rx_fpdu(c, ev);
	case RX_SEGMENT:
		return 0;
	case RX_DIRECT:
		return rx_more(c, ev, 0, false);
	case RX_TRAILER:
		return rx_trailer(c, ev);
	case RX_PLACED:
		if (rx_take_message(c, ev))
			return 1;
		rx->state = RX_FPDU;
		return RX_AGAIN;
	}
	return 0;
}

int rx_next_event(struct smpa_conn *c, struct smpa_event *ret_ev)
{
	int ret = RX_AGAIN;

	while (ret == RX_AGAIN) {
		if (c->rx.is_discarding)
			return 0;
		if (c->phase == PHASE_LEFT)
			return c->rx.is_eof ? rx_more(c, ret_ev, 0, true) : 0;
		if (c->phase != PHASE_RDMA)
			return 0;
		ret = rx_rdma(c, ret_ev);
	}
	return ret;
}

/* ---- sink ------------------------------------------------------------ */

static bool iov_is_len(const struct iovec *iov, int iovcnt, size_t len)
{
	if (iovcnt < 0 || iovcnt > SMPA_IOV_MAX)
		return false;
	for (int i = 0; i < iovcnt; i++) {
		if (iov[i].iov_len > len)
			return false;
		len -= iov[i].iov_len;
	}
	return len == 0;
}

/* Payload octets of the pending segment that are in staging. */
static size_t segment_staged(const struct conn_rx *rx)
{
	size_t have = rx->tail - rx->seg.off;

	return have < rx->seg.len ? have : rx->seg.len;
}

/* What has not come yet is skipped with the trailer. */
static void sink_nowhere(struct conn_rx *rx)
{
	struct rx_segment *s = &rx->seg;
	size_t have = segment_staged(rx);

	if (!s->is_direct) {
		rx_consume(rx, s->end - rx->head);
		rx->state = RX_PLACED;
		return;
	}
	rx_consume(rx, s->off + have - rx->head);
	s->trailer += s->len - (uint32_t)have;
	rx->state = RX_TRAILER;
}

int smpa_conn_sink(struct smpa_conn *conn, const struct iovec *iov, int iovcnt)
{
	struct conn_rx *rx = &conn->rx;
	struct rx_segment *s = &rx->seg;
	struct sink_put put = { rx, rx->buf + s->off, 0 };
	size_t have;

	if (rx->is_discarding || rx->state != RX_SEGMENT)
		return -EINVAL;
	if (!iov && !iovcnt) {
		sink_nowhere(rx);
		return 0;
	}
	if (!iov_is_len(iov, iovcnt, s->len))
		return -EINVAL;
	if (iovcnt > 0)
		memcpy(rx->sink, iov, (size_t)iovcnt * sizeof(*iov));
	rx->sink_cnt = iovcnt;
	rx->sink_idx = 0;
	have = segment_staged(rx);
	put.len = have;
	if (have > 0 && conn_access(conn, sink_put, &put) < 0) {
		rx->sink_cnt = 0;
		rx->sink_idx = 0;
		return -EFAULT;
	}
	conn->cnt.rx_staged += have;
	if (!s->is_direct) {
		rx_consume(rx, s->end - rx->head);
		rx->sink_cnt = 0;
		rx->state = RX_PLACED;
		return 0;
	}
	rx_consume(rx, s->off + have - rx->head);
	s->rest = s->len - (uint32_t)have;
	rx->state = s->rest > 0 ? RX_DIRECT : RX_TRAILER;
	return 0;
}

int smpa_conn_placed(struct smpa_conn *conn, struct smpa_event *ret_ev)
{
	return !conn->rx.is_discarding && conn->rx.state == RX_PLACED &&
	       rx_take_message(conn, ret_ev);
}

int smpa_conn_open_segment(const struct smpa_conn *conn,
			   struct smpa_event *ret_ev)
{
	if (conn->rx.is_discarding || conn->rx.state != RX_DIRECT)
		return 0;
	ev_segment(conn, ret_ev);
	return 1;
}

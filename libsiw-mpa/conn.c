/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The states of a connection: options, start, accept, reject, terminate, end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rx.h"
#include "tx.h"

#define DEFAULT_REV 2
#define DEFAULT_RTR (SMPA_RTR_WRITE | SMPA_RTR_READ) /* D-24 */
#define DEFAULT_MULPDU 1442 /* EMSS 1460 with markers */
#define DEFAULT_DIRECT_MIN 16384
#define DEFAULT_COPY_MAX 2048
/* With a smaller value the headers might not be in staging when the payload
 * begins. */
#define LEAST_DIRECT_MIN 64

static void *default_alloc(void *mem_ctx, size_t size)
{
	(void)mem_ctx;
	return malloc(size);
}

static void default_free(void *mem_ctx, void *ptr)
{
	(void)mem_ctx;
	free(ptr);
}

static uint32_t mulpdu_clamp(uint32_t mulpdu)
{
	if (mulpdu < SMPA_MULPDU_MIN)
		return SMPA_MULPDU_MIN; /* MPA-58, MPA-68 */
	return mulpdu > SMPA_MULPDU_MAX ? SMPA_MULPDU_MAX : mulpdu;
}

static int options_copy(const struct smpa_options *from,
			struct smpa_options *to)
{
	const uint8_t *octet = (const uint8_t *)from;
	size_t size = from->size;

	if (size < offsetof(struct smpa_options, rev))
		return -EINVAL;
	for (size_t i = sizeof(*to); i < size; i++)
		if (octet[i])
			return -E2BIG;
	memset(to, 0, sizeof(*to));
	memcpy(to, from, size < sizeof(*to) ? size : sizeof(*to));
	to->size = sizeof(*to);
	return 0;
}

static int options_fill(struct smpa_options *o)
{
	if (o->role != SMPA_INITIATOR && o->role != SMPA_RESPONDER)
		return -EINVAL;
	if (o->rev > 2 || o->ird > SMPA_IRD_NONE || o->ord > SMPA_IRD_NONE)
		return -EINVAL;
	if (o->rtr & ~(SMPA_RTR_SEND | SMPA_RTR_WRITE | SMPA_RTR_READ))
		return -EINVAL;
	if (o->rev0 > SMPA_REV0_PERMISSIVE)
		return -EINVAL;
	if (!o->alloc != !o->free)
		return -EINVAL;
	if (!o->alloc) {
		o->alloc = default_alloc;
		o->free = default_free;
	}
	if (!o->rev)
		o->rev = DEFAULT_REV;
	if (!o->rtr && o->role == SMPA_RESPONDER)
		o->rtr = DEFAULT_RTR;
	o->mulpdu = o->mulpdu ? mulpdu_clamp(o->mulpdu) : DEFAULT_MULPDU;
	if (!o->direct_min)
		o->direct_min = DEFAULT_DIRECT_MIN;
	if (o->direct_min < LEAST_DIRECT_MIN)
		o->direct_min = LEAST_DIRECT_MIN;
	if (!o->copy_max)
		o->copy_max = DEFAULT_COPY_MAX;
	return 0;
}

int smpa_conn_new(struct smpa_conn **ret_conn, const struct smpa_options *opt)
{
	struct smpa_options o;
	struct smpa_conn *c;
	int ret;

	ret = options_copy(opt, &o);
	if (ret)
		return ret;
	ret = options_fill(&o);
	if (ret)
		return ret;
	c = o.alloc(o.mem_ctx, sizeof(*c));
	if (!c)
		return -ENOMEM;
	memset(c, 0, sizeof(*c));
	c->opt = o;
	c->tx.mulpdu = o.mulpdu;
	*ret_conn = c;
	return 0;
}

void smpa_conn_free(struct smpa_conn *conn)
{
	if (conn)
		conn->opt.free(conn->opt.mem_ctx, conn);
}

/* Full Operation begins, with new DDP and RDMAP state and with markers. */
static void conn_enter_rdma(struct smpa_conn *c)
{
	c->phase = PHASE_RDMA;
	c->rx.state = RX_FPDU;
	c->rx.phase = 0; /* SeqStart */
	c->rx.need = 0;
	c->rx.window = RX_WINDOW_MIN;
	ddp_order_init(&c->rx.order, c->out.version);
	for (uint32_t qn = 0; qn < DDP_QN_CNT; qn++)
		c->tx.msn[qn] = 1; /* DDP-24 */
	c->tx.start_end = c->tx.end;
}

/* C-31: without start frames there is no negotiation and no wait. */
static int conn_start_bare(struct smpa_conn *c, size_t pd_len)
{
	if (pd_len)
		return -EMSGSIZE;
	start_bare(&c->opt, &c->out);
	conn_enter_rdma(c);
	c->rx.has_fpdu = true;
	c->rx.is_established_due = true;
	return 0;
}

int smpa_conn_start(struct smpa_conn *conn, const void *pd, size_t pd_len)
{
	struct start_frame f;
	int ret;

	if (conn->phase != PHASE_IDLE)
		return -EINVAL;
	if (conn->opt.bare)
		return conn_start_bare(conn, pd_len);
	if (conn->opt.role == SMPA_RESPONDER) {
		if (pd || pd_len)
			return -EINVAL;
		conn->phase = PHASE_WAIT_REQUEST; /* MPA-122 */
		return 0;
	}
	start_request(&conn->opt, &f);
	if (pd_len > start_pd_max(f.is_enhanced))
		return -EMSGSIZE; /* MPA-119 */
	f.pd = pd;
	f.pd_len = (uint16_t)pd_len;
	ret = tx_put_start(conn, &f); /* MPA-120, MPA-121 */
	if (ret)
		return ret;
	conn->phase = PHASE_WAIT_REPLY;
	return 0;
}

static int conn_reply(struct smpa_conn *c, bool is_rejected, const void *pd,
		      size_t pd_len, uint16_t ird, uint16_t ord)
{
	struct start_outcome out;
	struct start_frame f;
	int ret;

	if (c->phase != PHASE_REQUESTED)
		return -EINVAL;
	start_reply(&c->opt, &c->peer, is_rejected, ird, ord, &f, &out);
	if (pd_len > start_pd_max(f.is_enhanced))
		return -EMSGSIZE;
	f.pd = pd;
	f.pd_len = (uint16_t)pd_len;
	ret = tx_put_start(c, &f);
	if (ret)
		return ret;
	c->out = out;
	return 0;
}

int smpa_conn_accept(struct smpa_conn *conn, const void *pd, size_t pd_len,
		     uint16_t ird, uint16_t ord)
{
	int ret;

	if (ird > SMPA_IRD_NONE || ord > SMPA_IRD_NONE)
		return -EINVAL;
	ret = conn_reply(conn, false, pd, pd_len, ird, ord); /* MPA-127 */
	if (ret)
		return ret;
	conn_enter_rdma(conn);
	conn->rx.is_established_due = true;
	conn->rx.is_rtr_due = conn->out.rtr != 0;
	return 0;
}

int smpa_conn_reject(struct smpa_conn *conn, const void *pd, size_t pd_len)
{
	int ret;

	/* MPA-124; the Reply names the ORD that is needed (MPA2-14, D-23) */
	ret = conn_reply(conn, true, pd, pd_len, conn->opt.ird, conn->opt.ord);
	if (ret)
		return ret;
	conn->phase = PHASE_LEFT; /* MPA-126 */
	conn->tx.is_closed = true;
	return 0;
}

/* ---- start frames ---------------------------------------------------- */

static void start_event(const struct smpa_conn *c, struct smpa_event *ev,
			enum smpa_event_type type,
			const struct start_frame *peer)
{
	const struct start_outcome *o = &c->out;

	memset(ev, 0, sizeof(*ev));
	ev->type = type;
	ev->start.pd = peer->pd_len ? peer->pd : NULL;
	ev->start.pd_len = peer->pd_len;
	ev->start.rev = peer->rev;
	ev->start.has_crc = o->has_crc;
	ev->start.tx_markers = o->tx_markers;
	ev->start.rx_markers = o->rx_markers;
	ev->start.is_enhanced = o->is_enhanced;
	ev->start.is_peer_to_peer = o->rtr != 0;
	ev->start.version = o->version;
	ev->start.ird = type == SMPA_EV_ESTABLISHED ? o->ird : peer->ird;
	ev->start.ord = type == SMPA_EV_ESTABLISHED ? o->ord : peer->ord;
	ev->start.peer_ird = peer->ird;
	ev->start.peer_ord = peer->ord;
}

/* Responder: reports ESTABLISHED, which is due since accept.  Returns 1. */
static int conn_accepted_event(struct smpa_conn *c, struct smpa_event *ev)
{
	const struct start_frame peer = { .rev = c->peer.rev,
					  .ird = c->peer.ird,
					  .ord = c->peer.ord };

	c->rx.is_established_due = false;
	start_event(c, ev, SMPA_EV_ESTABLISHED, &peer);
	return 1;
}

static int start_fail(struct smpa_conn *c, struct smpa_event *ev,
		      uint16_t value)
{
	c->phase = PHASE_FAILED;
	return rx_fault(c, ev, value, NULL);
}

static int start_request_in(struct smpa_conn *c, struct smpa_event *ev,
			    const struct start_frame *f)
{
	if (f->rev == 2 && f->is_enhanced && c->opt.rev < 2)
		return start_fail(c, ev, SMPA_F_MPA_START); /* MPA2-9 */
	if (!start_is_rev_usable(&c->opt, f->rev)) {	    /* MPA-114 */
		int ret = start_fail(c, ev, SMPA_F_MPA_START);

		c->tx.wants |= TX_WANT_REV_REPLY; /* C-3 */
		return ret;
	}
	c->peer = *f;
	start_preview(&c->opt, f, &c->out);
	c->phase = PHASE_REQUESTED;
	start_event(c, ev, SMPA_EV_REQUEST, f);
	return 1;
}

/* The kind to send; the Initiator chooses (MPA2-24).  The cheapest is first. */
static uint8_t start_choose_rtr(uint8_t kinds)
{
	if (kinds & SMPA_RTR_WRITE)
		return SMPA_RTR_WRITE;
	return kinds & SMPA_RTR_READ ? SMPA_RTR_READ : SMPA_RTR_SEND;
}

static int start_reply_in(struct smpa_conn *c, struct smpa_event *ev,
			  const struct start_frame *f)
{
	uint16_t fault = start_reply_check(&c->opt, f, &c->out);

	if (fault == SMPA_F_MPA_START)
		return start_fail(c, ev, fault);
	if (f->is_rejected) { /* MPA-132 */
		c->phase = PHASE_LEFT;
		tx_close(c);
		start_event(c, ev, SMPA_EV_REJECTED, f);
		return 1;
	}
	conn_enter_rdma(c);
	if (fault) { /* MPA2-16, MPA2-25: an FPDU, so markers and CRC must be
			right */
		start_preview(&c->opt, f, &c->out);
		return rx_fault(c, ev, fault, NULL);
	}
	if (c->out.rtr) {
		c->tx.rtr = start_choose_rtr(c->out.rtr);
		c->tx.wants |= TX_WANT_RTR;
		c->rx.is_rtr_answer_due = c->tx.rtr == SMPA_RTR_READ;
		c->tx.rtr_credits = c->out.ord > 0 ? c->out.ord - 1 : 0;
	}
	start_event(c, ev, SMPA_EV_ESTABLISHED, f);
	return 1;
}

/* Handles the expected start frame when it is complete.  Return: 0: not yet. */
static int conn_start_event(struct smpa_conn *c, struct smpa_event *ev)
{
	struct conn_rx *rx = &c->rx;
	bool is_reply = c->phase == PHASE_WAIT_REPLY;
	size_t have = rx->tail - rx->head;
	struct start_frame f;
	int ret;

	ret = have ? start_frame_decode(rx->buf + rx->head, have, is_reply, &f)
		   : 0;
	if (ret < 0)
		return start_fail(c, ev, SMPA_F_MPA_START); /* MPA-123, -131 */
	if (ret == 0) {
		if (!rx->is_eof)
			return 0;
		ret = start_fail(c, ev, SMPA_F_MPA_CLOSED);
		ev->fault.is_truncated = have > 0;
		return ret;
	}
	rx->head += (size_t)ret;
	return is_reply ? start_reply_in(c, ev, &f)
			: start_request_in(c, ev, &f);
}

int smpa_conn_next_event(struct smpa_conn *conn, struct smpa_event *ret_ev)
{
	if (tx_next_event(conn, ret_ev))
		return 1;
	if (conn->rx.is_discarding)
		return 0;
	switch (conn->phase) {
	case PHASE_WAIT_REQUEST:
	case PHASE_WAIT_REPLY:
		return conn_start_event(conn, ret_ev);
	case PHASE_RDMA:
		if (conn->rx.is_established_due)
			return conn_accepted_event(conn, ret_ev);
		break;
	case PHASE_IDLE:
	case PHASE_REQUESTED:
	case PHASE_LEFT:
	case PHASE_FAILED:
		break;
	}
	return rx_next_event(conn, ret_ev);
}

void smpa_conn_refuse_later(struct smpa_conn *conn)
{
	if (conn->rx.is_discarding || conn->phase != PHASE_RDMA)
		return;
	rx_discard(conn);
	conn->rx.is_refusal_due = true;
}

static bool conn_may_refuse(const struct smpa_conn *conn)
{
	return conn->phase == PHASE_RDMA &&
	       (!conn->rx.is_discarding || conn->rx.is_refusal_due);
}

void smpa_conn_refuse(struct smpa_conn *conn, struct smpa_fault fault)
{
	if (!conn_may_refuse(conn))
		return;
	rx_discard(conn);
	tx_terminate(conn, fault, &conn->rx.cause); /* RDMAP-59, -60 */
}

/* Number of octets of the response to @r that are encoded and will be sent. */
static uint32_t response_done(const struct smpa_conn *c,
			      const struct rdmap_read *r)
{
	const struct tx_fault *f = &c->tx.fault;
	const struct tx_msg *m = &c->tx.msg;

	if (f->is_set)
		return f->stag == r->sink_stag && f->to - r->sink_to < r->len
			       ? (uint32_t)(f->to - r->sink_to)
			       : 0;
	if (!m->is_active || m->opcode != SMPA_OP_READ_RESPONSE ||
	    m->stag != r->sink_stag || m->to != r->sink_to || m->len != r->len)
		return 0;
	return m->done;
}

/* Copies the DDP header of a request with so many octets behind it. */
static void cause_request(const struct smpa_conn *c, uint8_t opcode,
			  uint32_t msn, uint32_t len, struct term_cause *cause)
{
	const struct ddp_hdr h = {
		.is_last = true,
		.version = c->out.version,
		.ulp = rdmap_ctrl(c->out.version, opcode),
		.qn = DDP_QN_READ,
		.msn = msn,
	};

	cause->ddp_len = (uint8_t)ddp_hdr_encode(&h, cause->ddp);
	cause->segment_len = cause->ddp_len + len;
}

static void cause_read(const struct smpa_conn *c, const struct smpa_event *read,
		       struct term_cause *cause)
{
	struct rdmap_read r = {
		.sink_stag = read->read.sink_stag,
		.sink_to = read->read.sink_to,
		.len = read->read.len,
		.src_stag = read->read.src_stag,
		.src_to = read->read.src_to,
	};
	uint32_t done = response_done(c, &r);

	r.sink_to += done; /* RDMAP-68 */
	r.src_to += done;
	r.len -= done;
	cause->has_read = true;
	cause_request(c, SMPA_OP_READ_REQUEST, read->read.msn,
		      rdmap_read_encode(&r, cause->read), cause);
}

void smpa_conn_refuse_read(struct smpa_conn *conn,
			   const struct smpa_event *read,
			   struct smpa_fault fault)
{
	struct term_cause cause = { .has_read = false };

	if (!conn_may_refuse(conn))
		return;
	if (read->type == SMPA_EV_ATOMIC) /* not its RDMAP header (EXT-19) */
		cause_request(conn, SMPA_OP_ATOMIC_REQUEST, read->atomic.msn,
			      RDMAP_ATOMIC_SIZE, &cause);
	else
		cause_read(conn, read, &cause);
	rx_discard(conn);
	tx_terminate(conn, fault, &cause); /* RDMAP-60 */
}

void smpa_conn_refuse_segment(struct smpa_conn *conn,
			      const struct smpa_event *segment,
			      struct smpa_fault fault)
{
	uint8_t version = conn->out.version;
	struct ddp_hdr h = {
		.is_last = segment->seg.is_last,
		.version = version,
		.ulp = rdmap_ctrl(version, segment->seg.opcode),
		.ulp2 = segment->seg.inv_stag,
		.qn = segment->seg.qn,
		.msn = segment->seg.msn,
		.mo = segment->seg.mo,
	};
	struct term_cause cause = { .has_read = false };

	/* The peer may have closed its half since; it can still receive. */
	if (conn->phase != PHASE_RDMA)
		return;
	cause.ddp_len = (uint8_t)ddp_hdr_encode(&h, cause.ddp);
	cause.segment_len = cause.ddp_len + segment->seg.len;
	rx_discard(conn);
	tx_terminate(conn, fault, &cause); /* RDMAP-60 */
}

void smpa_conn_terminate(struct smpa_conn *conn, struct smpa_fault fault)
{
	if (conn->phase != PHASE_RDMA)
		return;
	rx_discard(conn);
	tx_terminate(conn, fault, NULL); /* RDMAP-58 */
}

void smpa_conn_set_mulpdu(struct smpa_conn *conn, uint32_t mulpdu)
{
	conn->tx.mulpdu = mulpdu_clamp(mulpdu);
}

int smpa_conn_tx_drop_crc(struct smpa_conn *conn)
{
	if (conn->phase != PHASE_RDMA)
		return -EINVAL;
	conn->tx.is_crc_dropped = true;
	return 0;
}

int smpa_conn_rx_drop_crc(struct smpa_conn *conn)
{
	if (conn->phase != PHASE_RDMA)
		return -EINVAL;
	conn->rx.is_crc_dropped = true;
	return 0;
}

const struct smpa_counters *smpa_conn_counters(const struct smpa_conn *conn)
{
	return &conn->cnt;
}

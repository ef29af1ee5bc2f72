/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The NICs, the pipe and the scheduler.
 */
#include "sdpsim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conn/state.h"
#include "msg/msg.h"
#include "random.h"

static const struct sim *current; /* for the report */

static void report_end(const struct sim_end *e)
{
	const struct sdp_conn *c = e->conn;

	fprintf(stderr,
		"%s: stage %d fault '%s' credit %u posted %u chunks %u "
		"send %u recv %u\n",
		e->name, c->stage, sdp_fault_str(c->fault),
		sdp_credit_get(&c->credit), c->credit.posted,
		c->chunk_tail - c->chunk_head, c->send_cnt, c->recv_cnt);
	fprintf(stderr,
		"  source: mode %d pnd %u pos %llu end %llu owed_end %llu src %u "
		"snk %u cancelling %d switching %d\n",
		c->source.mode, c->source.pnd,
		(unsigned long long)c->source.data_pos,
		(unsigned long long)c->send_end,
		(unsigned long long)c->source.owed_end, c->source.src_cnt,
		c->source.snk_cnt, c->source.is_cancelling,
		c->source.is_switching);
	fprintf(stderr,
		"  sink: mode %d nd %u in %u out %u owed %llu cancelling %d "
		"reading %u/%u out %u due %d writing %u/%u\n",
		c->sink.mode, c->sink.nd, c->sink.in_cnt, c->sink.out_cnt,
		(unsigned long long)c->sink.owed, c->sink.is_cancelling,
		c->reading.issued, c->reading.len, c->reading.out_cnt,
		c->reading.is_compl_due, c->writing.issued, c->writing.len);
	fprintf(stderr, "  moving wanted %d sent %d rcvd %d acked %d full %u\n",
		c->moving.is_wanted, c->moving.is_sent, c->moving.is_rcvd,
		c->moving.is_ack_sent, c->chunk_tail - c->chunk_free);
	fprintf(stderr, "  sent %zu octets, got %zu; sq %u/%u/%u wire %u\n",
		e->expect.len, e->got.len, e->sq_done, e->sq_sent, e->sq_tail,
		e->wire_tail - e->wire_head);
}

void sim_report(const struct sim *s)
{
	fprintf(stderr, "seed %#llx, now %llu\n", (unsigned long long)s->seed0,
		(unsigned long long)s->now);
	report_end(&s->end[0]);
	report_end(&s->end[1]);
}

static void fault(const char *file, int line, const char *what)
{
	fflush(stdout);
	fprintf(stderr, "%s:%d: %s does not hold\n", file, line, what);
	if (current)
		sim_report(current);
	abort();
}

#define must(cond)                                                             \
	do {                                                                   \
		if (!(cond))                                                   \
			fault(__FILE__, __LINE__, #cond);                      \
	} while (0)

static uint8_t *copy_of(const void *octets, size_t len)
{
	uint8_t *p = malloc(len ? len : 1);

	must(p);
	memcpy(p, octets, len);
	return p;
}

static void log_add(struct sim_log *log, const void *octets, size_t len)
{
	if (!len)
		return;
	if (log->len + len > log->size) {
		log->size = 2 * (log->len + len);
		log->octets = realloc(log->octets, log->size);
		must(log->octets);
	}
	memcpy(log->octets + log->len, octets, len);
	log->len += len;
}

struct sdp_options sim_options(enum sdp_role role, enum sdp_carrier carrier)
{
	struct sdp_options opt = SDP_OPTIONS_INIT;

	opt.role = role;
	opt.carrier = carrier;
	opt.bufs = 8;
	opt.buf_size = 256;
	opt.max_adverts = 4;
	opt.src_threshold = 300;
	opt.sink_threshold = 300;
	opt.read_min = 64;
	opt.inline_max = 16;
	opt.rdma_max = 512;
	opt.send_cap = 16;
	opt.recv_cap = 8;
	opt.work_cap = 32;
	return opt;
}

void sim_init(struct sim *s, const struct sdp_options *a,
	      const struct sdp_options *b, uint64_t seed)
{
	const struct sdp_options *opts[] = { a, b };

	memset(s, 0, sizeof(*s));
	s->seed = seed;
	s->seed0 = seed;
	s->carrier = b->carrier;
	current = s;
	for (int i = 0; i < 2; i++) {
		s->end[i].name = i ? "accepting" : "connecting";
		s->end[i].peer = &s->end[!i];
		s->end[i].opt = *opts[i];
		must(!sdp_conn_new(&s->end[i].conn, opts[i]));
		must(!sdp_conn_start(s->end[i].conn, 0));
	}
}

void sim_fini(struct sim *s)
{
	for (int i = 0; i < 2; i++) {
		struct sim_end *e = &s->end[i];

		for (; e->wire_head != e->wire_tail; e->wire_head++)
			free(e->wire[e->wire_head % SIM_WIRE].octets);
		for (; e->cq_head != e->cq_tail; e->cq_head++)
			free(e->cq[e->cq_head % SIM_RQ].octets);
		for (int j = 0; j < SIM_RQ; j++)
			free(e->rx[j].octets);
		for (int j = 0; j < SIM_BUFS; j++)
			free(e->bufs[j].mem);
		free(e->expect.octets);
		free(e->got.octets);
		sdp_conn_free(e->conn);
	}
}

/* ---- memory ---- */

static struct sim_buf *buf_new(struct sim_end *e, uint32_t len,
			       uint64_t *cookie)
{
	for (uint32_t i = 0; i < SIM_BUFS; i++) {
		struct sim_buf *b = &e->bufs[i];

		if (b->is_used)
			continue;
		free(b->mem);
		b->mem = malloc(len);
		must(b->mem);
		b->len = len;
		b->is_used = true;
		b->is_oob = false;
		b->stag = (b->stag & ~0xffu) + 0x100 + i;
		e->buf_cnt++;
		*cookie = i;
		return b;
	}
	return NULL;
}

/* The ULP has its buffer back and overwrites it. */
static void buf_free(struct sim_end *e, struct sim_buf *b)
{
	must(b->is_used);
	memset(b->mem, 0xdd, b->len);
	b->is_used = false;
	e->buf_cnt--;
}

static struct sim_buf *buf_of(struct sim_end *e, uint64_t cookie)
{
	must(cookie < SIM_BUFS && e->bufs[cookie].is_used);
	return &e->bufs[cookie];
}

/* Memory that an STag allows to access: the buffer that has this STag now. VA
 * is 0x1000 times the STag's index. */
static uint8_t *stag_mem(struct sim_end *e, uint32_t stag, uint64_t va,
			 uint32_t len, bool is_write)
{
	struct sim_buf *b = &e->bufs[stag & 0xff];
	uint64_t off = va - (stag & 0xff) * 0x1000ull;

	must(b->is_used && b->stag == stag);
	must(off <= b->len && len <= b->len - off);
	must(b->is_recv == is_write);
	return b->mem + off;
}

/* ---- the pipe ---- */

const char *sim_mid_name(uint8_t mid)
{
	static const char *const names[256] = {
		[SDP_MID_HELLO] = "Hello",
		[SDP_MID_HELLO_ACK] = "HelloAck",
		[SDP_MID_DISCONN] = "DisConn",
		[SDP_MID_ABORT_CONN] = "AbortConn",
		[SDP_MID_SEND_SM] = "SendSm",
		[SDP_MID_RDMA_WR_COMPL] = "RdmaWrCompl",
		[SDP_MID_RDMA_RD_COMPL] = "RdmaRdCompl",
		[SDP_MID_MODE_CHANGE] = "ModeChange",
		[SDP_MID_SRC_AVAIL_CANCEL] = "SrcAvailCancel",
		[SDP_MID_SINK_AVAIL_CANCEL] = "SinkAvailCancel",
		[SDP_MID_SINK_CANCEL_ACK] = "SinkCancelAck",
		[SDP_MID_CH_RCV_BUF] = "ChRcvBuf",
		[SDP_MID_CH_RCV_BUF_ACK] = "ChRcvBufAck",
		[SDP_MID_SUSP_COMM] = "SuspComm",
		[SDP_MID_SUSP_COMM_ACK] = "SuspCommAck",
		[SDP_MID_SINK_AVAIL] = "SinkAvail",
		[SDP_MID_SRC_AVAIL] = "SrcAvail",
		[SDP_MID_DATA] = "Data",
	};

	return names[mid];
}

static struct sim_item *wire_add(struct sim_end *e)
{
	must(e->wire_tail - e->wire_head < SIM_WIRE);
	return &e->wire[e->wire_tail++ % SIM_WIRE];
}

static void watch_send(struct sim_end *e, const struct sim_item *item)
{
	struct sdp_msg msg;

	must(!sdp_msg_decode(item->octets, item->len, e->opt.layout, &msg));
	e->mid_cnt[msg.mid]++;
	if (getenv("USIW_SDP_TRACE"))
		printf("%s %s seq %u ack %u bufs %u flags %x payload %u len %u "
		       "nd %u mode %u\n",
		       e->name, sim_mid_name(msg.mid), msg.mseq, msg.mseqack,
		       msg.bufs, msg.flags, msg.payload_len, msg.compl_len,
		       msg.avail.non_discards, msg.change.mode);
	e->oob_pend += !!(msg.flags & SDP_FLAG_OOB_PEND);
	if (msg.flags & SDP_FLAG_OOB_PRES)
		e->oob_sent++;
	must(e->oob_sent <= e->oob_pend);  /* SDP-114 */
	if (msg.flags & SDP_FLAG_REQ_PIPE) /* SDP-11 */
		must(msg.mid == SDP_MID_RDMA_RD_COMPL ||
		     msg.mid == SDP_MID_RDMA_WR_COMPL);
}

/* The NIC executes the next work request and reads its memory. */
static bool transmit(struct sim_end *e)
{
	struct sim_wr *wr = &e->sq[e->sq_sent % SIM_SQ];
	const struct sdp_work *w = &wr->work;
	struct sim_item *item;

	if (e->sq_sent == e->sq_tail)
		return false;
	if (e->wire_tail - e->wire_head > SIM_WIRE / 2)
		return false;
	item = wire_add(e);
	memset(item, 0, sizeof(*item));
	item->type = w->type;
	item->sq_idx = e->sq_sent++;
	wr->is_sent = true;
	wr->is_done = w->type != SDP_WORK_READ;
	wr->is_reported = false;
	if (w->type == SDP_WORK_SEND) {
		uint32_t len = w->send.header_len;

		for (int i = 0; i < w->send.piece_cnt; i++)
			len += w->send.pieces[i].len;
		item->octets = malloc(len);
		must(item->octets);
		memcpy(item->octets, w->send.header, w->send.header_len);
		item->len = w->send.header_len;
		for (int i = 0; i < w->send.piece_cnt; i++) {
			const struct sdp_piece *p = &w->send.pieces[i];
			struct sim_buf *b = buf_of(e, p->cookie);

			must(!b->is_recv && p->off <= b->len &&
			     p->len <= b->len - p->off);
			memcpy(item->octets + item->len, b->mem + p->off,
			       p->len);
			item->len += p->len;
		}
		item->is_invalidating = w->send.is_invalidating;
		item->inv_stag = w->send.inv_stag;
		watch_send(e, item);
		return true;
	}
	item->stag = w->rdma.stag;
	item->va = w->rdma.va;
	item->len = w->rdma.piece.len;
	must(item->len && item->len <= e->opt.rdma_max);
	if (w->type == SDP_WORK_WRITE) {
		struct sim_buf *b = buf_of(e, w->rdma.piece.cookie);

		must(!b->is_recv && w->rdma.piece.off <= b->len &&
		     item->len <= b->len - w->rdma.piece.off);
		item->octets = copy_of(b->mem + w->rdma.piece.off, item->len);
		e->write_cnt++;
		return true;
	}
	e->read_cnt++;
	must(++e->reads_out <= e->peer->opt.ird); /* T12 */
	return true;
}

/* The peer's NIC takes the next item from the pipe. */
static bool arrive(struct sim_end *from)
{
	struct sim_end *e = from->peer;
	struct sim_item item = from->wire[from->wire_head % SIM_WIRE];
	struct sim_item *answer;
	struct sim_wr *wr;
	struct sim_buf *b;

	if (from->wire_head == from->wire_tail)
		return false;
	from->wire_head++;
	switch (item.type) {
	case SDP_WORK_SEND:
		must(e->rq_head != e->rq_tail);
		must(item.len <= e->rq_size[e->rq_head++ % SIM_RQ]);
		must(e->cq_tail - e->cq_head < SIM_RQ);
		e->cq[e->cq_tail++ % SIM_RQ] = item;
		return true;
	case SDP_WORK_WRITE:
		memcpy(stag_mem(e, item.stag, item.va, item.len, true),
		       item.octets, item.len);
		break;
	case SDP_WORK_READ:
		answer = wire_add(e);
		*answer = item;
		answer->type = SDP_WORK_NONE;
		answer->octets = copy_of(
			stag_mem(e, item.stag, item.va, item.len, false),
			item.len);
		break;
	default:
		wr = &e->sq[item.sq_idx % SIM_SQ];
		must(wr->is_sent && !wr->is_done);
		b = buf_of(e, wr->work.rdma.piece.cookie);
		must(b->is_recv && wr->work.rdma.piece.off <= b->len &&
		     item.len <= b->len - wr->work.rdma.piece.off);
		memcpy(b->mem + wr->work.rdma.piece.off, item.octets, item.len);
		wr->is_done = true;
		e->reads_out--;
	}
	free(item.octets);
	return true;
}

/* Everything before @idx is complete except Reads, and so is @idx: tells the
 * connection. */
static void report(struct sim *s, struct sim_end *e, uint32_t idx)
{
	for (uint32_t i = e->sq_done; i != idx; i++)
		e->sq[i % SIM_SQ].is_reported |= e->sq[i % SIM_SQ].is_done;
	e->sq[idx % SIM_SQ].is_reported = true;
	while (e->sq_done != e->sq_sent &&
	       e->sq[e->sq_done % SIM_SQ].is_reported)
		e->sq_done++;
	must(!sdp_conn_work_done(e->conn, e->sq[idx % SIM_SQ].work.id, true,
				 s->now));
}

/* Completes signalled work in the order of the send queue. Sometimes work after
 * a Read overtakes the Read, as with Linux's siw. */
static bool complete(struct sim *s, struct sim_end *e)
{
	bool may_overtake = test_random(&s->seed) & 1;

	for (uint32_t i = e->sq_done; i != e->sq_sent; i++) {
		const struct sim_wr *wr = &e->sq[i % SIM_SQ];

		if (!wr->is_done && !may_overtake)
			return false;
		if (!wr->is_done || wr->is_reported || !wr->work.is_signaled)
			continue;
		report(s, e, i);
		return true;
	}
	return false;
}

static uint64_t rx_cookie(struct sim_end *e, uint8_t *octets)
{
	for (uint64_t i = 0; i < SIM_RQ; i++) {
		if (e->rx[i].is_used)
			continue;
		free(e->rx[i].octets);
		e->rx[i].octets = octets;
		e->rx[i].is_used = true;
		return i;
	}
	must(!"no receive buffer");
	return 0;
}

static bool poll_recv(struct sim *s, struct sim_end *e)
{
	struct sim_item *item = &e->cq[e->cq_head % SIM_RQ];
	uint64_t cookie;
	int ret;

	if (e->cq_head == e->cq_tail)
		return false;
	e->cq_head++;
	cookie = rx_cookie(e, item->octets);
	ret = sdp_conn_recv(e->conn, cookie, item->octets, item->len,
			    item->is_invalidating ? &item->inv_stag : NULL,
			    s->now);
	if (ret != 1)
		e->rx[cookie].is_used = false;
	return true;
}

/* ---- the owner ---- */

static bool pull_work(struct sim *s, struct sim_end *e)
{
	struct sdp_work w;

	if (e->is_down || !sdp_conn_next_work(e->conn, &w))
		return false;
	switch (w.type) {
	case SDP_WORK_POST:
		while (w.post.cnt--) {
			must(e->rq_tail - e->rq_head < SIM_RQ);
			e->rq_size[e->rq_tail++ % SIM_RQ] = w.post.size;
		}
		break;
	case SDP_WORK_HELLO:
		if (w.hello.len == SDP_HELLO_SIZE)
			must(!sdp_conn_hello(e->peer->conn, w.hello.octets,
					     w.hello.len, s->now));
		else
			memcpy(s->private_data, w.hello.octets, w.hello.len);
		break;
	case SDP_WORK_SEND:
	case SDP_WORK_READ:
	case SDP_WORK_WRITE:
		must(e->sq_tail - e->sq_done < e->opt.work_cap);
		e->sq[e->sq_tail++ % SIM_SQ] = (struct sim_wr){ .work = w };
		break;
	case SDP_WORK_DISCONNECT:
	case SDP_WORK_TERMINATE:
		e->wants_end = true;
		break;
	case SDP_WORK_NONE:
		must(!"work");
	}
	return true;
}

static void on_received(struct sim_end *e, const struct sdp_event *ev)
{
	struct sim_buf *b = buf_of(e, ev->received.cookie);

	must(b->is_recv && ev->received.len <= b->len);
	log_add(&e->got, b->mem, ev->received.len);
	e->oob_got += ev->received.is_oob;
	if (!ev->received.len)
		must(ev->received.is_eof || ev->received.is_cancelled ||
		     e->is_down);
	buf_free(e, b);
}

static void on_sent(struct sim_end *e, const struct sdp_event *ev)
{
	struct sim_buf *b = buf_of(e, ev->sent.cookie);

	must(!b->is_recv && ev->sent.len <= b->len);
	log_add(&e->expect, b->mem, ev->sent.len);
	buf_free(e, b);
}

static void on_copy(struct sim_end *e, const struct sdp_event *ev)
{
	struct sim_buf *b = buf_of(e, ev->copy.to);

	must(b->is_recv && e->rx[ev->copy.from.cookie].is_used);
	must(ev->copy.to_off <= b->len &&
	     ev->copy.from.len <= b->len - ev->copy.to_off);
	memcpy(b->mem + ev->copy.to_off,
	       e->rx[ev->copy.from.cookie].octets + ev->copy.from.off,
	       ev->copy.from.len);
}

static bool pull_event(struct sim_end *e)
{
	struct sdp_event ev;

	if (!sdp_conn_next_event(e->conn, &ev))
		return false;
	e->event_cnt[ev.type]++;
	switch (ev.type) {
	case SDP_EV_CONNECTED:
		e->is_up = true;
		break;
	case SDP_EV_COPY:
		on_copy(e, &ev);
		break;
	case SDP_EV_RECEIVED:
		on_received(e, &ev);
		break;
	case SDP_EV_RELEASE:
		must(e->rx[ev.release.cookie].is_used);
		e->rx[ev.release.cookie].is_used = false;
		break;
	case SDP_EV_SENT:
		on_sent(e, &ev);
		break;
	case SDP_EV_RESIZE:
		must(!sdp_conn_resize(e->conn, e->grant_size ? e->grant_size
							     : ev.resize.size));
		break;
	case SDP_EV_SUSPENDED:
		e->is_suspended = true;
		e->is_initiator = ev.suspended.is_initiator;
		e->susp_port = ev.suspended.port;
		break;
	case SDP_EV_FAILED:
		e->fault = ev.failed.fault;
		break;
	case SDP_EV_CLOSED:
		must(!e->buf_cnt);
		e->is_closed = true;
		break;
	case SDP_EV_READABLE:
	case SDP_EV_OOB_PENDING:
	case SDP_EV_PEER_CLOSED:
		break;
	case SDP_EV_NONE:
		must(!"event");
	}
	return true;
}

/* The carrier ends after everything sent has arrived: an orderly end. */
static bool end_carrier(struct sim *s)
{
	for (int i = 0; i < 2; i++) {
		struct sim_end *e = &s->end[i];

		if (!e->wants_end || e->sq_sent != e->sq_tail ||
		    e->wire_head != e->wire_tail ||
		    e->peer->cq_head != e->peer->cq_tail)
			continue;
		for (int j = 0; j < 2; j++) {
			if (!s->end[j].is_down && !s->end[j].is_suspended)
				sdp_conn_llp_down(s->end[j].conn, s->now);
			s->end[j].is_down = true;
			s->end[j].wants_end = false;
		}
		return true;
	}
	return false;
}

/* ---- scheduler ---- */

static bool act(struct sim *s, struct sim_end *e, unsigned int what)
{
	switch (what) {
	case 0:
		return pull_work(s, e);
	case 1:
		return pull_event(e);
	case 2:
		return !e->is_down && transmit(e);
	case 3:
		return !e->peer->is_down && arrive(e);
	case 4:
		return !e->is_down && complete(s, e);
	case 5:
		return !e->is_down && poll_recv(s, e);
	default:
		return end_carrier(s);
	}
}

#define ACTS 7

bool sim_step(struct sim *s)
{
	uint64_t r = test_random(&s->seed);
	unsigned int first = (unsigned int)(r % (2 * ACTS));

	current = s;
	for (unsigned int i = 0; i < 2 * ACTS; i++) {
		unsigned int what = (first + i) % (2 * ACTS);

		if (act(s, &s->end[what / ACTS], what % ACTS))
			return true;
	}
	return false;
}

void sim_run(struct sim *s)
{
	uint64_t steps = 0;

	while (sim_step(s))
		must(++steps < 10000000); /* an endless exchange (T21) */
}

void sim_run_in_step(struct sim *s)
{
	uint64_t rounds = 0;
	bool has_moved = true;

	current = s;
	while (has_moved) {
		must(++rounds < 1000000);
		has_moved = false;
		/* What one end sends must not arrive before the other end has
		 * sent its own. */
		for (unsigned int what = 0; what < ACTS; what++) {
			for (int i = 0; i < 2; i++) {
				while (act(s, &s->end[i], what))
					has_moved = true;
			}
		}
	}
}

static uint64_t next_deadline(const struct sim *s)
{
	uint64_t a = sdp_conn_deadline(s->end[0].conn);
	uint64_t b = sdp_conn_deadline(s->end[1].conn);

	return a < b ? a : b;
}

bool sim_wait(struct sim *s)
{
	uint64_t next = next_deadline(s);

	if (next == SDP_NEVER)
		return false;
	if (next > s->now)
		s->now = next;
	for (int i = 0; i < 2; i++)
		sdp_conn_tick(s->end[i].conn, s->now);
	return true;
}

void sim_open(struct sim *s)
{
	struct sim_end *a = &s->end[0], *b = &s->end[1];
	bool has_private = s->carrier == SDP_CM_PRIV;

	while (pull_work(s, a))
		;
	while (pull_work(s, b))
		;
	must(!sdp_conn_carrier_up(b->conn, NULL, 0, 0, s->now));
	must(!sdp_conn_carrier_up(a->conn, has_private ? s->private_data : NULL,
				  has_private ? sizeof(s->private_data) : 0, 0,
				  s->now));
	while (!a->is_up || !b->is_up)
		must(sim_step(s));
}

/* ---- the ULPs ---- */

bool sim_send(struct sim *s, struct sim_end *e, uint32_t len, uint8_t flags)
{
	struct sdp_buf buf = { .len = len, .flags = flags };
	struct sim_buf *b;

	if (!sdp_conn_send_room(e->conn))
		return false;
	b = buf_new(e, len, &buf.cookie);
	if (!b)
		return false;
	b->is_recv = false;
	for (uint32_t i = 0; i < len; i += 8) {
		uint64_t r = test_random(&s->seed);

		memcpy(b->mem + i, &r, len - i < 8 ? len - i : 8);
	}
	buf.stag = b->stag;
	buf.va = buf.cookie * 0x1000;
	must(!sdp_conn_send(e->conn, &buf));
	return true;
}

bool sim_post_recv(struct sim *s, struct sim_end *e, uint32_t len,
		   uint8_t flags)
{
	struct sdp_buf buf = { .len = len, .flags = flags };
	struct sim_buf *b;
	int ret;

	(void)s;
	b = buf_new(e, len, &buf.cookie);
	if (!b)
		return false;
	b->is_recv = true;
	memset(b->mem, 0xee, len);
	buf.stag = b->stag;
	buf.va = buf.cookie * 0x1000;
	ret = sdp_conn_post_recv(e->conn, &buf);
	if (ret)
		buf_free(e, b);
	return !ret;
}

void sim_take(struct sim *s, struct sim_end *e, uint32_t max)
{
	struct sdp_piece p;
	bool is_oob;

	(void)s;
	while (max && sdp_conn_peek(e->conn, 0, &p, &is_oob) == 1) {
		uint32_t n = p.len < max ? p.len : max;

		must(e->rx[p.cookie].is_used);
		log_add(&e->got, e->rx[p.cookie].octets + p.off, n);
		e->oob_got += is_oob && n == p.len;
		must(!sdp_conn_consume(e->conn, n));
		max -= n;
	}
}

void sim_drain(struct sim *s)
{
	uint32_t rounds = 0, waits = 0;
	bool has_moved = true;

	while (has_moved) {
		must(++rounds < 100000);
		sim_run(s);
		has_moved = false;
		for (int i = 0; i < 2; i++) {
			struct sim_end *e = &s->end[i];

			size_t before = e->got.len;

			sim_take(s, e, UINT32_MAX);
			has_moved |= e->got.len != before;
			/* Octets that are only advertised. */
			if (sdp_conn_readable(e->conn) && !e->is_down &&
			    !e->conn->recv_cnt)
				has_moved |=
					sim_post_recv(s, e, 700, SDP_BUF_RDMA);
		}
		/* Updates that were delayed, but not time-outs of seconds. */
		if (!has_moved && next_deadline(s) <= s->now + 1000000000u &&
		    waits++ < 20)
			has_moved = sim_wait(s);
	}
}

void sim_move(struct sim *s, int i)
{
	sim_run(s);
	for (int j = 0; j < 2; j++) {
		struct sim_end *e = &s->end[j];

		must(e->is_suspended);
		sdp_conn_llp_down(e->conn, s->now);
		must(e->cq_head == e->cq_tail && e->wire_head == e->wire_tail);
		e->sq_done = e->sq_sent = e->sq_tail;
		e->rq_head = e->rq_tail;
		e->reads_out = 0;
		e->is_suspended = e->is_down = e->is_up = false;
		e->wants_end = false;
		must(!sdp_conn_move(e->conn,
				    i == j ? SDP_CONNECTING : SDP_ACCEPTING,
				    s->carrier, s->now));
	}
	while (pull_work(s, &s->end[i]))
		;
	while (pull_work(s, &s->end[!i]))
		;
	must(!sdp_conn_carrier_up(s->end[!i].conn, NULL, 0, 0, s->now));
	must(!sdp_conn_carrier_up(
		s->end[i].conn,
		s->carrier == SDP_CM_PRIV ? s->private_data : NULL,
		s->carrier == SDP_CM_PRIV ? sizeof(s->private_data) : 0, 0,
		s->now));
	while (!s->end[0].is_up || !s->end[1].is_up)
		must(sim_step(s));
}

static void check_half(struct sim *s, int i)
{
	struct sim_end *from = &s->end[i], *to = from->peer;
	const struct sdp_source *src = &from->conn->source;
	const struct sdp_sink *snk = &to->conn->sink;

	(void)s;
	must(from->expect.len == to->got.len);
	must(!from->expect.len ||
	     !memcmp(from->expect.octets, to->got.octets, from->expect.len));
	must(!src->src_cnt && !snk->in_cnt && !snk->owed);
	must(src->mode == snk->mode);
	must(src->pnd == snk->nd);
	must(src->snk_cnt == snk->out_cnt);
	must(from->oob_sent == to->oob_got && from->oob_pend == from->oob_sent);
}

void sim_check_rest(struct sim *s)
{
	current = s;
	for (int i = 0; i < 2; i++) {
		must(!s->end[i].fault);
		must(!s->end[i].conn->send_cnt);
		check_half(s, i);
	}
}

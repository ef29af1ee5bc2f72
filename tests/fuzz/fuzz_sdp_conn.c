/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A connection with a peer that sends anything. Each octet of the input selects
 * an action of the peer, of the ULP or of the carrier. The following octets are
 * its arguments. The connection must use only its own cookies, return every
 * buffer once, and not exceed the credit.
 */
#include "fuzz.h"

#include <string.h>

#include "conn/sdp-conn.h"
#include "conn/state.h"

#define RX_MAX 64
#define BUF_MAX 32

struct input {
	const uint8_t *p, *end;
};

struct world {
	struct sdp_conn *conn;
	struct input in;
	uint64_t now;
	uint32_t mseq, ack;
	bool has_seen;
	bool is_rx[RX_MAX];    /* receive buffers that the connection holds */
	bool is_sent[BUF_MAX]; /* send buffers that it holds */
	bool is_recv[BUF_MAX]; /* receive buffers of the ULP */
	uint32_t posted;
};

static uint32_t take(struct input *in, int octets)
{
	uint32_t v = 0;

	while (octets-- && in->p < in->end)
		v = v << 8 | *in->p++;
	return v;
}

static void check_piece(const struct sdp_piece *p, const bool *held, size_t cnt)
{
	fuzz_assert(p->cookie < cnt && held[p->cookie]);
	fuzz_assert(p->len > 0);
}

static void pull_work(struct world *w, int max)
{
	struct sdp_work work;

	while (max-- && sdp_conn_next_work(w->conn, &work)) {
		switch (work.type) {
		case SDP_WORK_POST:
			w->posted += work.post.cnt;
			fuzz_assert(w->posted <= RX_MAX);
			break;
		case SDP_WORK_SEND:
			for (int i = 0; i < work.send.piece_cnt; i++)
				check_piece(&work.send.pieces[i], w->is_sent,
					    BUF_MAX);
			if (work.send.mid == SDP_MID_HELLO_ACK)
				break;
			w->ack = w->conn->credit.next_mseq - 1;
			w->has_seen = true;
			break;
		case SDP_WORK_READ:
			check_piece(&work.rdma.piece, w->is_recv, BUF_MAX);
			break;
		case SDP_WORK_WRITE:
			check_piece(&work.rdma.piece, w->is_sent, BUF_MAX);
			break;
		default:
			break;
		}
	}
}

static void pull_events(struct world *w, int max)
{
	struct sdp_event ev;

	while (max-- && sdp_conn_next_event(w->conn, &ev)) {
		switch (ev.type) {
		case SDP_EV_COPY:
			check_piece(&ev.copy.from, w->is_rx, RX_MAX);
			fuzz_assert(ev.copy.to < BUF_MAX &&
				    w->is_recv[ev.copy.to]);
			break;
		case SDP_EV_RECEIVED:
			fuzz_assert(ev.received.cookie < BUF_MAX &&
				    w->is_recv[ev.received.cookie]);
			w->is_recv[ev.received.cookie] = false;
			break;
		case SDP_EV_RELEASE:
			fuzz_assert(ev.release.cookie < RX_MAX &&
				    w->is_rx[ev.release.cookie]);
			w->is_rx[ev.release.cookie] = false;
			break;
		case SDP_EV_SENT:
			fuzz_assert(ev.sent.cookie < BUF_MAX &&
				    w->is_sent[ev.sent.cookie]);
			w->is_sent[ev.sent.cookie] = false;
			break;
		case SDP_EV_RESIZE:
			sdp_conn_resize(w->conn, take(&w->in, 2));
			break;
		default:
			break;
		}
	}
}

static int free_slot(const bool *held, int cnt)
{
	for (int i = 0; i < cnt; i++) {
		if (!held[i])
			return i;
	}
	return -1;
}

static void receive(struct world *w, const uint8_t *octets, size_t len)
{
	uint32_t inv = take(&w->in, 1);
	int slot = free_slot(w->is_rx, RX_MAX);

	if (slot < 0)
		return;
	if (w->posted)
		w->posted--;
	w->is_rx[slot] = true;
	if (sdp_conn_recv(w->conn, (uint64_t)slot, octets, len,
			  inv & 1 ? &inv : NULL, w->now) != 1)
		w->is_rx[slot] = false;
}

/* A message that decodes, mostly with valid numbers. */
static void peer_says(struct world *w)
{
	static const uint8_t mids[] = {
		0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09,
		0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0xfd, 0xfe, 0xff,
	};
	uint8_t octets[512] = { 0 };
	uint32_t r = take(&w->in, 1);
	struct sdp_msg msg = { .mid = mids[r & 0xf] };
	size_t len;

	msg.flags = (uint8_t)(take(&w->in, 1) & SDP_FLAGS);
	msg.bufs = (uint16_t)(take(&w->in, 1) & 0x1f);
	msg.mseq = w->mseq++;
	msg.mseqack = w->has_seen ? w->ack - (r >> 6) : 0;
	if (sdp_mid_may_have_payload(msg.mid))
		msg.payload_len = take(&w->in, 1);
	if (msg.mid == SDP_MID_SRC_AVAIL || msg.mid == SDP_MID_SINK_AVAIL) {
		msg.avail.len = take(&w->in, 2);
		msg.avail.stag = take(&w->in, 1);
		msg.avail.non_discards = take(&w->in, 1);
	} else if (msg.mid == SDP_MID_MODE_CHANGE) {
		uint32_t m = take(&w->in, 1);

		msg.change.mode = m >> 1 & 3;
		msg.change.is_send_half = m & 1;
	} else {
		msg.compl_len = take(&w->in, 2);
	}
	len = sdp_msg_encode(&msg, w->conn->opt.layout, octets);
	receive(w, octets, len + msg.payload_len);
}

static void ulp_gives(struct world *w, bool is_recv)
{
	bool *held = is_recv ? w->is_recv : w->is_sent;
	int slot = free_slot(held, BUF_MAX);
	struct sdp_buf buf = { .cookie = (uint64_t)slot };

	if (slot < 0)
		return;
	buf.flags = (uint8_t)take(&w->in, 1);
	buf.len = take(&w->in, 2);
	buf.stag = (uint32_t)slot;
	if (!(is_recv ? sdp_conn_post_recv(w->conn, &buf)
		      : sdp_conn_send(w->conn, &buf)))
		held[slot] = true;
}

static void complete(struct world *w)
{
	struct sdp_conn *c = w->conn;
	uint32_t r = take(&w->in, 1), id;
	bool was_done;

	if (c->next_id == c->done_id)
		return;
	id = c->done_id + r % (c->next_id - c->done_id);
	was_done = *sdp_conn_work_kind(c, id) == SDP_WORK_NONE;
	fuzz_assert(!sdp_conn_work_done(c, id, r != 0xff, w->now) == !was_done);
}

static void wish(struct world *w)
{
	uint32_t r = take(&w->in, 1), v = take(&w->in, 1);

	switch (r % 10) {
	case 0:
		sdp_conn_cancel_send(w->conn, v % BUF_MAX, w->now);
		break;
	case 1:
		sdp_conn_cancel_recv(w->conn, v % BUF_MAX, w->now);
		break;
	case 2:
		sdp_conn_set_mode(w->conn, (enum sdp_mode)(v % 3));
		break;
	case 3:
	case 4:
		sdp_conn_refuse_advert(w->conn);
		break;
	case 5:
		sdp_conn_ask_size(w->conn, 37 + 4 * v);
		break;
	case 6:
		sdp_conn_consume(w->conn, v);
		break;
	case 7:
		sdp_conn_suspend(w->conn, 1, w->now);
		break;
	case 8:
		sdp_conn_shutdown(w->conn, w->now);
		break;
	default:
		sdp_conn_send_more(w->conn, v % BUF_MAX, v + 1);
	}
}

static void end_or_move(struct world *w)
{
	uint32_t r = take(&w->in, 1);

	if (r & 1)
		sdp_conn_llp_down(w->conn, w->now);
	else if (r & 2)
		sdp_conn_abort(w->conn, w->now);
	else if (r & 4)
		sdp_conn_close(w->conn, w->now);
	else if (!sdp_conn_move(w->conn, r & 8 ? SDP_CONNECTING : SDP_ACCEPTING,
				SDP_CM_SEND, w->now)) {
		w->posted = 0;
		w->mseq = 0;
		w->has_seen = false;
	}
}

static void act(struct world *w)
{
	uint8_t raw[64];
	size_t n = 0;

	switch (take(&w->in, 1) % 12) {
	case 0:
		while (n < sizeof(raw) && w->in.p < w->in.end)
			raw[n++] = *w->in.p++;
		receive(w, raw, n);
		break;
	case 1:
	case 2:
	case 3:
		peer_says(w);
		break;
	case 4:
		ulp_gives(w, false);
		break;
	case 5:
		ulp_gives(w, true);
		break;
	case 6:
		complete(w);
		break;
	case 7:
		wish(w);
		break;
	case 8:
		w->now += (uint64_t)take(&w->in, 1) << 24;
		sdp_conn_tick(w->conn, w->now);
		break;
	case 9:
		pull_work(w, (int)take(&w->in, 1) % 8 + 1);
		break;
	case 10:
		pull_events(w, (int)take(&w->in, 1) % 8 + 1);
		break;
	default:
		end_or_move(w);
	}
}

static void open_conn(struct world *w, uint32_t r)
{
	struct sdp_options opt = SDP_OPTIONS_INIT;
	struct sdp_msg msg = { .bufs = (uint16_t)(3 + (r >> 4)) };
	uint8_t octets[SDP_HEADER_MAX];
	size_t len;

	opt.role = (enum sdp_role)(r & 1);
	opt.layout = (enum sdp_layout)(r >> 1 & 1);
	opt.has_manual_mode = r >> 2 & 1;
	opt.bufs = 5;
	opt.buf_size = 100;
	opt.buf_size_max = 300;
	opt.max_adverts = 3;
	opt.src_threshold = opt.sink_threshold = 100;
	opt.read_min = 10;
	opt.rdma_max = 150;
	opt.work_cap = 8;
	opt.send_cap = opt.recv_cap = 6;
	fuzz_assert(!sdp_conn_new(&w->conn, &opt));
	fuzz_assert(!sdp_conn_start(w->conn, 0));
	msg.mid = opt.role == SDP_CONNECTING ? SDP_MID_HELLO_ACK
					     : SDP_MID_HELLO;
	msg.hello.max_adverts = 3;
	msg.hello.maj_v = msg.hello.min_v = 1;
	msg.hello.rcv_sz = 100;
	msg.hello.ird = msg.hello.ord = 2;
	len = sdp_msg_encode(&msg, opt.layout, octets);
	if (opt.role == SDP_ACCEPTING)
		fuzz_assert(!sdp_conn_hello(w->conn, octets, len, 0));
	pull_work(w, 4);
	fuzz_assert(!sdp_conn_carrier_up(w->conn, octets, len, 0, 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = { .in = { data, data + size } };

	if (!size)
		return 0;
	open_conn(&w, take(&w.in, 1));
	while (w.in.p < w.in.end)
		act(&w);
	/* Everything must come back. */
	sdp_conn_llp_down(w.conn, w.now);
	sdp_conn_abort(w.conn, w.now);
	sdp_conn_llp_down(w.conn, w.now);
	pull_events(&w, 1000);
	fuzz_assert(sdp_conn_consume(w.conn, w.conn->chunk_octets) == 0);
	pull_events(&w, 1000);
	fuzz_assert(free_slot(w.is_sent, BUF_MAX) == 0);
	for (int i = 0; i < BUF_MAX; i++)
		fuzz_assert(!w.is_sent[i] && !w.is_recv[i]);
	for (int i = 0; i < RX_MAX; i++)
		fuzz_assert(!w.is_rx[i]);
	sdp_conn_free(w.conn);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Two engines and a pipe in memory. A failure in this file aborts, because it
 * is an error of the test.
 */
#include "pair.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "must.h"

/* From this size on memory is mapped: AddressSanitizer's calloc() clears all of
 * it, however little of it a test uses. */
#define MEM_MAP_MIN (1u << 20)
#define MEM_GUARD 65536u /* at least a page on any machine */

void test_fill(uint8_t *buf, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = (uint8_t)test_random(&seed);
}

struct smpa_options test_options(enum smpa_role role)
{
	struct smpa_options opt = SMPA_OPTIONS_INIT;

	opt.role = role;
	opt.ird = 8;
	opt.ord = 8;
	return opt;
}

static size_t cut_size(struct end_cut *cut, size_t len)
{
	size_t piece;

	if (!cut->max || !len)
		return len;
	piece = 1 + (size_t)(test_random(&cut->seed) % cut->max);
	return piece < len ? piece : len;
}

static void *test_alloc(size_t size)
{
	void *p = malloc(size);

	must(p);
	return p;
}

static uint8_t *mem_alloc(size_t size)
{
	uint8_t *mem;

	if (size < MEM_MAP_MIN) {
		mem = calloc(1, size);
		must(mem);
		return mem;
	}
	mem = mmap(NULL, size + MEM_GUARD, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(mem != MAP_FAILED);
	must(!mprotect(mem + size, MEM_GUARD, PROT_NONE));
	return mem;
}

static void mem_free(uint8_t *mem, size_t size)
{
	if (size < MEM_MAP_MIN)
		free(mem);
	else if (mem)
		must(!munmap(mem, size + MEM_GUARD));
}

void end_init(struct end *e, const struct smpa_options *opt)
{
	memset(e, 0, sizeof(*e));
	must(smpa_conn_new(&e->conn, opt) == 0);
	e->ird = opt->ird;
	e->ord = opt->ord;
	e->refuse_type = SMPA_EV_NONE;
	e->mem = mem_alloc(END_MEM_SIZE);
	e->recv = mem_alloc(END_MEM_SIZE);
	e->rx_staging = test_alloc(END_RX_STAGING);
	must(posix_memalign((void **)&e->tx_staging, 16, END_TX_STAGING) == 0);
	must(smpa_conn_rx_lend(e->conn, e->rx_staging, END_RX_STAGING) == 0);
	must(smpa_conn_tx_lend(e->conn, e->tx_staging, END_TX_STAGING) == 0);
}

void end_fini(struct end *e)
{
	smpa_conn_free(e->conn);
	mem_free(e->mem, END_MEM_SIZE);
	mem_free(e->recv, END_MEM_SIZE);
	free(e->rx_staging);
	free(e->tx_staging);
	free(e->events);
	free(e->out);
	memset(e, 0, sizeof(*e));
}

static void end_record(struct end *e, const struct smpa_event *ev)
{
	struct end_event *r;

	if (e->is_log_off)
		return;
	if (e->event_cnt == e->event_cap) {
		e->event_cap = e->event_cap ? 2 * e->event_cap : 64;
		e->events =
			realloc(e->events, e->event_cap * sizeof(*e->events));
		must(e->events);
	}
	r = &e->events[e->event_cnt++];
	memset(r, 0, sizeof(*r));
	r->ev = *ev;
	switch (ev->type) {
	case SMPA_EV_REQUEST:
	case SMPA_EV_ESTABLISHED:
	case SMPA_EV_REJECTED:
		must(ev->start.pd_len <= sizeof(r->pd));
		if (ev->start.pd_len)
			memcpy(r->pd, ev->start.pd, ev->start.pd_len);
		r->ev.start.pd = NULL;
		break;
	default:
		break;
	}
}

/* Cuts [base, base + len) into e->sink_pieces iovecs. */
static int end_cut_sink(const struct end *e, uint8_t *base, size_t len,
			struct iovec *iov)
{
	int n = 0;
	int pieces = e->sink_pieces > 1 ? e->sink_pieces : 1;

	if (len == 0)
		return 0;
	for (int i = 0; i < pieces; i++) {
		size_t from = len * (size_t)i / (size_t)pieces;
		size_t to = len * ((size_t)i + 1) / (size_t)pieces;

		iov[n].iov_base = base + from;
		iov[n++].iov_len = to - from;
	}
	return n;
}

static void end_segment(struct end *e, const struct smpa_event *ev)
{
	struct iovec iov[SMPA_IOV_MAX];
	uint8_t *base;
	int n;

	if (ev->seg.is_tagged) {
		if (ev->seg.to > END_MEM_SIZE ||
		    ev->seg.len > END_MEM_SIZE - ev->seg.to) {
			smpa_conn_refuse(
				e->conn,
				(struct smpa_fault){ SMPA_F_DDP_T_BOUNDS });
			return;
		}
		base = e->mem + ev->seg.to;
	} else {
		if (ev->seg.len > END_MEM_SIZE - e->recv_pos ||
		    ev->seg.mo > END_MEM_SIZE - e->recv_pos - ev->seg.len) {
			smpa_conn_refuse(
				e->conn,
				(struct smpa_fault){ SMPA_F_DDP_U_TOO_LONG });
			return;
		}
		base = e->recv + e->recv_pos + ev->seg.mo;
	}
	n = end_cut_sink(e, base, ev->seg.len, iov);
	must(smpa_conn_sink(e->conn, n ? iov : NULL, n) == 0);
}

static void end_read(struct end *e, const struct smpa_event *ev)
{
	struct iovec iov = { NULL, 0 };
	struct smpa_msg msg = {
		.opcode = SMPA_OP_READ_RESPONSE,
		.copy = true,
		.quiet = true,
		.stag = ev->read.sink_stag,
		.to = ev->read.sink_to,
	};
	int ret;

	if (ev->read.len > 0) {
		if (ev->read.src_to > END_MEM_SIZE ||
		    ev->read.len > END_MEM_SIZE - ev->read.src_to) {
			smpa_conn_refuse(
				e->conn,
				(struct smpa_fault){ SMPA_F_RDMAP_BOUNDS });
			return;
		}
		iov.iov_base = e->mem + ev->read.src_to;
		iov.iov_len = ev->read.len;
		msg.iov = &iov;
		msg.iovcnt = 1;
		msg.len = ev->read.len;
	}
	ret = end_submit(e, &msg);
	must(ret == 0 || ret == -EPIPE);
	/* iov is on the stack, so all of it must be encoded now */
	while (ret == 0 && msg.len &&
	       smpa_conn_uses(e->conn, iov.iov_base, 1) && end_drain(e))
		;
}

static void end_atomic(struct end *e, const struct smpa_event *ev)
{
	struct smpa_msg msg = {
		.opcode = SMPA_OP_ATOMIC_RESPONSE,
		.quiet = true,
	};
	int ret;

	msg.atomic.id = ev->atomic.id;
	msg.atomic.value = e->atomic_word;
	if (ev->atomic.op == 0)
		e->atomic_word += ev->atomic.add_swap;
	else if (e->atomic_word == ev->atomic.compare)
		e->atomic_word = ev->atomic.add_swap;
	ret = end_submit(e, &msg);
	must(ret == 0 || ret == -EPIPE);
}

static void end_answer(struct end *e, const struct smpa_event *ev)
{
	if (ev->type == e->refuse_type) {
		e->refuse_type = SMPA_EV_NONE;
		smpa_conn_refuse(e->conn,
				 (struct smpa_fault){ e->refuse_fault });
		return;
	}
	switch (ev->type) {
	case SMPA_EV_REQUEST:
		if (e->is_manual)
			return;
		if (e->is_rejecting)
			must(smpa_conn_reject(e->conn, e->pd, e->pd_len) == 0);
		else
			must(smpa_conn_accept(e->conn, e->pd, e->pd_len, e->ird,
					      e->ord) == 0);
		return;
	case SMPA_EV_SEGMENT:
		end_segment(e, ev);
		return;
	case SMPA_EV_MESSAGE:
		if (ev->msg.opcode != SMPA_OP_WRITE &&
		    ev->msg.opcode != SMPA_OP_READ_RESPONSE)
			e->recv_pos += ev->msg.len;
		return;
	case SMPA_EV_READ:
		end_read(e, ev);
		return;
	case SMPA_EV_ATOMIC:
		end_atomic(e, ev);
		return;
	default:
		return;
	}
}

void end_pull(struct end *e)
{
	struct smpa_event ev;
	int ret;

	while ((ret = smpa_conn_next_event(e->conn, &ev)) == 1) {
		bool is_segment = ev.type == SMPA_EV_SEGMENT;

		end_record(e, &ev);
		end_answer(e, &ev);
		/* The MESSAGE comes in one of two ways. */
		e->asks_placed = !e->asks_placed;
		if (!is_segment || !e->asks_placed ||
		    !smpa_conn_placed(e->conn, &ev))
			continue;
		end_record(e, &ev);
		end_answer(e, &ev);
	}
	must(ret == 0);
}

/* Fills the iovecs from the front, as readv() does. */
static size_t iov_fill(const struct iovec *iov, int n, const uint8_t *from,
		       size_t len)
{
	size_t done = 0;

	for (int i = 0; i < n && done < len; i++) {
		size_t piece = len - done;

		if (piece > iov[i].iov_len)
			piece = iov[i].iov_len;
		memcpy(iov[i].iov_base, from + done, piece);
		done += piece;
	}
	return done;
}

void end_feed(struct end *e, const uint8_t *buf, size_t len)
{
	struct iovec iov[SMPA_IOV_MAX + 1];

	end_pull(e);
	while (len > 0) {
		int n = smpa_conn_rx_prepare(e->conn, iov, SMPA_IOV_MAX + 1);
		size_t done;

		must(n >= 0);
		if (n == 0)
			return; /* the stream has ended: drop the octets */
		done = iov_fill(iov, n, buf, cut_size(&e->rx_cut, len));
		must(done > 0);
		must(smpa_conn_rx_commit(e->conn, done) == 0);
		e->read_calls++;
		buf += done;
		len -= done;
		end_pull(e);
	}
}

void end_feed_eof(struct end *e)
{
	smpa_conn_rx_eof(e->conn);
	end_pull(e);
}

static void out_append(struct end *e, const void *buf, size_t len)
{
	if (e->out_cap - e->out_end < len) {
		e->out_cap = 2 * e->out_cap + len;
		e->out = realloc(e->out, e->out_cap);
		must(e->out);
	}
	memcpy(e->out + e->out_end, buf, len);
	e->out_end += len;
}

bool end_drain(struct end *e)
{
	const struct iovec *iov;
	bool has_moved = false;
	int n;

	while ((n = smpa_conn_tx_prepare(e->conn, &iov)) > 0) {
		size_t total = 0, take;

		for (int i = 0; i < n; i++)
			total += iov[i].iov_len;
		must(n <= 1024 && total > 0);
		take = cut_size(&e->tx_cut, total);
		total = take;
		for (int i = 0; take > 0; i++) {
			size_t piece = take < iov[i].iov_len ? take
							     : iov[i].iov_len;

			out_append(e, iov[i].iov_base, piece);
			take -= piece;
		}
		must(smpa_conn_tx_commit(e->conn, total) == 0);
		has_moved = true;
	}
	must(n == 0);
	return has_moved;
}

int end_submit(struct end *e, const struct smpa_msg *msg)
{
	struct smpa_event ev;
	int ret;

	while ((ret = smpa_conn_submit(e->conn, msg)) == -EAGAIN) {
		must(end_drain(e));
		/* Room for SENT events only. The engine's answer to another
		 * event would be another submit inside this one. */
		while (e->event_cap && smpa_conn_tx_pending(e->conn) == 0 &&
		       !smpa_conn_tx_is_idle(e->conn)) {
			if (smpa_conn_next_event(e->conn, &ev) != 1)
				break;
			must(ev.type == SMPA_EV_SENT);
			end_record(e, &ev);
		}
	}
	return ret;
}

void end_feed_hex(struct end *e, const char *hex)
{
	size_t size = strlen(hex) / 2 + 1;
	uint8_t *buf = test_alloc(size);

	end_feed(e, buf, test_unhex(hex, buf, size));
	free(buf);
}

void end_establish(struct end *e, const char *peer_hex)
{
	must(smpa_conn_start(e->conn, NULL, 0) == 0);
	end_drain(e);
	end_feed_hex(e, peer_hex);
	end_drain(e);
	e->out_end = 0;
}

size_t end_count(const struct end *e, enum smpa_event_type type)
{
	size_t n = 0;

	for (size_t i = 0; i < e->event_cnt; i++)
		n += e->events[i].ev.type == type;
	return n;
}

const struct smpa_event *end_event(const struct end *e,
				   enum smpa_event_type type, size_t n)
{
	for (size_t i = 0; i < e->event_cnt; i++)
		if (e->events[i].ev.type == type && n-- == 0)
			return &e->events[i].ev;
	return NULL;
}

uint64_t end_digest(const struct end *e)
{
	uint64_t sum = 0xcbf29ce484222325u;

	for (size_t i = 0; i < e->event_cnt; i++) {
		const uint8_t *p = (const uint8_t *)&e->events[i];

		if (e->events[i].ev.type == SMPA_EV_SENT)
			continue;
		for (size_t j = 0; j < sizeof(e->events[i]); j++)
			sum = (sum ^ p[j]) * 0x100000001b3u;
	}
	return sum;
}

/* ---- pair ---- */

void pair_init(struct pair *p, const struct smpa_options *a,
	       const struct smpa_options *b)
{
	memset(p, 0, sizeof(*p));
	end_init(&p->a, a);
	end_init(&p->b, b);
}

void pair_fini(struct pair *p)
{
	end_fini(&p->a);
	end_fini(&p->b);
	free(p->wire_a);
	free(p->wire_b);
}

static void wire_record(uint8_t **wire, size_t *len, const uint8_t *buf,
			size_t n)
{
	if (!n)
		return;
	*wire = realloc(*wire, *len + n);
	must(*wire);
	memcpy(*wire + *len, buf, n);
	*len += n;
}

static bool pair_carry(struct end *from, struct end *to, uint8_t **wire,
		       size_t *wire_len, bool is_recording)
{
	size_t n;

	end_drain(from);
	end_pull(from);
	n = from->out_end;
	if (n == 0)
		return false;
	if (is_recording)
		wire_record(wire, wire_len, from->out, n);
	end_feed(to, from->out, n);
	from->out_end = 0;
	return true;
}

void pair_run(struct pair *p)
{
	bool has_moved;

	do {
		has_moved = pair_carry(&p->a, &p->b, &p->wire_a, &p->wire_a_len,
				       p->is_recording);
		has_moved |= pair_carry(&p->b, &p->a, &p->wire_b,
					&p->wire_b_len, p->is_recording);
	} while (has_moved);
}

void pair_start(struct pair *p)
{
	must(smpa_conn_start(p->b.conn, NULL, 0) == 0);
	must(smpa_conn_start(p->a.conn, p->a.pd, p->a.pd_len) == 0);
	pair_run(p);
}

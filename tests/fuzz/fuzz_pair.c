/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Two engines, and a relay between them that delays, drops, alters and adds
 * octets in either direction, or cuts the stream.
 *
 * One octet selects options, then steps follow. Whatever the relay does, an end
 * that has detected a fault accepts nothing more from its peer, and reports the
 * fault once.
 */
#include "fuzz.h"

#include <string.h>

#include "pair.h"

enum step {
	STEP_CARRY, /* forwards this many octets unchanged */
	STEP_FLIP,  /* the same, with one octet altered: position, value */
	STEP_DROP,  /* drops this many octets */
	STEP_ADD,   /* inserts this many octets of the input */
	STEP_SUBMIT,
	STEP_TERMINATE,
	STEP_EOF,
	STEP_RUN, /* forwards everything, in both directions */
	STEP_CNT,
};

struct input {
	const uint8_t *p, *end;
};

static uint8_t octet(struct input *in)
{
	return in->p < in->end ? *in->p++ : 0;
}

static size_t taken(struct end *from, size_t want)
{
	end_drain(from);
	end_pull(from);
	return want < from->out_end ? want : from->out_end;
}

static void shift(struct end *from, size_t len)
{
	if (len == 0)
		return; /* possibly nothing was ever sent */
	memmove(from->out, from->out + len, from->out_end - len);
	from->out_end -= len;
}

static void carry(struct end *from, struct end *to, size_t want)
{
	size_t len = taken(from, want);
	uint8_t buf[4096];

	if (len > sizeof(buf))
		len = sizeof(buf);
	if (len == 0)
		return;
	memcpy(buf, from->out, len);
	shift(from, len);
	end_feed(to, buf, len);
}

static void submit(struct end *e, struct input *in)
{
	static uint8_t payload[256 * 64];
	static struct iovec iov[2];
	static unsigned int turn;
	uint8_t what = octet(in);
	struct smpa_msg msg = {
		.opcode = what & 0xf,
		.copy = what & 0x10,
		.quiet = what & 0x20,
		.stag = 1,
		.to = octet(in),
	};

	msg.read.len = octet(in) * 16u;
	if (msg.opcode != SMPA_OP_READ_REQUEST && msg.opcode < SMPA_OP_IMM &&
	    msg.read.len > 0) {
		struct iovec *v = &iov[turn++ & 1];

		*v = (struct iovec){ payload, msg.read.len };
		msg.iov = v;
		msg.iovcnt = 1;
		msg.len = msg.read.len;
	}
	(void)smpa_conn_submit(e->conn, &msg);
	/* the next message uses the same array */
	end_drain(e);
}

static void run_step(struct pair *p, struct input *in)
{
	uint8_t what = octet(in);
	struct end *from = what & 0x80 ? &p->b : &p->a;
	struct end *to = what & 0x80 ? &p->a : &p->b;
	uint8_t buf[255];
	size_t len;

	switch ((enum step)((what & 0x7f) % STEP_CNT)) {
	case STEP_CARRY:
		carry(from, to, octet(in) * 4u);
		break;
	case STEP_FLIP:
		len = taken(from, octet(in) * 4u);
		if (len > 0)
			from->out[octet(in) % len] ^= octet(in);
		carry(from, to, len);
		break;
	case STEP_DROP:
		shift(from, taken(from, octet(in)));
		break;
	case STEP_ADD:
		len = octet(in);
		for (size_t i = 0; i < len; i++)
			buf[i] = octet(in);
		end_feed(to, buf, len);
		break;
	case STEP_SUBMIT:
		submit(from, in);
		break;
	case STEP_TERMINATE:
		smpa_conn_terminate(from->conn,
				    SMPA_FAULT(octet(in) & 3, 1, octet(in)));
		break;
	case STEP_EOF:
		end_feed_eof(to);
		break;
	case STEP_RUN:
		pair_run(p);
		break;
	case STEP_CNT:
		break;
	}
}

/* MPA-166 */
static void check_end(const struct end *e)
{
	bool is_over = false;

	for (size_t i = 0; i < e->event_cnt; i++) {
		enum smpa_event_type type = e->events[i].ev.type;

		if (type == SMPA_EV_SENT)
			continue;
		fuzz_assert(!is_over);
		is_over = type == SMPA_EV_FAULT || type == SMPA_EV_TERMINATE ||
			  type == SMPA_EV_CLOSED;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	uint8_t flags = octet(&in);
	struct smpa_options a = test_options(SMPA_INITIATOR);
	struct smpa_options b = test_options(SMPA_RESPONDER);
	struct pair p;

	a.no_crc = b.no_crc = flags & 1;
	a.want_markers = flags & 2;
	b.want_markers = flags & 4;
	a.rtr = flags >> 3 & 7;
	a.direct_min = b.direct_min = 64;
	a.rev0 = b.rev0 = flags >> 6 & 1;
	a.bare = b.bare = flags & 0x80;
	pair_init(&p, &a, &b);
	fuzz_assert(smpa_conn_start(p.b.conn, NULL, 0) == 0);
	fuzz_assert(smpa_conn_start(p.a.conn, NULL, 0) == 0);
	while (in.p < in.end)
		run_step(&p, &in);
	pair_run(&p);
	check_end(&p.a);
	check_end(&p.b);
	pair_fini(&p);
	return 0;
}

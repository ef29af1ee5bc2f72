/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A whole connection. Two octets select role and options. Then a sequence of
 * steps follows: octets from the peer, messages, transmission of any size,
 * staging lent and taken back, refusals, terminate, end of stream.
 */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "pair.h"

enum step {
	STEP_FEED,	/* length octet, then that many octets */
	STEP_FEED_LONG, /* the same times 64, padded with zeros */
	STEP_SUBMIT,	/* opcode, length */
	STEP_DRAIN,	/* maximum size of a piece */
	STEP_REFUSE,	/* event type, fault */
	STEP_TERMINATE,
	STEP_LEND,
	STEP_EOF,
	STEP_MULPDU,
	STEP_CNT,
};

struct input {
	const uint8_t *p, *end;
};

static uint8_t octet(struct input *in)
{
	return in->p < in->end ? *in->p++ : 0;
}

static void feed(struct end *e, struct input *in, size_t len)
{
	uint8_t buf[255 * 64];
	size_t have = (size_t)(in->end - in->p);

	if (have > len)
		have = len;
	memset(buf, 0, len);
	memcpy(buf, in->p, have);
	in->p += have;
	end_feed(e, buf, len);
}

static void submit(struct end *e, struct input *in)
{
	static uint8_t payload[255 * 300];
	/* the array must stay until the next accepted submit */
	static struct iovec iovs[2][2];
	static unsigned int turn;
	struct iovec *iov = iovs[turn & 1];
	struct smpa_msg msg = { .opcode = octet(in) & 0x1f, .stag = 1 };
	size_t len = octet(in) * 300u;
	int ret;

	msg.copy = len & 1;
	if (len) {
		iov[0] = (struct iovec){ payload, len / 3 };
		iov[1] = (struct iovec){ payload + len / 3, len - len / 3 };
		msg.iov = iov;
		msg.iovcnt = 2;
		msg.len = (uint32_t)len;
	}
	ret = smpa_conn_submit(e->conn, &msg);
	turn += ret == 0;
	fuzz_assert(ret == 0 || ret == -EAGAIN || ret == -EPIPE ||
		    ret == -EINVAL || ret == -ENOBUFS);
}

static void lend(struct end *e)
{
	bool is_idle = smpa_conn_rx_is_idle(e->conn);

	fuzz_assert(smpa_conn_rx_lend(e->conn, NULL, 0) ==
		    (is_idle ? 0 : -EBUSY));
	if (is_idle)
		fuzz_assert(smpa_conn_rx_lend(e->conn, e->rx_staging,
					      END_RX_STAGING) == 0);
	if (smpa_conn_tx_lend(e->conn, NULL, 0) == 0) {
		end_drain(e); /* what the engine's own memory contains */
		fuzz_assert(smpa_conn_tx_lend(e->conn, e->tx_staging,
					      END_TX_STAGING) == 0);
	}
}

static void run_step(struct end *e, struct input *in)
{
	switch ((enum step)(octet(in) % STEP_CNT)) {
	case STEP_FEED:
		feed(e, in, octet(in));
		break;
	case STEP_FEED_LONG:
		feed(e, in, octet(in) * 64u);
		break;
	case STEP_SUBMIT:
		submit(e, in);
		break;
	case STEP_DRAIN:
		e->tx_cut.max = octet(in) * 16u;
		end_drain(e);
		end_pull(e);
		break;
	case STEP_REFUSE:
		e->refuse_type =
			(enum smpa_event_type)(SMPA_EV_SEGMENT + octet(in) % 4);
		e->refuse_fault = (uint16_t)(octet(in) << 8 | octet(in));
		break;
	case STEP_TERMINATE:
		smpa_conn_terminate(e->conn, SMPA_FAULT(octet(in) & 3, 0, 7));
		break;
	case STEP_LEND:
		lend(e);
		break;
	case STEP_EOF:
		end_feed_eof(e);
		break;
	case STEP_MULPDU:
		smpa_conn_set_mulpdu(e->conn, octet(in) * 256u);
		break;
	case STEP_CNT:
		break;
	}
}

/* Does the start by script, so that not every input must contain one. */
static void establish(struct end *e, enum smpa_role role, bool is_plain)
{
	struct smpa_msg msg = { .opcode = SMPA_OP_WRITE, .quiet = true };

	if (role == SMPA_RESPONDER) {
		end_establish(e, is_plain ? PEER_REQUEST_PLAIN : PEER_REQUEST);
		return;
	}
	end_establish(e, is_plain ? PEER_REPLY_PLAIN : PEER_REPLY);
	fuzz_assert(smpa_conn_submit(e->conn, &msg) == 0);
	end_drain(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	uint8_t flags = octet(&in), more = octet(&in);
	struct smpa_options o =
		test_options(flags & 1 ? SMPA_RESPONDER : SMPA_INITIATOR);
	struct end e;

	o.no_crc = flags & 2;
	o.want_markers = flags & 4;
	o.rtr = flags >> 3 & 7;
	o.rev = flags & 0x40 && flags & 0x80 ? 2
					     : 1; /* scripts use revision 1 */
	o.direct_min = more & 1 ? 64 : 0;
	o.mulpdu = more & 2 ? 64768 : 0;
	o.copy_max = more & 4 ? 1 : 0;
	o.rev0 = flags & 0x40 ? SMPA_REV0_PERMISSIVE : SMPA_REV0_REFUSE;
	o.bare = (flags & 0xc0) == 0x80;
	end_init(&e, &o);
	e.sink_pieces = more >> 3 & 7;
	e.rx_cut = (struct end_cut){ more, more >> 6 };
	if (flags & 0xc0)
		fuzz_assert(smpa_conn_start(e.conn, NULL, 0) == 0);
	else
		establish(&e, o.role, o.no_crc);
	while (in.p < in.end)
		run_step(&e, &in);
	end_drain(&e);
	end_pull(&e);
	fuzz_assert(smpa_conn_tx_pending(e.conn) == 0 ||
		    smpa_conn_tx_is_held(e.conn));
	end_fini(&e);
	return 0;
}

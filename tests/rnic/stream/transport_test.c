/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* transport.c: which refusal of the protocol library a QP's refusal is. */
#include "test.h"
#include "steps.h"

#include "stream/object.h"
#include "stream/transport.h"

#define FAULT 0x1234

static struct rnic_stream stream;
static struct rnic_qp qp;

static void refused(char letter, struct smpa_fault fault)
{
	assert_int_equal(fault.value, FAULT);
	step(letter);
}

WRAP(void, smpa_conn_refuse, (struct smpa_conn * c, struct smpa_fault fault))
{
	refused('p', fault);
}

WRAP(void, smpa_conn_refuse_segment,
     (struct smpa_conn * c, const struct smpa_event *ev,
      struct smpa_fault fault))
{
	refused('s', fault);
}

WRAP(void, smpa_conn_refuse_read,
     (struct smpa_conn * c, const struct smpa_event *ev,
      struct smpa_fault fault))
{
	refused('r', fault);
}

WRAP(void, smpa_conn_terminate, (struct smpa_conn * c, struct smpa_fault fault))
{
	refused('t', fault);
}

static const struct {
	enum smpa_event_type type; /* NONE: what is pending */
	const char *log;
} rows[] = {
	{ SMPA_EV_NONE, "p" },
	{ SMPA_EV_SEGMENT, "s" },
	{ SMPA_EV_READ, "r" },
	{ SMPA_EV_ATOMIC, "r" },
};

CASE(a_refusal_names_the_message)
{
	const struct rnic_transport *transport = &rnic_stream_transport;

	qp.link = &stream;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct smpa_event ev = { .type = rows[i].type };

		steps_clear();
		transport->refuse(&qp, rows[i].type ? &ev : NULL, FAULT);
		assert_string_equal(steps_log, rows[i].log);
	}
	steps_clear();
	transport->terminate(&qp, FAULT);
	assert_string_equal(steps_log, "t");
}

/* rnic_sq_lose() submits without a stream. */
CASE(without_a_stream_a_message_of_uc_is_lost)
{
	const struct smpa_msg msg = { .opcode = SMPA_OP_SEND };

	qp.link = NULL;
	assert_int_equal(rnic_stream_lossy_transport.submit(&qp, &msg), 0);
	assert_int_equal(rnic_stream_transport.type, RNIC_QPT_RC);
	assert_int_equal(rnic_stream_lossy_transport.type, RNIC_QPT_UC);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See fault-message.h. */
#include "fault-message.h"

#include <errno.h>

#include "fault.h"
#include "os/guard.h"
#include "qp/fault.h"
#include "qp/inbound.h"

/* ---- messages out -------------------------------------------------------- */

/* 0: a message that no WR stands for: a probe, an acknowledgement; or the
 * immediate data beside one that counts. */
static uint32_t msg_opcode(const struct smpa_msg *msg)
{
	switch (msg->opcode) {
	case SMPA_OP_WRITE:
		return msg->len ? UTIL_FAULT_OP_WRITE : 0;
	case SMPA_OP_READ_REQUEST:
		return msg->read.len ? UTIL_FAULT_OP_READ : 0;
	case SMPA_OP_READ_RESPONSE:
		return msg->len ? UTIL_FAULT_OP_RESPONSE : 0;
	case SMPA_OP_SEND:
	case SMPA_OP_SEND_INV:
	case SMPA_OP_SEND_SE:
	case SMPA_OP_SEND_SE_INV:
		return UTIL_FAULT_OP_SEND;
	case SMPA_OP_ATOMIC_REQUEST:
		return UTIL_FAULT_OP_ATOMIC;
	case SMPA_OP_ATOMIC_RESPONSE:
		return UTIL_FAULT_OP_RESPONSE;
	default:
		return 0;
	}
}

/* One octet more is named by one iovec more. */
static bool msg_can_change(const struct smpa_msg *msg)
{
	return msg->len &&
	       (msg->iovcnt < SMPA_IOV_MAX || msg->iov[0].iov_len == 1);
}

/* Changes the first octet.  If it cannot be read, the message fails as it
 * is. */
static void msg_change(struct rnic_stream_changed *changed,
		       struct smpa_msg *msg)
{
	const struct iovec *from = msg->iov;
	struct iovec *to = changed->iov;
	int i = 0, rc;

	while (!from[i].iov_len)
		i++;
	rc = rnic_guard_copy(&changed->octet, from[i].iov_base, 1);
	if (rc == -ENOSYS) /* no memory is registered: it is inline data */
		changed->octet = *(const uint8_t *)from[i].iov_base;
	else if (rc < 0)
		return;
	changed->octet ^= 0xff;
	*to++ = (struct iovec){ &changed->octet, 1 };
	if (from[i].iov_len > 1)
		*to++ = (struct iovec){ (uint8_t *)from[i].iov_base + 1,
					from[i].iov_len - 1 };
	while (++i < msg->iovcnt)
		*to++ = from[i];
	msg->iov = changed->iov;
	msg->iovcnt = (int)(to - changed->iov);
	msg->copy = true;
}

static int msg_submit(struct rnic_stream *stream, const struct smpa_msg *msg,
		      const struct rnic_fault_hits *hits)
{
	struct rnic_stream_fault *fault = stream->fault;
	struct smpa_msg own = *msg;
	int rc = -EOPNOTSUPP;

	if (rnic_fault_first(hits, RNIC_FAULT_BIT(MESSAGE_CHANGED)))
		msg_change(&fault->changed[fault->turn], &own);
	if (rnic_fault_first(hits, RNIC_FAULT_BIT(MESSAGE_BAD_CRC)))
		rc = smpa_conn_submit_spoiled(stream->conn, &own);
	if (rc == -EOPNOTSUPP)
		rc = smpa_conn_submit(stream->conn, &own);
	if (rc == 0)
		fault->turn ^= 1;
	return rc;
}

int rnic_stream_fault_submit(struct rnic_stream *stream,
			     const struct smpa_msg *msg)
{
	struct rnic_qp *qp = stream->qp;
	struct rnic_fault_event event;
	struct rnic_fault_hits hits;
	int rc;

	rnic_qp_fault_event(qp, &event);
	event.opcode = msg_opcode(msg);
	if (!stream->fault || !event.opcode)
		return smpa_conn_submit(stream->conn, msg);
	event.faults = RNIC_FAULTS_OF_EITHER | RNIC_FAULT_BIT(STREAM_DELAY) |
		       RNIC_FAULT_BIT(MESSAGE_BAD_CRC);
	if (msg_can_change(msg))
		event.faults |= RNIC_FAULT_BIT(MESSAGE_CHANGED);
	event.octets = qp->fault.out_octets + msg->len;
	(void)rnic_fault_match(&event, &hits);
	rc = msg_submit(stream, msg, &hits);
	if (rc < 0) {
		rnic_fault_unmatch(&event, &hits);
		return rc;
	}
	qp->fault.out_octets = event.octets;
	if (hits.rules) {
		rnic_fault_tell(&event, &hits);
		rnic_stream_fault_act(stream, &hits);
	}
	return 0;
}

/* ---- messages in --------------------------------------------------------- */

/* A message has arrived, which is counted with its last segment.  0: none, or
 * not one that counts. */
static uint32_t event_opcode(const struct smpa_event *ev)
{
	switch (ev->type) {
	case SMPA_EV_SEGMENT:
		break;
	case SMPA_EV_READ:
		return ev->read.len ? UTIL_FAULT_OP_READ : 0;
	case SMPA_EV_ATOMIC:
		return UTIL_FAULT_OP_ATOMIC;
	case SMPA_EV_ATOMIC_DONE:
		return UTIL_FAULT_OP_RESPONSE;
	default:
		return 0;
	}
	if (!ev->seg.is_last)
		return 0;
	switch (ev->seg.opcode) {
	case SMPA_OP_WRITE:
		return UTIL_FAULT_OP_WRITE;
	case SMPA_OP_READ_RESPONSE:
		return UTIL_FAULT_OP_RESPONSE;
	case SMPA_OP_IMM:
	case SMPA_OP_IMM_SE:
		return 0;
	default:
		return UTIL_FAULT_OP_SEND;
	}
}

/* As if the peer had sent a TERMINATE in place of this. */
static void terminate_forge(struct rnic_qp *qp,
			    const struct util_fault_rule *rule)
{
	struct smpa_event forged = { .type = SMPA_EV_TERMINATE };

	forged.term.fault.value = (uint16_t)rule->code;
	(void)rnic_inbound_event(qp, &forged);
}

bool rnic_stream_fault_event(struct rnic_stream *stream,
			     const struct smpa_event *ev)
{
	struct rnic_qp *qp = stream->qp;
	const struct util_fault_rule *rule;
	struct rnic_fault_event event;
	struct rnic_fault_hits hits;

	if (!stream->fault)
		return false;
	if (ev->type == SMPA_EV_SEGMENT)
		qp->fault.in_octets += ev->seg.len;
	rnic_qp_fault_event(qp, &event);
	event.is_in = true;
	event.opcode = event_opcode(ev);
	event.octets = qp->fault.in_octets;
	if (event.opcode)
		event.faults = RNIC_FAULTS_OF_EITHER |
			       RNIC_FAULT_BIT(TERMINATE_FORGED);
	else if (ev->type == SMPA_EV_TERMINATE)
		event.faults = RNIC_FAULT_BIT(TERMINATE_LOST);
	if (!event.faults || !rnic_fault_match(&event, &hits))
		return false;
	rnic_fault_tell(&event, &hits);
	rnic_stream_fault_act(stream, &hits);
	rule = rnic_fault_first(&hits, RNIC_FAULT_BIT(TERMINATE_FORGED));
	if (rule)
		terminate_forge(qp, rule);
	return rnic_qp_is_over(qp) ||
	       rnic_fault_first(&hits, RNIC_FAULT_BIT(TERMINATE_LOST));
}

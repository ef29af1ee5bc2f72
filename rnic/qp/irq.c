/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* READs and atomics of the peer: executed, answered, refused. */
#include "irq.h"
#include "ack.h"
#include "mem/atomic.h"
#include "os/stat.h"
#include "show.h"
#include "state.h"
#include "transport.h"

void rnic_irq_refuse(struct rnic_qp *qp, const struct rnic_irq_entry *entry,
		     uint16_t fault)
{
	struct smpa_event ev = { .type = SMPA_EV_ATOMIC };

	if (entry->kind == RNIC_IRQ_READ) {
		ev.type = SMPA_EV_READ;
		ev.read.sink_stag = entry->sink_stag;
		ev.read.sink_to = entry->sink_to;
		ev.read.len = entry->len;
		ev.read.src_stag = entry->src_stag;
		ev.read.src_to = entry->src_to;
		ev.read.msn = entry->msn;
	} else {
		ev.atomic.msn = entry->msn;
	}
	qp->transport->refuse(qp, &ev, fault);
	rnic_stat_add(RNIC_STAT_term_sent, 1);
	rnic_qp_fail(qp, RNIC_QPS_TERMINATE, USIW_WC_WR_FLUSH_ERR,
		     RNIC_QP_EV_ACCESS_ERR);
}

/*
 * EXT-8: in its turn, when no earlier Read's response is still to be sent from
 * the same memory.  Return: 1: it is executed; 0: not now, or the QP has
 * failed.
 */
static int irq_execute(struct rnic_qp *qp, struct rnic_irq_entry *entry)
{
	uint64_t old;

	if (qp->irq.submitted_cnt &&
	    qp->transport->uses(qp, entry->src, entry->len))
		return 0;
	if (rnic_atomic_execute(&entry->atomic, entry->src, &old) < 0) {
		rnic_stat_add(RNIC_STAT_mem_faults, 1);
		rnic_irq_refuse(qp, entry, SMPA_F_RDMAP_BOUNDS);
		return 0;
	}
	/* Once only: the answer may have to wait. */
	entry->kind = RNIC_IRQ_ATOMIC_DONE;
	entry->old = old;
	entry->len = 0;
	return 1;
}

/* EXT-9 */
static int irq_submit_atomic(struct rnic_qp *qp, struct rnic_irq_entry *entry)
{
	struct smpa_msg msg = {
		.opcode = SMPA_OP_ATOMIC_RESPONSE,
		.cookie = RNIC_COOKIE_RESPONSE,
		.atomic.id = entry->id,
	};

	if (entry->kind == RNIC_IRQ_ATOMIC && !irq_execute(qp, entry))
		return 0;
	msg.atomic.value = entry->old;
	if (qp->transport->submit(qp, &msg) < 0)
		return 0;
	qp->irq.submitted_cnt++;
	rnic_stat_count(qp->engine->stat, RNIC_STAT_atomic_served, 1);
	rnic_qp_show_message(&qp->res->rx, USIW_RES_OP_ATOMIC, 0);
	return 1;
}

static int irq_submit_read(struct rnic_qp *qp,
			   const struct rnic_irq_entry *entry)
{
	struct rnic_irq *irq = &qp->irq;
	struct iovec *iov = &irq->iov[irq->iov_turn];
	struct smpa_msg msg = {
		.opcode = SMPA_OP_READ_RESPONSE,
		.cookie = RNIC_COOKIE_RESPONSE,
		.stag = entry->sink_stag,
		.to = entry->sink_to,
		.iov = iov,
		.iovcnt = entry->len ? 1 : 0,
		.len = entry->len,
	};

	if (!entry->len && entry->src_stag == RNIC_ACK_STAG &&
	    rnic_sq_idx_is_before(qp->held_out_idx, entry->held_idx))
		return 0;
	iov->iov_base = entry->src;
	iov->iov_len = entry->len;
	if (qp->transport->submit(qp, &msg) < 0)
		return 0;
	irq->iov_turn ^= 1;
	irq->submitted_cnt++;
	rnic_stat_count(qp->engine->stat, RNIC_STAT_read_served, 1);
	if (entry->len) /* none of the application has no octets to us */
		rnic_qp_show_message(&qp->res->rx, USIW_RES_OP_READ,
				     entry->len);
	return 1;
}

/* RDMAP-20, EXT-8: responses in the order of the requests. */
bool rnic_irq_submit(struct rnic_qp *qp)
{
	struct rnic_irq_entry *entry =
		rnic_irq_at(&qp->irq, qp->irq.submitted_cnt);

	if (entry->kind == RNIC_IRQ_READ)
		return irq_submit_read(qp, entry);
	return irq_submit_atomic(qp, entry);
}

void rnic_irq_sent(struct rnic_qp *qp)
{
	struct rnic_irq *irq = &qp->irq;

	irq->head = (irq->head + 1) % irq->max;
	irq->cnt--;
	irq->submitted_cnt--;
	rnic_qp_show_reads_in(qp);
}

const struct rnic_irq_entry *rnic_irq_find(const struct rnic_irq *irq,
					   uint32_t stag)
{
	for (uint32_t i = 0; i < irq->cnt; i++) {
		const struct rnic_irq_entry *entry = rnic_irq_at(irq, i);

		if (entry->len && entry->src_stag == stag)
			return entry;
	}
	return NULL;
}

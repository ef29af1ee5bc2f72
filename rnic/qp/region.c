/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Regions and rights that are taken away while a QP's peer uses them. */
#include "region.h"

#include "irq.h"
#include "mem/sge.h"
#include "os/stat.h"
#include "rq.h"
#include "state.h"
#include "transport.h"

static bool sqe_names(const struct rnic_sq *sq, uint32_t idx, uint32_t stag)
{
	const struct usiw_sqe *slot = usiw_ring_slot(&sq->ring, idx);

	if (slot->flags & USIW_SQE_INLINE)
		return false;
	return rnic_sge_names(rnic_sqe_sges(slot), rnic_sqe_sge_cnt(sq, slot),
			      stag);
}

static bool wr_names(const struct rnic_sq *sq, uint32_t idx, uint32_t stag)
{
	return !rnic_sq_wr_at(sq, idx)->is_done && sqe_names(sq, idx, stag);
}

static bool recv_names(const struct rnic_qp *qp, uint32_t stag)
{
	const struct rnic_recv *recv = &qp->rq.current;

	return recv->is_open && rnic_sge_names(recv->sge, recv->sge_cnt, stag);
}

void rnic_qp_region_gone(struct rnic_qp *qp, uint32_t stag)
{
	const struct rnic_irq_entry *entry = rnic_irq_find(&qp->irq, stag);
	enum rnic_qp_event event = RNIC_QP_EV_ACCESS_ERR; /* a peer's Write */
	uint32_t idx = qp->sq.done_idx;

	if (entry) {
		rnic_irq_refuse(qp, entry, SMPA_F_RDMAP_STAG);
		return;
	}
	rnic_stat_add(RNIC_STAT_term_sent, 1);
	while (idx != qp->sq.next_idx && !wr_names(&qp->sq, idx, stag))
		idx++;
	if (idx != qp->sq.next_idx) {
		rnic_qp_fail_at(qp, idx, USIW_WC_LOC_PROT_ERR);
		return;
	}
	qp->transport->terminate(qp, SMPA_F_RDMAP_STREAM_CATA);
	if (recv_names(qp, stag)) {
		event = RNIC_QP_EV_REQ_ERR;
		rnic_rq_complete_error(qp, USIW_WC_LOC_PROT_ERR);
	}
	rnic_qp_fail(qp, RNIC_QPS_TERMINATE, USIW_WC_WR_FLUSH_ERR, event);
}

/* ---- rights of the QP ---------------------------------------------------- */

/* The memory of a Write's segment has been named, and octets of it are still to
 * come. */
static bool write_is_open(const struct rnic_qp *qp)
{
	struct smpa_event ev;

	return qp->transport->open_segment(qp, &ev) &&
	       ev.seg.opcode == SMPA_OP_WRITE;
}

static uint32_t irq_access(const struct rnic_irq_entry *entry)
{
	return entry->kind == RNIC_IRQ_READ ? RNIC_ACCESS_REMOTE_READ
					    : RNIC_ACCESS_REMOTE_ATOMIC;
}

/* The oldest request that still needs one of these rights; NULL: none. */
static const struct rnic_irq_entry *irq_find_access(const struct rnic_qp *qp,
						    uint32_t lost)
{
	const struct rnic_irq *irq = &qp->irq;

	for (uint32_t i = 0; i < irq->cnt; i++) {
		const struct rnic_irq_entry *entry = rnic_irq_at(irq, i);

		if (entry->len && irq_access(entry) & lost &&
		    (i >= irq->submitted_cnt ||
		     qp->transport->uses(qp, entry->src, entry->len)))
			return entry;
	}
	return NULL;
}

bool rnic_qp_access_gone(struct rnic_qp *qp, uint32_t lost)
{
	const struct rnic_irq_entry *entry = irq_find_access(qp, lost);

	if (entry) {
		rnic_irq_refuse(qp, entry, SMPA_F_RDMAP_ACCESS);
		return true;
	}
	if (!(lost & RNIC_ACCESS_REMOTE_WRITE) || !write_is_open(qp))
		return false;
	qp->transport->terminate(qp, SMPA_F_DDP_T_STAG);
	rnic_stat_add(RNIC_STAT_term_sent, 1);
	rnic_qp_fail(qp, RNIC_QPS_TERMINATE, USIW_WC_WR_FLUSH_ERR,
		     RNIC_QP_EV_ACCESS_ERR);
	return true;
}

/* ---- regions ------------------------------------------------------------- */

bool rnic_qp_uses_region(const struct rnic_qp *qp, uint32_t stag,
			 const void *addr, size_t len)
{
	const struct rnic_sq *sq = &qp->sq;
	const struct rnic_irq *irq = &qp->irq;
	bool is_named = qp->arrival.write_stag == stag || recv_names(qp, stag);

	for (uint32_t i = 0; i < irq->cnt; i++) {
		const struct rnic_irq_entry *entry = rnic_irq_at(irq, i);

		if (!entry->len || entry->src_stag != stag)
			continue;
		if (i >= irq->submitted_cnt)
			return true; /* its response would read there */
		is_named = true;
	}
	for (uint32_t i = sq->done_idx; i != sq->next_idx && !is_named; i++)
		is_named = wr_names(sq, i, stag);
	/* It may be sent already, or not have arrived: then the check fails
	 * when its octets come. */
	return is_named && qp->transport->uses(qp, addr, len);
}

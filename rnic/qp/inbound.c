/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What arrives: placed into memory that the MR table or a receive allows; READs
 * and atomics queued; receives and READs completed; errors ended on.
 */
#include "inbound.h"

#include <errno.h>
#include <string.h>

#include "util/log.h"
#include "ack.h"
#include "engine/wake.h"
#include "fault.h"
#include "irq.h"
#include "mem/access.h"
#include "mem/atomic.h"
#include "mem/mw.h"
#include "mem/sge.h"
#include "os/stat.h"
#include "os/watch.h"
#include "rnr.h"
#include "rq.h"
#include "show.h"
#include "sq.h"
#include "state.h"
#include "transport.h"

/* One row per finding of the access check: the codes for tagged placement (DDP,
 * DDP-52; D-6: DDP has no code for access) and for a read's source
 * (RDMAP-64). */
struct access_fault {
	uint16_t tagged;
	uint16_t read;
};

static const struct access_fault access_faults[] = {
	[RNIC_MR_BAD_STAG] = { SMPA_F_DDP_T_STAG, SMPA_F_RDMAP_STAG },
	[RNIC_MR_BAD_PD] = { SMPA_F_DDP_T_STREAM, SMPA_F_RDMAP_STREAM },
	[RNIC_MR_BAD_ACCESS] = { SMPA_F_DDP_T_STAG, SMPA_F_RDMAP_ACCESS },
	[RNIC_MR_BAD_BOUNDS] = { SMPA_F_DDP_T_BOUNDS, SMPA_F_RDMAP_BOUNDS },
	[RNIC_MR_WRAP] = { SMPA_F_DDP_T_WRAP, SMPA_F_RDMAP_WRAP },
};

/*
 * The peer's message is not acceptable.  Its earlier requests are answered, and
 * its Sends that are held are delivered first: they were valid, and their WRs
 * complete, as with InfiniBand, whose responder works in order.  So the refusal
 * is noted here, and the stream acts on it.
 */
static int refuse(struct rnic_qp *qp, uint16_t fault, enum rnic_qp_event event)
{
	if (!rnic_qp_is_over(qp))
		qp->refusal = (struct rnic_refusal){
			.is_due = true,
			.fault = fault,
			.event = event,
		};
	return -EPROTO;
}

/*
 * The message whose segment is pending cannot be taken.  A QP that may lose
 * messages drops all that is left of it, which its peer does not hear of
 * (InfiniBand's class D faults of a responder, IBA 9.9.3); another one refuses
 * it.  Return: 0; -EPROTO.
 */
static int turn_away(struct rnic_qp *qp, uint16_t fault,
		     enum rnic_qp_event event)
{
	const struct smpa_fault value = { fault };

	if (!qp->transport->is_lossy)
		return refuse(qp, fault, event);
	util_debug("rnic", "%s: peer's message dropped: %s", RNIC_QP_NAME(qp),
		   smpa_fault_str(value));
	rnic_stat_count(qp->engine->stat, RNIC_STAT_recv_dropped, 1);
	qp->arrival.is_dropped = true;
	return qp->transport->sink(qp, NULL, 0);
}

/* The message's receive, if there is one yet, cannot take it: complete the
 * receive, then refuse. */
static int refuse_recv(struct rnic_qp *qp, uint16_t fault,
		       enum usiw_wc_status status)
{
	if (qp->rq.current.is_open)
		rnic_rq_complete_error(qp, status);
	return refuse(qp, fault, RNIC_QP_EV_REQ_ERR);
}

/* The message that took a receive is dropped.  The receive is for the next one;
 * that of an SRQ cannot be given back (a fault of class E). */
static void recv_spare(struct rnic_qp *qp, enum usiw_wc_status status)
{
	if (qp->srq)
		rnic_rq_complete_error(qp, status);
}

/* ---- segments ----------------------------------------------------------- */

int rnic_inbound_unwritable(struct rnic_qp *qp, const struct smpa_event *ev)
{
	util_warn("rnic", "%s: registered memory cannot be written",
		  RNIC_QP_NAME(qp));
	rnic_stat_add(RNIC_STAT_mem_faults, 1);
	if (!ev->seg.is_tagged)
		return refuse_recv(qp, SMPA_F_DDP_LOCAL, USIW_WC_LOC_PROT_ERR);
	if (ev->seg.opcode != SMPA_OP_READ_RESPONSE)
		return refuse(qp, SMPA_F_DDP_T_BOUNDS, RNIC_QP_EV_ACCESS_ERR);
	/* The WRs before the Read are done, or it would not be answered. */
	qp->transport->refuse(qp, NULL, SMPA_F_DDP_T_BOUNDS);
	rnic_stat_add(RNIC_STAT_term_sent, 1);
	rnic_qp_fail(qp, RNIC_QPS_TERMINATE, USIW_WC_LOC_PROT_ERR,
		     RNIC_QP_EV_FATAL);
	return -EPROTO;
}

static int segment_sink(struct rnic_qp *qp, const struct smpa_event *ev,
			const struct iovec *iov, int cnt)
{
	int ret = qp->transport->sink(qp, iov, cnt);

	return ret == -EFAULT ? rnic_inbound_unwritable(qp, ev) : ret;
}

static const char *access_verb(uint32_t access)
{
	if (access & RNIC_ACCESS_REMOTE_WRITE)
		return "write";
	return access & RNIC_ACCESS_REMOTE_READ ? "read" : "change";
}

/* The codes of the wire do not tell all of them apart. */
static __attribute__((noinline)) void access_tell(const struct rnic_qp *qp,
						  uint32_t stag, uint64_t to,
						  uint32_t len, uint32_t access,
						  enum rnic_access_check check)
{
	const struct rnic_watcher *watcher = rnic_watcher();
	const char *why = rnic_access_str(check);

	util_info("rnic", "%s: the peer may not %s by rkey 0x%08x: %s",
		  RNIC_QP_NAME(qp), access_verb(access), stag, why);
	if (watcher)
		watcher->access_refused(&(struct rnic_access_refused){
			.qp_num = qp->num,
			.rkey = stag,
			.addr = to,
			.len = len,
			.access = access,
			.why = why,
		});
}

/* May the peer do it?  If not, this side is told. */
static inline enum rnic_access_check access_check(const struct rnic_qp *qp,
						  uint32_t stag, uint64_t to,
						  uint32_t len, uint32_t access,
						  void **ret_ptr)
{
	enum rnic_access_check check = RNIC_MR_BAD_ACCESS;

	if (!qp->has_access || (qp->access & access) == access)
		check = rnic_mw_resolve(&qp->owner, stag, to, len, access,
					ret_ptr);
	if (__builtin_expect(check != RNIC_MR_OK, 0))
		access_tell(qp, stag, to, len, access, check);
	return check;
}

static int segment_write(struct rnic_qp *qp, const struct smpa_event *ev)
{
	struct iovec iov = { .iov_len = ev->seg.len };
	enum rnic_access_check check =
		access_check(qp, ev->seg.stag, ev->seg.to, ev->seg.len,
			     RNIC_ACCESS_REMOTE_WRITE, &iov.iov_base);

	if (check)
		return turn_away(qp, access_faults[check].tagged,
				 RNIC_QP_EV_ACCESS_ERR);
	qp->arrival.write_stag = ev->seg.stag;
	qp->arrival.write_len += ev->seg.len;
	rnic_sched_note_write(&qp->engine->sched);
	return segment_sink(qp, ev, &iov, 1);
}

/* Where octets of an answer go.  Return: iovecs; -EFAULT. */
static int orq_sink(struct rnic_qp *qp, const struct rnic_orq_entry *entry,
		    uint32_t off, uint32_t len, struct iovec *iov)
{
	const struct usiw_sqe *slot =
		usiw_ring_slot(&qp->sq.ring, entry->sq_idx);

	return rnic_sge_resolve(qp->owner.pd, rnic_sqe_sges(slot),
				rnic_sqe_sge_cnt(&qp->sq, slot), off, len,
				RNIC_ACCESS_LOCAL_WRITE, iov);
}

/* RDMAP-22, D-15: the response is the one that is due, in order. */
static int segment_response(struct rnic_qp *qp, const struct smpa_event *ev)
{
	struct rnic_orq_entry *entry = &qp->sq.orq.entry[qp->sq.orq.head];
	struct iovec iov[RNIC_SGE_MAX];
	int cnt;

	if (!qp->sq.orq.cnt || entry->is_atomic)
		return refuse(qp, SMPA_F_RDMAP_OPCODE, RNIC_QP_EV_REQ_ERR);
	if (ev->seg.stag != entry->sink_stag ||
	    ev->seg.to != entry->sink_to + entry->placed ||
	    ev->seg.len > entry->len - entry->placed)
		return refuse(qp, SMPA_F_DDP_T_BOUNDS, RNIC_QP_EV_REQ_ERR);
	cnt = orq_sink(qp, entry, entry->placed, ev->seg.len, iov);
	if (cnt < 0)
		return refuse(qp, SMPA_F_DDP_T_STAG, RNIC_QP_EV_FATAL);
	entry->placed += ev->seg.len;
	return segment_sink(qp, ev, iov, cnt);
}

/* D-37: this is the immediate data of the next Send. */
static bool imm_is_ahead(const struct rnic_qp *qp, uint8_t opcode)
{
	return qp->arrival.is_imm_marked && opcode == SMPA_OP_IMM;
}

static int recv_too_short(struct rnic_qp *qp)
{
	if (!qp->transport->is_lossy)
		return refuse_recv(qp, SMPA_F_DDP_U_TOO_LONG,
				   USIW_WC_LOC_LEN_ERR);
	recv_spare(qp, USIW_WC_LOC_LEN_ERR);
	return turn_away(qp, SMPA_F_DDP_U_TOO_LONG, RNIC_QP_EV_REQ_ERR);
}

/* A message begins, and is to find no receive (USIW_FAULT). */
static bool segment_is_faulted(struct rnic_qp *qp, const struct smpa_event *ev)
{
	return rnic_fault_is_on(RNIC_FAULT_AT_RECEIVE) && !ev->seg.mo &&
	       rnic_qp_fault_rnr(qp);
}

static int segment_send(struct rnic_qp *qp, const struct smpa_event *ev)
{
	struct rnic_recv *recv = &qp->rq.current;
	struct iovec iov[RNIC_SGE_MAX];
	int cnt;

	/* D-37: a Send had to follow; a completion has one place for an STag
	 * and for immediate data. */
	if (qp->arrival.has_imm && ev->seg.opcode != SMPA_OP_SEND &&
	    ev->seg.opcode != SMPA_OP_SEND_SE)
		return refuse(qp, SMPA_F_RDMAP_OPCODE, RNIC_QP_EV_REQ_ERR);
	if (imm_is_ahead(qp, ev->seg.opcode))
		return qp->transport->sink(qp, NULL, 0);
	if (!recv->is_open &&
	    (segment_is_faulted(qp, ev) || !rnic_rnr_is_clear(qp) ||
	     rnic_rnr_is_behind_reads(qp, ev->seg.opcode, ev->seg.inv_stag) ||
	     rnic_rq_claim(qp) < 0)) {
		if (rnic_rnr_segment(qp, ev) == 0)
			return 0;
		/* D-11: the next MSN, but no receive. */
		return turn_away(qp, SMPA_F_DDP_U_NO_BUFFER,
				 RNIC_QP_EV_REQ_ERR);
	}
	/* DDP-50: MO and MO + length within the buffer. */
	if (ev->seg.mo > recv->len || ev->seg.len > recv->len - ev->seg.mo)
		return recv_too_short(qp);
	cnt = rnic_sge_resolve(rnic_rq_pd(qp), recv->sge, recv->sge_cnt,
			       ev->seg.mo, ev->seg.len, RNIC_ACCESS_LOCAL_WRITE,
			       iov);
	if (cnt < 0)
		return refuse_recv(qp, SMPA_F_DDP_LOCAL, USIW_WC_LOC_PROT_ERR);
	return segment_sink(qp, ev, iov, cnt);
}

/* Its message is dropped, or the Write that it belongs to was. */
static bool segment_is_dropped(struct rnic_qp *qp, const struct smpa_event *ev)
{
	struct rnic_arrival *arrival = &qp->arrival;

	if (arrival->is_write_dropped)
		arrival->is_dropped = ev->seg.opcode == SMPA_OP_IMM ||
				      ev->seg.opcode == SMPA_OP_IMM_SE;
	arrival->is_write_dropped = false;
	return arrival->is_dropped;
}

static int inbound_segment(struct rnic_qp *qp, const struct smpa_event *ev)
{
	if (segment_is_dropped(qp, ev))
		return qp->transport->sink(qp, NULL, 0);
	if (!ev->seg.is_tagged)
		return segment_send(qp, ev);
	if (ev->seg.opcode == SMPA_OP_READ_RESPONSE)
		return segment_response(qp, ev);
	return segment_write(qp, ev);
}

/* ---- messages ----------------------------------------------------------- */

static uint32_t solicited_flag(bool is_solicited)
{
	return is_solicited ? USIW_WC_FLAG_SOLICITED : 0;
}

static uint32_t imm_value(const uint8_t imm[8])
{
	uint32_t imm_be;

	memcpy(&imm_be, imm, RNIC_IMM_LEN); /* D-32 */
	return imm_be;
}

/*
 * EXT-17: with the Write before it this is a Write with immediate data, and
 * all octets of that are placed; without one a Write of nothing.
 */
static int message_imm(struct rnic_qp *qp, const struct smpa_event *ev)
{
	struct rnic_arrival *arrival = &qp->arrival;
	struct usiw_cqe cqe = {
		.opcode = USIW_WC_RECV_WITH_IMM,
		.byte_len = arrival->written_len,
		.wc_flags = USIW_WC_FLAG_IMM |
			    solicited_flag(ev->msg.opcode == SMPA_OP_IMM_SE),
		.imm_be = imm_value(ev->msg.imm),
	};

	rnic_sched_note_told(&qp->engine->sched);
	/* A Write of nothing is seen by its immediate data alone. */
	if (!arrival->written_len && !imm_is_ahead(qp, ev->msg.opcode))
		rnic_qp_show_message(&qp->res->rx, USIW_RES_OP_WRITE, 0);
	arrival->written_len = 0;
	arrival->is_received = true;
	if (imm_is_ahead(qp, ev->msg.opcode)) {
		arrival->is_imm_marked = false;
		arrival->has_imm = true;
		arrival->imm_be = cqe.imm_be;
		return 0;
	}
	if (!rnic_rnr_message(qp, &cqe))
		rnic_rq_complete(qp, &cqe);
	return 0;
}

static int message_recv(struct rnic_qp *qp, const struct smpa_event *ev)
{
	struct usiw_cqe cqe = {
		.opcode = USIW_WC_RECV,
		.byte_len = ev->msg.len,
		.wc_flags =
			solicited_flag(ev->msg.opcode == SMPA_OP_SEND_SE ||
				       ev->msg.opcode == SMPA_OP_SEND_SE_INV),
	};

	rnic_sched_note_told(&qp->engine->sched);
	rnic_qp_show_message(&qp->res->rx, USIW_RES_OP_SEND, ev->msg.len);
	qp->arrival.written_len = 0;
	qp->arrival.is_received = true;
	qp->arrival.is_imm_marked = false;
	if (qp->arrival.has_imm) {
		qp->arrival.has_imm = false;
		cqe.wc_flags |= USIW_WC_FLAG_IMM;
		cqe.imm_be = qp->arrival.imm_be;
	}
	if (ev->msg.opcode == SMPA_OP_SEND_INV ||
	    ev->msg.opcode == SMPA_OP_SEND_SE_INV) {
		cqe.wc_flags |= USIW_WC_FLAG_INV;
		cqe.imm_be = ev->msg.inv_stag;
	}
	if (rnic_rnr_message(qp, &cqe))
		return 0;
	if (rnic_rq_deliver(qp, &cqe) == 0)
		return 0;
	if (qp->transport->is_lossy) {
		recv_spare(qp, USIW_WC_LOC_ACCESS_ERR);
		rnic_stat_count(qp->engine->stat, RNIC_STAT_recv_dropped, 1);
		return 0;
	}
	return refuse_recv(qp, SMPA_F_RDMAP_INVALIDATE, USIW_WC_LOC_ACCESS_ERR);
}

static int message_response(struct rnic_qp *qp)
{
	const struct rnic_orq *orq = &qp->sq.orq;

	if (!orq->cnt || orq->entry[orq->head].is_atomic)
		return refuse(qp, SMPA_F_RDMAP_OPCODE, RNIC_QP_EV_REQ_ERR);
	/* An L flag before all octets that were asked for. */
	if (orq->entry[orq->head].placed != orq->entry[orq->head].len)
		return refuse(qp, SMPA_F_DDP_T_BOUNDS, RNIC_QP_EV_REQ_ERR);
	rnic_sq_read_done(qp);
	return 0;
}

static int message_write(struct rnic_qp *qp, const struct smpa_event *ev)
{
	struct rnic_arrival *arrival = &qp->arrival;

	arrival->write_stag = 0;
	arrival->is_received = false;
	arrival->is_write_dropped = false;
	arrival->written_len = arrival->write_len;
	arrival->write_len = 0;
	/* RDMAP-10: placed; it makes no completion. */
	if (arrival->written_len) {
		arrival->is_imm_marked = false;
		rnic_qp_show_message(&qp->res->rx, USIW_RES_OP_WRITE,
				     arrival->written_len);
	} else if (ev->msg.stag == RNIC_IMM_MARK_STAG &&
		   ev->msg.to == RNIC_IMM_MARK_TO) {
		arrival->is_imm_marked = true; /* D-37 */
	}
	return 0;
}

static int message_dropped(struct rnic_qp *qp, const struct smpa_event *ev)
{
	bool is_write = ev->msg.opcode == SMPA_OP_WRITE;

	qp->arrival = (struct rnic_arrival){
		.is_received = !is_write,
		.is_write_dropped = is_write,
	};
	return 0;
}

static int inbound_message(struct rnic_qp *qp, const struct smpa_event *ev)
{
	if (qp->arrival.is_dropped)
		return message_dropped(qp, ev);
	switch (ev->msg.opcode) {
	case SMPA_OP_WRITE:
		return message_write(qp, ev);
	case SMPA_OP_READ_RESPONSE:
		return message_response(qp);
	case SMPA_OP_SEND:
	case SMPA_OP_SEND_SE:
	case SMPA_OP_SEND_INV:
	case SMPA_OP_SEND_SE_INV:
		return message_recv(qp, ev);
	case SMPA_OP_IMM:
	case SMPA_OP_IMM_SE:
		return message_imm(qp, ev);
	default:
		return refuse(qp, SMPA_F_RDMAP_OPCODE, RNIC_QP_EV_REQ_ERR);
	}
}

/* May the peer's Read or atomic be queued?  Return: 0; -EPROTO. */
static int request_check(struct rnic_qp *qp, uint32_t stag, uint64_t to,
			 uint32_t len, uint32_t access, void **ret_src)
{
	enum rnic_access_check check;

	/* RDMAP-52, D-14: more requests than IRD.  EXT-11: of both kinds. */
	if (qp->irq.cnt >= qp->irq.max)
		return refuse(qp, SMPA_F_DDP_U_NO_BUFFER, RNIC_QP_EV_REQ_ERR);
	/* RDMAP-17: a size of zero is not validated. */
	if (!len)
		return 0;
	check = access_check(qp, stag, to, len, access, ret_src);
	return check ? refuse(qp, access_faults[check].read,
			      RNIC_QP_EV_ACCESS_ERR)
		     : 0;
}

static int inbound_read(struct rnic_qp *qp, const struct smpa_event *ev)
{
	struct rnic_irq *irq = &qp->irq;
	void *src = NULL;
	int ret = request_check(qp, ev->read.src_stag, ev->read.src_to,
				ev->read.len, RNIC_ACCESS_REMOTE_READ, &src);

	if (ret < 0)
		return ret;
	*rnic_irq_at(irq, irq->cnt++) = (struct rnic_irq_entry){
		.kind = RNIC_IRQ_READ,
		.sink_stag = ev->read.sink_stag,
		.src_stag = ev->read.src_stag,
		.src_to = ev->read.src_to,
		.msn = ev->read.msn,
		.held_idx = qp->held_in_idx,
		.sink_to = ev->read.sink_to,
		.src = src,
		.len = ev->read.len,
	};
	rnic_qp_show_reads_in(qp);
	return 0;
}

/* ---- atomics ------------------------------------------------------------ */

static int inbound_atomic(struct rnic_qp *qp, const struct smpa_event *ev)
{
	struct rnic_irq *irq = &qp->irq;
	void *target = NULL;
	int ret = request_check(qp, ev->atomic.stag, ev->atomic.to,
				RNIC_ATOMIC_LEN, RNIC_ACCESS_REMOTE_ATOMIC,
				&target);

	if (ret < 0)
		return ret;
	/* EXT-7, and a CPU would not do it in one piece either. */
	if ((ev->atomic.to | (uintptr_t)target) % RNIC_ATOMIC_LEN)
		return refuse(qp, SMPA_F_RDMAP_STREAM_CATA, RNIC_QP_EV_REQ_ERR);
	*rnic_irq_at(irq, irq->cnt++) = (struct rnic_irq_entry){
		.kind = RNIC_IRQ_ATOMIC,
		.src_stag = ev->atomic.stag,
		.src = target,
		.len = RNIC_ATOMIC_LEN,
		.msn = ev->atomic.msn,
		.id = ev->atomic.id,
		.atomic = { .op = ev->atomic.op,
			    .add_swap = ev->atomic.add_swap,
			    .add_swap_mask = ev->atomic.add_swap_mask,
			    .compare = ev->atomic.compare,
			    .compare_mask = ev->atomic.compare_mask },
	};
	rnic_qp_show_reads_in(qp);
	return 0;
}

/* EXT-5, EXT-12, EXT-13: the answer to the oldest request, an atomic. */
static int inbound_atomic_done(struct rnic_qp *qp, const struct smpa_event *ev)
{
	struct rnic_orq_entry *entry = &qp->sq.orq.entry[qp->sq.orq.head];
	struct iovec iov[RNIC_SGE_MAX];
	int cnt;

	if (!qp->sq.orq.cnt || !entry->is_atomic)
		return refuse(qp, SMPA_F_RDMAP_OPCODE, RNIC_QP_EV_REQ_ERR);
	if (ev->atomic_done.id != entry->sq_idx)
		return refuse(qp, SMPA_F_RDMAP_UNSPEC, RNIC_QP_EV_REQ_ERR);
	cnt = orq_sink(qp, entry, 0, RNIC_ATOMIC_LEN, iov);
	if (cnt < 0 || rnic_atomic_store(iov, ev->atomic_done.value) < 0)
		return refuse(qp, SMPA_F_DDP_LOCAL, RNIC_QP_EV_FATAL);
	rnic_sq_read_done(qp);
	return 0;
}

/* ---- ends --------------------------------------------------------------- */

/* The status of our oldest WR when the peer has sent TERMINATE. */
static enum usiw_wc_status terminate_status(const struct smpa_event *ev)
{
	uint16_t fault = ev->term.fault.value;

	switch (fault) {
	case SMPA_F_RDMAP_STREAM_CATA: /* EXT-7, if so: not aligned */
		return ev->term.has_ddp &&
				       ev->term.opcode == SMPA_OP_ATOMIC_REQUEST
			       ? USIW_WC_REM_INV_REQ_ERR
			       : USIW_WC_REM_OP_ERR;
	case SMPA_F_DDP_U_NO_BUFFER:
		return USIW_WC_RNR_RETRY_EXC_ERR;
	case SMPA_F_DDP_U_TOO_LONG:
		return USIW_WC_REM_INV_REQ_ERR;
	case SMPA_F_RDMAP_OPCODE:
		return USIW_WC_REM_INV_REQ_ERR;
	default:
		break;
	}
	switch (fault >> 8) {
	case 0x01: /* RDMAP remote protection */
	case 0x11: /* DDP tagged buffer */
		return USIW_WC_REM_ACCESS_ERR;
	default:
		return USIW_WC_REM_OP_ERR;
	}
}

/* D-5: for a Linux siw, which swaps layer and type, log both readings; act on
 * the RFC's. */
static void terminate_log(const struct rnic_qp *qp, const struct smpa_event *ev)
{
	struct smpa_fault said = ev->term.fault;
	struct smpa_fault swapped = { (uint16_t)((said.value & 0xff) |
						 (said.value & 0xf000) >> 4 |
						 (said.value & 0x0f00) << 4) };

	if (!ev->term.is_swapped)
		util_info("rnic", "%s: TERMINATE from the peer: %s",
			  RNIC_QP_NAME(qp), smpa_fault_str(said));
	else
		util_info("rnic",
			  "%s: TERMINATE %04x from the peer: %s; from a Linux "
			  "siw, which swaps layer and type: %s",
			  RNIC_QP_NAME(qp), said.value, smpa_fault_str(said),
			  smpa_fault_str(swapped));
}

static const char *refused_name(const struct smpa_event *ev)
{
	if (!ev->term.has_ddp)
		return NULL;
	switch (ev->term.opcode) {
	case SMPA_OP_WRITE:
		return "RDMA_WRITE";
	case SMPA_OP_READ_REQUEST:
		return "RDMA_READ";
	case SMPA_OP_READ_RESPONSE:
		return "answer to its RDMA_READ";
	case SMPA_OP_ATOMIC_REQUEST:
		return "atomic";
	case SMPA_OP_SEND:
	case SMPA_OP_SEND_INV:
	case SMPA_OP_SEND_SE:
	case SMPA_OP_SEND_SE_INV:
		return "Send";
	default:
		return NULL;
	}
}

static void terminate_tell(const struct rnic_qp *qp,
			   const struct smpa_event *ev)
{
	const struct rnic_watcher *watcher = rnic_watcher();
	bool is_read = ev->term.has_read;

	if (!watcher)
		return;
	watcher->terminated(&(struct rnic_terminated){
		.qp_num = qp->num,
		.code = ev->term.fault.value,
		.name = smpa_fault_str(ev->term.fault),
		.message = refused_name(ev),
		.has_target = is_read ||
			      (ev->term.has_ddp && ev->term.is_tagged),
		.rkey = is_read ? ev->term.read.src_stag : ev->term.stag,
		.addr = is_read ? ev->term.read.src_to : ev->term.to,
	});
}

static int inbound_terminate(struct rnic_qp *qp, const struct smpa_event *ev)
{
	terminate_log(qp, ev);
	rnic_stat_add(RNIC_STAT_term_received, 1);
	if (qp->transport->is_lossy)
		return 0; /* FIN follows; the QP does not hear of its peer */
	terminate_tell(qp, ev);
	rnic_ack_terminated(qp, ev);
	rnic_qp_fail(qp, RNIC_QPS_TERMINATE, terminate_status(ev),
		     RNIC_QP_EV_FATAL);
	return -EPROTO;
}

static int inbound_fault(struct rnic_qp *qp, const struct smpa_event *ev)
{
	util_info("rnic", "%s: peer broke the protocol: %s%s", RNIC_QP_NAME(qp),
		  smpa_fault_str(ev->fault.fault),
		  ev->fault.is_truncated ? " (cut off)" : "");
	if (ev->fault.has_terminate)
		rnic_stat_add(RNIC_STAT_term_sent, 1);
	rnic_qp_fail(qp, RNIC_QPS_TERMINATE, USIW_WC_WR_FLUSH_ERR,
		     RNIC_QP_EV_FATAL);
	return -EPROTO;
}

/* A Write of no octets is no work: streams probe a silent peer with one. */
static bool event_is_work(const struct smpa_event *ev)
{
	return ev->type == SMPA_EV_SEGMENT || ev->type == SMPA_EV_READ ||
	       ev->type == SMPA_EV_ATOMIC;
}

/* Its last segment may be the whole message. */
static int inbound_segments(struct rnic_qp *qp, struct smpa_event *ev)
{
	int rc = inbound_segment(qp, ev);

	if (rc || !qp->transport->placed(qp, ev))
		return rc;
	return inbound_message(qp, ev);
}

int rnic_inbound_event(struct rnic_qp *qp, struct smpa_event *ev)
{
	/* The first message, and the application has not asked for RTS. */
	if (qp->is_rtr_only && event_is_work(ev)) {
		qp->is_rtr_only = false;
		rnic_qp_raise(qp, RNIC_QP_EV_COMM_EST);
	}
	switch (ev->type) {
	case SMPA_EV_SEGMENT:
		return inbound_segments(qp, ev);
	case SMPA_EV_MESSAGE:
		return inbound_message(qp, ev);
	case SMPA_EV_READ:
		return inbound_read(qp, ev);
	case SMPA_EV_ATOMIC:
		return inbound_atomic(qp, ev);
	case SMPA_EV_ATOMIC_DONE:
		return inbound_atomic_done(qp, ev);
	case SMPA_EV_TERMINATE:
		return inbound_terminate(qp, ev);
	case SMPA_EV_FAULT:
		return inbound_fault(qp, ev);
	case SMPA_EV_NONE:
	case SMPA_EV_REQUEST:
	case SMPA_EV_ESTABLISHED:
	case SMPA_EV_REJECTED:
	case SMPA_EV_SENT:
	case SMPA_EV_CLOSED:
		break;
	}
	return 0;
}

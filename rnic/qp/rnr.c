/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Held Sends: kept in a ring of records, delivered in order when receives are
 * posted and the READs before them are answered, given up when the RNR time is
 * over.
 *
 * They are delivered only where bells are served, since delivery may end a
 * stream.  A segment that finds held Sends and a receive leaves a bell for the
 * leader.
 */
#include "rnr.h"

#include <errno.h>
#include <string.h>

#include "util/env.h"
#include "util/log.h"
#include "engine/engine.h"
#include "engine/staging.h"
#include "fault.h"
#include "irq.h"
#include "mem/sge.h"
#include "util/clock.h"
#include "os/guard.h"
#include "os/stat.h"
#include "os/watch.h"
#include "rq.h"
#include "state.h"
#include "transport.h"

/* Records begin at multiples of it, so that only their octets can wrap. */
#define RNR_ALIGN 128u

/* One message.  Its octets follow, and wrap to the ring's front. */
struct held {
	struct usiw_cqe cqe; /* is_whole: what it completes with */
	uint32_t len;	     /* octets so far */
	/* its last segment so far; a TERMINATE would name it */
	uint32_t inv_stag, seg_msn, seg_mo, seg_len;
	uint8_t opcode;
	bool is_last_seg;
	bool is_whole;
};

_Static_assert(sizeof(struct held) <= RNR_ALIGN, "a record's head");

struct rnic_rnr {
	struct rnic_qp *qp;
	TAILQ_ENTRY(rnic_rnr) link; /* of the SRQ's list */
	uint32_t cnt;		    /* messages */
	uint32_t newest;	    /* offset of the last one */
	uint32_t head, used, size;  /* of the ring */
	bool is_open;		    /* the last one is not whole */
	bool is_full;		    /* @waiting does not fit */
	struct smpa_event waiting;  /* SEGMENT, not answered yet */
	_Alignas(RNR_ALIGN) uint8_t ring[];
};

static uint32_t round_up(uint32_t len)
{
	return (len + RNR_ALIGN - 1) & ~(RNR_ALIGN - 1);
}

static struct held *held_at(struct rnic_rnr *rnr, uint32_t off)
{
	return (void *)(rnr->ring + off);
}

static struct held *held_oldest(struct rnic_rnr *rnr)
{
	return held_at(rnr, rnr->head);
}

static bool opcode_invalidates(uint8_t opcode)
{
	return opcode == SMPA_OP_SEND_INV || opcode == SMPA_OP_SEND_SE_INV;
}

/*
 * InfiniBand's responder executes in order: an invalidation takes effect when
 * the READs before it are answered.  But not while the ring is full: then the
 * answers may wait until the peer reads, and the peer, in the same state, until
 * we read.
 */
static bool rnr_awaits_reads(struct rnic_rnr *rnr)
{
	const struct held *held = held_oldest(rnr);

	return rnr->cnt && !rnr->is_full && opcode_invalidates(held->opcode) &&
	       rnic_irq_find(&rnr->qp->irq, held->inv_stag);
}

bool rnic_rnr_is_behind_reads(const struct rnic_qp *qp, uint8_t opcode,
			      uint32_t inv_stag)
{
	return opcode_invalidates(opcode) && qp->rnr_ns &&
	       rnic_irq_find(&qp->irq, inv_stag);
}

/* ---- a QP begins and ceases to hold Sends -------------------------------- */

static void rnr_limit(struct rnic_qp *qp, uint64_t rnr_ns)
{
	qp->rnr_end_ns = 0;
	if (rnr_ns == UINT64_MAX || !qp->due)
		return;
	qp->rnr_end_ns = rnic_engine_now_ns(qp->engine) + rnr_ns;
	rnic_engine_deadline(qp->engine, qp->due, qp->rnr_end_ns);
}

/* The time of the oldest message begins.  Waiting for READs has no limit
 * here. */
static void rnr_begin_time(struct rnic_qp *qp)
{
	uint64_t ns = qp->rnr_ns;

	if (qp->rnr->is_full && qp->rnr_full_ns < ns)
		ns = qp->rnr_full_ns;
	rnr_limit(qp, rnr_awaits_reads(qp->rnr) ? UINT64_MAX : ns);
}

static int rnr_new(struct rnic_qp *qp)
{
	struct rnic_staging_pool *pool = &qp->engine->rx_pool;
	struct rnic_rnr *rnr = rnic_staging_get(pool);

	if (!rnr)
		return -ENOMEM;
	memset(rnr, 0, sizeof(*rnr));
	rnr->qp = qp;
	rnr->size = (uint32_t)(pool->size - sizeof(*rnr)) & ~(RNR_ALIGN - 1);
	qp->rnr = rnr;
	if (qp->srq) {
		TAILQ_INSERT_TAIL(&qp->srq->rnrs, rnr, link);
		qp->srq->rnr_cnt++;
		atomic_store_explicit(&qp->srq->is_awaited, true,
				      memory_order_relaxed);
	} else {
		atomic_store_explicit(&qp->is_rnr, true, memory_order_relaxed);
	}
	/*
	 * Pairs with the fences in rnic_qp_ring_rq() and rnic_srq_ring_rq():
	 * either the posting thread sees the flag and rings, or rnr_remind()
	 * sees the receive.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	return 0;
}

void rnic_rnr_drop(struct rnic_qp *qp)
{
	struct rnic_rnr *rnr = qp->rnr;

	if (!rnr)
		return;
	qp->rnr = NULL;
	qp->held_out_idx = qp->held_in_idx;
	rnic_res_set(&qp->res->rnr_held, 0);
	qp->rnr_end_ns = 0;
	if (qp->srq) {
		TAILQ_REMOVE(&qp->srq->rnrs, rnr, link);
		qp->srq->rnr_cnt--;
		atomic_store_explicit(&qp->srq->is_awaited,
				      qp->srq->rnr_cnt > 0,
				      memory_order_relaxed);
	} else {
		atomic_store_explicit(&qp->is_rnr, false, memory_order_relaxed);
	}
	rnic_staging_put(&qp->engine->rx_pool, rnr);
	/* The answer to the peer's READ of no octets (ack.c) waits for it. */
	if (qp->link && rnic_irq_is_waiting(qp))
		rnic_engine_bell(qp->engine, &qp->bell);
}

/* ---- how long ----------------------------------------------------------- */

/* InfiniBand's RNR NAK timer field, in units of 10 us. */
static const uint32_t rnr_timers[32] = {
	65536, 1,    2,	   3,	 4,    6,     8,     12,    16,	   24,	  32,
	48,    64,   96,   128,	 192,  256,   384,   512,   768,   1024,  1536,
	2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

static uint64_t rnr_time_ns(uint8_t min_rnr_timer, uint8_t rnr_retry)
{
	uint64_t least_ns = util_settings()->rnr_ms * NS_PER_MS;
	uint64_t told_ns;

	if (!least_ns)
		return 0;
	if (rnr_retry >= 7)
		return UINT64_MAX;
	told_ns = rnr_timers[min_rnr_timer & 31] * 10000ull * (rnr_retry + 1u);
	return told_ns > least_ns ? told_ns : least_ns;
}

void rnic_rnr_set_time(struct rnic_qp *qp, uint8_t min_rnr_timer,
		       uint8_t rnr_retry)
{
	rnic_engine_lead(qp->engine);
	if (!qp->transport->is_lossy)
		qp->rnr_ns = rnr_time_ns(min_rnr_timer, rnr_retry);
	rnic_engine_unlead(qp->engine);
}

void rnic_rnr_set_cm_time(struct rnic_qp *qp, bool is_for_ever)
{
	uint64_t least_ns = util_settings()->rnr_ms * NS_PER_MS;

	rnic_engine_lead(qp->engine);
	qp->rnr_ns = is_for_ever && least_ns ? UINT64_MAX : least_ns;
	qp->rnr_full_ns = least_ns;
	rnic_engine_unlead(qp->engine);
}

/* ---- arrival ------------------------------------------------------------- */

/* Ring the bell if there is a receive: it was posted before the flag could be
 * seen, or could not be used when its bell rang. */
static void rnr_remind(struct rnic_qp *qp)
{
	if (usiw_ring_peek(rnic_rq_ring(qp), 0))
		rnic_engine_bell(qp->engine,
				 qp->srq ? &qp->srq->bell : &qp->bell);
}

static bool rnr_fits(const struct rnic_rnr *rnr, uint32_t len)
{
	uint32_t used = rnr->used;

	if (!rnr->is_open)
		used = round_up(used) + RNR_ALIGN;
	return used <= rnr->size && len <= rnr->size - used;
}

/* The record that the segment belongs to. */
static struct held *held_open(struct rnic_rnr *rnr)
{
	struct held *held;

	if (rnr->is_open)
		return held_at(rnr, rnr->newest);
	rnr->used = round_up(rnr->used);
	rnr->newest = (rnr->head + rnr->used) % rnr->size;
	rnr->used += RNR_ALIGN;
	rnr->cnt++;
	rnr->qp->held_in_idx++;
	rnic_res_set(&rnr->qp->res->rnr_held, rnr->cnt);
	rnr->is_open = true;
	held = held_at(rnr, rnr->newest);
	held->len = 0;
	held->is_whole = false;
	return held;
}

/* Memory for @len more octets of the newest record. */
static int rnr_reserve(struct rnic_rnr *rnr, uint32_t len, struct iovec iov[2])
{
	uint32_t at = (rnr->head + rnr->used) % rnr->size;
	uint32_t piece = rnr->size - at < len ? rnr->size - at : len;

	rnr->used += len;
	iov[0].iov_base = rnr->ring + at;
	iov[0].iov_len = piece;
	iov[1].iov_base = rnr->ring;
	iov[1].iov_len = len - piece;
	if (!len)
		return 0;
	return len > piece ? 2 : 1;
}

static int rnr_take(struct rnic_rnr *rnr, const struct smpa_event *ev)
{
	struct held *held = held_open(rnr);
	struct iovec iov[2];
	int cnt = rnr_reserve(rnr, ev->seg.len, iov);

	held->len += ev->seg.len;
	held->opcode = ev->seg.opcode;
	held->is_last_seg = ev->seg.is_last;
	held->inv_stag = ev->seg.inv_stag;
	held->seg_msn = ev->seg.msn;
	held->seg_mo = ev->seg.mo;
	held->seg_len = ev->seg.len;
	return rnr->qp->transport->sink(rnr->qp, iov, cnt);
}

int rnic_rnr_segment(struct rnic_qp *qp, const struct smpa_event *ev)
{
	const struct rnic_watcher *watcher = rnic_watcher();
	struct rnic_rnr *rnr = qp->rnr;
	int rc = 0;

	if (!rnr) {
		if (!qp->rnr_ns)
			return -ENOENT;
		rc = rnr_new(qp);
		if (rc < 0)
			return rc;
		rnr = qp->rnr;
	}
	if (rnr_fits(rnr, ev->seg.len)) {
		rc = rnr_take(rnr, ev);
	} else {
		/* Without an answer the protocol engine takes no octets. */
		rnr->waiting = *ev;
		rnr->is_full = true;
	}
	if (!qp->rnr_end_ns)
		rnr_begin_time(qp);
	rnr_remind(qp);
	if (watcher)
		watcher->send_held(qp->num);
	return rc;
}

bool rnic_rnr_message(struct rnic_qp *qp, const struct usiw_cqe *cqe)
{
	struct rnic_rnr *rnr = qp->rnr;
	struct held *held;

	if (!rnr || !rnr->is_open)
		return false;
	held = held_at(rnr, rnr->newest);
	held->cqe = *cqe;
	held->is_whole = true;
	rnr->is_open = false;
	rnic_stat_count(qp->engine->stat, RNIC_STAT_recv_held, 1);
	rnic_res_grow(&qp->res->rnr_cnt, 1);
	rnr_remind(qp);
	return true;
}

void rnic_rnr_read_answered(struct rnic_qp *qp)
{
	if (qp->rnr_end_ns || rnr_awaits_reads(qp->rnr))
		return;
	rnr_begin_time(qp);
	rnr_remind(qp);
}

bool rnic_rnr_is_full(const struct rnic_qp *qp)
{
	return qp->rnr && qp->rnr->is_full;
}

/* ---- delivery ------------------------------------------------------------ */

static void rnr_pop(struct rnic_rnr *rnr)
{
	uint32_t len = RNR_ALIGN + round_up(held_oldest(rnr)->len);

	rnr->cnt--;
	rnr->qp->held_out_idx++;
	rnic_res_set(&rnr->qp->res->rnr_held, rnr->cnt);
	if (rnr->cnt) {
		rnr->head = (rnr->head + len) % rnr->size;
		rnr->used -= len;
		return;
	}
	rnr->head = 0;
	rnr->used = 0;
	rnr->is_open = false;
}

/* The QP ends because of that message. */
static void rnr_refuse(struct rnic_qp *qp, const struct held *held,
		       uint16_t fault)
{
	struct smpa_fault value = { fault };
	struct smpa_event ev = { .type = SMPA_EV_SEGMENT };

	util_info("rnic", "%s: held message refused: %s", RNIC_QP_NAME(qp),
		  smpa_fault_str(value));
	ev.seg.opcode = held->opcode;
	ev.seg.is_last = held->is_last_seg;
	ev.seg.inv_stag = held->inv_stag;
	ev.seg.msn = held->seg_msn;
	ev.seg.mo = held->seg_mo;
	ev.seg.len = held->seg_len;
	qp->transport->refuse(qp, &ev, fault);
	rnic_stat_add(RNIC_STAT_term_sent, 1);
	rnic_qp_fail(qp, RNIC_QPS_TERMINATE, USIW_WC_WR_FLUSH_ERR,
		     RNIC_QP_EV_REQ_ERR);
}

/* The same, and the receive it took says why. */
static void rnr_refuse_recv(struct rnic_qp *qp, const struct held *held,
			    uint16_t fault, enum usiw_wc_status status)
{
	rnic_rq_complete_error(qp, status);
	/* The completion may have overrun its CQ, which ends the QP. */
	if (!rnic_qp_is_over(qp))
		rnr_refuse(qp, held, fault);
}

struct held_copy {
	const struct rnic_rnr *rnr;
	struct iovec iov[RNIC_SGE_MAX];
	int cnt;
};

/* Guarded: the receive's memory may be unmapped. */
static void held_copy(void *arg)
{
	const struct held_copy *copy = arg;
	const struct rnic_rnr *rnr = copy->rnr;
	uint32_t at = rnr->head + RNR_ALIGN;

	for (int i = 0; i < copy->cnt; i++) {
		uint8_t *to = copy->iov[i].iov_base;
		size_t left = copy->iov[i].iov_len;

		while (left) {
			uint32_t rest = rnr->size - at % rnr->size;
			size_t piece = left < rest ? left : rest;

			memcpy(to, rnr->ring + at % rnr->size, piece);
			to += piece;
			at += (uint32_t)piece;
			left -= piece;
		}
	}
}

/* Copy the oldest message into the current receive.  Return: 0; or a fault, and
 * in *ret_status what the receive completes with. */
static uint16_t held_place(struct rnic_qp *qp, const struct held *held,
			   enum usiw_wc_status *ret_status)
{
	const struct rnic_recv *recv = &qp->rq.current;
	struct held_copy copy = { .rnr = qp->rnr };

	if (held->len > recv->len) {
		*ret_status = USIW_WC_LOC_LEN_ERR;
		return SMPA_F_DDP_U_TOO_LONG; /* DDP-50 */
	}
	copy.cnt = rnic_sge_resolve(rnic_rq_pd(qp), recv->sge, recv->sge_cnt, 0,
				    held->len, RNIC_ACCESS_LOCAL_WRITE,
				    copy.iov);
	if (copy.cnt >= 0 && rnic_guard(held_copy, &copy) < 0) {
		util_warn("rnic", "%s: registered memory cannot be written",
			  RNIC_QP_NAME(qp));
		rnic_stat_add(RNIC_STAT_mem_faults, 1);
		copy.cnt = -EFAULT;
	}
	if (copy.cnt < 0) {
		*ret_status = USIW_WC_LOC_PROT_ERR;
		return SMPA_F_DDP_LOCAL;
	}
	return 0;
}

bool rnic_rnr_deliver(struct rnic_qp *qp)
{
	struct rnic_rnr *rnr = qp->rnr;
	enum usiw_wc_status status = USIW_WC_SUCCESS;
	struct held held;
	uint16_t fault;

	if (rnic_qp_is_over(qp) || !rnr->cnt || rnr_awaits_reads(rnr) ||
	    rnic_qp_fault_holds(qp))
		return false;
	held = *held_oldest(rnr);
	if (!held.is_whole &&
	    qp->transport->uses(qp, rnr, sizeof(*rnr) + rnr->size))
		return false; /* its octets arrive now: a bell follows */
	if (rnic_rq_claim(qp) < 0)
		return false;
	fault = held_place(qp, &held, &status);
	if (fault) {
		rnr_refuse_recv(qp, &held, fault, status);
		return true;
	}
	rnr_pop(rnr);
	if (rnr->cnt || rnr->is_full)
		rnr_begin_time(qp);
	else
		rnic_rnr_drop(qp);
	/* The rest of a message that is not whole is placed directly. */
	if (held.is_whole && rnic_rq_deliver(qp, &held.cqe) < 0)
		rnr_refuse_recv(qp, &held, SMPA_F_RDMAP_INVALIDATE,
				USIW_WC_LOC_ACCESS_ERR);
	return true;
}

bool rnic_rnr_take_waiting(struct rnic_qp *qp, struct smpa_event *ret_ev)
{
	struct rnic_rnr *rnr = qp->rnr;

	if (rnic_qp_is_over(qp) || !rnr || !rnr->is_full ||
	    (rnr->cnt && !rnr_fits(rnr, rnr->waiting.seg.len)))
		return false;
	*ret_ev = rnr->waiting;
	rnr->is_full = false;
	if (rnr->cnt)
		rnr_begin_time(qp);
	else
		rnic_rnr_drop(qp);
	return true;
}

struct rnic_qp *rnic_rnr_next_turn(struct rnic_srq *srq)
{
	struct rnic_rnr *rnr = TAILQ_FIRST(&srq->rnrs);

	TAILQ_REMOVE(&srq->rnrs, rnr, link);
	TAILQ_INSERT_TAIL(&srq->rnrs, rnr, link);
	return rnr->qp;
}

/* ---- ends --------------------------------------------------------------- */

void rnic_rnr_expire(struct rnic_qp *qp)
{
	struct held held;

	qp->rnr_end_ns = 0;
	if (!qp->rnr)
		return;
	/* D-11: the next MSN, but no receive. */
	held = *held_oldest(qp->rnr);
	rnr_refuse(qp, &held, SMPA_F_DDP_U_NO_BUFFER);
}

bool rnic_rnr_delays_end(struct rnic_qp *qp)
{
	if (!qp->rnr || !held_oldest(qp->rnr)->is_whole ||
	    rnr_awaits_reads(qp->rnr))
		return false;
	if (!qp->rnr_end_ns) /* no limit so far; without a peer there is one */
		rnr_limit(qp, util_settings()->rnr_ms * NS_PER_MS);
	return true;
}

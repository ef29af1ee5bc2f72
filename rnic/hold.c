/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sends that came before their receive, or that invalidate what an earlier READ
 * still needs: kept in a ring of records, delivered in their order when
 * receives are posted and those READs are answered, given up when the RNR time
 * is over.
 *
 * Delivery happens only where bells are served, where streams may go: a
 * segment that finds both a hold and a receive leaves a bell for its leader.
 */
#include "hold.h"

#include <errno.h>
#include <string.h>

#include "../util/env.h"
#include "../util/log.h"
#include "context.h"
#include "engine.h"
#include "guard.h"
#include "mr.h"
#include "stat.h"
#include "stream-internal.h"

/* Records begin at multiples of it, so that only their octets wrap. */
#define HOLD_ALIGN 128u

/* One message.  Its octets follow, and go on at the ring's front. */
struct held {
	struct usiw_cqe cqe; /* whole: what it completes with */
	uint32_t len;	     /* octets so far */
	/* its last segment so far, which a TERMINATE would name */
	uint32_t inv_stag, seg_msn, seg_mo, seg_len;
	uint8_t opcode;
	bool is_last_seg;
	bool is_whole;
};

_Static_assert(sizeof(struct held) <= HOLD_ALIGN, "a record's head");

struct rnic_hold {
	struct rnic_qp *qp;
	struct rnic_hold *prev, *next; /* among the holders of an SRQ */
	uint32_t cnt;		       /* messages */
	uint32_t newest;	       /* offset of the last one */
	uint32_t head, used, size;     /* of the ring */
	bool is_open;		       /* the last one is not whole */
	bool is_full;		       /* @waiting has no room */
	struct smpa_event waiting;     /* SEGMENT, not answered yet */
	_Alignas(HOLD_ALIGN) uint8_t ring[];
};

static uint32_t round_up(uint32_t len)
{
	return (len + HOLD_ALIGN - 1) & ~(HOLD_ALIGN - 1);
}

static struct held *held_at(struct rnic_hold *hold, uint32_t off)
{
	return (void *)(hold->ring + off);
}

static struct held *held_oldest(struct rnic_hold *hold)
{
	return held_at(hold, hold->head);
}

static bool opcode_invalidates(uint8_t opcode)
{
	return opcode == SMPA_OP_SEND_INV || opcode == SMPA_OP_SEND_SE_INV;
}

/*
 * InfiniBand's responder executes in order: an invalidation takes effect when
 * the READs before it are answered.  Not when the hold is full: the answers
 * may wait for the peer to read, and the peer, in the same state, for ours.
 */
static bool hold_awaits_reads(struct rnic_hold *hold)
{
	const struct held *held = held_oldest(hold);

	return hold->cnt && !hold->is_full &&
	       opcode_invalidates(held->opcode) &&
	       rnic_irq_needs(hold->qp, held->inv_stag);
}

bool rnic_hold_is_behind_reads(const struct rnic_qp *qp, uint8_t opcode,
			       uint32_t inv_stag)
{
	return opcode_invalidates(opcode) && qp->rnr_ns &&
	       rnic_irq_needs(qp, inv_stag);
}

/* ---- a QP begins and ceases to hold ------------------------------------- */

static void holder_append(struct rnic_hold *hold)
{
	struct rnic_srq *srq = hold->qp->srq;

	hold->next = NULL;
	hold->prev = srq->last_holder;
	if (srq->last_holder)
		srq->last_holder->next = hold;
	else
		srq->first_holder = hold;
	srq->last_holder = hold;
	srq->holder_cnt++;
}

static void holder_remove(struct rnic_hold *hold)
{
	struct rnic_srq *srq = hold->qp->srq;

	if (hold->prev)
		hold->prev->next = hold->next;
	else
		srq->first_holder = hold->next;
	if (hold->next)
		hold->next->prev = hold->prev;
	else
		srq->last_holder = hold->prev;
	srq->holder_cnt--;
}

static void hold_limit(struct rnic_stream *stream, uint64_t rnr_ns)
{
	stream->rnr_ns = 0;
	if (rnr_ns == UINT64_MAX)
		return;
	stream->rnr_ns = rnic_now_ns() + rnr_ns;
	rnic_engine_deadline(stream->engine, stream->rnr_ns);
}

/* The time of the oldest message begins.  READs have a time of their own. */
static void hold_begin_time(struct rnic_qp *qp)
{
	uint64_t ns = qp->rnr_ns;

	if (qp->hold->is_full && qp->rnr_full_ns < ns)
		ns = qp->rnr_full_ns;
	hold_limit(qp->stream, hold_awaits_reads(qp->hold) ? UINT64_MAX : ns);
}

static int hold_new(struct rnic_qp *qp)
{
	struct rnic_staging_pool *pool = &qp->engine->rx_pool;
	struct rnic_hold *hold = rnic_staging_get(pool);

	if (!hold)
		return -ENOMEM;
	memset(hold, 0, sizeof(*hold));
	hold->qp = qp;
	hold->size = (uint32_t)(pool->size - sizeof(*hold)) & ~(HOLD_ALIGN - 1);
	qp->hold = hold;
	if (qp->srq) {
		holder_append(hold);
		atomic_store_explicit(&qp->srq->is_awaited, true,
				      memory_order_relaxed);
	} else {
		atomic_store_explicit(&qp->is_holding, true,
				      memory_order_relaxed);
	}
	/*
	 * Pairs with the fences in rnic_qp_ring_rq() and rnic_srq_ring_rq():
	 * either who posts sees the flag and rings, or hold_remind() sees the
	 * receive.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	return 0;
}

void rnic_hold_drop(struct rnic_qp *qp)
{
	struct rnic_hold *hold = qp->hold;

	if (!hold)
		return;
	qp->hold = NULL;
	qp->held_out_idx = qp->held_in_idx;
	if (qp->stream)
		qp->stream->rnr_ns = 0;
	if (qp->srq) {
		holder_remove(hold);
		atomic_store_explicit(&qp->srq->is_awaited,
				      qp->srq->holder_cnt > 0,
				      memory_order_relaxed);
	} else {
		atomic_store_explicit(&qp->is_holding, false,
				      memory_order_relaxed);
	}
	rnic_staging_put(&qp->engine->rx_pool, hold);
	/* The answer to an ack.c of the peer's waits for it. */
	if (qp->stream && rnic_irq_is_waiting(qp))
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

void rnic_hold_set_time(struct rnic_qp *qp, uint8_t min_rnr_timer,
			uint8_t rnr_retry)
{
	rnic_engine_lead(qp->engine);
	qp->rnr_ns = rnr_time_ns(min_rnr_timer, rnr_retry);
	rnic_engine_unlead(qp->engine);
}

void rnic_hold_set_cm_time(struct rnic_qp *qp, bool is_for_ever)
{
	uint64_t least_ns = util_settings()->rnr_ms * NS_PER_MS;

	rnic_engine_lead(qp->engine);
	qp->rnr_ns = is_for_ever && least_ns ? UINT64_MAX : least_ns;
	qp->rnr_full_ns = least_ns;
	rnic_engine_unlead(qp->engine);
}

/* ---- what comes --------------------------------------------------------- */

/* Receives were posted before the flag could be seen, or could not be used
 * when the bell rang. */
static void hold_remind(struct rnic_qp *qp)
{
	if (usiw_ring_peek(rnic_rq_ring(qp), 0))
		rnic_engine_bell(qp->engine,
				 qp->srq ? &qp->srq->bell : &qp->bell);
}

static bool hold_has_room(const struct rnic_hold *hold, uint32_t len)
{
	uint32_t used = hold->used;

	if (!hold->is_open)
		used = round_up(used) + HOLD_ALIGN;
	return used <= hold->size && len <= hold->size - used;
}

/* The record that the segment belongs to. */
static struct held *held_open(struct rnic_hold *hold)
{
	struct held *held;

	if (hold->is_open)
		return held_at(hold, hold->newest);
	hold->used = round_up(hold->used);
	hold->newest = (hold->head + hold->used) % hold->size;
	hold->used += HOLD_ALIGN;
	hold->cnt++;
	hold->qp->held_in_idx++;
	hold->is_open = true;
	held = held_at(hold, hold->newest);
	held->len = 0;
	held->is_whole = false;
	return held;
}

/* Room for @len more octets of the newest record. */
static int hold_reserve(struct rnic_hold *hold, uint32_t len,
			struct iovec iov[2])
{
	uint32_t at = (hold->head + hold->used) % hold->size;
	uint32_t piece = hold->size - at < len ? hold->size - at : len;

	hold->used += len;
	iov[0].iov_base = hold->ring + at;
	iov[0].iov_len = piece;
	iov[1].iov_base = hold->ring;
	iov[1].iov_len = len - piece;
	if (!len)
		return 0;
	return len > piece ? 2 : 1;
}

static int hold_take(struct rnic_hold *hold, struct smpa_conn *conn,
		     const struct smpa_event *ev)
{
	struct held *held = held_open(hold);
	struct iovec iov[2];
	int cnt = hold_reserve(hold, ev->seg.len, iov);

	held->len += ev->seg.len;
	held->opcode = ev->seg.opcode;
	held->is_last_seg = ev->seg.is_last;
	held->inv_stag = ev->seg.inv_stag;
	held->seg_msn = ev->seg.msn;
	held->seg_mo = ev->seg.mo;
	held->seg_len = ev->seg.len;
	return smpa_conn_sink(conn, iov, cnt);
}

int rnic_hold_segment(struct rnic_qp *qp, struct smpa_conn *conn,
		      const struct smpa_event *ev)
{
	struct rnic_hold *hold = qp->hold;
	int rc = 0;

	if (!hold) {
		if (!qp->rnr_ns)
			return -ENOENT;
		rc = hold_new(qp);
		if (rc < 0)
			return rc;
		hold = qp->hold;
	}
	if (hold_has_room(hold, ev->seg.len)) {
		rc = hold_take(hold, conn, ev);
	} else {
		/* Not answered: the engine asks for no further octets. */
		hold->waiting = *ev;
		hold->is_full = true;
	}
	if (!qp->stream->rnr_ns)
		hold_begin_time(qp);
	hold_remind(qp);
	return rc;
}

bool rnic_hold_message(struct rnic_qp *qp, const struct usiw_cqe *cqe)
{
	struct rnic_hold *hold = qp->hold;
	struct held *held;

	if (!hold || !hold->is_open)
		return false;
	held = held_at(hold, hold->newest);
	held->cqe = *cqe;
	held->is_whole = true;
	hold->is_open = false;
	rnic_stat_add(RNIC_STAT_recv_held, 1);
	hold_remind(qp);
	return true;
}

void rnic_hold_read_answered(struct rnic_qp *qp)
{
	if (qp->stream->rnr_ns || hold_awaits_reads(qp->hold))
		return;
	hold_begin_time(qp);
	hold_remind(qp);
}

bool rnic_hold_is_full(const struct rnic_qp *qp)
{
	return qp->hold && qp->hold->is_full;
}

/* ---- what goes ---------------------------------------------------------- */

static void hold_pop(struct rnic_hold *hold)
{
	uint32_t len = HOLD_ALIGN + round_up(held_oldest(hold)->len);

	hold->cnt--;
	hold->qp->held_out_idx++;
	if (hold->cnt) {
		hold->head = (hold->head + len) % hold->size;
		hold->used -= len;
		return;
	}
	hold->head = 0;
	hold->used = 0;
	hold->is_open = false;
}

/* The QP ends because of that message. */
static void hold_refuse(struct rnic_qp *qp, const struct held *held,
			uint16_t fault)
{
	struct smpa_fault value = { fault };
	struct smpa_event ev = { .type = SMPA_EV_SEGMENT };

	util_info("rnic", "qp 0x%06x: held message refused: %s", qp->num,
		  smpa_fault_str(value));
	ev.seg.opcode = held->opcode;
	ev.seg.is_last = held->is_last_seg;
	ev.seg.inv_stag = held->inv_stag;
	ev.seg.msn = held->seg_msn;
	ev.seg.mo = held->seg_mo;
	ev.seg.len = held->seg_len;
	smpa_conn_refuse_segment(qp->stream->conn, &ev, value);
	rnic_stat_add(RNIC_STAT_term_sent, 1);
	rnic_qp_fail(qp, RNIC_QPS_TERMINATE, USIW_WC_WR_FLUSH_ERR,
		     RNIC_QP_EV_REQ_ERR);
}

/* The same, and the receive it took says why. */
static void hold_refuse_recv(struct rnic_qp *qp, const struct held *held,
			     uint16_t fault, enum usiw_wc_status status)
{
	struct usiw_cqe cqe = { .status = status, .opcode = USIW_WC_RECV };

	rnic_rq_complete(qp, &cqe);
	/* The completion may have found no room, and ended the QP. */
	if (qp->stream)
		hold_refuse(qp, held, fault);
}

struct held_copy {
	const struct rnic_hold *hold;
	struct iovec iov[RNIC_SGE_MAX];
	int cnt;
};

/* Guarded: the receive's memory may be mapped no longer. */
static void held_copy(void *arg)
{
	const struct held_copy *copy = arg;
	const struct rnic_hold *hold = copy->hold;
	uint32_t at = hold->head + HOLD_ALIGN;

	for (int i = 0; i < copy->cnt; i++) {
		uint8_t *to = copy->iov[i].iov_base;
		size_t left = copy->iov[i].iov_len;

		while (left) {
			uint32_t room = hold->size - at % hold->size;
			size_t piece = left < room ? left : room;

			memcpy(to, hold->ring + at % hold->size, piece);
			to += piece;
			at += (uint32_t)piece;
			left -= piece;
		}
	}
}

/* The oldest message goes into the current receive.  Return: 0; or a fault,
 * and in *ret_status what the receive completes with. */
static uint16_t held_place(struct rnic_qp *qp, const struct held *held,
			   enum usiw_wc_status *ret_status)
{
	const struct rnic_recv *recv = &qp->rq.current;
	struct held_copy copy = { .hold = qp->hold };

	if (held->len > recv->len) {
		*ret_status = USIW_WC_LOC_LEN_ERR;
		return SMPA_F_DDP_U_TOO_LONG; /* DDP-50 */
	}
	copy.cnt = rnic_sge_resolve(rnic_rq_pd(qp), recv->sge, recv->sge_cnt, 0,
				    held->len, RNIC_ACCESS_LOCAL_WRITE,
				    copy.iov);
	if (copy.cnt >= 0 && rnic_guard(held_copy, &copy) < 0) {
		util_warn("rnic",
			  "qp 0x%06x: registered memory cannot be written",
			  qp->num);
		rnic_stat_add(RNIC_STAT_mem_faults, 1);
		copy.cnt = -EFAULT;
	}
	if (copy.cnt < 0) {
		*ret_status = USIW_WC_LOC_PROT_ERR;
		return SMPA_F_DDP_LOCAL;
	}
	return 0;
}

/*
 * The oldest message, or what has come of it, gets its receive.  Return:
 * false: there is none, or its octets are just arriving.
 */
static bool hold_deliver(struct rnic_qp *qp)
{
	struct rnic_hold *hold = qp->hold;
	enum usiw_wc_status status = USIW_WC_SUCCESS;
	struct held held;
	uint16_t fault;

	if (!hold->cnt || hold_awaits_reads(hold))
		return false;
	held = *held_oldest(hold);
	if (!held.is_whole &&
	    smpa_conn_uses(qp->stream->conn, hold, sizeof(*hold) + hold->size))
		return false; /* reminded when they are there */
	if (rnic_rq_claim(qp) < 0)
		return false;
	fault = held_place(qp, &held, &status);
	if (fault) {
		hold_refuse_recv(qp, &held, fault, status);
		return true;
	}
	hold_pop(hold);
	if (hold->cnt || hold->is_full)
		hold_begin_time(qp);
	else
		rnic_hold_drop(qp);
	/* The rest of a message that is not whole goes to its receive. */
	if (held.is_whole && rnic_rq_deliver(qp, &held.cqe) < 0)
		hold_refuse_recv(qp, &held, SMPA_F_RDMAP_INVALIDATE,
				 USIW_WC_LOC_ACCESS_ERR);
	return true;
}

/* Something was delivered: the stream goes on, or ends. */
static void hold_go_on(struct rnic_qp *qp, struct rnic_stream *stream)
{
	struct rnic_hold *hold = qp->hold;
	struct smpa_event ev;

	if (!hold || !hold->is_full ||
	    (hold->cnt && !hold_has_room(hold, hold->waiting.seg.len))) {
		rnic_stream_end_step(stream);
		return;
	}
	ev = hold->waiting;
	hold->is_full = false;
	if (hold->cnt)
		hold_begin_time(qp);
	else
		rnic_hold_drop(qp);
	rnic_inbound_event(qp, stream->conn, &ev);
	rnic_stream_resume(stream);
}

void rnic_hold_serve(struct rnic_qp *qp)
{
	struct rnic_stream *stream = qp->stream;
	bool has_delivered = false;

	while (qp->hold && hold_deliver(qp))
		has_delivered = true;
	if (has_delivered)
		hold_go_on(qp, stream);
}

void rnic_hold_serve_srq(struct rnic_srq *srq)
{
	uint32_t idle_cnt = 0;

	/* One message each, in turn. */
	while (idle_cnt < srq->holder_cnt && usiw_ring_peek(&srq->ring, 0)) {
		struct rnic_qp *qp = srq->first_holder->qp;
		struct rnic_stream *stream = qp->stream;

		holder_remove(qp->hold);
		holder_append(qp->hold);
		idle_cnt++;
		if (hold_deliver(qp)) {
			hold_go_on(qp, stream);
			idle_cnt = 0;
		}
	}
}

/* ---- ends --------------------------------------------------------------- */

void rnic_hold_expire(struct rnic_qp *qp)
{
	struct held held;

	if (!qp->hold)
		return;
	/* D-11: the next MSN, but no receive. */
	held = *held_oldest(qp->hold);
	hold_refuse(qp, &held, SMPA_F_DDP_U_NO_BUFFER);
}

bool rnic_hold_delays_end(struct rnic_qp *qp)
{
	struct rnic_stream *stream = qp->stream;

	if (!qp->hold || !held_oldest(qp->hold)->is_whole ||
	    hold_awaits_reads(qp->hold))
		return false;
	if (!stream->rnr_ns) /* for ever, while there was a peer */
		hold_limit(stream, util_settings()->rnr_ms * NS_PER_MS);
	return true;
}

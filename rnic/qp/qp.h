/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Queue pairs.  Everything but the producer side of the rings and the atomics
 * is guarded by the engine's lead.
 */
#ifndef RNIC_QP_H
#define RNIC_QP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "mem/atomic.h"
#include "mem/object.h"
#include "os/chan.h"
#include "engine/engine.h"
#include "ring-mem.h"
#include "rnic.h"
#include "stream.h"

#define RNIC_SGE_MAX 32

struct smpa_event;

struct rnic_srq {
	struct rnic_pd *pd;
	struct usiw_ring ring;
	struct rnic_ring_mem mem;
	uint32_t max_sge;
	uint32_t limit; /* guarded by the lead; 0: not armed */
	uint64_t handle;
	struct rnic_chan_node limit_node;
	_Atomic uint32_t user_cnt; /* QPs */

	/* QPs that hold Sends, in the order of their turns (rnr.c) */
	struct rnic_rnr *first_rnr, *last_rnr;
	uint32_t rnr_cnt;
	_Atomic bool is_awaited; /* rnr_cnt > 0, for those who post */
	struct rnic_bell bell;
};

/* The receive that the current message goes to, copied out of the ring. */
struct rnic_recv {
	bool is_open;
	uint64_t wr_id;
	uint32_t len; /* sum of the SGEs */
	uint32_t sge_cnt;
	struct usiw_sge sge[RNIC_SGE_MAX];
};

/* An RDMA Read, or an atomic operation, of ours that is on its way. */
struct rnic_orq_entry {
	uint32_t sq_idx; /* is_ack: of the WR behind */
	bool is_ack;
	bool is_atomic; /* its answer has nothing of what follows */
	uint32_t sink_stag;
	uint64_t sink_to;
	uint32_t len;
	uint32_t placed;
};

enum rnic_irq_kind {
	RNIC_IRQ_READ,
	RNIC_IRQ_ATOMIC,      /* to be executed */
	RNIC_IRQ_ATOMIC_DONE, /* to be answered */
};

/*
 * A request of the peer, Read or Atomic, whose response TCP has not taken
 * whole.
 */
struct rnic_irq_entry {
	uint8_t kind; /* enum rnic_irq_kind */
	uint32_t src_stag;
	void *src;
	uint32_t len; /* octets of @src that are still to be looked at */
	uint32_t msn;
	union {
		struct {
			uint64_t sink_to, src_to;
			uint32_t sink_stag;
			uint32_t held_idx; /* of the next Send to be held */
		};
		struct {
			uint32_t id;
			union {
				struct rnic_atomic atomic;
				uint64_t old; /* RNIC_IRQ_ATOMIC_DONE */
			};
		};
	};
};

/* Reads and atomics in flight in one direction: a FIFO of fixed size. */
struct rnic_orq {
	struct rnic_orq_entry *entry;
	uint32_t max, head, cnt;
	uint32_t limit; /* of those that the application posted */
};

/*
 * What is known of WRs without an answer of their own, where "complete" means
 * placed at the peer (ack.c).
 */
struct rnic_ack {
	bool is_on;
	bool is_out;	   /* a READ of nothing is under way */
	bool is_awaited;   /* the next WR cannot go before it is answered */
	uint32_t msn;	   /* of the last Send or Immediate Data */
	uint32_t want_idx; /* all before have been waited for, or will be */
	uint32_t done_idx; /* all before are placed */
};

struct rnic_irq {
	struct rnic_irq_entry *entry;
	uint32_t max, head, cnt;
	uint32_t submitted_cnt; /* of these, from the head on */
};

/* What a submitted WR will complete with, by SQ slot. */
struct rnic_sq_wr {
	uint64_t wr_id;
	uint32_t len; /* READ, atomics: octets read */
	uint32_t msn; /* with struct rnic_ack: of its Send; 0: none */
	uint8_t wc_opcode;
	bool is_signaled;
	bool is_sent; /* with struct rnic_ack: TCP has it */
	bool is_done;
};

/*
 * What travels as two messages, Immediate Data and another one: the part that
 * comes second is kept back until the engine takes it.
 */
struct rnic_sq_imm {
	bool is_due; /* behind a Write that is submitted already */
	/* Of the Send at next_idx, submitted already: */
	bool is_marked; /* the mark */
	bool is_ahead;	/* the Immediate Data behind it */
	uint8_t opcode;
	uint32_t imm_be;
};

struct rnic_sq {
	struct usiw_ring ring;
	struct rnic_ring_mem mem;
	uint32_t max_sge, max_inline;
	uint32_t next_idx; /* first SQE not yet submitted */
	uint32_t done_idx; /* first SQE not yet completed: the consumer index */
	bool is_ended;	   /* the peer has closed: nothing from end_idx on */
	uint32_t end_idx;
	uint32_t used_ops;     /* bits by enum usiw_wr_opcode, since RTS */
	struct rnic_sq_wr *wr; /* by slot */
	struct iovec iov[2][RNIC_SGE_MAX]; /* of two messages in turn */
	uint8_t iov_turn;
	struct rnic_sq_imm imm;
	struct rnic_orq orq;
	struct rnic_ack ack;
};

struct rnic_rq {
	struct usiw_ring ring;
	struct rnic_ring_mem mem;
	uint32_t max_sge;
	struct rnic_recv current;
	/* Index of recv_cq behind the last message's completion. */
	_Atomic uint32_t told_idx;
};

/* What has come of messages that belong together, or are not whole. */
struct rnic_arrival {
	uint32_t write_stag;  /* of the Write under way; 0: none */
	uint32_t write_len;   /* octets of it so far */
	uint32_t written_len; /* of the last Write, until something follows */
	bool is_imm_marked;   /* the mark was the last message */
	bool has_imm;	      /* the next Send's */
	uint32_t imm_be;
};

/*
 * RFC 7306 has no Send with immediate data.  It travels as three messages
 * (D-37): an RDMA Write without octets whose STag and TO are this mark, the
 * Immediate Data, which then takes no receive, and the Send.  Nothing that a
 * peer says in a message of its own is taken for the mark: a Write without
 * octets names no memory, and nobody draws these 96 bits by chance.
 */
#define RNIC_IMM_MARK_STAG 0x53454e44u
#define RNIC_IMM_MARK_TO 0xc64e0b1d92a7f358u
#define RNIC_IMM_LEN 4

/* Async events a QP can raise; each has a node of its own. */
enum rnic_qp_event {
	RNIC_QP_EV_FATAL,
	RNIC_QP_EV_REQ_ERR,
	RNIC_QP_EV_ACCESS_ERR,
	RNIC_QP_EV_LAST_WQE,
	RNIC_QP_EV_COMM_EST,
	RNIC_QP_EV_CNT
};

struct rnic_qp {
	struct rnic_mw_owner owner; /* its domain, and windows of type 2 */
	struct rnic_context *ctx;
	struct rnic_engine *engine;
	struct rnic_cq *send_cq, *recv_cq;
	struct rnic_srq *srq;
	uint32_t num;
	bool is_retired;
	bool is_told; /* a peer was given the number: see qp-num.h */
	uint64_t handle;
	_Atomic uint32_t state; /* enum rnic_qp_state; written by the leader */
	_Atomic uint32_t reset_cnt; /* back to IDLE so often */

	_Atomic bool is_rnr; /* hold != NULL, for those who post */
	struct rnic_bell bell;

	/* table of QPs (qp-table.c) */
	struct rnic_qp *table_next;
	_Atomic uint32_t pin_cnt; /* rnic_qp_get() holders */

	/* guarded by the lead */
	struct rnic_sq sq;
	struct rnic_rq rq;
	struct rnic_irq irq;
	struct iovec irq_iov[2];
	struct rnic_arrival arrival;
	uint8_t irq_turn;
	bool is_irq_turn; /* fairness between responses and requests */
	uint32_t access;
	bool has_access; /* the application set it */
	bool has_ord_limit;
	uint32_t ord_limit;
	bool is_last_wqe_told;
	bool is_rtr_only; /* without rdma_cm; RTS not yet asked for */
	uint8_t timeout;  /* of the connection manager's, as it was given */
	bool is_cq_gone; /* a CQ overrun, the engine broken: fail when served */
	struct rnic_rnr *rnr; /* Sends without receive; NULL: none */
	uint32_t held_in_idx, held_out_idx; /* Sends held ever, delivered */
	uint64_t rnr_ns; /* how long; 0: not at all; UINT64_MAX: no limit */
	uint64_t rnr_full_ns; /* the most, while its memory is full */
	uint64_t retry_ns;    /* with a silent peer's TCP; 0: TCP's own */
	struct rnic_stream *stream;
	_Atomic int tcp_error; /* the errno that ended it; 0: none did */
	struct rnic_chan_node event_node[RNIC_QP_EV_CNT];
};

/* ---- qp.c, under the lead ---------------------------------------------- */

/*
 * The QP leaves RTS for good: state, asynchronous event (RNIC_QP_EV_CNT: none)
 * and a completion for every outstanding WR.  @first: status of the oldest
 * send WR; the rest are flushed.
 */
void rnic_qp_fail(struct rnic_qp *qp, enum rnic_qp_state state,
		  enum usiw_wc_status first, enum rnic_qp_event event);

/* The peer has closed (@status 0) or is lost: let go of the stream, and fail;
 * a QP with struct rnic_ack only when work of its own is left. */
void rnic_qp_part(struct rnic_qp *qp, int status);

/* IDLE -> CONNECTING.  Takes the lead.  Return: 0; -EINVAL: not IDLE. */
int rnic_qp_connecting(struct rnic_qp *qp);
/* And back. */
void rnic_qp_not_connecting(struct rnic_qp *qp);

/* RTR -> RTS, as the application has it: never more own reads at a time than
 * so many; nothing is posted yet.  Takes the lead. */
void rnic_qp_may_send(struct rnic_qp *qp, uint32_t ord, uint64_t retry_ns);

/* Under the lead: the peer's first message, and the application is not beyond
 * RTR. */
void rnic_qp_comm_est(struct rnic_qp *qp);

/* Another one after each reset; never 0. */
uint32_t rnic_qp_life(const struct rnic_qp *qp);

/* The stream that an IDLE QP waits for, in that life, does not come: it fails.
 * Takes the lead. */
void rnic_qp_not_coming(struct rnic_qp *qp, uint32_t life);

/*
 * No peer came: a CONNECTING QP that has work posted fails.  Takes the lead.
 * Return: true: it has left CONNECTING; false: it has nothing to lose.
 */
bool rnic_qp_give_up(struct rnic_qp *qp);

/* A completion did not fit into its CQ: the peer is told, the QP fails. */
void rnic_qp_overrun(struct rnic_qp *qp);

/* rnic_qp_modify() for a QP that no peer is dialled for.  Takes the lead. */
int rnic_qp_change(struct rnic_qp *qp, enum rnic_qp_state state);

/*
 * The first half of the end, once: nobody finds the QP any more.  What may
 * still hold it?  Pins of the connection manager are waited for; the stream is
 * let go under the lead; the doorbell is emptied under the lead, and the caller
 * promises that nobody posts.
 */
void rnic_qp_leave(struct rnic_qp *qp);

/* The second half: the number may be drawn again, and the memory is freed.
 * Return: asynchronous events that were reported. */
uint32_t rnic_qp_free(struct rnic_qp *qp);

/* What a bell is for: submit, or flush when the QP has ended. */
void rnic_qp_serve(struct rnic_qp *qp);

/* ---- qp-table.c --------------------------------------------------------- */

int rnic_qp_table_add(struct rnic_qp *qp); /* draws qp->num */
/* Waits for pins.  The number stays drawn. */
void rnic_qp_table_remove(struct rnic_qp *qp);
/* The context goes with QPs left in it: nobody finds them any more.
 * Return: they, linked by table_next; NULL: none. */
struct rnic_qp *rnic_qp_table_forget(const struct rnic_context *ctx);
/* Under the lead: every QP on @cq fails when it is served, which is soon. */
void rnic_qp_table_cq_gone(const struct rnic_cq *cq);
/* The same for every QP of a context, whose engine is broken. */
void rnic_qp_table_ctx_gone(const struct rnic_context *ctx);
/* Under the lead: may work that is posted on any QP complete into @cq? */
bool rnic_qp_table_cq_expects(const struct rnic_cq *cq);
void rnic_qp_table_fork_child(void);

/* ---- entries of the SQ ------------------------------------------------- */

/* What the WR in that slot will complete with. */
static inline struct rnic_sq_wr *rnic_sq_wr_at(const struct rnic_sq *sq,
					       uint32_t idx)
{
	return &sq->wr[idx & sq->ring.mask];
}

static inline const struct usiw_sge *rnic_sqe_sges(const struct usiw_sqe *slot)
{
	return (const struct usiw_sge *)(slot + 1);
}

/* SGEs of the slot; never more than it has room for, whatever it says. */
static inline uint32_t rnic_sqe_sge_cnt(const struct rnic_sq *sq,
					const struct usiw_sqe *slot)
{
	uint32_t cnt = slot->sge_cnt;

	return cnt < sq->max_sge ? cnt : sq->max_sge;
}

/* Indices run freely: @a comes before @b. */
static inline bool rnic_sq_idx_is_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* ---- sq.c, under the lead ----------------------------------------------- */

/*
 * Submit what can be submitted: SQEs in order, and responses to the peer's
 * reads in turn with them.  Return: true when something was submitted.
 */
bool rnic_sq_advance(struct rnic_qp *qp);

/* The same with one of these responses alone. */
bool rnic_irq_advance(struct rnic_qp *qp);

/* Does the peer wait for responses that are not submitted yet? */
static inline bool rnic_irq_is_waiting(const struct rnic_qp *qp)
{
	return qp->irq.submitted_cnt != qp->irq.cnt;
}

/* Source STag of ack.c's READs, which have no octets and need none. */
#define RNIC_ACK_STAG 0x61636b00u

/* ack.c: is it time to ask the peer? */
bool rnic_ack_is_due(const struct rnic_qp *qp);

/* Is there a WR to submit? */
static inline bool rnic_sq_has_next(const struct rnic_sq *sq)
{
	return usiw_ring_slot_pending(&sq->ring, sq->next_idx) &&
	       !(sq->is_ended && sq->next_idx == sq->end_idx);
}

/* Is there something to submit?  Not: may it be now? */
static inline bool rnic_sq_is_waiting(const struct rnic_qp *qp)
{
	return qp->sq.imm.is_due || rnic_sq_has_next(&qp->sq) ||
	       (qp->sq.ack.is_on && rnic_ack_is_due(qp));
}

/* Cookie of Read Responses; those of SQEs are their indices, of 32 bits. */
#define RNIC_COOKIE_RESPONSE UINT64_MAX

/* Does a Read or atomic of the peer still need that STag? */
bool rnic_irq_needs(const struct rnic_qp *qp, uint32_t stag);

/* The stream says that the oldest response is sent. */
void rnic_irq_sent(struct rnic_qp *qp);

/*
 * A region goes: is work with it under way?  @stag counts, not only its
 * memory, which other regions may hold as well.
 */
bool rnic_qp_uses_region(const struct rnic_qp *qp, uint32_t stag,
			 const void *addr, size_t len);

/* It is: the QP fails, and what needed the region is told so: the peer's Read,
 * or the WR, or the receive. */
void rnic_qp_region_gone(struct rnic_qp *qp, uint32_t stag);

/* The stream says that the message of SQE @idx is sent. */
void rnic_sq_sent(struct rnic_qp *qp, uint32_t idx);

/* The message with this cookie, all before which is sent, has memory that is
 * registered, but cannot be read: the QP fails. */
void rnic_sq_unreadable(struct rnic_qp *qp, uint64_t cookie);

/* The oldest read or atomic is answered in full. */
void rnic_sq_read_done(struct rnic_qp *qp);

/* The WRs before @idx are complete. */
void rnic_sq_done_before(struct rnic_qp *qp, uint32_t idx);

/*
 * The peer has closed its half: what is posted now still goes, what is posted
 * later does not, and no answer comes any more.  With struct rnic_ack nothing
 * more is submitted: nobody could tell whether the peer took it.
 */
void rnic_sq_peer_closed(struct rnic_qp *qp);

/* The WRs before @idx end: those that are done, and none behind one that is
 * not, are complete, the others are flushed. */
void rnic_sq_end_before(struct rnic_qp *qp, uint32_t idx);

/* Everything posted is complete. */
bool rnic_sq_is_empty(const struct rnic_qp *qp);

/* Complete all outstanding SQEs: the oldest with @first, then flushed. */
void rnic_sq_flush(struct rnic_qp *qp, enum usiw_wc_status first);

/*
 * Where octets [@off, @off + @len) of an SGE list lie, each piece judged by
 * the MR table for @pd.  Return: iovecs; -EFAULT: an SGE that may not be used
 * so.
 */
int rnic_sge_resolve(const struct rnic_pd *pd, const struct usiw_sge *sge,
		     uint32_t sge_cnt, uint32_t off, uint32_t len,
		     uint32_t access, struct iovec *iov);

/* ---- ack.c, under the lead ----------------------------------------------- */

/* @sqe, a WR without an answer, was submitted: it is before sq->next_idx. */
void rnic_ack_note(struct rnic_sq *sq, const struct usiw_sqe *sqe);

/* Are there WRs that have to be known placed before the next may fail?  Then
 * they are asked for. */
bool rnic_ack_await(struct rnic_sq *sq);

/* Ask, since rnic_ack_is_due().  Return: false: not now. */
bool rnic_ack_submit(struct rnic_qp *qp);

/* The oldest entry of the ORQ was answered. */
void rnic_ack_answered(struct rnic_qp *qp, const struct rnic_orq_entry *entry);

/* The peer has terminated: what is before the message that it names ends; with
 * struct rnic_ack what it took is complete. */
void rnic_ack_terminated(struct rnic_qp *qp, const struct smpa_event *ev);

/* The peer closes in order at this moment: what was sent, it has. */
void rnic_ack_peer_closed(struct rnic_qp *qp);

/* ---- rq.c, under the lead ----------------------------------------------- */

/* Open the next receive as qp->rq.current.  Return: 0; -ENOENT: none. */
int rnic_rq_claim(struct rnic_qp *qp);

/* The ring that the QP's receives come from. */
const struct usiw_ring *rnic_rq_ring(const struct rnic_qp *qp);

/*
 * The domain that judges the memory of the QP's receives: a shared receive
 * belongs to the domain of its queue, since the key is its poster's.  What the
 * peer names itself, to access or to invalidate, is judged by the QP's.
 */
static inline const struct rnic_pd *rnic_rq_pd(const struct rnic_qp *qp)
{
	return qp->srq ? qp->srq->pd : qp->owner.pd;
}

/* Complete the current receive. */
void rnic_rq_complete(struct rnic_qp *qp, const struct usiw_cqe *cqe);

/*
 * The message of the current receive is placed: do what else it asks for, and
 * complete.  Return: 0; -EACCES: it may not invalidate that STag; nothing is
 * done.
 */
int rnic_rq_deliver(struct rnic_qp *qp, const struct usiw_cqe *cqe);

void rnic_rq_flush(struct rnic_qp *qp);
/* Any thread, which keeps the QP (rnic_qp_get()): a message has completed that
 * the application has not polled. */
bool rnic_rq_is_unread(const struct rnic_qp *qp);

/* ---- inbound.c, under the lead ------------------------------------------ */

struct smpa_event;

/*
 * What an event of the engine does to the QP.
 * Return: 0; -EPROTO: the stream was terminated, the QP has failed.
 */
int rnic_inbound_event(struct rnic_qp *qp, struct smpa_conn *conn,
		       const struct smpa_event *ev);

/*
 * The memory that SMPA_EV_SEGMENT @ev was given is registered, but cannot be
 * written.  The peer has not sinned, nevertheless its stream ends.
 * Return: -EPROTO.
 */
int rnic_inbound_unwritable(struct rnic_qp *qp, struct smpa_conn *conn,
			    const struct smpa_event *ev);

#endif

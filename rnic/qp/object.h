/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Queue pairs and their queues.  The engine's lead guards everything but the
 * producer side of the rings and the atomics.
 */
#ifndef RNIC_QP_OBJECT_H
#define RNIC_QP_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "libsiw-mpa/include/siw-mpa.h"
#include "engine/object.h"
#include "mem/atomic.h"
#include "mem/object.h"
#include "os/chan.h"
#include "os/resource.h"
#include "ring-mem.h"
#include "rnic.h"

struct rnic_qp;
struct rnic_rnr;
struct rnic_transport;

/* A QP that completes into a CQ: one for its sends, one for its receives. */
struct rnic_cq_user {
	LIST_ENTRY(rnic_cq_user) link;
	struct rnic_qp *qp;
};

LIST_HEAD(rnic_cq_user_list, rnic_cq_user);

/*
 * Which engine a queue belongs to (place.c).  Before it has one it is with the
 * first engine.  Changed under all leads.
 */
struct rnic_place {
	_Atomic(struct rnic_engine *) engine; /* never NULL */
	_Atomic bool is_fixed;
};

struct rnic_cq {
	struct rnic_context *ctx;
	struct rnic_place place;
	/* QPs of other engines complete into it, too.  Set under all leads,
	 * and stays. */
	_Atomic bool is_shared;
	struct util_lock lock; /* is_shared: producer side, users, overrun */
	struct usiw_ring ring;
	struct rnic_ring_mem mem;
	struct rnic_chan *chan; /* NULL: none */
	struct rnic_chan_node comp_node;
	struct rnic_chan_node async_node;
	uint64_t handle;
	uint32_t flags;		   /* enum rnic_cq_flags */
	_Atomic uint64_t armed;	   /* RNIC_CQ_ARMED(), 0: not armed */
	_Atomic uint32_t told_idx; /* behind the entry of the last event */
	/* Behind the last entry that is solicited or an error, or later. */
	_Atomic uint32_t urgent_idx;
	_Atomic uint32_t user_cnt; /* QPs */
	_Atomic uint32_t look;	   /* enum rnic_cq_look */
	/* Guarded by the lead of its engine, or by the lock */
	bool is_overrun; /* stays so */
	struct rnic_cq_user_list users;
	struct usiw_res_cq *res;
};

/* For which completions, and the index of the first entry that counts: the
 * consumer's when it was armed. */
#define RNIC_CQ_ARMED(kind, idx) ((uint64_t)(idx) << 32 | (kind))

enum rnic_cq_armed {
	RNIC_CQ_NOT_ARMED,
	RNIC_CQ_ARM_SOLICITED,
	RNIC_CQ_ARM_ANY
};

static inline enum rnic_cq_armed rnic_cq_armed_kind(uint64_t armed)
{
	return (enum rnic_cq_armed)(uint32_t)armed;
}

/* Looks at the sockets by threads that sleep on them. */
enum rnic_cq_look {
	RNIC_CQ_LOOK_DUE, /* none since the last sleep */
	RNIC_CQ_LOOKED,
	RNIC_CQ_LOOK_VAIN, /* the next one is just before a sleep */
};

#define RNIC_SGE_MAX 32

struct rnic_srq {
	struct rnic_pd *pd;
	struct rnic_place place;
	struct usiw_ring ring;
	struct rnic_ring_mem mem;
	uint32_t max_sge;
	uint32_t limit; /* guarded by the lead; 0: not armed */
	uint64_t handle;
	struct rnic_chan_node limit_node;
	_Atomic uint32_t user_cnt; /* QPs */

	/* QPs that hold Sends, in the order of their turns (rnr.c) */
	TAILQ_HEAD(, rnic_rnr) rnrs;
	uint32_t rnr_cnt;
	_Atomic bool is_awaited; /* rnr_cnt > 0, for threads that post */
	struct rnic_bell bell;
	struct usiw_res_srq *res;
};

/* The receive of the current message, copied out of the ring. */
struct rnic_recv {
	bool is_open;
	uint64_t wr_id;
	uint32_t len; /* sum of the SGEs */
	uint32_t sge_cnt;
	struct usiw_sge sge[RNIC_SGE_MAX];
};

/* An RDMA Read or atomic of ours that is not answered yet. */
struct rnic_orq_entry {
	uint32_t sq_idx; /* is_ack: of the WR behind */
	bool is_ack;
	bool is_atomic; /* what follows is unused */
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

/* A Read or atomic of the peer, until TCP has taken the whole response. */
struct rnic_irq_entry {
	uint8_t kind; /* enum rnic_irq_kind */
	uint32_t src_stag;
	void *src;
	uint32_t len; /* octets of @src that are still needed */
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

/* WRs without an answer of their own that complete when they are placed at the
 * peer (ack.c). */
struct rnic_ack {
	bool is_on;
	bool is_out;	   /* a READ of no octets is under way */
	bool is_awaited;   /* the next WR has to wait for its answer */
	uint32_t msn;	   /* of the last Send or Immediate Data */
	uint32_t want_idx; /* all before have been waited for, or will be */
	uint32_t done_idx; /* all before are placed */
};

struct rnic_irq {
	struct rnic_irq_entry *entry;
	uint32_t max, head, cnt;
	uint32_t submitted_cnt; /* of these, from the head on */
	struct iovec iov[2];	/* of two responses in turn */
	uint8_t iov_turn;
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
 * A WR with immediate data is sent as two messages.  The second is kept here
 * until the protocol engine takes it.
 */
struct rnic_sq_imm {
	bool is_due; /* after a Write that is submitted already */
	/* Submitted already, of the Send at next_idx: */
	bool is_marked; /* the mark */
	bool is_ahead;	/* the Immediate Data after it */
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
	/* Index of recv_cq after the last message's completion. */
	_Atomic uint32_t told_idx;
};

/* What has arrived of messages that belong together, or are not whole. */
struct rnic_arrival {
	uint32_t write_stag;   /* of the Write under way; 0: none */
	uint32_t write_len;    /* octets of it so far */
	uint32_t written_len;  /* of the last Write, until something follows */
	bool is_received;      /* the last message took, or needs, a receive */
	bool is_imm_marked;    /* the mark was the last message */
	bool is_dropped;       /* the message under way */
	bool is_write_dropped; /* the last one, a Write: so is its imm. data */
	bool has_imm;	       /* the next Send's */
	uint32_t imm_be;
};

/*
 * RFC 7306 has no Send with immediate data.  It is sent as three messages
 * (D-37): an RDMA Write of no octets with this mark as STag and TO; the
 * Immediate Data, which then takes no receive; and the Send.  No other message
 * is taken for the mark: a Write of no octets names no memory, and nothing else
 * has these 96 bits.
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

/*
 * The cause of a QP's end.  It is noted where it is found, within sending or
 * receiving; the first one counts.  The state changes at once.  rnic_qp_end()
 * does the rest when control has returned.
 */
struct rnic_qp_cause {
	bool is_due; /* noted, and rnic_qp_end() is still to come */
	bool has_idx;
	uint32_t idx; /* the WR at fault; those before it end first */
	enum usiw_wc_status first; /* of the oldest WR that is left */
	enum rnic_qp_event event;  /* RNIC_QP_EV_CNT: none */
	int status;		   /* the connection manager's */
};

/* A message of the peer that is not acceptable, noted likewise. */
struct rnic_refusal {
	bool is_due;
	bool is_waiting; /* for what came before it; further input is ignored */
	uint16_t fault;
	enum rnic_qp_event event;
};

/* What rules of USIW_FAULT ask about the QP (fault/rules.h); all 0 without. */
struct rnic_qp_fault {
	uint32_t no; /* its position in the process, from 1 on */
	uint64_t out_octets, in_octets; /* payload of messages */
	uint64_t rnr_ns; /* until then receives are not there; 0 */
};

struct rnic_qp {
	struct rnic_mw_owner owner; /* its domain, and windows of type 2 */
	struct rnic_context *ctx;
	struct rnic_engine *engine; /* as long as it lives */
	struct rnic_cq *send_cq, *recv_cq;
	struct rnic_cq_user send_user, recv_user; /* in their lists */
	struct rnic_srq *srq;
	struct usiw_res_qp *res; /* what others see of it */
	uint32_t num;
	bool is_retired;
	bool is_told; /* a peer was given the number: see qp-num.h */
	uint64_t handle;
	_Atomic uint32_t state; /* enum rnic_qp_state; written by the leader */
	_Atomic uint32_t reset_cnt; /* back to IDLE so often */

	_Atomic bool is_rnr; /* rnr != NULL, for threads that post */
	struct rnic_bell bell;
	struct rnic_bell all_bell; /* its next WR needs all leads */

	/* table of QPs (qp-table.c) */
	struct rnic_qp *table_next;
	_Atomic uint32_t pin_cnt; /* rnic_qp_get() holders */

	/* guarded by the lead */
	struct rnic_qp_cause cause;
	struct rnic_refusal refusal;
	struct rnic_sq sq;
	struct rnic_rq rq;
	struct rnic_irq irq;
	struct rnic_arrival arrival;
	struct rnic_qp_fault fault;
	uint32_t access;
	bool has_access;    /* the application set it */
	uint32_t ord_limit; /* the application's; UINT32_MAX: none */
	bool is_last_wqe_told;
	bool is_rtr_only; /* without rdma_cm; RTS not yet asked for */
	uint8_t timeout;  /* of the connection manager's, as it was given */
	/* A CQ overrun, an engine broken: fail when served. Any leader sets
	 * it. */
	_Atomic bool is_cq_gone;
	struct rnic_rnr *rnr; /* Sends without receive; NULL: none */
	uint32_t held_in_idx, held_out_idx; /* Sends held ever, delivered */
	uint64_t rnr_ns; /* how long; 0: not at all; UINT64_MAX: no limit */
	uint64_t rnr_full_ns; /* the most, while its memory is full */
	uint64_t rnr_end_ns;  /* end of the RNR time (rnr.c); 0: nothing held */
	uint64_t retry_ns;    /* with a silent peer's TCP; 0: TCP's own */
	uint64_t gone_ns;     /* with a peer that has gone; 0: not at all */
	struct rnic_due gone; /* set while work waits for such a peer */
	const struct rnic_transport *transport; /* as long as it lives */
	void *link;	       /* the transport's (transport.h); NULL: none */
	struct rnic_due *due;  /* the link's; NULL: none */
	_Atomic int tcp_error; /* the errno that ended it; 0: none did */
	struct {
		struct sockaddr_storage local, peer;
	} ends; /* for log lines and faults; AF_UNSPEC: not known */
	struct rnic_chan_node event_node[RNIC_QP_EV_CNT];
};

/* ---- small questions ----------------------------------------------------- */

static inline enum rnic_qp_state rnic_qp_state_now(const struct rnic_qp *qp)
{
	return (enum rnic_qp_state)atomic_load_explicit(&qp->state,
							memory_order_relaxed);
}

static inline bool rnic_qp_has_ended(const struct rnic_qp *qp)
{
	enum rnic_qp_state state = rnic_qp_state_now(qp);

	return state == RNIC_QPS_TERMINATE || state == RNIC_QPS_ERROR;
}

/* Nothing is to be sent or received for it any more: its link has gone, or
 * the cause of its end is noted. */
static inline bool rnic_qp_is_over(const struct rnic_qp *qp)
{
	return !qp->link || rnic_qp_has_ended(qp);
}

/* Its link has gone; it will notice when it sends. */
static inline bool rnic_qp_is_orphan(const struct rnic_qp *qp)
{
	return rnic_qp_state_now(qp) == RNIC_QPS_RTS && !qp->link;
}

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

/* SGEs of the slot; never more than fit into it, whatever it says. */
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

#endif

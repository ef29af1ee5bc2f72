/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The objects that the provider hands to libibverbs.  Each begins with the
 * library's structure, so that a pointer to one is a pointer to both.
 *
 * Each stores the fork generation in which it was made.  In a forked child it
 * belongs to the parent: it fails with ENODEV, and its rings, which are not
 * mapped, are not touched.
 */
#ifndef USIW_OBJECTS_H
#define USIW_OBJECTS_H

#include "rnic/dgram/rnic-ud.h"
#include "rnic/rnic.h"
#include "util/lock.h"
#include "handle.h"
#include "library.h"
#include "reason.h"
#include "verbs-abi.h"

/* Vectors for ibv_create_cq(): one completion thread serves a context. */
#define USIW_COMP_VECTORS 1

#define USIW_PORT 1

struct usiw_context {
	/* The library's struct verbs_context ends with @context, and begins
	 * somewhere in here: usiw_context_head(). */
	char head[VERBS_CONTEXT_HEAD_MAX];
	struct ibv_context context;
	struct rnic_context *rnic;
	struct rnic_device *dev;
	bool is_ca; /* persona: shows InfiniBand's QP states */
	/* Space for the longer structure of an unknown library. */
	uint64_t rest[32];
};

/* Objects of a thread domain take no locks.  The application promises that one
 * thread at a time uses them. */
struct usiw_td {
	struct ibv_td td;
	struct usiw_handle handle;
	uint32_t fork_gen;
	_Atomic uint32_t user_cnt; /* parent domains */
};

struct usiw_pd {
	struct ibv_pd pd;
	struct usiw_handle handle;
	struct rnic_pd *rnic;	   /* a parent domain's is that of its base */
	uint32_t fork_gen;	   /* parent domain */
	_Atomic uint32_t user_cnt; /* objects made on it */
	struct usiw_pd *base;	   /* NULL: no parent domain */
	struct usiw_td *td;	   /* parent domain; may be NULL */

	/* parent domain: the application's, both or none */
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size,
		       size_t alignment, uint64_t resource_type);
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr,
		     uint64_t resource_type);
	void *pd_context;
};

struct usiw_mr {
	struct verbs_mr vmr;
	struct usiw_handle handle;
	struct rnic_mr *rnic;
	uint32_t fork_gen;
	struct usiw_pd *pd;
	void *map; /* of a dma-buf; NULL: none */
	size_t map_len;
};

struct usiw_mw {
	struct ibv_mw mw;
	struct usiw_handle handle;
	struct rnic_mw *rnic;
	uint32_t fork_gen;
	struct usiw_pd *pd;
};

struct usiw_ah {
	struct ibv_ah ah;
	struct usiw_handle handle;
	uint32_t fork_gen;
	struct usiw_pd *pd;
	/* as in struct usiw_ud_sqe */
	uint8_t sgid[16], dgid[16];
	uint32_t label;
	uint8_t tclass;
};

struct usiw_dm {
	struct ibv_dm dm;
	struct usiw_handle handle;
	struct rnic_dm *rnic;
	uint32_t fork_gen;
};

struct usiw_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex cq_ex;
	};
	struct usiw_handle handle;
	struct rnic_cq *rnic;
	uint32_t fork_gen;
	const struct usiw_ring *ring;
	bool is_single;	    /* the application promises one thread: no lock */
	struct usiw_pd *pd; /* parent domain; may be NULL */
	void *slots;	    /* lent to the RNIC; NULL: its own */
	struct util_lock lock; /* consumer side of the ring */

	/* Extended CQs: the current completion.  Between ibv_start_poll() and
	 * ibv_end_poll() the polling thread holds @lock. */
	_Atomic pthread_t batch_thread; /* 0: none */
	struct ibv_wc wc;
	uint64_t timestamp_ns, wallclock_ns;
};

/* True between ibv_start_poll() and ibv_end_poll() of this thread. */
static inline bool usiw_cq_is_in_batch(struct usiw_cq *cq)
{
	/* relaxed: only this thread stores its own number */
	pthread_t thread =
		atomic_load_explicit(&cq->batch_thread, memory_order_relaxed);

	return thread && pthread_equal(thread, pthread_self());
}

/* Between ibv_start_poll() and ibv_end_poll() the thread has the lock already:
 * it may destroy a QP, which removes completions. */
static inline void usiw_cq_lock(struct usiw_cq *cq)
{
	if (!cq->is_single && !usiw_cq_is_in_batch(cq))
		util_lock(&cq->lock);
}

static inline void usiw_cq_unlock(struct usiw_cq *cq)
{
	if (!cq->is_single && !usiw_cq_is_in_batch(cq))
		util_unlock(&cq->lock);
}

struct usiw_srq {
	struct ibv_srq srq;
	struct usiw_handle handle;
	struct rnic_srq *rnic;
	uint32_t fork_gen;
	uint32_t max_sge;
	struct usiw_pd *pd;
	void *slots; /* lent to the RNIC; NULL: its own */
	const struct usiw_ring *ring;
	bool is_single;	       /* of a thread domain: no lock */
	struct util_lock lock; /* producer side of the ring */
};

/* A row of the table of QP types (qp.c). */
struct usiw_qp_type {
	enum rnic_qp_type rnic;
	uint32_t opcodes;	/* 1u << enum ibv_wr_opcode: ibv_post_send(3) */
	int rtr_mask, rts_mask; /* a transition must bring: ibv_modify_qp(3) */
	/* An iWARP device does not have it, and programs rely on it: perftest
	 * posts RDMA Writes on every QP of one. */
	bool needs_ca;
};

/* Limits of a WR; a slot of the ring has room for them. */
struct usiw_sq_limits {
	uint32_t opcodes; /* of the QP's type */
	uint32_t max_sge, max_sge_rd, max_inline, max_msg_size;
	bool is_sig_all;
};

/* The work requests since ibv_wr_start(). */
struct usiw_wr_batch {
	uint32_t opcodes;     /* those asked for: 1u << enum ibv_wr_opcode */
	uint32_t cnt;	      /* entries written, not published */
	int err;	      /* the first one */
	uint32_t traits;      /* of the last entry, enum usiw_wr_trait */
	struct usiw_sqe *sqe; /* the last entry while it takes data */
};

struct usiw_qp {
	struct verbs_qp vqp;
	struct usiw_handle handle;
	struct rnic_qp *rnic;
	const struct usiw_qp_type *type;
	uint32_t fork_gen;
	bool is_single; /* of a thread domain: no locks */
	struct usiw_pd *pd;
	void *sq_slots, *rq_slots; /* lent to the RNIC; NULL: its own */
	struct ibv_qp_cap cap;	   /* as given */
	struct usiw_sq_limits sq_limits;
	const struct usiw_ring *sq;
	struct util_lock sq_lock;	   /* producer side of sq */
	const struct usiw_ring *rq;	   /* NULL: SRQ */
	struct util_lock rq_lock;	   /* producer side of rq */
	struct usiw_wr_batch wr;	   /* ibv_wr_*; guarded by sq_lock */
	_Atomic(struct usiw_qp *) wr_next; /* all with ibv_wr_*: wr.c */
	struct usiw_qp *wr_prev;
	_Atomic bool is_rtr_seen; /* INIT -> RTR was asked for in IDLE */
	bool is_rtr_only;	  /* connects without rdma_cm; RTS is to come */
	struct ibv_qp_attr told;  /* by ibv_modify_qp(), for ibv_query_qp() */
	/* Persona ca, and UD: InfiniBand's state while the RNIC's is IDLE, as
	 * moved. */
	bool is_ca;
	bool is_ud;
	_Atomic enum ibv_qp_state moved;
	/* rdma_cm's stream is still to come; UD: it may send */
	_Atomic bool is_rts_told;
};

/* True if the QP cannot send.  UD receives in RTR, as the RNIC's RTS. */
static inline bool usiw_qp_is_unsendable(const struct usiw_qp *qp)
{
	enum rnic_qp_state state = rnic_qp_state(qp->rnic);

	return (state == RNIC_QPS_IDLE ||
		(qp->is_ud && state == RNIC_QPS_RTS)) &&
	       !atomic_load_explicit(&qp->is_rts_told, memory_order_relaxed);
}

/* True if the QP takes no receives.  In RESET, one of connections does. */
static inline bool usiw_qp_is_unreceivable(const struct usiw_qp *qp)
{
	return !qp->rq ||
	       (qp->is_ud &&
		atomic_load_explicit(&qp->moved, memory_order_relaxed) ==
			IBV_QPS_RESET);
}

static inline void usiw_srq_lock(struct usiw_srq *srq)
{
	if (!srq->is_single)
		util_lock(&srq->lock);
}

static inline void usiw_srq_unlock(struct usiw_srq *srq)
{
	if (!srq->is_single)
		util_unlock(&srq->lock);
}

static inline void usiw_sq_lock(struct usiw_qp *qp)
{
	if (!qp->is_single)
		util_lock(&qp->sq_lock);
}

static inline void usiw_sq_unlock(struct usiw_qp *qp)
{
	if (!qp->is_single)
		util_unlock(&qp->sq_lock);
}

static inline void usiw_rq_lock(struct usiw_qp *qp)
{
	if (!qp->is_single)
		util_lock(&qp->rq_lock);
}

static inline void usiw_rq_unlock(struct usiw_qp *qp)
{
	if (!qp->is_single)
		util_unlock(&qp->rq_lock);
}

static inline struct usiw_context *usiw_context(struct ibv_context *ctx)
{
	return (struct usiw_context *)(void *)((char *)ctx -
					       offsetof(struct usiw_context,
							context));
}

static inline struct usiw_pd *usiw_pd(struct ibv_pd *pd)
{
	return (struct usiw_pd *)pd;
}

static inline struct usiw_td *usiw_td(struct ibv_td *td)
{
	return (struct usiw_td *)td;
}

static inline struct usiw_mr *usiw_mr(struct verbs_mr *vmr)
{
	return (struct usiw_mr *)vmr;
}

static inline struct usiw_mw *usiw_mw(struct ibv_mw *mw)
{
	return (struct usiw_mw *)mw;
}

static inline struct usiw_ah *usiw_ah(struct ibv_ah *ah)
{
	return (struct usiw_ah *)ah;
}

static inline struct usiw_dm *usiw_dm(struct ibv_dm *dm)
{
	return (struct usiw_dm *)dm;
}

static inline struct usiw_cq *usiw_cq(struct ibv_cq *cq)
{
	return (struct usiw_cq *)cq;
}

static inline struct usiw_srq *usiw_srq(struct ibv_srq *srq)
{
	return (struct usiw_srq *)srq;
}

static inline struct usiw_qp *usiw_qp(struct ibv_qp *qp)
{
	return (struct usiw_qp *)qp;
}

/* Removes the completions of a QP that have not been polled. */
void usiw_cq_clean(struct usiw_cq *cq, uint32_t qp_num);

/* Access flags of a region, without those that have no effect here.  @call: a
 * refusal names it, as in util/reason.h; so do the others below. */
int usiw_mr_access(const char *call, unsigned int access, uint32_t *ret_access);

/* Fills in the region for libibverbs after @mr->rnic was registered. */
struct ibv_mr *usiw_mr_init(struct usiw_mr *mr, struct ibv_pd *pd, void *addr,
			    size_t len, int access);

/* Removes the region's mapping of a dma-buf, if it has one. */
void usiw_dmabuf_unmap(const struct usiw_mr *mr);

/* True if the object was made before the last fork of this process. */
static inline bool usiw_is_forked(uint32_t fork_gen)
{
	return rnic_fork_gen() != fork_gen;
}

/* Called before an object of the program is used, which may be gone: nothing of
 * it is read before.  Return: 0; -ENOENT: there is no such object; -ENODEV: it
 * is the parent's. */
static inline int usiw_object_enter(const struct usiw_handle *handle,
				    const uint32_t *fork_gen, const char *call)
{
	int err = usiw_handle_check(handle, call);

	return !err && usiw_is_forked(*fork_gen) ? usiw_refuse_forked(call)
						 : err;
}

/* rnic_device_query() of the device. */
int usiw_device_query(const struct usiw_context *ctx, const char *call,
		      struct rnic_device_attr *ret_attr);

/*
 * Called before a context or domain is used.  A forked child may use the
 * parent's contexts and protection domains, which are then like new ones.  It
 * may not use parent domains, nor objects that were made on any of them.
 * Return: 0; -errno.
 */
static inline int usiw_context_enter(const struct usiw_context *ctx)
{
	return rnic_context_enter(ctx->rnic);
}

int usiw_pd_enter(struct usiw_pd *pd, const char *call);

/* Takes a reference for an object made on @pd. */
void usiw_pd_get(struct usiw_pd *pd);
void usiw_pd_put(struct usiw_pd *pd);

/*
 * Allocates @size octets for slots by the allocators of @pd (NULL: none).  Do
 * not call it under a lock, because the allocators belong to the application.
 * @type: enum usiwdv_res_type.
 * Return: 0: with *ret_slots NULL the RNIC allocates; -ENOMEM; -EINVAL: the
 *   memory is not aligned.
 */
int usiw_pd_slots_alloc(struct usiw_pd *pd, size_t size, uint64_t type,
			void **ret_slots);
/* @slots NULL: nothing. */
void usiw_pd_slots_free(struct usiw_pd *pd, void *slots, uint64_t type);

/* The common part of making a CQ; -EINVAL: see ibv_create_cq(3).
 * @pd: parent domain; may be NULL. */
int usiw_cq_new(struct ibv_context *context, uint32_t cqe,
		const struct ibv_comp_channel *channel, uint32_t comp_vector,
		struct usiw_pd *pd, struct usiw_cq **ret_cq);

/*
 * Waits until the application has acknowledged @event_cnt events, because until
 * then it may hold a pointer to the object that it read with them.
 * @completed: counter guarded by @mutex, signalled through @cond.
 */
void usiw_wait_acks(pthread_mutex_t *mutex, pthread_cond_t *cond,
		    const uint32_t *completed, uint32_t event_cnt);

/* INIT -> RTR with an address and a QP number; errors of rnic_qp_oob()
 * and -EINVAL: an attribute is missing or out of range. */
int usiw_qp_connect(struct usiw_qp *qp, const struct ibv_qp_attr *attr,
		    int mask);
/* RTR -> RTS of such a QP; -EINVAL. */
int usiw_qp_connect_send(struct usiw_qp *qp, const struct ibv_qp_attr *attr,
			 int mask);
/* The attributes of it for ibv_query_qp(). */
void usiw_qp_connect_query(const struct usiw_qp *qp, struct ibv_qp_attr *attr);
/* May a UD QP go from @now to @next with these attributes?  ibv_modify_qp(3).
 * Return: 0; -EINVAL; -EOPNOTSUPP: SQD. */
int usiw_ud_attr_check(enum ibv_qp_state now, enum ibv_qp_state next, int mask);

/* How long an adapter waits for its peer, from the attributes of
 * ibv_modify_qp(3); 0: without limit. */
uint64_t usiw_retry_ns(uint8_t timeout, uint8_t retry_cnt);

/* The QP does not send yet.  Return: -EINVAL. */
int usiw_sq_refuse_state(const struct usiw_qp *qp, const char *call);
/* The send queue is full.  Return: -ENOMEM. */
int usiw_sq_refuse_full(const struct usiw_qp *qp, const char *call);

/* Encodes @wr into @slot; false: more than @max_sge elements. */
bool usiw_rqe_encode(uint32_t max_sge, const struct ibv_recv_wr *wr,
		     struct usiw_rqe *slot);

/* Checks the copy of a CQE and decodes it.  An invalid one becomes an error. */
void usiw_cqe_decode(const struct usiw_cqe *cqe, struct ibv_wc *ret_wc);

/* The operations of verbs-ops.def that are done. */
#define USIW_DECL_DO(ret, name, params) ret usiw_##name params;
#define USIW_DECL_POST(ret, name, params) ret usiw_##name params;
#define USIW_DECL_COUNT(ret, name, params) ret usiw_##name params;
#define USIW_DECL_POLL(ret, name, params) ret usiw_##name params;
#define USIW_DECL_MAKE(ret, name, params) ret usiw_##name params;
#define USIW_DECL_TELL(ret, name, params) ret usiw_##name params;
#define USIW_DECL_INT(ret, name, params)
#define USIW_DECL_PTR(ret, name, params)
#define USIW_DECL_FD(ret, name, params)
#define USIW_DECL_VOID(ret, name, params)
#define USIW_DECL_REREG(ret, name, params)
#define USIW_DECL_LIB(ret, name, params)
#define VERBS_ROW(since, kind, ret, name, params, args)                        \
	USIW_DECL_##kind(ret, name, params)
#include "verbs-ops.def"

extern const struct verbs_ops usiw_context_ops;
/* Those that libibverbs gets: usiw_context_ops, but with usiw check. */
extern const struct verbs_ops *usiw_offered_ops;

/* Stores the operations of @layout, in its order, at @ret_ops: at most
 * VERBS_OP_CNT pointers.  Return: their number. */
size_t usiw_ops_of(uint32_t layout, void *ret_ops);

extern const struct verbs_device_ops usiw_device_ops;

#endif

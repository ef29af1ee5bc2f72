/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Queue pairs: create, modify, query, destroy; posting is in post.c.
 *
 * iWARP has no INIT and no RTR; both are IDLE.  With rdma_cm, which owns the
 * stream, the QP is in RTS when the stream exists.  On its passive side
 * librdmacm still moves a QP through INIT and RTR, which changes only access
 * rights.  Without rdma_cm, RTR names the peer, and the stream exists when both
 * sides have named each other (connect.c).
 *
 * Persona ca shows the states of InfiniBand, from RESET on, as the application
 * moves the QP.  All of them are IDLE for the RNIC.  There rdma_cm's handshake
 * also has an RTR that names a peer, but by a number that no QP has.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "util/v4-mapped.h"
#include "util/alloc.h"
#include "util/log.h"
#include "reason.h"
#include "result.h"
#include "sqe.h"
#include <infiniband/usiwdv.h>

/*
 * Access rights that a QP can give to its peer.  Programs pass all flags of
 * their region.  The kernel ignores those that it does not know, and so does
 * usiw.
 */
#define QP_ACCESS                                                              \
	(RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE |                  \
	 RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC |                 \
	 RNIC_ACCESS_MW_BIND)

#define PSN_MASK 0xffffffu
#define QP_MASK_KNOWN ((IBV_QP_DEST_QPN << 1) - 1)
/* Attributes that usiw does not support. */
#define QP_MASK_REFUSED                                                        \
	(IBV_QP_EN_SQD_ASYNC_NOTIFY | IBV_QP_ALT_PATH |                        \
	 IBV_QP_PATH_MIG_STATE | IBV_QP_CAP | IBV_QP_RATE_LIMIT)

#define CREATE "ibv_create_qp"
#define MODIFY "ibv_modify_qp"

/* ---- types --------------------------------------------------------------- */

#define OPCODES_UC                                                             \
	(1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM |                      \
	 1u << IBV_WR_SEND_WITH_INV | 1u << IBV_WR_RDMA_WRITE |                \
	 1u << IBV_WR_RDMA_WRITE_WITH_IMM | 1u << IBV_WR_LOCAL_INV |           \
	 1u << IBV_WR_BIND_MW)
#define RTR_MASK_UC                                                            \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |        \
	 IBV_QP_RQ_PSN)
#define RTS_MASK_UC (IBV_QP_STATE | IBV_QP_SQ_PSN)

/* By enum ibv_qp_type.  A row without opcodes is not supported. */
static const struct usiw_qp_type qp_types[] = {
	[IBV_QPT_RC] = {
		.rnic = RNIC_QPT_RC,
		.opcodes = OPCODES_UC | 1u << IBV_WR_RDMA_READ |
			   1u << IBV_WR_ATOMIC_CMP_AND_SWP |
			   1u << IBV_WR_ATOMIC_FETCH_AND_ADD,
		.rtr_mask = RTR_MASK_UC | IBV_QP_MAX_DEST_RD_ATOMIC |
			    IBV_QP_MIN_RNR_TIMER,
		.rts_mask = RTS_MASK_UC | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
	},
	[IBV_QPT_UC] = {
		.rnic = RNIC_QPT_UC,
		.opcodes = OPCODES_UC,
		.rtr_mask = RTR_MASK_UC,
		.rts_mask = RTS_MASK_UC,
	},
	[IBV_QPT_UD] = {
		.rnic = RNIC_QPT_UD,
		.opcodes = 1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM,
		.needs_ca = true,
	},
};

/* Return: 0; -EOPNOTSUPP: the device has no such type. */
static int qp_type_find(struct ibv_context *context, enum ibv_qp_type type,
			const struct usiw_qp_type **ret_type)
{
	if ((unsigned int)type >= sizeof(qp_types) / sizeof(qp_types[0]) ||
	    !qp_types[type].opcodes)
		return usiw_refuse(EOPNOTSUPP, CREATE,
				   "qp_type is %d, not IBV_QPT_RC, _UC or _UD",
				   (int)type);
	if (qp_types[type].needs_ca && !usiw_context(context)->is_ca)
		return usiw_refuse_datagrams(CREATE);
	*ret_type = &qp_types[type];
	return 0;
}

/* ---- creation ------------------------------------------------------------ */

static int qp_caps_check(const struct ibv_qp_init_attr *attr)
{
	const struct rnic_limits *limits = rnic_limits();
	const struct ibv_qp_cap *cap = &attr->cap;
	int err = usiw_check_range(CREATE, "max_send_wr", cap->max_send_wr, 0,
				   limits->max_qp_wr);

	if (!err)
		err = usiw_check_range(CREATE, "max_send_sge",
				       cap->max_send_sge, 0, limits->max_sge);
	if (!err)
		err = usiw_check_range(CREATE, "max_inline_data",
				       cap->max_inline_data, 0,
				       limits->max_inline);
	/* With an SRQ the QP's own receive queue does not exist. */
	if (!err && !attr->srq)
		err = usiw_check_range(CREATE, "max_recv_wr", cap->max_recv_wr,
				       0, limits->max_qp_wr);
	if (!err && !attr->srq)
		err = usiw_check_range(CREATE, "max_recv_sge",
				       cap->max_recv_sge, 0, limits->max_sge);
	return err;
}

static int qp_init_attr_check(const struct ibv_pd *pd,
			      const struct ibv_qp_init_attr *attr,
			      const struct usiw_qp_type **ret_type)
{
	int err = qp_type_find(pd->context, attr->qp_type, ret_type);

	if (err)
		return err;
	if (!attr->send_cq || !attr->recv_cq)
		return usiw_refuse(EINVAL, CREATE, "%s is NULL",
				   attr->send_cq ? "recv_cq" : "send_cq");
	if (attr->send_cq->context != pd->context ||
	    attr->recv_cq->context != pd->context)
		return usiw_refuse(EINVAL, CREATE,
				   "a CQ and the PD are of two contexts");
	if (attr->srq && attr->srq->context != pd->context)
		return usiw_refuse(EINVAL, CREATE,
				   "the SRQ and the PD are of two contexts");
	return qp_caps_check(attr);
}

/* The capacities that the RNIC returned must fit into its slots, which post.c
 * relies on. */
static void qp_assert_room(const struct usiw_qp *qp)
{
	assert(sizeof(struct usiw_sqe) +
		       qp->cap.max_send_sge * sizeof(struct usiw_sge) <=
	       qp->sq->stride);
	assert(sizeof(struct usiw_sqe) + qp->cap.max_inline_data <=
	       qp->sq->stride);
	assert(!qp->rq ||
	       sizeof(struct usiw_rqe) +
			       qp->cap.max_recv_sge * sizeof(struct usiw_sge) <=
		       qp->rq->stride);
	(void)qp;
}

static void qp_slots_free(struct usiw_pd *pd, const struct usiw_qp *qp)
{
	usiw_pd_slots_free(pd, qp->sq_slots, USIWDV_RES_SQ);
	usiw_pd_slots_free(pd, qp->rq_slots, USIWDV_RES_RQ);
}

static int qp_slots_alloc(struct usiw_pd *pd, struct rnic_qp_options *opt,
			  struct usiw_qp *qp)
{
	size_t sq_size, rq_size;
	int err;

	rnic_qp_slots_size(opt, &sq_size, &rq_size);
	err = usiw_pd_slots_alloc(pd, sq_size, USIWDV_RES_SQ, &qp->sq_slots);
	if (!err && rq_size)
		err = usiw_pd_slots_alloc(pd, rq_size, USIWDV_RES_RQ,
					  &qp->rq_slots);
	if (err) {
		qp_slots_free(pd, qp);
		return err;
	}
	opt->sq_slots = qp->sq_slots;
	opt->rq_slots = qp->rq_slots;
	return 0;
}

static int qp_open(struct usiw_pd *pd, const struct ibv_qp_init_attr *attr,
		   struct usiw_qp *qp)
{
	const struct rnic_limits *limits = rnic_limits();
	struct rnic_qp_options opt = {
		.type = qp->type->rnic,
		.send_cq = usiw_cq(attr->send_cq)->rnic,
		.recv_cq = usiw_cq(attr->recv_cq)->rnic,
		.srq = attr->srq ? usiw_srq(attr->srq)->rnic : NULL,
		.max_send_wr = attr->cap.max_send_wr,
		.max_recv_wr = attr->srq ? 0 : attr->cap.max_recv_wr,
		.max_send_sge = attr->cap.max_send_sge,
		.max_recv_sge = attr->srq ? 0 : attr->cap.max_recv_sge,
		.max_inline = attr->cap.max_inline_data,
		.handle = (uintptr_t)&qp->vqp.qp,
	};
	int err = qp_slots_alloc(pd, &opt, qp);

	if (err)
		return err;
	err = rnic_qp_create(pd->rnic, &opt, &qp->rnic);
	if (err) {
		qp_slots_free(pd, qp);
		return err;
	}
	qp->fork_gen = rnic_fork_gen();
	qp->cap = (struct ibv_qp_cap){
		.max_send_wr = opt.max_send_wr,
		.max_recv_wr = attr->srq ? 0 : opt.max_recv_wr,
		.max_send_sge = opt.max_send_sge,
		.max_recv_sge = attr->srq ? 0 : opt.max_recv_sge,
		.max_inline_data = opt.max_inline,
	};
	qp->sq_limits = (struct usiw_sq_limits){
		.opcodes = qp->type->opcodes,
		.max_sge = opt.max_send_sge,
		.max_sge_rd = limits->max_sge_rd < opt.max_send_sge
				      ? limits->max_sge_rd
				      : opt.max_send_sge,
		.max_inline = opt.max_inline,
		.max_msg_size = limits->max_msg_size,
		.is_sig_all = attr->sq_sig_all != 0,
	};
	qp->sq = rnic_qp_sq(qp->rnic);
	qp->rq = attr->srq ? NULL : rnic_qp_rq(qp->rnic);
	qp_assert_room(qp);
	return 0;
}

static void qp_init_public(struct ibv_qp *qp, struct ibv_pd *pd,
			   const struct ibv_qp_init_attr *attr, uint32_t num)
{
	qp->context = pd->context;
	qp->qp_context = attr->qp_context;
	qp->pd = pd;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->srq = attr->srq;
	qp->handle = num;
	qp->qp_num = num;
	/* The state that libibverbs gives to every new QP.  ibv_query_qp() asks
	 * the RNIC, for which RESET and INIT are one state. */
	qp->state = IBV_QPS_RESET;
	qp->qp_type = attr->qp_type;
	qp->events_completed = 0;
	pthread_mutex_init(&qp->mutex, NULL);
	pthread_cond_init(&qp->cond, NULL);
}

static int qp_new(struct ibv_pd *ibpd, struct ibv_qp_init_attr *attr,
		  struct usiw_qp **ret_qp)
{
	struct usiw_pd *pd = usiw_pd(ibpd);
	const struct usiw_qp_type *type;
	struct usiw_qp *qp;
	int err = usiw_pd_enter(pd, CREATE);

	if (!err)
		err = qp_init_attr_check(ibpd, attr, &type);
	if (!err)
		err = usiw_object_enter(&usiw_cq(attr->send_cq)->handle,
					&usiw_cq(attr->send_cq)->fork_gen,
					CREATE ", send_cq");
	if (!err)
		err = usiw_object_enter(&usiw_cq(attr->recv_cq)->handle,
					&usiw_cq(attr->recv_cq)->fork_gen,
					CREATE ", recv_cq");
	if (!err && attr->srq)
		err = usiw_object_enter(&usiw_srq(attr->srq)->handle,
					&usiw_srq(attr->srq)->fork_gen,
					CREATE ", srq");
	if (err)
		return err;
	qp = util_alloc_lines(1, sizeof(*qp));
	if (!qp)
		return usiw_refuse_memory(CREATE);
	/* The application keeps this lock after ibv_wr_start(). */
	util_lock_init(&qp->sq_lock, UTIL_RANK_APP);
	util_lock_init(&qp->rq_lock, UTIL_RANK_QP_RQ);
	qp->type = type;
	err = qp_open(pd, attr, qp);
	if (err) {
		free(qp);
		return err;
	}
	qp->is_single = pd->td != NULL;
	qp->is_ud = attr->qp_type == IBV_QPT_UD;
	qp->is_ca = qp->is_ud || usiw_context(ibpd->context)->is_ca;
	qp->pd = pd;
	usiw_pd_get(pd);
	qp_init_public(&qp->vqp.qp, ibpd, attr, rnic_qp_num(qp->rnic));
	usiw_handle_add(&qp->handle, &qp->vqp.qp.handle);
	attr->cap = qp->cap;
	*ret_qp = qp;
	return 0;
}

struct ibv_qp *usiw_create_qp(struct ibv_pd *ibpd,
			      struct ibv_qp_init_attr *attr)
{
	struct usiw_qp *qp;
	int err = qp_new(ibpd, attr, &qp);

	return err ? usiw_result_null(err) : &qp->vqp.qp;
}

/*
 * The extended structure begins with the members of the plain one, which
 * libibverbs itself relies on.
 */
_Static_assert(offsetof(struct ibv_qp_init_attr_ex, sq_sig_all) ==
		       offsetof(struct ibv_qp_init_attr, sq_sig_all),
	       "qp_init_attr_ex");

#define QP_EX_OFFERED                                                          \
	(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS |                 \
	 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)

/* *ret_opcodes: the opcodes for ibv_wr_*(). */
static int qp_ex_check(struct ibv_context *context,
		       const struct ibv_qp_init_attr_ex *attr,
		       uint32_t *ret_opcodes)
{
	const struct usiw_qp_type *type;
	/* Unsupported types and attributes are checked first, because they may
	 * come without a PD, or with a structure that usiw cannot make. */
	int err = qp_type_find(context, attr->qp_type, &type);

	if (err)
		return err;
	if (attr->comp_mask & ~(uint32_t)QP_EX_OFFERED)
		return usiw_refuse(EOPNOTSUPP, CREATE,
				   "comp_mask is 0x%x, more than 0x%x",
				   attr->comp_mask, (unsigned)QP_EX_OFFERED);
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
	    attr->create_flags)
		return usiw_refuse(EOPNOTSUPP, CREATE,
				   "create_flags is 0x%x, not 0",
				   attr->create_flags);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd ||
	    attr->pd->context != context)
		return usiw_refuse(EINVAL, CREATE,
				   "there is no PD of this context");
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return 0;
	err = usiw_wr_opcodes_find(attr->send_ops_flags, ret_opcodes);
	if (!err && (*ret_opcodes & ~type->opcodes))
		return usiw_refuse(EOPNOTSUPP, CREATE,
				   "send_ops_flags is 0x%llx: this type of QP "
				   "lacks one of them",
				   (unsigned long long)attr->send_ops_flags);
	return err;
}

struct ibv_qp *usiw_create_qp_ex(struct ibv_context *context,
				 struct ibv_qp_init_attr_ex *attr)
{
	uint32_t opcodes = 0;
	struct usiw_qp *qp;
	int err = qp_ex_check(context, attr, &opcodes);

	if (!err)
		err = qp_new(attr->pd, (struct ibv_qp_init_attr *)(void *)attr,
			     &qp);
	if (err)
		return usiw_result_null(err);
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		err = usiw_wr_init(qp, opcodes);
	if (err) {
		(void)usiw_destroy_qp(&qp->vqp.qp);
		return usiw_result_null(err);
	}
	return &qp->vqp.qp;
}

static enum ibv_qp_state qp_state_to_verbs(enum rnic_qp_state state)
{
	switch (state) {
	case RNIC_QPS_IDLE:
		return IBV_QPS_INIT;
	case RNIC_QPS_CONNECTING:
	case RNIC_QPS_RTS:
		return IBV_QPS_RTS;
	case RNIC_QPS_CLOSING:
		return IBV_QPS_SQD;
	case RNIC_QPS_TERMINATE: /* all is flushed, both ways: SQE is for UD */
	case RNIC_QPS_ERROR:
		return IBV_QPS_ERR;
	}
	return IBV_QPS_UNKNOWN;
}

static enum ibv_qp_state qp_moved(const struct usiw_qp *qp)
{
	/* relaxed: the application orders its calls of ibv_modify_qp() */
	return atomic_load_explicit(&qp->moved, memory_order_relaxed);
}

/* The state to which the application moved the QP, unless that has changed. */
static enum ibv_qp_state qp_state_told(const struct usiw_qp *qp,
				       enum rnic_qp_state state)
{
	enum ibv_qp_state moved = qp_moved(qp);

	if (qp->is_ca && state == RNIC_QPS_IDLE)
		return moved;
	if (qp->is_ca && state == RNIC_QPS_RTS && moved == IBV_QPS_RTR)
		return IBV_QPS_RTR;
	if ((state == RNIC_QPS_CONNECTING || state == RNIC_QPS_RTS) &&
	    qp->is_rtr_only)
		return IBV_QPS_RTR;
	return qp_state_to_verbs(state);
}

/* True if the state @cur, given by the application, matches @state.  IDLE has
 * three names. */
static bool qp_state_is(const struct usiw_qp *qp, enum rnic_qp_state state,
			enum ibv_qp_state cur)
{
	if (state == RNIC_QPS_IDLE && !qp->is_ca)
		return cur == IBV_QPS_RESET || cur == IBV_QPS_INIT ||
		       cur == IBV_QPS_RTR;
	return qp_state_told(qp, state) == cur;
}

static int qp_attr_ranges_check(const struct ibv_qp_attr *attr, int mask)
{
	const struct rnic_limits *limits = rnic_limits();
	const struct {
		int bit;
		const char *name;
		uint64_t value, min, max;
	} rows[] = {
		{ IBV_QP_PORT, "port_num", attr->port_num, USIW_PORT,
		  USIW_PORT },
		{ IBV_QP_PKEY_INDEX, "pkey_index", attr->pkey_index, 0, 0 },
		{ IBV_QP_PATH_MTU, "path_mtu", attr->path_mtu, IBV_MTU_256,
		  IBV_MTU_4096 },
		{ IBV_QP_TIMEOUT, "timeout", attr->timeout, 0, 31 },
		{ IBV_QP_RETRY_CNT, "retry_cnt", attr->retry_cnt, 0, 7 },
		{ IBV_QP_RNR_RETRY, "rnr_retry", attr->rnr_retry, 0, 7 },
		{ IBV_QP_MIN_RNR_TIMER, "min_rnr_timer", attr->min_rnr_timer, 0,
		  31 },
		{ IBV_QP_MAX_QP_RD_ATOMIC, "max_rd_atomic", attr->max_rd_atomic,
		  0, limits->max_ord },
		{ IBV_QP_MAX_DEST_RD_ATOMIC, "max_dest_rd_atomic",
		  attr->max_dest_rd_atomic, 0, limits->max_ird },
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && !err; i++)
		if (mask & rows[i].bit)
			err = usiw_check_range(MODIFY, rows[i].name,
					       rows[i].value, rows[i].min,
					       rows[i].max);
	return err;
}

static int qp_attr_check(const struct usiw_qp *qp,
			 const struct ibv_qp_attr *attr, int mask,
			 enum rnic_qp_state state)
{
	if (mask & ~(QP_MASK_KNOWN | IBV_QP_RATE_LIMIT))
		return usiw_refuse(EINVAL, MODIFY,
				   "attr_mask is 0x%x, with unknown bits",
				   (unsigned)mask);
	if (mask & QP_MASK_REFUSED)
		return usiw_refuse(EOPNOTSUPP, MODIFY,
				   "attr_mask is 0x%x, with 0x%x, which iWARP "
				   "does not have",
				   (unsigned)mask,
				   (unsigned)(mask & QP_MASK_REFUSED));
	if ((mask & IBV_QP_CUR_STATE) &&
	    !qp_state_is(qp, state, attr->cur_qp_state))
		return usiw_refuse(EINVAL, MODIFY, "cur_qp_state is %s, not %s",
				   usiw_state_name(attr->cur_qp_state),
				   usiw_state_name(qp_state_told(qp, state)));
	return qp_attr_ranges_check(attr, mask);
}

/* The action of rnic/ for a wanted state. */
enum qp_move {
	MOVE_NONE,
	MOVE_CONNECT,	   /* INIT -> RTR without rdma_cm */
	MOVE_CONNECT_SEND, /* and then -> RTS */
	MOVE_UD_START,	   /* INIT -> RTR */
	MOVE_UD_SET,	   /* another Q_Key or PSN */
	MOVE_CLOSE,
	MOVE_ERROR,
	MOVE_RESET,
};

/* True if the attributes name no peer, or a connection of rdma_cm in its
 * place. */
static bool qp_attr_is_of_cm(const struct ibv_qp_attr *attr, int mask)
{
	if (mask & IBV_QP_DEST_QPN)
		return rnic_qp_num_is_cm(attr->dest_qp_num);
	return !(mask & IBV_QP_AV);
}

/*
 * Persona ca: as qp_move_find(), by InfiniBand's states.  SQD, which keeps the
 * connection open in InfiniBand, is not supported.
 */
static bool qp_move_find_ca(const struct usiw_qp *qp,
			    const struct ibv_qp_attr *attr, int mask,
			    enum rnic_qp_state state, enum qp_move *ret_move)
{
	enum ibv_qp_state now = qp_state_told(qp, state);
	bool is_idle = state == RNIC_QPS_IDLE;

	*ret_move = MOVE_NONE;
	switch (attr->qp_state) {
	case IBV_QPS_RESET:
		if (now != IBV_QPS_RESET)
			*ret_move = MOVE_RESET;
		return true;
	case IBV_QPS_INIT:
		return is_idle && (now == IBV_QPS_RESET || now == IBV_QPS_INIT);
	case IBV_QPS_RTR:
		if (!is_idle || now != IBV_QPS_INIT)
			return false;
		if (!qp_attr_is_of_cm(attr, mask))
			*ret_move = MOVE_CONNECT;
		return true;
	case IBV_QPS_RTS:
		if (now != IBV_QPS_RTR && now != IBV_QPS_RTS)
			return false;
		if (qp->is_rtr_only)
			*ret_move = MOVE_CONNECT_SEND;
		return true;
	case IBV_QPS_ERR:
		*ret_move = MOVE_ERROR;
		return true;
	case IBV_QPS_SQD:
	case IBV_QPS_SQE:
	case IBV_QPS_UNKNOWN:
		break;
	}
	return false;
}

/* *ret_move: how to reach attr->qp_state from @state.  False: there is no such
 * transition. */
static bool qp_move_find(struct usiw_qp *qp, const struct ibv_qp_attr *attr,
			 int mask, enum rnic_qp_state state,
			 enum qp_move *ret_move)
{
	bool is_idle = state == RNIC_QPS_IDLE;

	if (qp->is_ca)
		return qp_move_find_ca(qp, attr, mask, state, ret_move);
	*ret_move = MOVE_NONE;
	switch (attr->qp_state) {
	case IBV_QPS_RESET:
		/* A QP that is IDLE may have receives. */
		if (!is_idle || qp_moved(qp) != IBV_QPS_RESET)
			*ret_move = MOVE_RESET;
		return true;
	case IBV_QPS_INIT:
		return is_idle;
	case IBV_QPS_RTR:
		/* From librdmacm it comes without address. */
		if (mask & (IBV_QP_AV | IBV_QP_DEST_QPN))
			*ret_move = MOVE_CONNECT;
		return is_idle;
	case IBV_QPS_RTS:
		if (qp->is_rtr_only &&
		    (state == RNIC_QPS_CONNECTING || state == RNIC_QPS_RTS)) {
			*ret_move = MOVE_CONNECT_SEND;
			return true;
		}
		/* The stream moves the QP, not this call.  librdmacm calls it
		 * before its ACCEPT. */
		if (state == RNIC_QPS_RTS)
			return true;
		return is_idle && qp->is_rtr_seen;
	case IBV_QPS_SQD:
		/* rdma_disconnect() calls it in any state of the QP, and
		 * continues only if it succeeds. */
		*ret_move = state == RNIC_QPS_RTS ? MOVE_CLOSE : MOVE_NONE;
		return true;
	case IBV_QPS_ERR:
		*ret_move = MOVE_ERROR;
		return true;
	case IBV_QPS_SQE:
	case IBV_QPS_UNKNOWN:
		break;
	}
	return false;
}

/* *ret_move: how a UD QP in @now reaches what is asked for. */
static int qp_move_find_ud(const struct ibv_qp_attr *attr, int mask,
			   enum ibv_qp_state now, enum qp_move *ret_move)
{
	enum ibv_qp_state next = mask & IBV_QP_STATE ? attr->qp_state : now;
	int err = usiw_ud_attr_check(now, next, mask);

	if (err)
		return err;
	switch (next) {
	case IBV_QPS_RESET:
		*ret_move = now == IBV_QPS_RESET ? MOVE_NONE : MOVE_RESET;
		break;
	case IBV_QPS_ERR:
		*ret_move = MOVE_ERROR;
		break;
	case IBV_QPS_RTR:
		*ret_move = now == IBV_QPS_INIT ? MOVE_UD_START : MOVE_UD_SET;
		break;
	case IBV_QPS_RTS:
		*ret_move = MOVE_UD_SET;
		break;
	default:
		*ret_move = MOVE_NONE;
	}
	return 0;
}

/* What is given now, or was before. */
static struct rnic_ud_options qp_ud_options(const struct usiw_qp *qp,
					    const struct ibv_qp_attr *attr,
					    int mask)
{
	return (struct rnic_ud_options){
		.qkey = mask & IBV_QP_QKEY ? attr->qkey : qp->told.qkey,
		.psn = (mask & IBV_QP_SQ_PSN ? attr->sq_psn : qp->told.sq_psn) &
		       PSN_MASK,
	};
}

static int qp_move(struct usiw_qp *qp, const struct ibv_qp_attr *attr, int mask,
		   enum qp_move move)
{
	struct rnic_ud_options ud = qp_ud_options(qp, attr, mask);
	int err;

	switch (move) {
	case MOVE_NONE:
		return 0;
	case MOVE_CONNECT:
		err = usiw_qp_connect(qp, attr, mask);
		if (!err)
			qp->is_rtr_only = true;
		return err;
	case MOVE_CONNECT_SEND:
		err = usiw_qp_connect_send(qp, attr, mask);
		if (!err)
			qp->is_rtr_only = false;
		return err;
	case MOVE_UD_START:
		return rnic_qp_ud_start(qp->rnic, &ud);
	case MOVE_UD_SET:
		rnic_qp_ud_set(qp->rnic, &ud);
		return 0;
	case MOVE_CLOSE:
		err = rnic_qp_modify(qp->rnic, RNIC_QPS_CLOSING);
		/* The peer was faster: the QP has left RTS and is closing. */
		if (err == -EINVAL && rnic_qp_state(qp->rnic) != RNIC_QPS_RTS)
			return 0;
		return err;
	case MOVE_ERROR:
		return rnic_qp_modify(qp->rnic, RNIC_QPS_ERROR);
	case MOVE_RESET:
		break;
	}
	/* The stream must end before its QP can be IDLE again. */
	err = rnic_qp_modify(qp->rnic, RNIC_QPS_ERROR);
	if (!err)
		err = rnic_qp_modify(qp->rnic, RNIC_QPS_IDLE);
	if (!err)
		qp->is_rtr_only = false;
	return err;
}

/* Attributes that the RNIC does not use are stored for ibv_query_qp(). */
static void qp_remember(struct usiw_qp *qp, const struct ibv_qp_attr *attr,
			int mask)
{
	struct ibv_qp_attr *told = &qp->told;

	if ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET)
		*told = (struct ibv_qp_attr){ 0 };
#define TOLD(bit, field)                                                       \
	do {                                                                   \
		if (mask & (bit))                                              \
			told->field = attr->field;                             \
	} while (0)
	TOLD(IBV_QP_AV, ah_attr);
	TOLD(IBV_QP_PATH_MTU, path_mtu);
	TOLD(IBV_QP_TIMEOUT, timeout);
	TOLD(IBV_QP_RETRY_CNT, retry_cnt);
	TOLD(IBV_QP_RNR_RETRY, rnr_retry);
	TOLD(IBV_QP_RQ_PSN, rq_psn);
	TOLD(IBV_QP_SQ_PSN, sq_psn);
	TOLD(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
	TOLD(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	TOLD(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	TOLD(IBV_QP_DEST_QPN, dest_qp_num);
	TOLD(IBV_QP_QKEY, qkey);
#undef TOLD
	told->rq_psn &= PSN_MASK;
	told->sq_psn &= PSN_MASK;
}

/* Removes the completions of the QP that have not been polled.  Until then no
 * other QP may have its number. */
static void qp_clean_cqs(struct ibv_qp *ibqp)
{
	usiw_cq_clean(usiw_cq(ibqp->send_cq), ibqp->qp_num);
	if (ibqp->recv_cq != ibqp->send_cq)
		usiw_cq_clean(usiw_cq(ibqp->recv_cq), ibqp->qp_num);
}

int usiw_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask)
{
	struct usiw_qp *qp = usiw_qp(ibqp);
	enum qp_move move = MOVE_NONE;
	enum rnic_qp_state state;
	int err = usiw_object_enter(&qp->handle, &qp->fork_gen, MODIFY);

	if (err)
		return usiw_result_int(err);
	state = rnic_qp_state(qp->rnic);
	err = qp_attr_check(qp, attr, attr_mask, state);
	if (err)
		return usiw_result_int(err);
	if (qp->is_ud)
		err = qp_move_find_ud(attr, attr_mask, qp_state_told(qp, state),
				      &move);
	else if ((attr_mask & IBV_QP_STATE) &&
		 !qp_move_find(qp, attr, attr_mask, state, &move))
		err = usiw_refuse_move(qp_state_told(qp, state),
				       attr->qp_state);
	if (err)
		return usiw_result_int(err);
	if (attr_mask & IBV_QP_ACCESS_FLAGS) {
		err = rnic_qp_set_access(qp->rnic,
					 attr->qp_access_flags &
						 (unsigned int)QP_ACCESS);
		if (err)
			return usiw_result_int(err);
	}
	err = qp_move(qp, attr, attr_mask, move);
	if (!err && move == MOVE_RESET)
		qp_clean_cqs(ibqp);
	if (!err)
		qp_remember(qp, attr, attr_mask);
	if (!err && (attr_mask & IBV_QP_STATE)) {
		qp->is_rtr_seen = attr->qp_state == IBV_QPS_RTR;
		atomic_store_explicit(&qp->moved, attr->qp_state,
				      memory_order_relaxed);
		atomic_store_explicit(&qp->is_rts_told,
				      qp->is_ca &&
					      attr->qp_state == IBV_QPS_RTS,
				      memory_order_relaxed);
	}
	return usiw_result_int(err);
}

static void qp_init_attr_fill(const struct usiw_qp *qp,
			      struct ibv_qp_init_attr *ret_init)
{
	*ret_init = (struct ibv_qp_init_attr){
		.qp_context = qp->vqp.qp.qp_context,
		.send_cq = qp->vqp.qp.send_cq,
		.recv_cq = qp->vqp.qp.recv_cq,
		.srq = qp->vqp.qp.srq,
		.cap = qp->cap,
		.qp_type = qp->vqp.qp.qp_type,
		.sq_sig_all = qp->sq_limits.is_sig_all,
	};
}

static void gid_of_addr(const struct sockaddr_storage *addr, uint8_t gid[16])
{
	if (addr->ss_family == AF_INET)
		util_v4_map(gid, &((const struct sockaddr_in *)addr)->sin_addr);
	else
		memcpy(gid, &((const struct sockaddr_in6 *)addr)->sin6_addr,
		       16);
}

static uint8_t at_most_255(uint32_t value)
{
	return value > UINT8_MAX ? UINT8_MAX : (uint8_t)value;
}

/* Attributes of a connected QP are those of its stream. */
static void qp_attr_connected(struct ibv_context *context,
			      const struct rnic_qp_attr *rnic,
			      struct ibv_qp_attr *attr)
{
	struct rnic_device_attr dev;
	uint8_t local[16];

	attr->max_rd_atomic = at_most_255(rnic->ord);
	attr->max_dest_rd_atomic = at_most_255(rnic->ird);
	attr->ah_attr.is_global = 1;
	attr->ah_attr.port_num = USIW_PORT;
	gid_of_addr(&rnic->peer, attr->ah_attr.grh.dgid.raw);
	gid_of_addr(&rnic->local, local);
	if (rnic_device_query(usiw_context(context)->dev, &dev))
		return;
	for (uint32_t i = 0; i < dev.gid_cnt; i++)
		if (!memcmp(dev.gid[i], local, sizeof(local)))
			attr->ah_attr.grh.sgid_index = (uint8_t)i;
}

int usiw_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask,
		  struct ibv_qp_init_attr *init_attr)
{
	struct usiw_qp *qp = usiw_qp(ibqp);
	struct ibv_port_attr port;
	struct rnic_qp_attr rnic;
	int err = usiw_object_enter(&qp->handle, &qp->fork_gen, "ibv_query_qp");

	(void)attr_mask; /* a minimum: all attributes are filled in */
	if (err)
		return usiw_result_int(err);
	err = usiw_query_port(ibqp->context, USIW_PORT, &port);
	if (err)
		return err;
	rnic_qp_query(qp->rnic, &rnic);
	*attr = qp->told;
	attr->qp_state = qp_state_told(qp, rnic.state);
	attr->cur_qp_state = attr->qp_state;
	if (!attr->path_mtu)
		attr->path_mtu = port.active_mtu;
	attr->path_mig_state = IBV_MIG_MIGRATED;
	attr->qp_access_flags = rnic.access;
	attr->cap = qp->cap;
	attr->sq_draining = rnic.state == RNIC_QPS_CLOSING;
	attr->port_num = USIW_PORT;
	if (rnic.timeout)
		attr->timeout = rnic.timeout;
	if (rnic.peer.ss_family)
		qp_attr_connected(ibqp->context, &rnic, attr);
	qp_init_attr_fill(qp, init_attr);
	return 0;
}

/* Not guaranteed, because the kernel copies octets in any order. */
int usiw_query_qp_data_in_order(struct ibv_qp *ibqp, enum ibv_wr_opcode op,
				uint32_t flags)
{
	(void)ibqp;
	(void)op;
	(void)flags;
	return 0;
}

/* Remaining users are handled as in usiw_destroy_cq(). */
int usiw_destroy_qp(struct ibv_qp *ibqp)
{
	struct usiw_qp *qp = usiw_qp(ibqp);
	uint32_t async_events;
	int err = usiw_handle_check(&qp->handle, "ibv_destroy_qp");

	if (err)
		return usiw_result_int(err);
	if (!usiw_is_forked(qp->fork_gen)) {
		/* As the kernel. */
		if (qp->is_ud && rnic_qp_is_attached(qp->rnic))
			return usiw_result_int(
				usiw_refuse(EBUSY, "ibv_destroy_qp",
					    "it is attached to a group: "
					    "ibv_detach_mcast() comes before"));
		rnic_qp_retire(qp->rnic);
		qp_clean_cqs(ibqp);
		err = rnic_qp_destroy(qp->rnic, &async_events);
		if (err)
			return usiw_result_int(err);
		usiw_wait_acks(&ibqp->mutex, &ibqp->cond,
			       &ibqp->events_completed, async_events);
		usiw_wr_fini(qp);
		qp_slots_free(qp->pd, qp);
		usiw_pd_put(qp->pd);
	}
	usiw_handle_remove(&qp->handle);
	free(qp);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Every verb of a provider, called wrongly through stock libibverbs: foreign
 * objects, over limits, wrong sizes and states, and what is not offered.  Each
 * must say what its man page says, and change nothing: a picture of the
 * objects is compared after each call, and in the end everything must go.
 *
 * The rows of verbs-ops.def are the list of verbs: a row that nothing here
 * calls is a failure.  Runs under `usiw run`.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loop.h"

/* Rows that the verbs.h of Debian 12 lacks cannot be called. */
#define VERBS_ROW(since, kind, ret, name, params) { #name, (since) > 36 },
static struct {
	const char *name;
	bool is_called;
} verbs[] = {
#include "../../providers/usiw/verbs-ops.def"
};

struct world {
	struct ibv_context *context, *other;
	struct ibv_device_attr limits;
	struct ibv_pd *pd, *pd2, *parent, *other_pd;
	struct ibv_td *td, *other_td;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq, *other_cq;
	struct ibv_cq_ex *cq_ex;
	struct ibv_srq *srq, *other_srq;
	struct ibv_qp *qp, *other_qp;
	struct ibv_mr *mr;
	struct ibv_dm *dm, *other_dm;
	char *buf;
};

static struct world w;

/* ---- the picture --------------------------------------------------------- */

struct picture {
	struct ibv_qp_attr qp;
	struct ibv_qp_init_attr init;
	struct ibv_srq_attr srq;
	struct ibv_mr mr;
	int cqe, cqe_ex;
};

static void picture_take(struct picture *p)
{
	memset(p, 0, sizeof(*p));
	NEEDS(ibv_query_qp(w.qp, &p->qp, 0, &p->init) == 0);
	NEEDS(ibv_query_srq(w.srq, &p->srq) == 0);
	p->mr = *w.mr;
	p->cqe = w.cq->cqe;
	p->cqe_ex = w.cq_ex->cqe;
}

static struct picture before;
static unsigned int check_cnt, failure_cnt;

static void note(const char *verb, int line, const char *what, long got,
		 long want)
{
	struct picture now;
	bool is_verb = false;
	size_t i;

	check_cnt++;
	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verbs[i].name, verb) == 0)
			is_verb = verbs[i].is_called = true;
	picture_take(&now);
	if (!is_verb || memcmp(&now, &before, sizeof(now)) != 0) {
		failure_cnt++;
		printf("line %d: %s: %s\n", line, what,
		       is_verb ? "changed something" : "no such verb");
	}
	if (got == want)
		return;
	failure_cnt++;
	printf("line %d: %s: got %ld (%s), want %ld (%s)\n", line, what, got,
	       strerror((int)got), want, strerror((int)want));
}

/* Returns the errno. */
#define GIVES(verb, want, call)                                                \
	do {                                                                   \
		long got_ = (call);                                            \
		note(#verb, __LINE__, #call, got_, want);                      \
	} while (0)

/* Returns NULL and sets errno. */
#define NULLS(verb, want, call)                                                \
	do {                                                                   \
		errno = 0;                                                     \
		bool is_null_ = !(call);                                       \
		note(#verb, __LINE__, #call, is_null_ ? errno : 0, want);      \
	} while (0)

/* Returns something that is no success, and sets errno. */
#define FAILS(verb, want, call)                                                \
	do {                                                                   \
		errno = 0;                                                     \
		bool is_bad_ = (call) != 0;                                    \
		note(#verb, __LINE__, #call, is_bad_ ? errno : 0, want);       \
	} while (0)

/* The library calls it by itself, and takes no arguments for it. */
static void calls_by_itself(const char *verb)
{
	note(verb, __LINE__, verb, 0, 0);
}

/* ---- the world ----------------------------------------------------------- */

static struct ibv_context *device_open(const char *wanted)
{
	int cnt, i;
	struct ibv_device **list = ibv_get_device_list(&cnt);
	struct ibv_context *context = NULL;

	NEEDS(list);
	for (i = 0; i < cnt && !context; i++)
		if (strcmp(ibv_get_device_name(list[i]), wanted) == 0)
			context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	NEEDS(context);
	return context;
}

static struct ibv_qp_init_attr qp_attr(struct ibv_cq *cq)
{
	return (struct ibv_qp_init_attr){
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 4,
			 .max_send_sge = 2,
			 .max_recv_sge = 2,
			 .max_inline_data = 32 },
		.qp_type = IBV_QPT_RC,
	};
}

static struct ibv_srq *srq_open(struct ibv_pd *pd)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4,
						    .max_sge = 1 } };

	return ibv_create_srq(pd, &attr);
}

static struct ibv_dm *dm_open(struct ibv_context *context)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };

	return ibv_alloc_dm(context, &attr);
}

static struct ibv_td *td_open(struct ibv_context *context)
{
	struct ibv_td_init_attr attr = { 0 };

	return ibv_alloc_td(context, &attr);
}

static void world_open(const char *device)
{
	struct ibv_parent_domain_init_attr parent = { 0 };
	struct ibv_cq_init_attr_ex ex = { .cqe = 4 };
	struct ibv_qp_init_attr attr;

	w.context = device_open(device);
	w.other = device_open(device);
	NEEDS(ibv_query_device(w.context, &w.limits) == 0);
	NEEDS((w.pd = ibv_alloc_pd(w.context)));
	NEEDS((w.pd2 = ibv_alloc_pd(w.context)));
	NEEDS((w.other_pd = ibv_alloc_pd(w.other)));
	NEEDS((w.td = td_open(w.context)));
	NEEDS((w.other_td = td_open(w.other)));
	parent.pd = w.pd;
	parent.td = w.td;
	NEEDS((w.parent = ibv_alloc_parent_domain(w.context, &parent)));
	NEEDS((w.channel = ibv_create_comp_channel(w.context)));
	NEEDS((w.cq = ibv_create_cq(w.context, 8, NULL, w.channel, 0)));
	NEEDS((w.other_cq = ibv_create_cq(w.other, 8, NULL, NULL, 0)));
	ex.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
	ex.parent_domain = w.parent;
	NEEDS((w.cq_ex = ibv_create_cq_ex(w.context, &ex)));
	NEEDS((w.srq = srq_open(w.pd)));
	NEEDS((w.other_srq = srq_open(w.other_pd)));
	attr = qp_attr(w.cq);
	NEEDS((w.qp = ibv_create_qp(w.parent, &attr)));
	attr = qp_attr(w.other_cq);
	NEEDS((w.other_qp = ibv_create_qp(w.other_pd, &attr)));
	w.buf = calloc(1, 4096);
	NEEDS(w.buf);
	NEEDS((w.mr = ibv_reg_mr(w.pd, w.buf, 4096, IBV_ACCESS_LOCAL_WRITE)));
	NEEDS((w.dm = dm_open(w.context)));
	NEEDS((w.other_dm = dm_open(w.other)));
	picture_take(&before);
}

/* ---- domains and memory ---------------------------------------------------
 */

static void domains(void)
{
	struct ibv_td_init_attr td = { .comp_mask = 1 };
	struct ibv_parent_domain_init_attr p = { .pd = w.other_pd };

	NULLS(alloc_td, EOPNOTSUPP, ibv_alloc_td(w.context, &td));
	NULLS(alloc_td, EINVAL, ibv_alloc_td(w.context, NULL));
	NULLS(alloc_parent_domain, EINVAL,
	      ibv_alloc_parent_domain(w.context, NULL));
	NULLS(alloc_parent_domain, EINVAL,
	      ibv_alloc_parent_domain(w.context, &p));
	p.pd = NULL;
	NULLS(alloc_parent_domain, EINVAL,
	      ibv_alloc_parent_domain(w.context, &p));
	p.pd = w.pd;
	p.td = w.other_td;
	NULLS(alloc_parent_domain, EINVAL,
	      ibv_alloc_parent_domain(w.context, &p));
	p.td = NULL;
	p.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS; /* none there */
	NULLS(alloc_parent_domain, EINVAL,
	      ibv_alloc_parent_domain(w.context, &p));
	p.comp_mask = 1u << 31;
	NULLS(alloc_parent_domain, EOPNOTSUPP,
	      ibv_alloc_parent_domain(w.context, &p));
	GIVES(dealloc_td, EBUSY, ibv_dealloc_td(w.td));
	GIVES(dealloc_pd, EBUSY, ibv_dealloc_pd(w.pd));
	GIVES(dealloc_pd, EBUSY, ibv_dealloc_pd(w.parent));
	calls_by_itself("alloc_pd");	 /* no argument that could be wrong */
	calls_by_itself("free_context"); /* ibv_close_device() */
	NULLS(import_pd, EOPNOTSUPP, ibv_import_pd(w.context, 1));
	calls_by_itself("unimport_pd"); /* there is none to be given */
}

static void regions(void)
{
	const int wrong[] = { IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_ATOMIC,
			      1 << 15, INT32_MIN };
	struct ibv_dm foreign = { .context = w.other };
	struct ibv_sge sge = { (uintptr_t)w.buf, 64, w.mr->lkey };
	volatile int null = 0; /* else the macros register it by themselves */
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		volatile int access = wrong[i];

		NULLS(reg_mr, EINVAL, ibv_reg_mr(w.pd, w.buf, 4096, access));
		FAILS(rereg_mr, EINVAL,
		      ibv_rereg_mr(w.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL,
				   0, access));
	}
	NULLS(reg_mr, EFAULT, ibv_reg_mr(w.pd, (void *)4096, 4096, null));
	FAILS(rereg_mr, EINVAL,
	      ibv_rereg_mr(w.mr, IBV_REREG_MR_CHANGE_PD, w.other_pd, NULL, 0,
			   0));
	FAILS(rereg_mr, EINVAL, ibv_rereg_mr(w.mr, 1 << 10, NULL, NULL, 0, 0));
	calls_by_itself("dereg_mr");	  /* cannot be refused */
	calls_by_itself("alloc_null_mr"); /* no argument */
	NULLS(import_mr, EOPNOTSUPP, ibv_import_mr(w.pd, 1));
	calls_by_itself("unimport_mr");
	NULLS(reg_dmabuf_mr, EOPNOTSUPP,
	      ibv_reg_dmabuf_mr(w.pd, 0, 4096, 0, -1, null));
	NULLS(reg_dm_mr, EINVAL, ibv_reg_dm_mr(w.pd, w.other_dm, 0, 64, 0));
	NULLS(reg_dm_mr, EINVAL, ibv_reg_dm_mr(w.pd, &foreign, 0, 64, 0));
	NULLS(reg_dm_mr, EINVAL,
	      ibv_reg_dm_mr(w.pd, w.dm, 4096, 64, IBV_ACCESS_ZERO_BASED));
	NULLS(reg_dm_mr, EINVAL,
	      ibv_reg_dm_mr(w.pd, w.dm, UINT64_MAX, 64, IBV_ACCESS_ZERO_BASED));
	NULLS(reg_dm_mr, EINVAL,
	      ibv_reg_dm_mr(w.pd, w.dm, 0, SIZE_MAX, IBV_ACCESS_ZERO_BASED));
	/* ENOTSUP by its man page: the same number */
	GIVES(advise_mr, EOPNOTSUPP,
	      ibv_advise_mr(w.pd, (enum ibv_advise_mr_advice)99, 0, &sge, 1));
}

static void device_memory(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096, .comp_mask = 1 };
	struct ibv_mr *mr =
		ibv_reg_dm_mr(w.pd, w.dm, 0, 64, IBV_ACCESS_ZERO_BASED);

	NULLS(alloc_dm, EINVAL, ibv_alloc_dm(w.context, &attr));
	attr.comp_mask = 0;
	attr.length = 0;
	NULLS(alloc_dm, EINVAL, ibv_alloc_dm(w.context, &attr));
	attr.length = SIZE_MAX;
	NULLS(alloc_dm, ENOMEM, ibv_alloc_dm(w.context, &attr));
	NEEDS(mr);
	GIVES(free_dm, EBUSY, ibv_free_dm(w.dm));
	NEEDS(ibv_dereg_mr(mr) == 0);
	NULLS(import_dm, EOPNOTSUPP, ibv_import_dm(w.context, 1));
	calls_by_itself("unimport_dm");
}

/* ---- completion queues ----------------------------------------------------
 */

static void completion_queues(void)
{
	struct ibv_cq_init_attr_ex ex = { .cqe = 4 };
	struct ibv_modify_cq_attr mod = { .attr_mask = 1 };
	struct ibv_comp_channel no_channel = { .context = w.context, .fd = -1 };
	struct ibv_wc wc;
	int vectors = w.context->num_comp_vectors;

	NULLS(create_cq, EINVAL, ibv_create_cq(w.context, 0, NULL, NULL, 0));
	NULLS(create_cq, EINVAL,
	      ibv_create_cq(w.context, INT32_MIN, NULL, NULL, 0));
	NULLS(create_cq, EINVAL,
	      ibv_create_cq(w.context, w.limits.max_cqe + 1, NULL, NULL, 0));
	NULLS(create_cq, EINVAL, ibv_create_cq(w.context, 4, NULL, NULL, -1));
	NULLS(create_cq, EINVAL,
	      ibv_create_cq(w.context, 4, NULL, NULL, vectors));
	NULLS(create_cq, EINVAL,
	      ibv_create_cq(w.context, 4, NULL, &no_channel, 0));
	ex.comp_mask = 1u << 31;
	NULLS(create_cq_ex, EOPNOTSUPP, ibv_create_cq_ex(w.context, &ex));
	ex.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
	NULLS(create_cq_ex, EINVAL, ibv_create_cq_ex(w.context, &ex));
	ex.parent_domain = w.pd; /* no parent domain */
	NULLS(create_cq_ex, EINVAL, ibv_create_cq_ex(w.context, &ex));
	ex.parent_domain = w.parent; /* of the other */
	NULLS(create_cq_ex, EINVAL, ibv_create_cq_ex(w.other, &ex));
	ex.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	ex.flags = 1u << 31;
	NULLS(create_cq_ex, EOPNOTSUPP, ibv_create_cq_ex(w.context, &ex));
	ex.comp_mask = 0;
	ex.wc_flags = 1ull << 63;
	NULLS(create_cq_ex, EOPNOTSUPP, ibv_create_cq_ex(w.context, &ex));
	GIVES(resize_cq, EINVAL, ibv_resize_cq(w.cq, 0));
	GIVES(resize_cq, EINVAL, ibv_resize_cq(w.cq, -1));
	GIVES(resize_cq, EINVAL, ibv_resize_cq(w.cq, w.limits.max_cqe + 1));
	GIVES(modify_cq, EOPNOTSUPP, ibv_modify_cq(w.cq, &mod));
	GIVES(poll_cq, -1, ibv_poll_cq(w.cq, -1, &wc));
	GIVES(poll_cq, 0, ibv_poll_cq(w.cq, 0, NULL));
	GIVES(destroy_cq, EBUSY, ibv_destroy_cq(w.cq));
	calls_by_itself("req_notify_cq"); /* cannot be refused */
	calls_by_itself("cq_event");
	calls_by_itself("async_event");
}

/* ---- shared receive queues ------------------------------------------------
 */

static void shared_receive_queues(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 0 } };
	struct ibv_srq_init_attr_ex ex = { .attr = { .max_wr = 4 } };
	struct ibv_srq_attr mod = { .max_wr = 8, .srq_limit = 100 };
	struct ibv_sge sge[2] = { { 0 } };
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = 2 }, *bad = NULL;
	struct ibv_ops_wr ops = { .opcode = IBV_WR_TAG_SYNC }, *bad_ops = NULL;
	uint32_t num;

	NULLS(create_srq, EINVAL, ibv_create_srq(w.pd, &init));
	init.attr.max_wr = (uint32_t)w.limits.max_srq_wr + 1;
	NULLS(create_srq, EINVAL, ibv_create_srq(w.pd, &init));
	init.attr.max_wr = 4;
	init.attr.max_sge = (uint32_t)w.limits.max_srq_sge + 1;
	NULLS(create_srq, EINVAL, ibv_create_srq(w.pd, &init));
	NULLS(create_srq_ex, EINVAL, ibv_create_srq_ex(w.context, &ex));
	/* A foreign PD: to the library it is ibv_create_srq() on that PD. */
	ex.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE;
	ex.pd = w.pd;
	ex.srq_type = IBV_SRQT_XRC;
	NULLS(create_srq_ex, EOPNOTSUPP, ibv_create_srq_ex(w.context, &ex));
	ex.srq_type = IBV_SRQT_TM;
	NULLS(create_srq_ex, EOPNOTSUPP, ibv_create_srq_ex(w.context, &ex));
	ex.srq_type = IBV_SRQT_BASIC;
	ex.comp_mask |= 1u << 31;
	NULLS(create_srq_ex, EOPNOTSUPP, ibv_create_srq_ex(w.context, &ex));
	GIVES(modify_srq, EINVAL, ibv_modify_srq(w.srq, &mod, 1 << 30));
	GIVES(modify_srq, EINVAL, ibv_modify_srq(w.srq, &mod, IBV_SRQ_LIMIT));
	GIVES(modify_srq, EINVAL,
	      ibv_modify_srq(w.srq, &mod, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT));
	GIVES(post_srq_recv, EINVAL, ibv_post_srq_recv(w.srq, &wr, &bad));
	GIVES(post_srq_recv, 1, bad == &wr);
	wr.num_sge = -1;
	GIVES(post_srq_recv, EINVAL, ibv_post_srq_recv(w.srq, &wr, &bad));
	GIVES(post_srq_ops, EOPNOTSUPP,
	      ibv_post_srq_ops(w.srq, &ops, &bad_ops));
	GIVES(post_srq_ops, 1, bad_ops == &ops);
	GIVES(get_srq_num, EOPNOTSUPP, ibv_get_srq_num(w.srq, &num));
	calls_by_itself("query_srq");
}

/* SRQ and QP may have different PDs, and the SRQ ends after the QP. */
static void srq_in_use(void)
{
	struct ibv_srq *srq = srq_open(w.pd2);
	struct ibv_qp_init_attr attr = qp_attr(w.cq);
	struct ibv_qp *qp;

	NEEDS(srq);
	attr.srq = srq;
	qp = ibv_create_qp(w.pd, &attr);
	NEEDS(qp);
	GIVES(destroy_srq, EBUSY, ibv_destroy_srq(srq));
	NEEDS(ibv_destroy_qp(qp) == 0);
	NEEDS(ibv_destroy_srq(srq) == 0);
}

/* ---- queue pairs ----------------------------------------------------------
 */

static void qp_creation(void)
{
	static const int types[] = { 0,
				     IBV_QPT_UC,
				     IBV_QPT_UD,
				     IBV_QPT_RAW_PACKET,
				     IBV_QPT_XRC_SEND,
				     IBV_QPT_XRC_RECV,
				     IBV_QPT_DRIVER };
	struct ibv_qp_init_attr_ex ex;
	struct ibv_qp_init_attr attr;
	uint32_t bit;
	size_t i;

#define WRONG(want, field, value)                                              \
	do {                                                                   \
		attr = qp_attr(w.cq);                                          \
		attr.field = (value);                                          \
		NULLS(create_qp, want, ibv_create_qp(w.pd, &attr));            \
		memset(&ex, 0, sizeof(ex));                                    \
		memcpy(&ex, &attr, sizeof(attr));                              \
		ex.comp_mask = IBV_QP_INIT_ATTR_PD |                           \
			       IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;                \
		ex.pd = w.pd;                                                  \
		NULLS(create_qp_ex, want, ibv_create_qp_ex(w.context, &ex));   \
	} while (0)
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		WRONG(EOPNOTSUPP, qp_type, (enum ibv_qp_type)types[i]);
	WRONG(EINVAL, send_cq, NULL);
	WRONG(EINVAL, recv_cq, NULL);
	WRONG(EINVAL, send_cq, w.other_cq);
	WRONG(EINVAL, recv_cq, w.other_cq);
	WRONG(EINVAL, srq, w.other_srq);
	WRONG(EINVAL, cap.max_send_wr, (uint32_t)w.limits.max_qp_wr + 1);
	WRONG(EINVAL, cap.max_recv_wr, (uint32_t)w.limits.max_qp_wr + 1);
	WRONG(EINVAL, cap.max_send_sge, (uint32_t)w.limits.max_sge + 1);
	WRONG(EINVAL, cap.max_recv_sge, (uint32_t)w.limits.max_sge + 1);
	WRONG(EINVAL, cap.max_inline_data, UINT32_MAX);
#undef WRONG
	attr = qp_attr(w.cq);
	memset(&ex, 0, sizeof(ex));
	memcpy(&ex, &attr, sizeof(attr));
	NULLS(create_qp_ex, EINVAL, ibv_create_qp_ex(w.context, &ex));
	ex.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	NULLS(create_qp_ex, EINVAL, ibv_create_qp_ex(w.context, &ex));
	ex.pd = w.other_pd;
	NULLS(create_qp_ex, EINVAL, ibv_create_qp_ex(w.context, &ex));
	ex.pd = w.pd;
	ex.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_TSO;
	NULLS(create_qp_ex, EOPNOTSUPP, ibv_create_qp_ex(w.context, &ex));
	for (bit = IBV_QP_INIT_ATTR_XRCD; bit; bit <<= 1) {
		if (bit == IBV_QP_INIT_ATTR_CREATE_FLAGS ||
		    bit == IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
			continue;
		ex.comp_mask = IBV_QP_INIT_ATTR_PD | bit;
		NULLS(create_qp_ex, EOPNOTSUPP,
		      ibv_create_qp_ex(w.context, &ex));
	}
	ex.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	ex.create_flags = IBV_QP_CREATE_SOURCE_QPN;
	NULLS(create_qp_ex, EOPNOTSUPP, ibv_create_qp_ex(w.context, &ex));
}

static void qp_use(void)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send = NULL;
	struct ibv_sge sge[3] = { { 0 } };
	struct ibv_recv_wr recv = { .sg_list = sge, .num_sge = 3 };
	struct ibv_recv_wr *bad_recv = NULL;
	struct ibv_qp_attr mod = { .qp_state = IBV_QPS_RTS };
	struct ibv_qp_rate_limit_attr rate = { .rate_limit = 1 };
	struct ibv_ece ece = { 0 };
	union ibv_gid gid = { .raw = { 0xff } };
	int op;

	GIVES(post_send, EINVAL, ibv_post_send(w.qp, &send, &bad_send));
	GIVES(post_send, 1, bad_send == &send);
	GIVES(post_recv, EINVAL, ibv_post_recv(w.qp, &recv, &bad_recv));
	GIVES(post_recv, 1, bad_recv == &recv);
	GIVES(modify_qp, EINVAL, ibv_modify_qp(w.qp, &mod, IBV_QP_STATE));
	mod.qp_state = IBV_QPS_SQE;
	GIVES(modify_qp, EINVAL, ibv_modify_qp(w.qp, &mod, IBV_QP_STATE));
	mod.qp_state = (enum ibv_qp_state)99;
	GIVES(modify_qp, EINVAL, ibv_modify_qp(w.qp, &mod, IBV_QP_STATE));
	mod.qp_state = IBV_QPS_INIT;
	mod.port_num = 2;
	GIVES(modify_qp, EINVAL,
	      ibv_modify_qp(w.qp, &mod, IBV_QP_STATE | IBV_QP_PORT));
	GIVES(modify_qp, EINVAL, ibv_modify_qp(w.qp, &mod, 1 << 30));
	GIVES(modify_qp, EOPNOTSUPP, ibv_modify_qp(w.qp, &mod, IBV_QP_CAP));
	GIVES(modify_qp_rate_limit, EOPNOTSUPP,
	      ibv_modify_qp_rate_limit(w.qp, &rate));
	GIVES(query_ece, EOPNOTSUPP, ibv_query_ece(w.qp, &ece));
	GIVES(set_ece, EOPNOTSUPP, ibv_set_ece(w.qp, &ece));
	GIVES(attach_mcast, EOPNOTSUPP, ibv_attach_mcast(w.qp, &gid, 0));
	GIVES(detach_mcast, EOPNOTSUPP, ibv_detach_mcast(w.qp, &gid, 0));
	/* TCP hands octets over as the kernel pleases: never a promise */
	for (op = -1; op < 17; op++)
		GIVES(query_qp_data_in_order, 0,
		      ibv_query_qp_data_in_order(w.qp, (enum ibv_wr_opcode)op,
						 0));
	calls_by_itself("query_qp"); /* by picture_take() */
	calls_by_itself("destroy_qp");
}

/* ---- what an RC device has not --------------------------------------------
 */

static void other_objects(void)
{
	struct ibv_ah_attr ah_attr = { .port_num = 1 };
	struct ibv_ah ah = { .context = w.context, .pd = w.pd };
	struct ibv_xrcd_init_attr xrcd_attr = { .fd = -1, .oflags = O_CREAT };
	struct ibv_xrcd xrcd = { .context = w.context };
	struct ibv_qp_open_attr open_attr = { .qp_num = 1 };
	struct ibv_wq_init_attr wq_attr = { .pd = w.pd, .cq = w.cq };
	struct ibv_wq_attr wq_mod = { 0 };
	struct ibv_wq wq = { .context = w.context, .pd = w.pd };
	struct ibv_rwq_ind_table_init_attr table_attr = { 0 };
	struct ibv_rwq_ind_table table = { .context = w.context };
	struct ibv_flow_attr flow_attr = { .port = 1 };
	struct ibv_flow flow = { .context = w.context };
	struct ibv_flow_action_esp_attr esp = { 0 };
	struct ibv_flow_action action = { .context = w.context };

	NULLS(create_ah, EOPNOTSUPP, ibv_create_ah(w.pd, &ah_attr));
	GIVES(destroy_ah, EOPNOTSUPP, ibv_destroy_ah(&ah));
	NULLS(open_xrcd, EOPNOTSUPP, ibv_open_xrcd(w.context, &xrcd_attr));
	GIVES(close_xrcd, EOPNOTSUPP, ibv_close_xrcd(&xrcd));
	NULLS(open_qp, EOPNOTSUPP, ibv_open_qp(w.context, &open_attr));
	NULLS(create_wq, EOPNOTSUPP, ibv_create_wq(w.context, &wq_attr));
	GIVES(modify_wq, EOPNOTSUPP, ibv_modify_wq(&wq, &wq_mod));
	GIVES(destroy_wq, EOPNOTSUPP, ibv_destroy_wq(&wq));
	NULLS(create_rwq_ind_table, EOPNOTSUPP,
	      ibv_create_rwq_ind_table(w.context, &table_attr));
	GIVES(destroy_rwq_ind_table, EOPNOTSUPP,
	      ibv_destroy_rwq_ind_table(&table));
	NULLS(create_flow, EOPNOTSUPP, ibv_create_flow(w.qp, &flow_attr));
	GIVES(destroy_flow, EOPNOTSUPP, ibv_destroy_flow(&flow));
	NULLS(create_flow_action_esp, EOPNOTSUPP,
	      ibv_create_flow_action_esp(w.context, &esp));
	GIVES(modify_flow_action_esp, EOPNOTSUPP,
	      ibv_modify_flow_action_esp(&action, &esp));
	GIVES(destroy_flow_action, EOPNOTSUPP,
	      ibv_destroy_flow_action(&action));
}

static void counters_and_clocks(void)
{
	struct ibv_counters_init_attr attr = { 0 };
	struct ibv_counter_attach_attr attach = { 0 };
	struct ibv_counters counters = { .context = w.context };
	struct ibv_flow flow = { .context = w.context };
	struct ibv_values_ex values = { .comp_mask = 1u << 31 };
	struct ibv_query_device_ex_input input = { .comp_mask = 1 };
	struct ibv_device_attr_ex device;
	struct ibv_port_attr port;
	uint64_t value;

	NULLS(create_counters, EOPNOTSUPP,
	      ibv_create_counters(w.context, &attr));
	GIVES(attach_counters_point_flow, EOPNOTSUPP,
	      ibv_attach_counters_point_flow(&counters, &attach, &flow));
	GIVES(read_counters, EOPNOTSUPP,
	      ibv_read_counters(&counters, &value, 1, 0));
	GIVES(destroy_counters, EOPNOTSUPP, ibv_destroy_counters(&counters));
	/* what was not answered is taken out of the mask */
	GIVES(query_rt_values, 0, ibv_query_rt_values_ex(w.context, &values));
	GIVES(query_rt_values, 0, values.comp_mask);
	GIVES(query_device_ex, EINVAL,
	      ibv_query_device_ex(w.context, &input, &device));
	GIVES(query_port, EINVAL, ibv_query_port(w.context, 0, &port));
	GIVES(query_port, EINVAL, ibv_query_port(w.context, 2, &port));
	GIVES(query_port, EINVAL, ibv_query_port(w.context, 255, &port));
}

static void windows(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(w.pd, IBV_MW_TYPE_1);
	struct ibv_mw none = { .context = w.context,
			       .pd = w.pd,
			       .type = IBV_MW_TYPE_1 };
	struct ibv_mw_bind bind = { .bind_info = { .mr = w.mr } };

	if (!mw) { /* a build without: all three refuse */
		NULLS(alloc_mw, EOPNOTSUPP, ibv_alloc_mw(w.pd, IBV_MW_TYPE_1));
		GIVES(bind_mw, EOPNOTSUPP, ibv_bind_mw(w.qp, &none, &bind));
		GIVES(dealloc_mw, EOPNOTSUPP, ibv_dealloc_mw(&none));
		return;
	}
	NULLS(alloc_mw, EINVAL, ibv_alloc_mw(w.pd, (enum ibv_mw_type)99));
	bind.bind_info.length = 64;
	bind.bind_info.addr = (uintptr_t)w.buf;
	GIVES(bind_mw, EINVAL,
	      ibv_bind_mw(w.qp, mw, &bind)); /* not connected */
	GIVES(dealloc_mw, 0, ibv_dealloc_mw(mw));
}

/* ---- the end --------------------------------------------------------------
 */

/* Whatever a failed call had kept would be in the way of one of these. */
static void world_close(void)
{
	NEEDS(ibv_destroy_comp_channel(w.channel) == EBUSY);
	NEEDS(ibv_destroy_qp(w.qp) == 0);
	NEEDS(ibv_destroy_qp(w.other_qp) == 0);
	NEEDS(ibv_destroy_srq(w.srq) == 0);
	NEEDS(ibv_destroy_srq(w.other_srq) == 0);
	NEEDS(ibv_destroy_cq(w.cq) == 0);
	NEEDS(ibv_destroy_cq(w.other_cq) == 0);
	NEEDS(ibv_destroy_cq(ibv_cq_ex_to_cq(w.cq_ex)) == 0);
	NEEDS(ibv_destroy_comp_channel(w.channel) == 0);
	NEEDS(ibv_dereg_mr(w.mr) == 0);
	NEEDS(ibv_free_dm(w.dm) == 0);
	NEEDS(ibv_free_dm(w.other_dm) == 0);
	NEEDS(ibv_dealloc_pd(w.parent) == 0);
	NEEDS(ibv_dealloc_td(w.td) == 0);
	NEEDS(ibv_dealloc_td(w.other_td) == 0);
	NEEDS(ibv_dealloc_pd(w.pd) == 0);
	NEEDS(ibv_dealloc_pd(w.pd2) == 0);
	NEEDS(ibv_dealloc_pd(w.other_pd) == 0);
	NEEDS(ibv_close_device(w.context) == 0);
	NEEDS(ibv_close_device(w.other) == 0);
	free(w.buf);
}

int main(int argc, char **argv)
{
	size_t i;

	world_open(argc > 1 ? argv[1] : "usiw_lo");
	domains();
	regions();
	device_memory();
	completion_queues();
	shared_receive_queues();
	srq_in_use();
	qp_creation();
	qp_use();
	other_objects();
	counters_and_clocks();
	windows();
	world_close();
	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!verbs[i].is_called) {
			failure_cnt++;
			printf("%s: never called\n", verbs[i].name);
		}
	printf("%u checks of %zu verbs, %u failures\n", check_cnt,
	       sizeof(verbs) / sizeof(verbs[0]), failure_cnt);
	return failure_cnt != 0;
}

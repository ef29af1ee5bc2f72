/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Wrong arguments to the verbs of a usiw device, through stock libibverbs and
 * librdmacm: each must answer the errno that its man page says, and leave
 * everything as it was.  Runs under `usiw run`, alone, and connects to itself.
 *
 * usage: apps-verbs-errno [device]
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "needs.h"

static unsigned int check_cnt, failure_cnt;

static void note(bool is_right, int line, const char *what, long got, long want)
{
	check_cnt++;
	if (is_right)
		return;
	failure_cnt++;
	printf("line %d: %s: got %ld (%s), want %ld (%s)\n", line, what, got,
	       strerror((int)got), want, strerror((int)want));
}

/* Verbs that return the value of errno, or 0. */
#define GIVES(want, call)                                                      \
	do {                                                                   \
		long got_ = (call);                                            \
		note(got_ == (want), __LINE__, #call, got_, want);             \
	} while (0)

/* Verbs that return NULL and set errno. */
#define NULLS(want, call)                                                      \
	do {                                                                   \
		errno = 0;                                                     \
		bool is_null_ = !(call);                                       \
		note(is_null_ &&errno == (want), __LINE__, #call, errno,       \
		     want);                                                    \
	} while (0)

#define HOLDS(what) note((what), __LINE__, #what, 0, 0)

struct world {
	struct ibv_context *context;
	struct ibv_device_attr limits;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	char *buf;
	size_t buf_len;
};

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
	return context;
}

static void check_device(struct world *w)
{
	struct ibv_port_attr port;
	union ibv_gid gid;
	int i;

	GIVES(0, ibv_query_device(w->context, &w->limits));
	HOLDS(w->limits.node_guid != 0 && w->limits.vendor_id != 0);
	HOLDS(w->limits.max_qp > 0 && w->limits.max_cq > 0);
	HOLDS(w->limits.max_mr > 0 && w->limits.max_pd > 0);
	HOLDS(w->limits.max_qp_wr > 0 && w->limits.max_cqe > 0);
	HOLDS(w->limits.phys_port_cnt == 1);
	GIVES(EINVAL, ibv_query_port(w->context, 0, &port));
	GIVES(EINVAL, ibv_query_port(w->context, 2, &port));
	GIVES(EINVAL, ibv_query_port(w->context, 255, &port));
	GIVES(0, ibv_query_port(w->context, 1, &port));
	HOLDS(port.state == IBV_PORT_ACTIVE);
	HOLDS(port.max_msg_sz > 0x1000 && port.gid_tbl_len >= 1);
	for (i = 0; i < port.gid_tbl_len; i++)
		GIVES(0, ibv_query_gid(w->context, 1, i, &gid));
	HOLDS(ibv_query_gid(w->context, 1, 1 << 20, &gid) != 0);
}

/* @wrong: two pages that may be read only. */
static void check_advice(struct world *w, char *wrong)
{
	const enum ibv_advise_mr_advice prefetch =
		IBV_ADVISE_MR_ADVICE_PREFETCH;
	const enum ibv_advise_mr_advice prefetch_write =
		IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	struct ibv_pd *pd = ibv_alloc_pd(w->context);
	struct ibv_mr *all, *mr;
	struct ibv_sge sge = { .addr = (uintptr_t)wrong, .length = 8192 };

	all = ibv_reg_mr(w->pd, NULL, SIZE_MAX,
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND);
	mr = ibv_reg_mr(w->pd, wrong, 8192, IBV_ACCESS_ON_DEMAND);
	NEEDS(pd && all && mr);
	sge.lkey = all->lkey;
	GIVES(0, ibv_advise_mr(w->pd, prefetch, 0, &sge, 1));
	GIVES(0, ibv_advise_mr(w->pd, prefetch, IBV_ADVISE_MR_FLAG_FLUSH, &sge,
			       1));
	GIVES(EFAULT, ibv_advise_mr(w->pd, prefetch_write, 0, &sge, 1));
	GIVES(EINVAL, ibv_advise_mr(w->pd, prefetch, 0, &sge, 0));
	GIVES(EINVAL, ibv_advise_mr(w->pd, prefetch, 1u << 9, &sge, 1));
	GIVES(EOPNOTSUPP,
	      ibv_advise_mr(w->pd, (enum ibv_advise_mr_advice)77, 0, &sge, 1));
	GIVES(EPERM, ibv_advise_mr(pd, prefetch, 0, &sge, 1));
	sge.addr = 64;
	GIVES(EFAULT, ibv_advise_mr(w->pd, prefetch, 0, &sge, 1));
	GIVES(0, ibv_advise_mr(w->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0,
			       &sge, 1));
	sge.addr = (uintptr_t)wrong;
	sge.lkey = mr->lkey;
	GIVES(0, ibv_advise_mr(w->pd, prefetch, 0, &sge, 1));
	GIVES(EPERM, ibv_advise_mr(w->pd, prefetch_write, 0, &sge, 1));
	sge.length++;
	GIVES(EFAULT, ibv_advise_mr(w->pd, prefetch, 0, &sge, 1));
	sge.lkey ^= 1;
	GIVES(EFAULT, ibv_advise_mr(w->pd, prefetch, 0, &sge, 1));
	sge.addr = (uintptr_t)w->buf;
	sge.length = 8;
	sge.lkey = w->mr->lkey;
	GIVES(ENOENT, ibv_advise_mr(w->pd, prefetch, 0, &sge, 1));
	GIVES(0, ibv_dereg_mr(all));
	GIVES(0, ibv_dereg_mr(mr));
	GIVES(0, ibv_dealloc_pd(pd));
}

static void check_memory(struct world *w)
{
	const int remote = IBV_ACCESS_REMOTE_WRITE;
	const int rw = IBV_ACCESS_LOCAL_WRITE;
	char *wrong =
		mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	NEEDS(wrong != MAP_FAILED);
	NULLS(EINVAL, ibv_reg_mr(w->pd, w->buf, w->buf_len, remote));
	NULLS(EINVAL,
	      ibv_reg_mr(w->pd, w->buf, w->buf_len, IBV_ACCESS_REMOTE_ATOMIC));
	NULLS(EINVAL, ibv_reg_mr(w->pd, w->buf, w->buf_len, 1 << 15));
	/* not looked at before it is accessed */
	mr = ibv_reg_mr(w->pd, wrong, 1 << 20, rw | IBV_ACCESS_ON_DEMAND);
	HOLDS(mr != NULL);
	if (mr)
		GIVES(0, ibv_dereg_mr(mr));
	NULLS(EINVAL, ibv_reg_mr(w->pd, NULL, SIZE_MAX, rw));
	NULLS(EINVAL, ibv_reg_mr_iova(w->pd, NULL, SIZE_MAX, 4096,
				      IBV_ACCESS_ON_DEMAND));
	check_advice(w, wrong);
	/* readable only: may not be registered for writing */
	NULLS(EFAULT, ibv_reg_mr(w->pd, wrong, 8192, rw));
	mr = ibv_reg_mr(w->pd, wrong, 8192, 0);
	HOLDS(mr != NULL);
	if (mr)
		GIVES(0, ibv_dereg_mr(mr));
	NEEDS(munmap(wrong + 4096, 4096) == 0);
	NULLS(EFAULT, ibv_reg_mr(w->pd, wrong, 8192, 0));
	NEEDS(munmap(wrong, 4096) == 0);
	/* wraps around the end of the address space */
	HOLDS(!ibv_reg_mr(w->pd, (void *)(uintptr_t)-4096, 8192, 0));
	NULLS(EINVAL, ibv_alloc_mw(w->pd, (enum ibv_mw_type)3));
	GIVES(EBUSY, ibv_dealloc_pd(w->pd)); /* w->mr is in it */
}

/* What rereg answers is no errno; the reason is in errno. */
#define REREGS(want, why, call)                                                \
	do {                                                                   \
		errno = 0;                                                     \
		long got_ = (call);                                            \
		note(got_ == (want) && errno == (why), __LINE__, #call, got_,  \
		     want);                                                    \
	} while (0)

static void check_rereg(struct world *w)
{
	const int translation = IBV_REREG_MR_CHANGE_TRANSLATION;
	const int access = IBV_REREG_MR_CHANGE_ACCESS;
	const int pd = IBV_REREG_MR_CHANGE_PD;
	struct ibv_context *other = ibv_open_device(w->context->device);
	struct ibv_pd *second = ibv_alloc_pd(w->context);
	struct ibv_mr *mr = ibv_reg_mr(w->pd, w->buf, w->buf_len, 1);
	struct ibv_pd *foreign;

	NEEDS(other && second && mr);
	foreign = ibv_alloc_pd(other);
	NEEDS(foreign);
	REREGS(IBV_REREG_MR_ERR_INPUT, EINVAL,
	       ibv_rereg_mr(mr, 8, w->pd, w->buf, 1, 0));
	REREGS(IBV_REREG_MR_ERR_INPUT, EINVAL,
	       ibv_rereg_mr(mr, translation, w->pd, NULL, 1, 0));
	REREGS(IBV_REREG_MR_ERR_INPUT, EINVAL,
	       ibv_rereg_mr(mr, translation, w->pd, w->buf, 0, 0));
	REREGS(IBV_REREG_MR_ERR_CMD, EINVAL,
	       ibv_rereg_mr(mr, 0, w->pd, w->buf, 1, 0));
	REREGS(IBV_REREG_MR_ERR_CMD, EINVAL,
	       ibv_rereg_mr(mr, access, w->pd, NULL, 0,
			    IBV_ACCESS_REMOTE_WRITE));
	REREGS(IBV_REREG_MR_ERR_CMD, EINVAL,
	       ibv_rereg_mr(mr, pd, NULL, NULL, 0, 0));
	REREGS(IBV_REREG_MR_ERR_CMD, EINVAL,
	       ibv_rereg_mr(mr, pd, foreign, NULL, 0, 0));
	REREGS(IBV_REREG_MR_ERR_CMD, EFAULT,
	       ibv_rereg_mr(mr, translation, w->pd, (void *)(uintptr_t)4096, 64,
			    0));
	/* none of which has hurt it */
	GIVES(0, ibv_rereg_mr(mr, access, w->pd, NULL, 0, 5));
	GIVES(0, ibv_rereg_mr(mr, translation, w->pd, w->buf, 1, 0));
	GIVES(0, ibv_rereg_mr(mr, pd, second, NULL, 0, 0));
	HOLDS(mr->pd == second && mr->length == 1);
	GIVES(EBUSY, ibv_dealloc_pd(second));
	GIVES(0, ibv_dereg_mr(mr));
	GIVES(0, ibv_dealloc_pd(second));
	GIVES(0, ibv_dealloc_pd(foreign));
	GIVES(0, ibv_close_device(other));
}

static void check_device_memory(struct world *w)
{
	const unsigned int zero = IBV_ACCESS_ZERO_BASED;
	struct ibv_alloc_dm_attr attr = { .length = 128 };
	struct ibv_device_attr_ex ex;
	char octets[128] = "";
	struct ibv_dm *dm;
	struct ibv_mr *mr;

	GIVES(0, ibv_query_device_ex(w->context, NULL, &ex));
	HOLDS(ex.max_dm_size >= 4096);
	dm = ibv_alloc_dm(w->context, &attr);
	NEEDS(dm);
	GIVES(0, ibv_memcpy_to_dm(dm, 0, octets, 128));
	GIVES(EFAULT, ibv_memcpy_to_dm(dm, 4, octets, 128));
	GIVES(EFAULT, ibv_memcpy_from_dm(octets, dm, UINT64_MAX - 3, 8));
	GIVES(EINVAL, ibv_memcpy_from_dm(octets, dm, 1, 4));
	NULLS(EINVAL, ibv_reg_dm_mr(w->pd, dm, 0, 128, 1));
	NULLS(EINVAL, ibv_reg_dm_mr(w->pd, dm, 1, 128, zero));
	mr = ibv_reg_dm_mr(w->pd, dm, 1, 127, zero);
	NEEDS(mr);
	GIVES(EBUSY, ibv_free_dm(dm));
	GIVES(0, ibv_dereg_mr(mr));
	GIVES(0, ibv_free_dm(dm));
	attr.length = 0;
	NULLS(EINVAL, ibv_alloc_dm(w->context, &attr));
	attr.length = ex.max_dm_size + 1;
	NULLS(ENOMEM, ibv_alloc_dm(w->context, &attr));
	attr.length = 128;
	attr.comp_mask = 1;
	NULLS(EINVAL, ibv_alloc_dm(w->context, &attr));
}

/* What one process cannot hand to another says so, and does no harm. */
static void check_import(struct world *w)
{
	int null = open("/dev/null", O_RDWR);

	NULLS(EOPNOTSUPP, ibv_import_device(w->context->cmd_fd));
	NULLS(EINVAL, ibv_import_device(-1));
	HOLDS(!ibv_import_device(null));
	NULLS(EOPNOTSUPP, ibv_import_pd(w->context, w->pd->handle));
	NULLS(EOPNOTSUPP, ibv_import_mr(w->pd, w->mr->handle));
	NULLS(EOPNOTSUPP, ibv_import_dm(w->context, 1));
	NULLS(EOPNOTSUPP, ibv_reg_dmabuf_mr(w->pd, 0, 4096, 0, null, 1));
	close(null);
}

static void check_cq_ex(struct world *w)
{
	struct ibv_cq_init_attr_ex ex = { .cqe = 4 };
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_values_ex values = { .comp_mask =
						IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(w->context, &ex);

	NEEDS(cq);
	HOLDS(cq->cqe >= 4);
	GIVES(ENOENT, ibv_start_poll(cq, &attr));
	GIVES(0, ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	ex.wc_flags = IBV_WC_EX_WITH_CVLAN;
	NULLS(EOPNOTSUPP, ibv_create_cq_ex(w->context, &ex));
	ex.wc_flags = 0;
	ex.comp_vector = (uint32_t)w->context->num_comp_vectors;
	NULLS(EINVAL, ibv_create_cq_ex(w->context, &ex));
	ex.comp_vector = 0;
	ex.cqe = (uint32_t)w->limits.max_cqe + 1;
	NULLS(EINVAL, ibv_create_cq_ex(w->context, &ex));
	ex.cqe = 4;
	ex.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
	ex.parent_domain = w->pd; /* not a parent domain */
	NULLS(EINVAL, ibv_create_cq_ex(w->context, &ex));
	GIVES(0, ibv_query_rt_values_ex(w->context, &values));
	HOLDS(values.comp_mask == IBV_VALUES_MASK_RAW_CLOCK);
}

static void check_cq(struct world *w)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(w->context);
	struct ibv_wc wc;
	struct ibv_cq *cq;

	NEEDS(channel);
	NULLS(EINVAL, ibv_create_cq(w->context, 0, NULL, NULL, 0));
	NULLS(EINVAL, ibv_create_cq(w->context, -1, NULL, NULL, 0));
	NULLS(EINVAL,
	      ibv_create_cq(w->context, w->limits.max_cqe + 1, NULL, NULL, 0));
	NULLS(EINVAL, ibv_create_cq(w->context, 4, NULL, NULL, -1));
	NULLS(EINVAL, ibv_create_cq(w->context, 4, NULL, NULL,
				    w->context->num_comp_vectors));
	check_cq_ex(w);
	cq = ibv_create_cq(w->context, 4, NULL, channel, 0);
	NEEDS(cq);
	HOLDS(cq->cqe >= 4);
	GIVES(EBUSY, ibv_destroy_comp_channel(channel));
	GIVES(0, ibv_req_notify_cq(cq, 0));
	GIVES(0, ibv_poll_cq(cq, 1, &wc));
	HOLDS(ibv_poll_cq(cq, -1, &wc) < 0);
	GIVES(0, ibv_resize_cq(cq, 8));
	HOLDS(cq->cqe >= 8);
	GIVES(EINVAL, ibv_resize_cq(cq, 0));
	GIVES(EINVAL, ibv_resize_cq(cq, -1));
	GIVES(EINVAL, ibv_resize_cq(cq, w->limits.max_cqe + 1));
	HOLDS(cq->cqe >= 8);
	GIVES(0, ibv_destroy_cq(cq));
	GIVES(0, ibv_destroy_comp_channel(channel));
}

static struct ibv_qp_init_attr qp_attr(const struct world *w)
{
	return (struct ibv_qp_init_attr){
		.send_cq = w->cq,
		.recv_cq = w->cq,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 2,
			 .max_recv_sge = 2,
			 .max_inline_data = 32 },
		.qp_type = IBV_QPT_RC,
	};
}

static void check_qp_creation(struct world *w)
{
	struct ibv_qp_init_attr attr;

#define WRONG(want, field, value)                                              \
	do {                                                                   \
		attr = qp_attr(w);                                             \
		attr.field = (value);                                          \
		NULLS(want, ibv_create_qp(w->pd, &attr));                      \
	} while (0)
	WRONG(EOPNOTSUPP, qp_type, IBV_QPT_UD);
	WRONG(EOPNOTSUPP, qp_type, IBV_QPT_UC);
	WRONG(EOPNOTSUPP, qp_type, IBV_QPT_RAW_PACKET);
	WRONG(EINVAL, send_cq, NULL);
	WRONG(EINVAL, recv_cq, NULL);
	WRONG(EINVAL, cap.max_send_wr, (uint32_t)w->limits.max_qp_wr + 1);
	WRONG(EINVAL, cap.max_recv_wr, (uint32_t)w->limits.max_qp_wr + 1);
	WRONG(EINVAL, cap.max_send_sge, (uint32_t)w->limits.max_sge + 1);
	WRONG(EINVAL, cap.max_recv_sge, (uint32_t)w->limits.max_sge + 1);
	WRONG(EINVAL, cap.max_inline_data, 1u << 30);
#undef WRONG
}

static void check_qp_idle(struct world *w)
{
	struct ibv_qp_init_attr attr = qp_attr(w);
	struct ibv_qp *qp = ibv_create_qp(w->pd, &attr);
	struct ibv_sge sge[3] = { { .length = 0 } };
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send = NULL;
	struct ibv_recv_wr recv = { .sg_list = sge, .num_sge = 3 };
	struct ibv_recv_wr *bad_recv = NULL;
	struct ibv_qp_attr mod = { .qp_state = IBV_QPS_RTS };
	struct ibv_qp_init_attr init;

	NEEDS(qp);
	HOLDS(qp->state == IBV_QPS_RESET);
	GIVES(0, ibv_query_qp(qp, &mod, IBV_QP_STATE, &init));
	HOLDS(mod.qp_state == IBV_QPS_INIT);
	HOLDS(init.cap.max_send_wr >= 16 && init.cap.max_inline_data >= 32);
	GIVES(EINVAL, ibv_post_send(qp, &send, &bad_send));
	HOLDS(bad_send == &send);
	recv.num_sge = (int)init.cap.max_recv_sge + 1;
	GIVES(EINVAL, ibv_post_recv(qp, &recv, &bad_recv));
	HOLDS(bad_recv == &recv);
	mod.qp_state = IBV_QPS_RTS;
	GIVES(EINVAL, ibv_modify_qp(qp, &mod, IBV_QP_STATE));
	mod.qp_state = IBV_QPS_SQE;
	GIVES(EINVAL, ibv_modify_qp(qp, &mod, IBV_QP_STATE));
	mod.qp_state = IBV_QPS_INIT;
	mod.cur_qp_state = IBV_QPS_RTS;
	GIVES(EINVAL, ibv_modify_qp(qp, &mod, IBV_QP_STATE | IBV_QP_CUR_STATE));
	mod.port_num = 2;
	GIVES(EINVAL, ibv_modify_qp(qp, &mod, IBV_QP_PORT));
	GIVES(EINVAL, ibv_modify_qp(qp, &mod, 1 << 30));
	mod.qp_state = IBV_QPS_RTR;
	/* half of what a peer takes */
	GIVES(EINVAL,
	      ibv_modify_qp(qp, &mod,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN));
	GIVES(EBUSY, ibv_destroy_cq(w->cq)); /* the QP uses it */
	/* into the error state: what is posted comes back flushed */
	mod.qp_state = IBV_QPS_ERR;
	GIVES(0, ibv_modify_qp(qp, &mod, IBV_QP_STATE));
	GIVES(0, ibv_query_qp(qp, &mod, IBV_QP_STATE, &init));
	HOLDS(mod.qp_state == IBV_QPS_ERR);
	GIVES(0, ibv_destroy_qp(qp));
}

static void check_srq(struct world *w)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4,
						    .max_sge = 1 } };
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad = NULL;
	struct ibv_qp_init_attr attr = qp_attr(w);
	struct ibv_srq_attr mod = { 0 };
	struct ibv_srq *srq;
	struct ibv_qp *qp;

	init.attr.max_wr = 0;
	NULLS(EINVAL, ibv_create_srq(w->pd, &init));
	init.attr.max_wr = (uint32_t)w->limits.max_srq_wr + 1;
	NULLS(EINVAL, ibv_create_srq(w->pd, &init));
	init.attr.max_wr = 4;
	init.attr.max_sge = (uint32_t)w->limits.max_srq_sge + 1;
	NULLS(EINVAL, ibv_create_srq(w->pd, &init));
	init.attr.max_sge = 1;
	srq = ibv_create_srq(w->pd, &init);
	NEEDS(srq);
	HOLDS(init.attr.max_wr >= 4);
	attr.srq = srq;
	qp = ibv_create_qp(w->pd, &attr);
	NEEDS(qp);
	GIVES(EINVAL, ibv_post_recv(qp, &recv, &bad));
	HOLDS(bad == &recv);
	GIVES(0, ibv_post_srq_recv(srq, &recv, &bad));
	recv.num_sge = (int)init.attr.max_sge + 1;
	GIVES(EINVAL, ibv_post_srq_recv(srq, &recv, &bad));
	mod.srq_limit = init.attr.max_wr + 1;
	GIVES(EINVAL, ibv_modify_srq(srq, &mod, IBV_SRQ_LIMIT));
	mod.max_wr = 0;
	GIVES(EINVAL, ibv_modify_srq(srq, &mod, IBV_SRQ_MAX_WR));
	mod.max_wr = UINT32_MAX;
	GIVES(EINVAL, ibv_modify_srq(srq, &mod, IBV_SRQ_MAX_WR));
	mod.srq_limit = 1;
	GIVES(0, ibv_modify_srq(srq, &mod, IBV_SRQ_LIMIT));
	GIVES(0, ibv_query_srq(srq, &mod));
	HOLDS(mod.srq_limit == 1 && mod.max_wr == init.attr.max_wr);
	GIVES(EBUSY, ibv_destroy_srq(srq)); /* the QP uses it */
	GIVES(0, ibv_destroy_qp(qp));
	GIVES(0, ibv_destroy_srq(srq));
}

/* ---- connected to ourselves ------------------------------------------- */

struct pair {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener, *active, *passive;
	struct world w; /* on the context that librdmacm opened */
};

static struct rdma_cm_id *expect(struct pair *p, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	NEEDS(rdma_get_cm_event(p->channel, &event) == 0);
	if (event->event != type) {
		printf("event %s (status %d), want %s\n",
		       rdma_event_str(event->event), event->status,
		       rdma_event_str(type));
		exit(1);
	}
	id = event->id;
	NEEDS(rdma_ack_cm_event(event) == 0);
	return id;
}

static void world_fill(struct world *w)
{
	w->buf_len = 65536;
	w->buf = aligned_alloc(4096, w->buf_len);
	NEEDS(w->buf);
	memset(w->buf, 0, w->buf_len);
	w->pd = ibv_alloc_pd(w->context);
	NEEDS(w->pd);
	w->mr = ibv_reg_mr(w->pd, w->buf, w->buf_len,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ);
	NEEDS(w->mr);
	w->cq = ibv_create_cq(w->context, 128, NULL, NULL, 0);
	NEEDS(w->cq);
}

static void world_empty(struct world *w)
{
	GIVES(0, ibv_destroy_cq(w->cq));
	GIVES(0, ibv_dereg_mr(w->mr));
	GIVES(0, ibv_dealloc_pd(w->pd));
	free(w->buf);
}

static void pair_connect(struct pair *p)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct rdma_conn_param param = { .responder_resources = 4,
					 .initiator_depth = 4 };
	struct ibv_qp_init_attr attr;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	p->channel = rdma_create_event_channel();
	NEEDS(p->channel);
	NEEDS(!rdma_create_id(p->channel, &p->listener, NULL, RDMA_PS_TCP));
	NEEDS(!rdma_bind_addr(p->listener, (struct sockaddr *)&addr));
	NEEDS(!rdma_listen(p->listener, 1));
	addr.sin_port = rdma_get_src_port(p->listener);
	NEEDS(!rdma_create_id(p->channel, &p->active, NULL, RDMA_PS_TCP));
	NEEDS(!rdma_resolve_addr(p->active, NULL, (struct sockaddr *)&addr,
				 2000));
	expect(p, RDMA_CM_EVENT_ADDR_RESOLVED);
	NEEDS(!rdma_resolve_route(p->active, 2000));
	expect(p, RDMA_CM_EVENT_ROUTE_RESOLVED);
	p->w.context = p->active->verbs;
	GIVES(0, ibv_query_device(p->w.context, &p->w.limits));
	world_fill(&p->w);
	attr = qp_attr(&p->w);
	NEEDS(!rdma_create_qp(p->active, p->w.pd, &attr));
	NEEDS(!rdma_connect(p->active, &param));
	p->passive = expect(p, RDMA_CM_EVENT_CONNECT_REQUEST);
	attr = qp_attr(&p->w);
	NEEDS(!rdma_create_qp(p->passive, p->w.pd, &attr));
	NEEDS(!rdma_accept(p->passive, &param));
	expect(p, RDMA_CM_EVENT_ESTABLISHED);
	expect(p, RDMA_CM_EVENT_ESTABLISHED);
}

/* One completion, within two seconds. */
static bool wc_next(struct ibv_cq *cq, struct ibv_wc *wc)
{
	struct timespec start, now;
	int cnt;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		cnt = ibv_poll_cq(cq, 1, wc);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (cnt == 0 && now.tv_sec - start.tv_sec < 3);
	return cnt == 1;
}

static void check_posting(struct pair *p)
{
	struct ibv_qp *qp = p->active->qp;
	struct ibv_sge sge[33] = { { (uintptr_t)p->w.buf, 64, p->w.mr->lkey } };
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = 1 }, second, *bad;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_wc wc;

#define REFUSED(want)                                                          \
	do {                                                                   \
		bad = NULL;                                                    \
		GIVES(want, ibv_post_send(qp, &wr, &bad));                     \
		HOLDS(bad == &wr);                                             \
	} while (0)
	GIVES(0, ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	HOLDS(attr.qp_state == IBV_QPS_RTS);
	wr.opcode = (enum ibv_wr_opcode)99;
	REFUSED(EINVAL);
	wr.opcode = IBV_WR_TSO;
	REFUSED(EOPNOTSUPP);
	wr.opcode = IBV_WR_SEND;
	wr.num_sge = (int)init.cap.max_send_sge + 1;
	REFUSED(EINVAL);
	wr.num_sge = -1;
	REFUSED(EINVAL);
	wr.num_sge = 2;
	sge[0].length = sge[1].length = UINT32_MAX;
	REFUSED(EINVAL);
	wr.num_sge = 1;
	sge[0].length = init.cap.max_inline_data + 1;
	wr.send_flags = IBV_SEND_INLINE;
	REFUSED(EINVAL);
	wr.send_flags = 1u << 31;
	REFUSED(EINVAL);
	wr.send_flags = IBV_SEND_INLINE;
	wr.opcode = IBV_WR_RDMA_READ;
	REFUSED(EINVAL);
#undef REFUSED
	/* a good one before a bad one goes out */
	sge[0].length = 64;
	wr = (struct ibv_send_wr){
		.wr_id = 7,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)p->w.buf + 4096, p->w.mr->rkey },
		.next = &second,
	};
	second = wr;
	second.next = NULL;
	second.num_sge = -1;
	GIVES(EINVAL, ibv_post_send(qp, &wr, &bad));
	HOLDS(bad == &second);
	HOLDS(wc_next(p->w.cq, &wc));
	HOLDS(wc.status == IBV_WC_SUCCESS && wc.wr_id == 7);
	HOLDS(ibv_poll_cq(p->w.cq, 1, &wc) == 0);
}

/* A list longer than the queue: as many as fit go, then ENOMEM. */
static void check_full_queue(struct pair *p)
{
	struct ibv_qp *qp = p->active->qp;
	struct ibv_qp_init_attr init;
	struct ibv_send_wr *wr, *bad = NULL;
	struct ibv_qp_attr attr;
	struct ibv_wc wc;
	uint32_t depth, i;

	GIVES(0, ibv_query_qp(qp, &attr, IBV_QP_CAP, &init));
	depth = init.cap.max_send_wr;
	wr = calloc(depth + 1, sizeof(*wr));
	NEEDS(wr);
	for (i = 0; i <= depth; i++) {
		wr[i].wr_id = i;
		wr[i].opcode = IBV_WR_RDMA_WRITE;
		wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].wr.rdma.remote_addr = (uintptr_t)p->w.buf;
		wr[i].wr.rdma.rkey = p->w.mr->rkey;
		wr[i].next = i < depth ? &wr[i + 1] : NULL;
	}
	GIVES(ENOMEM, ibv_post_send(qp, wr, &bad));
	HOLDS(bad == &wr[depth]);
	for (i = 0; i < depth; i++) {
		NEEDS(wc_next(p->w.cq, &wc));
		HOLDS(wc.status == IBV_WC_SUCCESS && wc.wr_id == i);
	}
	HOLDS(ibv_poll_cq(p->w.cq, 1, &wc) == 0);
	free(wr);
}

static void check_connected_states(struct pair *p)
{
	struct ibv_qp *qp = p->active->qp;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	attr.qp_state = IBV_QPS_INIT;
	GIVES(EINVAL, ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTR;
	GIVES(EINVAL, ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	attr.cur_qp_state = IBV_QPS_INIT;
	GIVES(EINVAL,
	      ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE));
	GIVES(0, ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	HOLDS(attr.qp_state == IBV_QPS_RTS);
}

/* Context and domain are the child's own, as new; what was made on them answers
 * ENODEV, and nothing hangs. */
static int child_checks(struct pair *p)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_recv_wr recv = { 0 }, *bad_recv;
	struct ibv_device_attr dev;
	struct ibv_mr *mr;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_wc wc;

	GIVES(0, ibv_query_device(p->w.context, &dev));
	pd = ibv_alloc_pd(p->w.context);
	mr = ibv_reg_mr(p->w.pd, p->w.buf, 64, 0);
	cq = ibv_create_cq(p->w.context, 4, NULL, NULL, 0);
	NEEDS(pd && mr && cq);
	GIVES(EBUSY, ibv_dealloc_pd(p->w.pd));
	GIVES(0, ibv_dereg_mr(mr));
	GIVES(0, ibv_destroy_cq(cq));
	GIVES(0, ibv_dealloc_pd(pd));
	GIVES(ENODEV, ibv_post_send(p->active->qp, &send, &bad_send));
	GIVES(ENODEV, ibv_post_recv(p->active->qp, &recv, &bad_recv));
	HOLDS(ibv_poll_cq(p->w.cq, 1, &wc) < 0);
	GIVES(ENODEV, ibv_req_notify_cq(p->w.cq, 0));
	GIVES(0, ibv_destroy_qp(p->active->qp));
	GIVES(0, ibv_destroy_cq(p->w.cq));
	GIVES(0, ibv_dereg_mr(p->w.mr));
	GIVES(0, ibv_dealloc_pd(p->w.pd));
	fflush(stdout);
	return failure_cnt ? 1 : 0;
}

static void check_fork(struct pair *p, const char *device)
{
	struct ibv_context *context = device_open(device);
	int status, async_fd;
	pid_t pid;

	NEEDS(context);
	async_fd = context->async_fd;
	fflush(stdout);
	pid = fork();
	NEEDS(pid >= 0);
	if (pid == 0) {
		failure_cnt = 0; /* the parent's are the parent's */
		/* closing an inherited context leaves no fd behind */
		GIVES(0, ibv_close_device(context));
		HOLDS(fcntl(async_fd, F_GETFD) == -1);
		_exit(child_checks(p));
	}
	NEEDS(waitpid(pid, &status, 0) == pid);
	GIVES(0, status);
	HOLDS(fcntl(async_fd, F_GETFD) != -1);
	GIVES(0, ibv_close_device(context));
	HOLDS(fcntl(async_fd, F_GETFD) == -1);
}

static void check_flush(struct pair *p)
{
	struct ibv_recv_wr recv = { .wr_id = 21 }, *bad_recv;
	struct ibv_send_wr send = { .wr_id = 22, .opcode = IBV_WR_SEND };
	struct ibv_send_wr *bad_send;
	struct ibv_wc wc;
	int i;

	GIVES(0, rdma_disconnect(p->active));
	expect(p, RDMA_CM_EVENT_DISCONNECTED);
	expect(p, RDMA_CM_EVENT_DISCONNECTED);
	/* the other side's, too late: no error either */
	GIVES(0, rdma_disconnect(p->passive));
	GIVES(0, ibv_post_recv(p->active->qp, &recv, &bad_recv));
	GIVES(0, ibv_post_send(p->active->qp, &send, &bad_send));
	for (i = 0; i < 2; i++) {
		if (!wc_next(p->w.cq, &wc)) {
			HOLDS(!"a flushed completion came");
			return;
		}
		HOLDS(wc.status == IBV_WC_WR_FLUSH_ERR);
		HOLDS(wc.wr_id == 21 || wc.wr_id == 22);
		HOLDS(wc.qp_num == p->active->qp->qp_num);
	}
}

static void pair_end(struct pair *p)
{
	rdma_destroy_qp(p->active);
	rdma_destroy_qp(p->passive);
	GIVES(0, rdma_destroy_id(p->active));
	GIVES(0, rdma_destroy_id(p->passive));
	GIVES(0, rdma_destroy_id(p->listener));
	world_empty(&p->w);
	rdma_destroy_event_channel(p->channel);
}

int main(int argc, char **argv)
{
	const char *device = argc > 1 ? argv[1] : "usiw_lo";
	struct world w = { 0 };
	struct pair p = { 0 };

	w.context = device_open(device);
	NEEDS(w.context);
	check_device(&w);
	world_fill(&w);
	check_memory(&w);
	check_rereg(&w);
	check_device_memory(&w);
	check_import(&w);
	check_cq(&w);
	check_qp_creation(&w);
	check_qp_idle(&w);
	check_srq(&w);
	world_empty(&w);
	GIVES(0, ibv_close_device(w.context));

	if (!getenv("VERBS_ERRNO_LOCAL")) {
		pair_connect(&p);
		check_posting(&p);
		check_full_queue(&p);
		check_connected_states(&p);
		check_fork(&p, device);
		check_flush(&p);
		pair_end(&p);
	}
	printf("%u checks, %u failures\n", check_cnt, failure_cnt);
	return failure_cnt ? 1 : 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See check_pair.h. */
#include "check_pair.h"

#include <sys/mman.h>
#include <time.h>

struct ibv_context *context;
union ibv_gid gid;
struct ibv_pd *pd;
struct ibv_comp_channel *channel;
struct ibv_cq *cq;
struct ibv_srq *srq;
struct ibv_qp *qp[2];
uint8_t *buf; /* LEN octets for each QP */
struct ibv_mr *mr;
uint32_t at; /* of the memory that is posted */

/* ---- a pair of QPs ----------------------------------------------------- */

void device_open(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	NEEDS(list && list[0]);
	context = ibv_open_device(list[0]);
	NEEDS(context);
	ibv_free_device_list(list);
	NEEDS(!ibv_query_gid(context, 1, 0, &gid));
	pd = ibv_alloc_pd(context);
	NEEDS(pd);
}

struct ibv_qp *qp_make(const struct want *want)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.cap = { .max_send_wr = want->send_wr,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 2,
			 .max_recv_sge = 1,
			 .max_inline_data = want->inline_len },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = want->is_all_signaled,
	};
	struct ibv_qp *made = ibv_create_qp(pd, &attr);

	NEEDS(made);
	return made;
}

void to_init(struct ibv_qp *one)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ,
	};

	NEEDS(!ibv_modify_qp(one, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     IBV_QP_ACCESS_FLAGS));
}

void to_rts(struct ibv_qp *one, const struct ibv_qp *other)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = other->qp_num,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1,
			     .grh = { .dgid = gid, .hop_limit = 1 },
			     .port_num = 1 },
	};

	NEEDS(!ibv_modify_qp(one, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 4 };
	NEEDS(!ibv_modify_qp(one, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				     IBV_QP_MAX_QP_RD_ATOMIC));
}

void to_reset(struct ibv_qp *one)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	NEEDS(!ibv_modify_qp(one, &attr, IBV_QP_STATE));
}

void pair_connect(void)
{
	for (int i = 0; i < 2; i++)
		to_init(qp[i]);
	for (int i = 0; i < 2; i++)
		to_rts(qp[i], qp[1 - i]);
}

void pair_make(const struct want *want)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 2 * DEPTH,
							.max_sge = 1 } };

	channel = want->has_channel ? ibv_create_comp_channel(context) : NULL;
	cq = ibv_create_cq(context, want->cqe, NULL, channel, 0);
	NEEDS(cq);
	buf = mmap(NULL, (size_t)2 * LEN, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEEDS(buf != MAP_FAILED);
	mr = ibv_reg_mr(pd, buf, (size_t)2 * LEN, want->access);
	NEEDS(mr);
	if (want->has_srq)
		srq = ibv_create_srq(pd, &srq_attr);
	NEEDS(!want->has_srq || srq);
	for (int i = 0; i < 2; i++)
		qp[i] = qp_make(want);
}

void usual(void)
{
	const struct want want = WANT_USUAL;

	pair_make(&want);
	pair_connect();
}

void pair_end(void)
{
	for (int i = 0; i < 2; i++)
		if (qp[i])
			NEEDS(!ibv_destroy_qp(qp[i]));
	if (srq)
		NEEDS(!ibv_destroy_srq(srq));
	if (cq)
		NEEDS(!ibv_destroy_cq(cq));
	if (channel)
		NEEDS(!ibv_destroy_comp_channel(channel));
	if (mr)
		NEEDS(!ibv_dereg_mr(mr));
}

/* ---- work requests ----------------------------------------------------- */

struct ibv_sge sge_of(int i, uint32_t len)
{
	return (struct ibv_sge){ (uintptr_t)buf + (size_t)i * LEN + at, len,
				 mr->lkey };
}

int recv_post(int i, uint64_t wr_id)
{
	struct ibv_sge sge = sge_of(i, LEN);
	struct ibv_recv_wr wr = { .wr_id = wr_id,
				  .sg_list = &sge,
				  .num_sge = 1 },
			   *bad;

	return ibv_post_recv(qp[i], &wr, &bad);
}

static int post(int i, enum ibv_wr_opcode opcode, uint32_t len,
		unsigned int flags, uint64_t wr_id, uint32_t rkey)
{
	struct ibv_sge sge = sge_of(i, len);
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = flags,
		.wr.rdma = { (uintptr_t)buf + (size_t)(1 - i) * LEN, rkey },
	}, *bad;

	return ibv_post_send(qp[i], &wr, &bad);
}

int send_post(int i, enum ibv_wr_opcode opcode, uint32_t len,
	      unsigned int flags, uint64_t wr_id)
{
	return post(i, opcode, len, flags, wr_id, mr->rkey);
}

int write_post(int i, uint32_t rkey)
{
	return post(i, IBV_WR_RDMA_WRITE, LEN, 0, 1, rkey);
}

enum ibv_wc_status wc_wait(void)
{
	time_t end = time(NULL) + LIMIT_S;
	struct ibv_wc wc;
	int cnt;

	do
		cnt = ibv_poll_cq(cq, 1, &wc);
	while (!cnt && time(NULL) < end);
	NEEDS(cnt == 1);
	return wc.status;
}

void wcs_wait(int cnt)
{
	while (cnt--)
		NEEDS(wc_wait() == IBV_WC_SUCCESS);
}

void write_now(void)
{
	NEEDS(!send_post(0, IBV_WR_RDMA_WRITE, LEN, 0, 1));
}

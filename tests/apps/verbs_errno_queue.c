/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Wrong arguments to the verbs of the device, its port and its queues, and
 * unsupported verbs.
 */
#include <fcntl.h>

#include "verbs_errno.h"

static void completion_queues(void)
{
	struct ibv_modify_cq_attr mod = { .attr_mask = 1 };
	struct ibv_comp_channel no_channel = { .context = w.context, .fd = -1 };
	struct ibv_cq *cq;
	struct ibv_wc wc;
	int vectors = w.context->num_comp_vectors;

	NULLS(create_cq, EINVAL, ibv_create_cq(w.context, 0, NULL, NULL, 0));
	NULLS(create_cq, EINVAL, ibv_create_cq(w.context, -1, NULL, NULL, 0));
	NULLS(create_cq, EINVAL,
	      ibv_create_cq(w.context, INT32_MIN, NULL, NULL, 0));
	NULLS(create_cq, EINVAL,
	      ibv_create_cq(w.context, w.limits.max_cqe + 1, NULL, NULL, 0));
	NULLS(create_cq, EINVAL, ibv_create_cq(w.context, 4, NULL, NULL, -1));
	NULLS(create_cq, EINVAL,
	      ibv_create_cq(w.context, 4, NULL, NULL, vectors));
	NULLS(create_cq, EINVAL,
	      ibv_create_cq(w.context, 4, NULL, &no_channel, 0));
	GIVES(resize_cq, EINVAL, ibv_resize_cq(w.cq, 0));
	GIVES(resize_cq, EINVAL, ibv_resize_cq(w.cq, -1));
	GIVES(resize_cq, EINVAL, ibv_resize_cq(w.cq, w.limits.max_cqe + 1));
	GIVES(modify_cq, EOPNOTSUPP, ibv_modify_cq(w.cq, &mod));
	FAILS(poll_cq, -1, EINVAL, ibv_poll_cq(w.cq, -1, &wc));
	GIVES(poll_cq, 0, ibv_poll_cq(w.cq, 0, NULL));
	GIVES(destroy_cq, EBUSY, ibv_destroy_cq(w.cq));
	cq = ibv_create_cq(w.context, 4, NULL, w.channel, 0);
	NEEDS(cq);
	HOLDS(cq->cqe >= 4);
	GIVES(req_notify_cq, 0, ibv_req_notify_cq(cq, 0));
	GIVES(poll_cq, 0, ibv_poll_cq(cq, 1, &wc));
	GIVES(resize_cq, 0, ibv_resize_cq(cq, 8));
	GIVES(resize_cq, EINVAL, ibv_resize_cq(cq, 0));
	HOLDS(cq->cqe >= 8);
	GIVES(destroy_cq, 0, ibv_destroy_cq(cq));
	CALLED_BY_LIBRARY(cq_event);
	CALLED_BY_LIBRARY(async_event);
}

static void completion_queues_ex(void)
{
	struct ibv_cq_init_attr_ex ex = { .cqe = 4 };
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(w.context, &ex);

	NEEDS(cq);
	HOLDS(cq->cqe >= 4);
	HOLDS(ibv_start_poll(cq, &attr) == ENOENT);
	GIVES(destroy_cq, 0, ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	ex.comp_mask = 1u << 31;
	NULLS(create_cq_ex, EOPNOTSUPP, ibv_create_cq_ex(w.context, &ex));
	ex.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
	NULLS(create_cq_ex, EINVAL, ibv_create_cq_ex(w.context, &ex));
	ex.parent_domain = w.pd; /* not a parent domain */
	NULLS(create_cq_ex, EINVAL, ibv_create_cq_ex(w.context, &ex));
	ex.parent_domain = w.parent; /* of the other context */
	NULLS(create_cq_ex, EINVAL, ibv_create_cq_ex(w.other, &ex));
	ex.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	ex.flags = 1u << 31;
	NULLS(create_cq_ex, EOPNOTSUPP, ibv_create_cq_ex(w.context, &ex));
	ex.comp_mask = 0;
	ex.wc_flags = 1ull << 63;
	FAILS_IN_LIBRARY(NULL, EOPNOTSUPP, ibv_create_cq_ex(w.context, &ex));
	ex.wc_flags = IBV_WC_EX_WITH_CVLAN;
	NULLS(create_cq_ex, EOPNOTSUPP, ibv_create_cq_ex(w.context, &ex));
	ex.wc_flags = 0;
	ex.comp_vector = (uint32_t)w.context->num_comp_vectors;
	NULLS(create_cq_ex, EINVAL, ibv_create_cq_ex(w.context, &ex));
	ex.comp_vector = 0;
	ex.cqe = (uint32_t)w.limits.max_cqe + 1;
	NULLS(create_cq_ex, EINVAL, ibv_create_cq_ex(w.context, &ex));
}

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
	/* A PD of another context. For the library this is ibv_create_srq() on
	 * that PD. */
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
	HOLDS(bad == &wr);
	wr.num_sge = -1;
	GIVES(post_srq_recv, EINVAL, ibv_post_srq_recv(w.srq, &wr, &bad));
	GIVES(post_srq_ops, EOPNOTSUPP,
	      ibv_post_srq_ops(w.srq, &ops, &bad_ops));
	HOLDS(bad_ops == &ops);
	GIVES(get_srq_num, EOPNOTSUPP, ibv_get_srq_num(w.srq, &num));
}

/* SRQ and QP may have different PDs. The SRQ must be destroyed after the QP. */
static void srq_in_use(void)
{
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad = NULL;
	struct ibv_qp_init_attr attr = qp_attr(w.cq);
	struct ibv_srq *srq = srq_open(w.pd2);
	struct ibv_srq_attr mod, is;
	struct ibv_qp *qp;

	NEEDS(srq);
	GIVES(query_srq, 0, ibv_query_srq(srq, &is));
	HOLDS(is.max_wr >= 4 && is.max_sge >= 1 && is.srq_limit == 0);
	attr.srq = srq;
	qp = ibv_create_qp(w.pd, &attr);
	NEEDS(qp);
	GIVES(post_recv, EINVAL, ibv_post_recv(qp, &recv, &bad));
	HOLDS(bad == &recv);
	GIVES(post_srq_recv, 0, ibv_post_srq_recv(srq, &recv, &bad));
	recv.num_sge = (int)is.max_sge + 1;
	GIVES(post_srq_recv, EINVAL, ibv_post_srq_recv(srq, &recv, &bad));
	mod.srq_limit = is.max_wr + 1;
	GIVES(modify_srq, EINVAL, ibv_modify_srq(srq, &mod, IBV_SRQ_LIMIT));
	mod.max_wr = 0;
	GIVES(modify_srq, EINVAL, ibv_modify_srq(srq, &mod, IBV_SRQ_MAX_WR));
	mod.max_wr = UINT32_MAX;
	GIVES(modify_srq, EINVAL, ibv_modify_srq(srq, &mod, IBV_SRQ_MAX_WR));
	mod.srq_limit = 1;
	GIVES(modify_srq, 0, ibv_modify_srq(srq, &mod, IBV_SRQ_LIMIT));
	GIVES(query_srq, 0, ibv_query_srq(srq, &mod));
	HOLDS(mod.srq_limit == 1 && mod.max_wr == is.max_wr);
	GIVES(destroy_srq, EBUSY, ibv_destroy_srq(srq));
	GIVES(destroy_qp, 0, ibv_destroy_qp(qp));
	GIVES(destroy_srq, 0, ibv_destroy_srq(srq));
}

static void qp_creation(void)
{
	static const int types[] = { 0,
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
	WRONG(EINVAL, cap.max_inline_data, 1u << 30);
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
	HOLDS(bad_send == &send);
	GIVES(post_recv, EINVAL, ibv_post_recv(w.qp, &recv, &bad_recv));
	HOLDS(bad_recv == &recv);
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
	ece.vendor_id = 1; /* the library itself refuses 0 */
	GIVES(set_ece, EOPNOTSUPP, ibv_set_ece(w.qp, &ece));
	GIVES(attach_mcast, EOPNOTSUPP, ibv_attach_mcast(w.qp, &gid, 0));
	GIVES(detach_mcast, EOPNOTSUPP, ibv_detach_mcast(w.qp, &gid, 0));
	/* TCP guarantees no order of placement */
	for (op = -1; op < 17; op++)
		GIVES(query_qp_data_in_order, 0,
		      ibv_query_qp_data_in_order(w.qp, (enum ibv_wr_opcode)op,
						 0));
}

/* A QP that never connects. */
static void qp_idle(void)
{
	struct ibv_qp_init_attr attr = qp_attr(w.cq), init;
	struct ibv_recv_wr recv = { .num_sge = 3 }, *bad = NULL;
	struct ibv_qp *qp = ibv_create_qp(w.pd, &attr);
	struct ibv_qp_attr mod;

	NEEDS(qp);
	HOLDS(qp->state == IBV_QPS_RESET);
	GIVES(query_qp, 0, ibv_query_qp(qp, &mod, IBV_QP_STATE, &init));
	HOLDS(mod.qp_state == IBV_QPS_INIT);
	HOLDS(init.cap.max_send_wr >= 16 && init.cap.max_inline_data >= 32);
	recv.num_sge = (int)init.cap.max_recv_sge + 1;
	GIVES(post_recv, EINVAL, ibv_post_recv(qp, &recv, &bad));
	HOLDS(bad == &recv);
	mod.qp_state = IBV_QPS_INIT;
	mod.cur_qp_state = IBV_QPS_RTS;
	GIVES(modify_qp, EINVAL,
	      ibv_modify_qp(qp, &mod, IBV_QP_STATE | IBV_QP_CUR_STATE));
	mod.port_num = 2;
	GIVES(modify_qp, EINVAL, ibv_modify_qp(qp, &mod, IBV_QP_PORT));
	mod.qp_state = IBV_QPS_RTR;
	/* attributes that RTR needs are missing */
	GIVES(modify_qp, EINVAL,
	      ibv_modify_qp(qp, &mod,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN));
	mod.qp_state = IBV_QPS_ERR;
	GIVES(modify_qp, 0, ibv_modify_qp(qp, &mod, IBV_QP_STATE));
	GIVES(query_qp, 0, ibv_query_qp(qp, &mod, IBV_QP_STATE, &init));
	HOLDS(mod.qp_state == IBV_QPS_ERR);
	GIVES(destroy_qp, 0, ibv_destroy_qp(qp));
}

/* ---- verbs that are not for RC ---- */

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
	uint64_t value;

	NULLS(create_counters, EOPNOTSUPP,
	      ibv_create_counters(w.context, &attr));
	GIVES(attach_counters_point_flow, EOPNOTSUPP,
	      ibv_attach_counters_point_flow(&counters, &attach, &flow));
	GIVES(read_counters, EOPNOTSUPP,
	      ibv_read_counters(&counters, &value, 1, 0));
	GIVES(destroy_counters, EOPNOTSUPP, ibv_destroy_counters(&counters));
	/* an unsupported value is removed from the mask */
	GIVES(query_rt_values, 0, ibv_query_rt_values_ex(w.context, &values));
	GIVES(query_rt_values, 0, values.comp_mask);
	values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	GIVES(query_rt_values, 0, ibv_query_rt_values_ex(w.context, &values));
	HOLDS(values.comp_mask == IBV_VALUES_MASK_RAW_CLOCK);
}

static void device_and_port(void)
{
	struct ibv_query_device_ex_input input = { .comp_mask = 1 };
	struct ibv_device_attr_ex device;
	struct ibv_port_attr port;
	union ibv_gid gid;

	HOLDS(w.limits.node_guid != 0 && w.limits.vendor_id != 0);
	HOLDS(w.limits.max_qp > 0 && w.limits.max_cq > 0);
	HOLDS(w.limits.max_mr > 0 && w.limits.max_pd > 0);
	HOLDS(w.limits.max_qp_wr > 0 && w.limits.max_cqe > 0);
	HOLDS(w.limits.phys_port_cnt == 1);
	/* the library refuses it */
	HOLDS(ibv_query_device_ex(w.context, &input, &device) == EINVAL);
	GIVES(query_port, EINVAL, ibv_query_port(w.context, 0, &port));
	GIVES(query_port, EINVAL, ibv_query_port(w.context, 2, &port));
	GIVES(query_port, EINVAL, ibv_query_port(w.context, 255, &port));
	GIVES(query_port, 0, ibv_query_port(w.context, 1, &port));
	HOLDS(port.state == IBV_PORT_ACTIVE);
	HOLDS(port.max_msg_sz > 0x1000 && port.gid_tbl_len >= 1);
	for (int i = 0; i < port.gid_tbl_len; i++)
		HOLDS(ibv_query_gid(w.context, 1, i, &gid) == 0);
	HOLDS(ibv_query_gid(w.context, 1, 1 << 20, &gid) != 0);
}

void check_queues(void)
{
	completion_queues();
	completion_queues_ex();
	shared_receive_queues();
	srq_in_use();
	qp_creation();
	qp_use();
	qp_idle();
}

void check_others(void)
{
	other_objects();
	counters_and_clocks();
	device_and_port();
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The names of values and flags: see print-parts.h. */
#include "print-parts.h"

#define N(name) { (uint64_t)(name), #name }
#define END { 0, NULL }

const struct util_text_name usiw_names_access[] = {
	N(IBV_ACCESS_LOCAL_WRITE),	N(IBV_ACCESS_REMOTE_WRITE),
	N(IBV_ACCESS_REMOTE_READ),	N(IBV_ACCESS_REMOTE_ATOMIC),
	N(IBV_ACCESS_MW_BIND),		N(IBV_ACCESS_ZERO_BASED),
	N(IBV_ACCESS_ON_DEMAND),	N(IBV_ACCESS_HUGETLB),
	N(IBV_ACCESS_RELAXED_ORDERING), END,
};

const struct util_text_name usiw_names_srq_mask[] = {
	N(IBV_SRQ_MAX_WR),
	N(IBV_SRQ_LIMIT),
	END,
};

const struct util_text_name usiw_names_rereg[] = {
	N(IBV_REREG_MR_CHANGE_TRANSLATION),
	N(IBV_REREG_MR_CHANGE_PD),
	N(IBV_REREG_MR_CHANGE_ACCESS),
	END,
};

const struct util_text_name usiw_names_mw_type[] = {
	N(IBV_MW_TYPE_1),
	N(IBV_MW_TYPE_2),
	END,
};

const struct util_text_name usiw_names_wr_opcode[] = {
	N(IBV_WR_RDMA_WRITE),
	N(IBV_WR_RDMA_WRITE_WITH_IMM),
	N(IBV_WR_SEND),
	N(IBV_WR_SEND_WITH_IMM),
	N(IBV_WR_RDMA_READ),
	N(IBV_WR_ATOMIC_CMP_AND_SWP),
	N(IBV_WR_ATOMIC_FETCH_AND_ADD),
	N(IBV_WR_LOCAL_INV),
	N(IBV_WR_BIND_MW),
	N(IBV_WR_SEND_WITH_INV),
	N(IBV_WR_TSO),
	END,
};

const struct util_text_name usiw_names_send[] = {
	N(IBV_SEND_FENCE),  N(IBV_SEND_SIGNALED), N(IBV_SEND_SOLICITED),
	N(IBV_SEND_INLINE), N(IBV_SEND_IP_CSUM),  END,
};

/* Of an entry of the send queue, as the application names them. */
const struct util_text_name usiw_names_sqe[] = {
	{ USIW_SQE_FENCE, "IBV_SEND_FENCE" },
	{ USIW_SQE_SIGNALED, "IBV_SEND_SIGNALED" },
	{ USIW_SQE_SOLICITED, "IBV_SEND_SOLICITED" },
	{ USIW_SQE_INLINE, "IBV_SEND_INLINE" },
	END,
};

const struct util_text_name usiw_names_qp_state[] = {
	N(IBV_QPS_RESET), N(IBV_QPS_INIT), N(IBV_QPS_RTR), N(IBV_QPS_RTS),
	N(IBV_QPS_SQD),	  N(IBV_QPS_SQE),  N(IBV_QPS_ERR), END,
};

const struct util_text_name usiw_names_qp_type[] = {
	N(IBV_QPT_RC),	     N(IBV_QPT_UC),
	N(IBV_QPT_UD),	     N(IBV_QPT_RAW_PACKET),
	N(IBV_QPT_XRC_SEND), N(IBV_QPT_XRC_RECV),
	N(IBV_QPT_DRIVER),   END,
};

const struct util_text_name usiw_names_port_state[] = {
	N(IBV_PORT_NOP),
	N(IBV_PORT_DOWN),
	N(IBV_PORT_INIT),
	N(IBV_PORT_ARMED),
	N(IBV_PORT_ACTIVE),
	N(IBV_PORT_ACTIVE_DEFER),
	END,
};

const struct util_text_name usiw_names_mtu[] = {
	N(IBV_MTU_256),	 N(IBV_MTU_512),  N(IBV_MTU_1024),
	N(IBV_MTU_2048), N(IBV_MTU_4096), END,
};

const struct util_text_name usiw_names_event[] = {
	N(IBV_EVENT_CQ_ERR),
	N(IBV_EVENT_QP_FATAL),
	N(IBV_EVENT_QP_REQ_ERR),
	N(IBV_EVENT_QP_ACCESS_ERR),
	N(IBV_EVENT_COMM_EST),
	N(IBV_EVENT_SQ_DRAINED),
	N(IBV_EVENT_PATH_MIG),
	N(IBV_EVENT_PATH_MIG_ERR),
	N(IBV_EVENT_DEVICE_FATAL),
	N(IBV_EVENT_PORT_ACTIVE),
	N(IBV_EVENT_PORT_ERR),
	N(IBV_EVENT_LID_CHANGE),
	N(IBV_EVENT_PKEY_CHANGE),
	N(IBV_EVENT_SM_CHANGE),
	N(IBV_EVENT_SRQ_ERR),
	N(IBV_EVENT_SRQ_LIMIT_REACHED),
	N(IBV_EVENT_QP_LAST_WQE_REACHED),
	N(IBV_EVENT_CLIENT_REREGISTER),
	N(IBV_EVENT_GID_CHANGE),
	N(IBV_EVENT_WQ_FATAL),
	END,
};

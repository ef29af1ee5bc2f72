/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Datagrams: the transitions of UD queue pairs. */
#include "objects.h"
#include "result.h"

#define QP_ANY (1u << 31)

/* IBA 10.3.1, ibv_modify_qp(3): what a transition must have, and may. */
static const struct {
	uint32_t from; /* 1u << enum ibv_qp_state */
	enum ibv_qp_state to;
	int must, may;
} transitions[] = {
	{ 1u << IBV_QPS_RESET, IBV_QPS_INIT,
	  IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0 },
	{ 1u << IBV_QPS_INIT, IBV_QPS_INIT, 0,
	  IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY },
	{ 1u << IBV_QPS_INIT, IBV_QPS_RTR, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY },
	{ 1u << IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN,
	  IBV_QP_CUR_STATE | IBV_QP_QKEY },
	{ 1u << IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY },
	{ QP_ANY, IBV_QPS_RESET, 0, IBV_QP_CUR_STATE },
	{ QP_ANY, IBV_QPS_ERR, 0, IBV_QP_CUR_STATE },
};

int usiw_ud_attr_check(enum ibv_qp_state now, enum ibv_qp_state next, int mask)
{
	mask &= ~IBV_QP_STATE;
	if (next == IBV_QPS_SQD)
		return -EOPNOTSUPP;
	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]);
	     i++) {
		if (transitions[i].to != next ||
		    !(transitions[i].from & (1u << now | QP_ANY)))
			continue;
		return (mask & transitions[i].must) == transitions[i].must &&
				       !(mask & ~(transitions[i].must |
						  transitions[i].may))
			       ? 0
			       : -EINVAL;
	}
	return -EINVAL;
}

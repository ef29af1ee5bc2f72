/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Datagrams: the transitions of UD queue pairs. */
#include "objects.h"
#include "reason.h"
#include "result.h"

#define QP_ANY (1u << 31)

struct ud_transition {
	uint32_t from; /* 1u << enum ibv_qp_state */
	enum ibv_qp_state to;
	int must, may; /* enum ibv_qp_attr_mask */
};

/* IBA 10.3.1, ibv_modify_qp(3): what a transition must have, and may. */
static const struct ud_transition transitions[] = {
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

static int ud_mask_check(const struct ud_transition *to, int mask)
{
	int err = usiw_check_mask(to->to, mask, to->must);
	int more = mask & ~(to->must | to->may);

	if (err || !more)
		return err;
	return usiw_refuse(EINVAL, "ibv_modify_qp",
			   "attr_mask is 0x%x: a UD QP takes no 0x%x on its "
			   "way to %s",
			   (unsigned int)mask, (unsigned int)more,
			   usiw_state_name(to->to));
}

int usiw_ud_attr_check(enum ibv_qp_state now, enum ibv_qp_state next, int mask)
{
	mask &= ~IBV_QP_STATE;
	if (next == IBV_QPS_SQD)
		return usiw_refuse(EOPNOTSUPP, "ibv_modify_qp",
				   "a UD QP has no SQD");
	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]);
	     i++) {
		if (transitions[i].to != next ||
		    !(transitions[i].from & (1u << now | QP_ANY)))
			continue;
		return ud_mask_check(&transitions[i], mask);
	}
	return usiw_refuse_move(now, next);
}

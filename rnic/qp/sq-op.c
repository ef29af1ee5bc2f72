/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Work requests of the send queue: what each opcode is. */
#include "sq-op.h"

static const struct rnic_sq_op sq_ops[] = {
	[USIW_WR_WRITE] = { SQ_KNOWN, SMPA_OP_WRITE, USIW_WC_WRITE, 0,
			    RNIC_STAT_write_wr, USIW_RES_OP_WRITE },
	[USIW_WR_WRITE_IMM] = { SQ_KNOWN | SQ_IMM_BEHIND, SMPA_OP_WRITE,
				USIW_WC_WRITE, 0, RNIC_STAT_write_wr,
				USIW_RES_OP_WRITE },
	[USIW_WR_SEND] = { SQ_KNOWN, SMPA_OP_SEND, USIW_WC_SEND, 0,
			   RNIC_STAT_send_wr, USIW_RES_OP_SEND },
	[USIW_WR_SEND_IMM] = { SQ_KNOWN | SQ_IMM_AHEAD, SMPA_OP_SEND,
			       USIW_WC_SEND, 0, RNIC_STAT_send_wr,
			       USIW_RES_OP_SEND },
	[USIW_WR_SEND_INV] = { SQ_KNOWN, SMPA_OP_SEND_INV, USIW_WC_SEND, 0,
			       RNIC_STAT_send_wr, USIW_RES_OP_SEND },
	[USIW_WR_READ] = { SQ_KNOWN | SQ_ANSWERED, SMPA_OP_READ_REQUEST,
			   USIW_WC_READ, RNIC_ACCESS_LOCAL_WRITE,
			   RNIC_STAT_read_wr, USIW_RES_OP_READ },
	[USIW_WR_CMP_SWP] = { SQ_KNOWN | SQ_ANSWERED, SMPA_OP_ATOMIC_REQUEST,
			      USIW_WC_CMP_SWP, RNIC_ACCESS_LOCAL_WRITE,
			      RNIC_STAT_atomic_wr, USIW_RES_OP_ATOMIC },
	[USIW_WR_FETCH_ADD] = { SQ_KNOWN | SQ_ANSWERED, SMPA_OP_ATOMIC_REQUEST,
				USIW_WC_FETCH_ADD, RNIC_ACCESS_LOCAL_WRITE,
				RNIC_STAT_atomic_wr, USIW_RES_OP_ATOMIC },
	[USIW_WR_LOCAL_INV] = { SQ_KNOWN | SQ_LOCAL, 0, USIW_WC_LOCAL_INV, 0,
				RNIC_STAT_local_wr },
	[USIW_WR_BIND_MW] = { SQ_KNOWN | SQ_LOCAL, 0, USIW_WC_BIND_MW, 0,
			      RNIC_STAT_local_wr },
};

const struct rnic_sq_op *rnic_sq_op_find(uint8_t opcode)
{
	if (opcode >= sizeof(sq_ops) / sizeof(sq_ops[0]) ||
	    !sq_ops[opcode].traits)
		return NULL;
	return &sq_ops[opcode];
}

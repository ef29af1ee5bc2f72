/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The send encoder, shared by ibv_post_send() and the ibv_wr_* calls: the
 * table of opcodes, and work request -> queue entry.
 */
#ifndef USIW_SQE_H
#define USIW_SQE_H

#include <errno.h>

#include "objects.h"

/* What a send opcode is to the encoder: a row of the table. */
struct usiw_wr_kind {
	uint8_t opcode; /* enum usiw_wr_opcode; 0: not offered */
	uint8_t traits; /* enum usiw_wr_trait */
};

enum usiw_wr_trait {
	USIW_WR_REMOTE = 1u << 0, /* wr.rdma */
	USIW_WR_ATOMIC = 1u << 1, /* wr.atomic */
	USIW_WR_IMM = 1u << 2,	  /* imm_data */
	USIW_WR_INV = 1u << 3,	  /* invalidate_rkey */
	USIW_WR_SINK = 1u << 4,	  /* SGEs are written to: no inline */
};

/* IBV_WR_ATOMIC_WRITE, the last opcode of any verbs.h so far, is 15. */
#define USIW_WR_KIND_CNT 16

/* By enum ibv_wr_opcode; a row without opcode is a verb that is not offered. */
extern const struct usiw_wr_kind usiw_wr_kinds[USIW_WR_KIND_CNT];

/* *ret_kind: the row for @opcode; -EOPNOTSUPP, -EINVAL: no such opcode. */
static inline int usiw_wr_kind_find(enum ibv_wr_opcode opcode,
				    const struct usiw_wr_kind **ret_kind)
{
	if ((unsigned int)opcode >= USIW_WR_KIND_CNT)
		return -EINVAL;
	if (!usiw_wr_kinds[opcode].opcode)
		return -EOPNOTSUPP;
	*ret_kind = &usiw_wr_kinds[opcode];
	return 0;
}

/*
 * Encode @wr as a @kind into @slot.
 * Return: 0; -EINVAL: see ibv_post_send(3); the slot may be half written,
 *   which nobody sees.
 */
int usiw_sqe_encode(const struct usiw_sq_limits *limits,
		    const struct usiw_wr_kind *kind,
		    const struct ibv_send_wr *wr, struct usiw_sqe *slot);

/*
 * Give the entry in @slot, which has none, its elements.
 * @traits: of its kind.
 * Return: 0; -EINVAL: too many, or too long a message.
 */
int usiw_sqe_set_sges(const struct usiw_sq_limits *limits, unsigned int traits,
		      const struct ibv_sge *sge, size_t sge_cnt,
		      struct usiw_sqe *slot);

#endif

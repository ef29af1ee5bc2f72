/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The send encoder, for ibv_post_send() and the ibv_wr_* calls: the table of
 * opcodes, and the encoding of work requests as queue entries.
 */
#ifndef USIW_SQE_H
#define USIW_SQE_H

#include <errno.h>

#include "objects.h"

/* A row of the table: the properties of a send opcode. */
struct usiw_wr_kind {
	uint8_t opcode; /* enum usiw_wr_opcode; 0: not offered */
	uint8_t traits; /* enum usiw_wr_trait */
};

enum usiw_wr_trait {
	USIW_WR_REMOTE = 1u << 0,  /* wr.rdma */
	USIW_WR_ATOMIC = 1u << 1,  /* wr.atomic */
	USIW_WR_IMM = 1u << 2,	   /* imm_data */
	USIW_WR_INV = 1u << 3,	   /* invalidate_rkey */
	USIW_WR_SINK = 1u << 4,	   /* SGEs are written to: no inline */
	USIW_WR_NO_DATA = 1u << 5, /* neither SGEs nor inline data */
	USIW_WR_BIND = 1u << 6,	   /* bind_mw: usiw_sqe_set_bind() */
};

/* IBV_WR_ATOMIC_WRITE, the last opcode of any known verbs.h, is 15. */
#define USIW_WR_KIND_CNT 16

/* By enum ibv_wr_opcode.  A row without opcode is not supported. */
extern const struct usiw_wr_kind usiw_wr_kinds[USIW_WR_KIND_CNT];

/* The row for @opcode; NULL: usiw does not have it. */
static inline const struct usiw_wr_kind *
usiw_wr_kind_find(enum ibv_wr_opcode opcode)
{
	if ((unsigned int)opcode >= USIW_WR_KIND_CNT ||
	    !usiw_wr_kinds[opcode].opcode)
		return NULL;
	return &usiw_wr_kinds[opcode];
}

/* The row of an entry: enum ibv_wr_opcode. */
static inline unsigned int usiw_sqe_opcode(const struct usiw_sqe *sqe)
{
	unsigned int opcode = 0;

	while (opcode < USIW_WR_KIND_CNT - 1 &&
	       usiw_wr_kinds[opcode].opcode != sqe->opcode)
		opcode++;
	return opcode;
}

_Static_assert((int)IBV_SEND_SIGNALED == USIW_SQE_SIGNALED << 1, "send flags");
_Static_assert((int)IBV_SEND_SOLICITED == USIW_SQE_SOLICITED << 1,
	       "send flags");
_Static_assert((int)IBV_SEND_FENCE << 2 == USIW_SQE_FENCE, "send flags");
_Static_assert((int)IBV_SEND_INLINE == USIW_SQE_INLINE, "send flags");

/* enum usiw_sqe_flags for enum ibv_send_flags, without a branch. */
static inline uint8_t usiw_sqe_flags(const struct usiw_sq_limits *limits,
				     unsigned int send_flags)
{
	_Static_assert(USIW_SQE_SIGNALED == 1, "a bool is the flag");

	return (uint8_t)((unsigned int)limits->is_sig_all |
			 (send_flags &
			  (IBV_SEND_SIGNALED | IBV_SEND_SOLICITED)) >>
				 1 |
			 (send_flags & IBV_SEND_FENCE) << 2 |
			 (send_flags & IBV_SEND_INLINE));
}

/*
 * Encodes @wr as a @kind into @slot.
 * Return: 0; -EINVAL: see ibv_post_send(3).  The slot, which is not published,
 *   may then be partly written.
 */
int usiw_sqe_encode(const struct usiw_sq_limits *limits,
		    const struct usiw_wr_kind *kind,
		    const struct ibv_send_wr *wr, struct usiw_sqe *slot);

/*
 * Adds the elements to the entry in @slot, which has none.
 * @traits: of its kind.
 * Return: 0; -EINVAL: too many, or too long a message.
 */
int usiw_sqe_set_sges(const struct usiw_sq_limits *limits, unsigned int traits,
		      const struct ibv_sge *sge, size_t sge_cnt,
		      struct usiw_sqe *slot);

/*
 * Encodes BIND_MW of @mw on @qp.
 * Return: 0; -EINVAL: another context's window or region, a key that is not
 *   the window's, octets without a region.
 */
int usiw_sqe_set_bind(const struct ibv_qp *qp, const struct ibv_mw *mw,
		      uint32_t rkey, const struct ibv_mw_bind_info *info,
		      struct usiw_sqe *slot);

/* Adds the destination of a datagram to the entry in @slot.  Return: 0;
 * -EINVAL: no handle, another context's, not a QP number. */
int usiw_sqe_set_ud(const struct ibv_qp *qp, const struct ibv_ah *ah,
		    uint32_t num, uint32_t qkey, struct usiw_sqe *slot);

/* Posts the binding of @mw, of type 1, as @rkey. */
int usiw_post_bind(struct usiw_qp *qp, struct ibv_mw *mw, uint32_t rkey,
		   const struct ibv_mw_bind *bind);

/*
 * *ret_opcodes: 1u << enum ibv_wr_opcode for each operation of @send_ops,
 * enum ibv_qp_create_send_ops_flags; -EOPNOTSUPP: one is not offered.
 */
int usiw_wr_opcodes_find(uint64_t send_ops, uint32_t *ret_opcodes);

/* Prepares @qp, which is new, for ibv_wr_*.  Return: 0; -ENOMEM. */
int usiw_wr_init(struct usiw_qp *qp, uint32_t opcodes);
/* Called when @qp of this process ends, even if it was not for ibv_wr_*. */
void usiw_wr_fini(struct usiw_qp *qp);

#endif

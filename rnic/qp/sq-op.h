/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Work requests of the send queue: what each opcode is. */
#ifndef RNIC_SQ_OP_H
#define RNIC_SQ_OP_H

#include "object.h"
#include "os/resource.h"
#include "os/stat.h"

enum rnic_sq_trait {
	SQ_KNOWN = 1u << 0,
	SQ_ANSWERED = 1u << 1,	 /* needs ORD, is done when it is answered */
	SQ_IMM_AHEAD = 1u << 2,	 /* Immediate Data before the message */
	SQ_IMM_BEHIND = 1u << 3, /* Immediate Data after it */
	SQ_LOCAL = 1u << 4,	 /* no message, done at once */
};

struct rnic_sq_op {
	uint8_t traits;	   /* enum rnic_sq_trait */
	uint8_t opcode;	   /* enum smpa_opcode */
	uint8_t wc_opcode; /* enum usiw_wc_opcode */
	uint32_t access;   /* what the local SGEs must allow */
	enum rnic_stat stat;
	enum usiw_res_op shown; /* not SQ_LOCAL */
};

/* NULL: no such opcode. */
const struct rnic_sq_op *rnic_sq_op_find(uint8_t opcode);

#endif

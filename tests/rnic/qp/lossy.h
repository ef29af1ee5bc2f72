/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Queue pairs that may lose messages (UC): for tests of both ends. */
#ifndef TEST_LOSSY_H
#define TEST_LOSSY_H

#include <string.h>

#include "test.h"
#include "os/stat.h"
#include "rawpeer.h"
#include "stats.h"

static const struct rnicpair_options lossy = {
	.type = RNIC_QPT_UC,
	.has_crc = true,
	.ird = 8,
	.ord = 8,
	.rtr = SMPA_RTR_WRITE | SMPA_RTR_READ,
	.max_wr = 64,
	.max_sge = 4,
	.max_inline = 128,
	.cqe = 256,
	.buf_len = (size_t)4 << 20,
};

#define AT 0x100000u /* receives */

/* A receive of 100 octets. */
static inline void post_recv(struct rnicpair_side *s)
{
	struct usiw_sge sge = rnicpair_sge(s, AT, 100);

	must(!rnicpair_post_recv(s, 7, &sge, 1));
}

/* A WR of 100 octets. */
static inline void post(struct rnicpair_side *s, uint64_t wr_id, uint8_t opcode,
			uint32_t lkey)
{
	struct usiw_sge sge = rnicpair_sge(s, 0, 100);

	sge.lkey = lkey;
	rnicpair_post_wr(s, .wr_id = wr_id, .opcode = opcode,
			 .flags = USIW_SQE_SIGNALED, .sge = &sge, .sge_cnt = 1,
			 .imm_be = 9, .rkey = 1);
}

#endif

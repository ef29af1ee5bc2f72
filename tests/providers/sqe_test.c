/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The send encoder alone: rows and elements that no post uses. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "providers/usiw/sqe.h"
#include "fake-rnic.h"

/* Rows that the table does not have yet are encoded too. */
CASE(encoder_knows_later_rows)
{
	const struct usiw_sq_limits limits = { .opcodes = UINT32_MAX,
					       .max_sge = 3,
					       .max_msg_size = 1024 };
	const struct usiw_wr_kind imm = { USIW_WR_WRITE_IMM,
					  USIW_WR_REMOTE | USIW_WR_IMM };
	const struct usiw_wr_kind atomic = { USIW_WR_CMP_SWP,
					     USIW_WR_ATOMIC | USIW_WR_SINK };
	struct ibv_send_wr wr = fake_send_wr(IBV_WR_RDMA_WRITE_WITH_IMM);
	struct {
		struct usiw_sqe sqe;
		struct usiw_sge sge[3];
	} slot;

	assert_int_equal(usiw_sqe_encode(&limits, &imm, &wr, &slot.sqe), 0);
	assert_int_equal(slot.sqe.opcode, USIW_WR_WRITE_IMM);
	assert_int_equal(slot.sqe.imm_be, 0x01020304);
	assert_int_equal(slot.sqe.rkey, 0xabcdef01);
	wr = fake_send_wr(IBV_WR_ATOMIC_CMP_AND_SWP);
	wr.num_sge = 0;
	wr.wr.atomic.remote_addr = 0x8000;
	wr.wr.atomic.compare_add = 5;
	wr.wr.atomic.swap = 6;
	wr.wr.atomic.rkey = 7;
	assert_int_equal(usiw_sqe_encode(&limits, &atomic, &wr, &slot.sqe), 0);
	assert_int_equal(slot.sqe.remote_addr, 0x8000);
	assert_int_equal(slot.sqe.compare_add, 5);
	assert_int_equal(slot.sqe.swap, 6);
	assert_int_equal(slot.sqe.rkey, 7);
}

/* Of those that the table has, too. */
CASE(opcodes_that_the_type_lacks_are_einval)
{
	struct {
		struct usiw_sqe sqe;
		struct usiw_sge sge[3];
	} slot;

	for (int opcode = 0; opcode < USIW_WR_KIND_CNT; opcode++) {
		struct ibv_send_wr wr = { .opcode =
						  (enum ibv_wr_opcode)opcode };
		struct usiw_sq_limits limits = { .opcodes = 1u << opcode };
		const struct usiw_wr_kind *kind = usiw_wr_kind_find(wr.opcode);

		if (!kind)
			continue;
		assert_int_equal(usiw_sqe_encode(&limits, kind, &wr, &slot.sqe),
				 0);
		limits.opcodes = ~limits.opcodes;
		assert_int_equal(usiw_sqe_encode(&limits, kind, &wr, &slot.sqe),
				 -EINVAL);
	}
}

CASE(every_row_is_consistent)
{
	const struct usiw_wr_kind *kind;
	int opcode;

	for (opcode = 0; opcode < USIW_WR_KIND_CNT; opcode++) {
		kind = usiw_wr_kind_find((enum ibv_wr_opcode)opcode);
		if (!kind)
			continue;
		assert_in_range(kind->opcode, USIW_WR_WRITE, USIW_WR_BIND_MW);
		/* each has at most one remote address and one key */
		assert_false((kind->traits & USIW_WR_ATOMIC) &&
			     (kind->traits & USIW_WR_REMOTE));
		assert_false((kind->traits & USIW_WR_INV) &&
			     (kind->traits & USIW_WR_IMM));
		/* a bind uses the whole header */
		if (kind->traits & USIW_WR_BIND)
			assert_int_equal(kind->traits,
					 USIW_WR_BIND | USIW_WR_NO_DATA);
	}
}

CASE(elements_have_limits)
{
	const struct usiw_sq_limits limits = { .max_sge = 3,
					       .max_sge_rd = 1,
					       .max_msg_size = 600 };
	static const struct {
		unsigned int traits;
		size_t cnt;
		uint32_t third;
		int err;
	} rows[] = {
		{ 0, 0, 0, 0 },
		{ 0, 3, 300, 0 },
		{ 0, 3, 301, -EINVAL },
		{ 0, 3, UINT32_MAX, -EINVAL },
		{ 0, 4, 0, -EINVAL },
		{ 0, SIZE_MAX, 0, -EINVAL },
		{ USIW_WR_SINK, 1, 0, 0 },
		{ USIW_WR_SINK, 2, 0, -EINVAL },
	};
	size_t i;

	for (i = 0; i < ARRAY_LEN(rows); i++) {
		struct {
			struct usiw_sqe sqe;
			struct usiw_sge sge[3];
		} slot = { .sqe.opcode = USIW_WR_SEND };
		struct ibv_sge sges[4] = { fake_sges[0], fake_sges[1],
					   fake_sges[2] };

		sges[2].length = rows[i].third;
		assert_int_equal(usiw_sqe_set_sges(&limits, rows[i].traits,
						   sges, rows[i].cnt,
						   &slot.sqe),
				 rows[i].err);
		if (rows[i].err)
			continue;
		assert_int_equal(slot.sqe.sge_cnt, rows[i].cnt);
		assert_memory_equal(slot.sge, sges,
				    rows[i].cnt * sizeof(sges[0]));
	}
}

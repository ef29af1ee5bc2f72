/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* null-mr.c: through two joined QPs, and the access check alone. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "mem/context.h"
#include "mem/access.h"
#include "mem/null-mr.h"
#include "rnicpair.h"

CASE(checks_by_the_requester)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rnicpair p;
	struct rnic_pd *other;
	struct rnic_mr *mr;
	uint32_t stag;

	rnicpair_open_idle(&p, &opt);
	assert_int_equal(rnic_mr_alloc_null(p.side[0].pd, &mr), 0);
	assert_int_equal(rnic_pd_alloc(p.side[0].ctx, &other), 0);
	stag = rnic_mr_stag(mr);
	{
		const struct {
			const struct rnic_pd *pd;
			uint64_t addr;
			size_t len;
			uint32_t access;
			enum rnic_access_check check;
		} rows[] = {
			{ p.side[0].pd, 0, 1, 0, RNIC_MR_OK },
			{ p.side[0].pd, 0, 1u << 31, 0, RNIC_MR_OK },
			{ p.side[0].pd, 0, 1u << 31, 1, RNIC_MR_OK },
			{ p.side[0].pd, UINT64_MAX, 9, 0, RNIC_MR_OK },
			{ p.side[0].pd, UINT64_MAX, 9, 1, RNIC_MR_OK },
			{ p.side[0].pd, 0, SIZE_MAX, 0, RNIC_MR_BAD_BOUNDS },
			{ p.side[0].pd, 0, 1, 2, RNIC_MR_BAD_ACCESS },
			{ p.side[0].pd, 0, 1, 4, RNIC_MR_BAD_ACCESS },
			{ p.side[0].pd, 0, 1, 8, RNIC_MR_BAD_ACCESS },
			{ other, 0, 1, 0, RNIC_MR_BAD_PD },
		};

		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			void *ptr = NULL;

			if (rnic_mr_resolve(&p.side[0].ctx->mrs, rows[i].pd,
					    stag, rows[i].addr, rows[i].len,
					    rows[i].access,
					    &ptr) != rows[i].check)
				fail_msg("row %zu", i);
			assert_int_equal(!ptr, rows[i].check != RNIC_MR_OK);
		}
	}
	assert_int_equal(
		rnic_mr_rereg(
			mr, &(struct rnic_mr_change){ .what = 4, .access = 5 }),
		-EINVAL);
	assert_int_equal(rnic_pd_free(other), 0);
	assert_int_equal(rnic_mr_dereg(mr), 0);
	rnicpair_close(&p);
}

#define LEN 200000u

/* A SEND gathered around a hole and scattered around another hole; a READ whose
 * middle part goes to the null region. */
static void read_and_forget(bool has_crc)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rnicpair_side *a, *b;
	struct usiw_sge from[3], to[3];
	struct rnicpair_wr wr = { .flags = USIW_SQE_SIGNALED };
	struct rnic_mr *null[2];
	struct usiw_cqe cqe;
	struct rnicpair p;

	opt.has_crc = has_crc;
	rnicpair_open(&p, &opt);
	a = &p.side[0];
	b = &p.side[1];
	assert_int_equal(rnic_mr_alloc_null(a->pd, &null[0]), 0);
	assert_int_equal(rnic_mr_alloc_null(b->pd, &null[1]), 0);
	rnicpair_fill(a->buf, 3 * LEN, 1);
	rnicpair_fill(b->buf, 3 * LEN, 2);
	from[0] = rnicpair_sge(a, 0, LEN);
	from[1] = (struct usiw_sge){ 77, LEN, rnic_mr_stag(null[0]) };
	from[2] = rnicpair_sge(a, 2 * LEN, LEN);
	/* keeps the first and the second part */
	to[0] = rnicpair_sge(b, 0, 2 * LEN);
	to[1] = (struct usiw_sge){ UINT64_MAX, LEN, rnic_mr_stag(null[1]) };
	assert_int_equal(rnicpair_post_recv(b, 5, to, 2), 0);
	wr.opcode = USIW_WR_SEND;
	wr.sge = from;
	wr.sge_cnt = 3;
	assert_int_equal(rnicpair_post(a, &wr), 0);
	cqe = rnicpair_take(b, b->rcq);
	assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	assert_int_equal(cqe.byte_len, 3 * LEN);
	assert_int_equal(rnicpair_take(a, a->scq).status, USIW_WC_SUCCESS);
	assert_true(rnicpair_is_filled(b->buf, LEN, 1));
	for (size_t i = LEN; i < 2 * LEN; i++)
		assert_int_equal(b->buf[i], 0);

	/* The sink is not visible: a's hole still reads as zeroes. */
	rnicpair_fill(b->buf, 3 * LEN, 2);
	to[0] = rnicpair_sge(a, 0, LEN);
	to[1] = (struct usiw_sge){ 0, 2 * LEN, rnic_mr_stag(null[0]) };
	wr.opcode = USIW_WR_READ;
	wr.sge = to;
	wr.sge_cnt = 2;
	wr.rkey = b->stag;
	wr.remote_addr = rnicpair_addr(b, 0);
	assert_int_equal(rnicpair_post(a, &wr), 0);
	assert_int_equal(rnicpair_take(a, a->scq).status, USIW_WC_SUCCESS);
	assert_true(rnicpair_is_filled(a->buf, LEN, 2));
	wr.opcode = USIW_WR_WRITE;
	wr.sge = &from[1];
	wr.sge_cnt = 1;
	assert_int_equal(rnicpair_post(a, &wr), 0);
	wr.opcode = USIW_WR_SEND;
	wr.sge_cnt = 0;
	assert_int_equal(rnicpair_post_recv(b, 6, NULL, 0), 0);
	assert_int_equal(rnicpair_post(a, &wr), 0);
	assert_int_equal(rnicpair_take(b, b->rcq).status, USIW_WC_SUCCESS);
	for (size_t i = 0; i < LEN; i++)
		assert_int_equal(b->buf[i], 0);
	assert_int_equal(rnic_mr_dereg(null[0]), 0);
	assert_int_equal(rnic_mr_dereg(null[1]), 0);
	rnicpair_close(&p);
}

CASE(reads_zeroes_and_forgets)
{
	read_and_forget(false);
}

CASE(reads_zeroes_and_forgets_with_crc)
{
	read_and_forget(true);
}

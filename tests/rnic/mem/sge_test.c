/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sge.c: where the octets of an SGE list lie, and which regions it names. */
#include "mem/sge.h"
#include "test.h"

#include <errno.h>
#include <string.h>

#include "mem/context.h"
#include "engine/engine.h"
#include "rnicpair.h"
#include "said.h"

#define LEN 64u
#define MAX_PIECES 4u

static struct rnicpair pair;
static uint8_t memory[2][LEN];
static struct rnic_mr *mr[2]; /* the second one allows no local write */

static int setup(void **state)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;

	rnicpair_open_idle(&pair, &opt);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(
			rnic_mr_reg(pair.side[0].pd, memory[i], LEN,
				    (uintptr_t)memory[i],
				    i == 0 ? RNIC_ACCESS_LOCAL_WRITE : 0,
				    &mr[i]),
			0);
	return 0;
}

static int teardown(void **state)
{
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(rnic_mr_dereg(mr[i]), 0);
	rnicpair_close(&pair);
	return 0;
}

/* One element: a region, an offset, a length. */
struct piece {
	int mr; /* -1: an STag that is none */
	uint32_t off, len;
};

static uint32_t sge_list(const struct piece *pieces, uint32_t cnt,
			 struct usiw_sge *ret_sge)
{
	for (uint32_t i = 0; i < cnt; i++) {
		const struct piece *p = &pieces[i];

		ret_sge[i] = (struct usiw_sge){
			.addr = (uintptr_t)memory[p->mr < 0 ? 0 : p->mr] +
				p->off,
			.len = p->len,
			.lkey = p->mr < 0 ? 0 : rnic_mr_stag(mr[p->mr]),
		};
	}
	return cnt;
}

static const struct {
	const char *name;
	struct piece list[MAX_PIECES];
	uint32_t list_cnt;
	uint32_t off, len, access;
	int rc;
	struct piece want[MAX_PIECES];
} resolve_rows[] = {
	{ "one", { { 0, 3, 10 } }, 1, 0, 10, 0, 1, { { 0, 3, 10 } } },
	{ "its middle", { { 0, 3, 10 } }, 1, 4, 2, 0, 1, { { 0, 7, 2 } } },
	{ "its last octet",
	  { { 0, 0, LEN } },
	  1,
	  LEN - 1,
	  1,
	  0,
	  1,
	  { { 0, LEN - 1, 1 } } },
	{ "two",
	  { { 0, 0, 8 }, { 1, 8, 8 } },
	  2,
	  0,
	  16,
	  0,
	  2,
	  { { 0, 0, 8 }, { 1, 8, 8 } } },
	{ "across two",
	  { { 0, 0, 8 }, { 1, 8, 8 } },
	  2,
	  6,
	  4,
	  0,
	  2,
	  { { 0, 6, 2 }, { 1, 8, 2 } } },
	{ "the second alone",
	  { { 0, 0, 8 }, { 1, 8, 8 } },
	  2,
	  8,
	  8,
	  0,
	  1,
	  { { 1, 8, 8 } } },
	{ "an empty one between",
	  { { 0, 0, 4 }, { 0, 9, 0 }, { 1, 0, 4 } },
	  3,
	  2,
	  4,
	  0,
	  2,
	  { { 0, 2, 2 }, { 1, 0, 2 } } },
	{ "the same region twice",
	  { { 0, 0, 4 }, { 0, 0, 4 } },
	  2,
	  0,
	  8,
	  RNIC_ACCESS_LOCAL_WRITE,
	  2,
	  { { 0, 0, 4 }, { 0, 0, 4 } } },
	{ "no octets", { { -1, 0, 4 } }, 1, 0, 0, 0, 0, { { 0 } } },
	{ "no element", { { 0 } }, 0, 0, 0, 0, 0, { { 0 } } },
	{ "longer than the list",
	  { { 0, 0, 8 } },
	  1,
	  0,
	  9,
	  0,
	  -EFAULT,
	  { { 0 } } },
	{ "behind the list", { { 0, 0, 8 } }, 1, 8, 1, 0, -EFAULT, { { 0 } } },
	{ "no such STag",
	  { { 0, 0, 8 }, { -1, 0, 8 } },
	  2,
	  0,
	  16,
	  0,
	  -EFAULT,
	  { { 0 } } },
	{ "a wrong STag that is not reached",
	  { { 0, 0, 8 }, { -1, 0, 8 } },
	  2,
	  0,
	  8,
	  0,
	  1,
	  { { 0, 0, 8 } } },
	{ "a wrong STag that is skipped",
	  { { -1, 0, 8 }, { 0, 0, 8 } },
	  2,
	  8,
	  8,
	  0,
	  1,
	  { { 0, 0, 8 } } },
	{ "outside the region",
	  { { 0, LEN - 4, 8 } },
	  1,
	  0,
	  8,
	  0,
	  -EFAULT,
	  { { 0 } } },
	{ "only its part inside",
	  { { 0, LEN - 4, 8 } },
	  1,
	  0,
	  4,
	  0,
	  1,
	  { { 0, LEN - 4, 4 } } },
	{ "no right to write",
	  { { 1, 0, 8 } },
	  1,
	  0,
	  8,
	  RNIC_ACCESS_LOCAL_WRITE,
	  -EFAULT,
	  { { 0 } } },
};

CASE(says_why_not)
{
	static const struct {
		struct piece piece;
		uint32_t access;
		const char *want;
	} rows[] = {
		{ { -1, 0, 8 }, 0, "cannot be read: lkey 0x00000000, " },
		{ { -1, 0, 8 }, 0, "8 octets: no region or window has" },
		{ { 0, LEN, 8 }, 0, "it is not wholly inside the region\n" },
		{ { 1, 0, 8 },
		  RNIC_ACCESS_LOCAL_WRITE,
		  "cannot be written (IBV_ACCESS_LOCAL_WRITE): lkey " },
		{ { 1, 0, 8 },
		  RNIC_ACCESS_LOCAL_WRITE,
		  "the QP does not have the right\n" },
	};
	struct rnic_engine *engine = pair.side[0].ctx->engine;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *text;
		struct usiw_sge sge;
		struct iovec iov;
		int rc;

		sge_list(&rows[i].piece, 1, &sge);
		said_begin();
		rnic_engine_lead(engine);
		rc = rnic_sge_resolve(pair.side[0].pd, &sge, 1, 0, 8,
				      rows[i].access, &iov);
		rnic_engine_unlead(engine);
		text = said_end();
		assert_int_equal(rc, -EFAULT);
		assert_row(text, strstr(text, rows[i].want));
	}
}

CASE(places_of_octets)
{
	struct rnic_engine *engine = pair.side[0].ctx->engine;

	for (size_t i = 0; i < ARRAY_LEN(resolve_rows); i++) {
		struct usiw_sge sge[MAX_PIECES];
		struct iovec iov[MAX_PIECES];
		uint32_t cnt = sge_list(resolve_rows[i].list,
					resolve_rows[i].list_cnt, sge);
		int rc;

		rnic_engine_lead(engine);
		rc = rnic_sge_resolve(pair.side[0].pd, sge, cnt,
				      resolve_rows[i].off, resolve_rows[i].len,
				      resolve_rows[i].access, iov);
		rnic_engine_unlead(engine);
		assert_row(resolve_rows[i].name, rc == resolve_rows[i].rc);
		for (int k = 0; k < rc; k++) {
			const struct piece *want = &resolve_rows[i].want[k];

			assert_row(resolve_rows[i].name,
				   iov[k].iov_base == memory[want->mr] +
							      want->off &&
					   iov[k].iov_len == want->len);
		}
	}
}

CASE(regions_that_a_list_names)
{
	static const struct piece list[] = { { 0, 0, 8 }, { 1, 0, 0 } };
	struct usiw_sge sge[2];

	sge_list(list, 2, sge);
	assert_true(rnic_sge_names(sge, 2, rnic_mr_stag(mr[0])));
	/* Its element has no octets, so that its STag is never looked at. */
	assert_false(rnic_sge_names(sge, 2, rnic_mr_stag(mr[1])));
	assert_false(rnic_sge_names(sge, 0, rnic_mr_stag(mr[0])));
	sge[1].len = 1;
	assert_true(rnic_sge_names(sge, 2, rnic_mr_stag(mr[1])));
	assert_false(rnic_sge_names(sge, 1, rnic_mr_stag(mr[1])));
}

BEFORE_CASES()
{
	setenv("USIW_LOG", "info", 1);
}

ALL_CASES_WITH(setup, teardown);

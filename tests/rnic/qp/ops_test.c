/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Every kind of work with every kind of error: which side gets which status.
 * Keys, domains, rights and bounds of the local and of the remote memory.
 */
#include "../../harness/test.h"

#include <stdbool.h>
#include <string.h>

#include "engine/engine.h"
#include "qp/qp.h"
#include "rnicpair.h"

#define AREA 4096

enum mistake {
	NO_MISTAKE,
	/* Errors of the local elements. */
	LKEY_NOBODYS,
	LKEY_OLD,
	LKEY_OTHER_PD,
	LKEY_READ_ONLY, /* to be written to */
	LKEY_BEYOND,
	LOCAL_CNT, /* the errors before this are local */
	/* Errors of the remote memory. */
	RKEY_NOBODYS = LOCAL_CNT,
	RKEY_OLD,
	RKEY_OTHER_PD,
	RKEY_NO_RIGHT,
	RKEY_BEYOND,
	RKEY_WRAPS,
	REMOTE_NOT_ALIGNED,
	MISTAKE_CNT
};

static const char *const mistake_names[] = {
	"no mistake",
	"unknown lkey",
	"lkey of a removed region",
	"lkey of another domain",
	"lkey without write access",
	"beyond the local region",
	"unknown rkey",
	"rkey of a removed region",
	"rkey of another domain",
	"rkey without the right",
	"beyond the remote region",
	"remote address wraps",
	"remote address not aligned",
};

static const struct op {
	const char *name;
	uint8_t opcode;
	uint32_t right; /* required of the remote region */
	bool is_sink;	/* the local elements are written */
	bool is_atomic, has_remote, has_recv;
} ops[] = {
	{ "SEND", USIW_WR_SEND, 0, false, false, false, true },
	{ "SEND_IMM", USIW_WR_SEND_IMM, 0, false, false, false, true },
	{ "WRITE", USIW_WR_WRITE, RNIC_ACCESS_REMOTE_WRITE, false, false, true,
	  false },
	{ "WRITE_IMM", USIW_WR_WRITE_IMM, RNIC_ACCESS_REMOTE_WRITE, false,
	  false, true, true },
	{ "READ", USIW_WR_READ, RNIC_ACCESS_REMOTE_READ, true, false, true,
	  false },
	{ "FETCH_ADD", USIW_WR_FETCH_ADD, RNIC_ACCESS_REMOTE_ATOMIC, true, true,
	  true, false },
	{ "CMP_SWP", USIW_WR_CMP_SWP, RNIC_ACCESS_REMOTE_ATOMIC, true, true,
	  true, false },
};

#define RIGHTS                                                                 \
	(RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ |                  \
	 RNIC_ACCESS_REMOTE_ATOMIC)

/* Regions of a side over the first AREA octets of its buffer. */
struct regions {
	struct rnic_pd *other_pd;
	struct rnic_mr *good, *gone, *other, *read_only, *no_right;
	uint32_t gone_stag;
};

static struct rnic_mr *region(struct rnicpair_side *s, struct rnic_pd *pd,
			      uint32_t access)
{
	struct rnic_mr *mr;

	assert_int_equal(
		rnic_mr_reg(pd, s->buf, AREA, rnicpair_addr(s, 0), access, &mr),
		0);
	return mr;
}

static void regions_open(struct regions *r, struct rnicpair_side *s,
			 uint32_t right)
{
	const uint32_t all = RNIC_ACCESS_LOCAL_WRITE | RIGHTS;

	assert_int_equal(rnic_pd_alloc(s->ctx, &r->other_pd), 0);
	r->good = region(s, s->pd, all);
	r->other = region(s, r->other_pd, all);
	r->read_only = region(s, s->pd, RNIC_ACCESS_REMOTE_READ);
	r->no_right = region(s, s->pd, all & ~right);
	r->gone = region(s, s->pd, all);
	r->gone_stag = rnic_mr_stag(r->gone);
	assert_int_equal(rnic_mr_dereg(r->gone), 0);
}

static void regions_close(struct regions *r)
{
	assert_int_equal(rnic_mr_dereg(r->good), 0);
	assert_int_equal(rnic_mr_dereg(r->other), 0);
	assert_int_equal(rnic_mr_dereg(r->read_only), 0);
	assert_int_equal(rnic_mr_dereg(r->no_right), 0);
	assert_int_equal(rnic_pd_free(r->other_pd), 0);
}

static bool mistake_applies(const struct op *op, enum mistake m)
{
	if (m >= LOCAL_CNT && !op->has_remote)
		return false;
	if (m == LKEY_READ_ONLY)
		return op->is_sink;
	return m != REMOTE_NOT_ALIGNED || op->is_atomic;
}

static void spoil_local(struct usiw_sge *sge, const struct regions *r,
			enum mistake m)
{
	sge->lkey = rnic_mr_stag(r->good);
	if (m == LKEY_NOBODYS)
		sge->lkey ^= 0x100;
	if (m == LKEY_OLD)
		sge->lkey = r->gone_stag;
	if (m == LKEY_OTHER_PD)
		sge->lkey = rnic_mr_stag(r->other);
	if (m == LKEY_READ_ONLY)
		sge->lkey = rnic_mr_stag(r->read_only);
	if (m == LKEY_BEYOND)
		sge->addr += AREA - 7;
}

static void spoil_remote(struct rnicpair_wr *wr, const struct regions *r,
			 enum mistake m)
{
	wr->rkey = rnic_mr_stag(r->good);
	if (m == RKEY_NOBODYS)
		wr->rkey ^= 0x100;
	if (m == RKEY_OLD)
		wr->rkey = r->gone_stag;
	if (m == RKEY_OTHER_PD)
		wr->rkey = rnic_mr_stag(r->other);
	if (m == RKEY_NO_RIGHT)
		wr->rkey = rnic_mr_stag(r->no_right);
	if (m == RKEY_BEYOND)
		wr->remote_addr += AREA;
	if (m == RKEY_WRAPS)
		wr->remote_addr = UINT64_MAX - 6;
	if (m == REMOTE_NOT_ALIGNED)
		wr->remote_addr += 4;
}

/*
 * The invalid request, followed by a valid Read. A request that needs no answer
 * is done when it is sent. So the peer's error for it goes to the oldest
 * request that waits.
 */
static void expect_at_requester(struct rnicpair_side *a, const struct op *op,
				enum mistake m)
{
	bool is_local = m < LOCAL_CNT;
	enum usiw_wc_status expected = is_local ? USIW_WC_LOC_PROT_ERR
				       : m == REMOTE_NOT_ALIGNED
					       ? USIW_WC_REM_INV_REQ_ERR
					       : USIW_WC_REM_ACCESS_ERR;
	bool is_told = is_local ||
		       op->is_sink; /* the request itself, not the next one */
	struct usiw_cqe cqe = rnicpair_take(a, a->scq);

	assert_int_equal(cqe.wr_id, 1);
	assert_int_equal(cqe.status, is_told ? expected : USIW_WC_SUCCESS);
	cqe = rnicpair_take(a, a->scq);
	assert_int_equal(cqe.wr_id, 2);
	assert_int_equal(cqe.status, is_told ? USIW_WC_WR_FLUSH_ERR : expected);
	assert_int_equal(rnicpair_async(a, NULL),
			 is_local ? USIW_EVENT_QP_REQ_ERR
				  : USIW_EVENT_QP_FATAL);
}

static void expect_at_responder(struct rnicpair_side *b, const struct op *op,
				enum mistake m)
{
	rnicpair_wait_state(b, RNIC_QPS_TERMINATE);
	if (op->has_recv)
		assert_int_equal(rnicpair_take(b, b->rcq).status,
				 USIW_WC_WR_FLUSH_ERR);
	assert_int_equal(rnicpair_async(b, NULL),
			 m < LOCAL_CNT		   ? USIW_EVENT_QP_FATAL
			 : m == REMOTE_NOT_ALIGNED ? USIW_EVENT_QP_REQ_ERR
						   : USIW_EVENT_QP_ACCESS_ERR);
	/* Its memory is unchanged. */
	for (int i = 0; i < AREA; i++)
		assert_int_equal(b->buf[i], 0x5a);
}

static void make_mistake(const struct op *op, enum mistake m, bool has_crc)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rnicpair p;
	struct rnicpair_side *a = &p.side[0], *b = &p.side[1];
	struct regions local, remote;
	struct usiw_sge sge, dst;
	struct rnicpair_wr wr = { .wr_id = 1,
				  .opcode = op->opcode,
				  .flags = USIW_SQE_SIGNALED,
				  .sge = &sge,
				  .sge_cnt = 1,
				  .compare_add = 0x5a5a5a5a5a5a5a5a };

	opt.has_crc = has_crc;
	rnicpair_open(&p, &opt);
	regions_open(&local, a, 0);
	regions_open(&remote, b, op->right);
	memset(a->buf, 0x11, AREA);
	memset(b->buf, 0x5a, AREA);
	dst = rnicpair_sge(b, 0, 8);
	if (op->has_recv)
		assert_int_equal(rnicpair_post_recv(b, 9, &dst, 1), 0);
	sge = rnicpair_sge(a, 0, 8);
	wr.remote_addr = rnicpair_addr(b, 64);
	spoil_local(&sge, &local, m);
	spoil_remote(&wr, &remote, m);
	rnic_engine_lead(a->qp->engine); /* both before either is sent */
	assert_int_equal(rnicpair_post(a, &wr), 0);
	sge = rnicpair_sge(a, 64, 8);
	wr = (struct rnicpair_wr){ .wr_id = 2,
				   .opcode = USIW_WR_READ,
				   .sge = &sge,
				   .sge_cnt = 1,
				   .flags = USIW_SQE_SIGNALED,
				   .remote_addr = rnicpair_addr(b, 0),
				   .rkey = b->stag };
	assert_int_equal(rnicpair_post(a, &wr), 0);
	rnic_engine_unlead(a->qp->engine);
	if (m == NO_MISTAKE) {
		for (uint64_t id = 1; id <= 2; id++)
			assert_int_equal(rnicpair_take(a, a->scq).status,
					 USIW_WC_SUCCESS);
		if (op->has_recv)
			assert_int_equal(rnicpair_take(b, b->rcq).status,
					 USIW_WC_SUCCESS);
	} else {
		expect_at_requester(a, op, m);
		expect_at_responder(b, op, m);
	}
	assert_true(rnicpair_is_quiet(&p, a->scq));
	assert_true(rnicpair_is_quiet(&p, b->rcq));
	assert_false(rnicpair_has_async(a));
	assert_false(rnicpair_has_async(b));
	regions_close(&local);
	regions_close(&remote);
	rnicpair_close(&p);
}

CASE(each_mistake_has_its_status)
{
	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		for (enum mistake m = 0; m < MISTAKE_CNT; m++)
			for (int has_crc = 0; has_crc < 2; has_crc++) {
				if (!mistake_applies(&ops[i], m))
					continue;
				print_message("%s, %s, CRC %d\n", ops[i].name,
					      mistake_names[m], has_crc);
				make_mistake(&ops[i], m, has_crc);
			}
}

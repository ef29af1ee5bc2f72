/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* mw.c: what may be bound, which access a bound window gives to which QP, and
 * every way to close it. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "mem/context.h"
#include "mem/mw.h"
#include "qp/qp.h"
#include "rawpeer.h"

#define LW RNIC_ACCESS_LOCAL_WRITE
#define RW RNIC_ACCESS_REMOTE_WRITE
#define RR RNIC_ACCESS_REMOTE_READ
#define BINDABLE RNIC_ACCESS_MW_BIND
#define LB (LW | BINDABLE)
#define ZERO RNIC_ACCESS_ZERO_BASED

#define MR_LEN 8192u
#define T1 RNIC_MW_TYPE_1
#define T2 RNIC_MW_TYPE_2

/* Side 0 has the windows, side 1 uses them. */
struct world {
	struct rnicpair p;
	struct rnicpair_side *a, *b;
	struct rnic_mr *mr;    /* the first MR_LEN octets of a's buffer */
	struct rnic_mw *mw[3]; /* none, type 1, type 2 */
};

static struct rnic_mr *mr_new(struct world *w, struct rnic_pd *pd,
			      uint32_t access)
{
	struct rnic_mr *mr;

	must(!rnic_mr_reg(pd, w->a->buf, MR_LEN, (uintptr_t)w->a->buf, access,
			  &mr));
	return mr;
}

static void world_open(struct world *w, uint32_t access)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;

	memset(w, 0, sizeof(*w));
	rnicpair_open(&w->p, &opt);
	w->a = &w->p.side[0];
	w->b = &w->p.side[1];
	w->mr = mr_new(w, w->a->pd, access);
	must(!rnic_mw_alloc(w->a->pd, T1, &w->mw[T1]));
	must(!rnic_mw_alloc(w->a->pd, T2, &w->mw[T2]));
}

static void world_close(struct world *w)
{
	for (int i = T1; i <= T2; i++)
		if (w->mw[i])
			assert_int_equal(rnic_mw_dealloc(w->mw[i]), 0);
	assert_int_equal(w->mr->mw_cnt, 0);
	assert_int_equal(rnic_mr_dereg(w->mr), 0);
	rnicpair_close(&w->p);
}

static uint32_t next_key(uint32_t stag)
{
	return (stag & ~0xffu) | (uint8_t)(stag + 1);
}

static uint64_t at(const struct world *w, uint64_t off)
{
	return rnicpair_addr(w->a, off);
}

static void post_bind(struct world *w, struct rnic_qp *qp, uint32_t stag,
		      uint32_t lkey, uint64_t addr, uint64_t len,
		      uint64_t access)
{
	const struct rnicpair_wr wr = {
		.wr_id = 77,
		.opcode = USIW_WR_BIND_MW,
		.flags = USIW_SQE_SIGNALED,
		.rkey = stag,
		.imm_be = lkey,
		.remote_addr = addr,
		.compare_add = len,
		.swap = access,
	};

	assert_int_equal(rnicpair_post_qp(w->a, qp, &wr), 0);
}

/* The state after the pass in which a completion came, not in the middle of
 * it. */
static enum rnic_qp_state state_now(struct rnic_qp *qp)
{
	struct rnic_qp_attr attr;

	rnic_qp_query(qp, &attr);
	return attr.state;
}

/* Binds as requested on side 0's QP. Return: the window's new STag. */
static uint32_t bind_ok(struct world *w, struct rnic_mw *mw, uint64_t off,
			uint64_t len, uint64_t access)
{
	uint32_t stag = next_key(rnic_mw_stag(mw));
	struct usiw_cqe cqe;

	post_bind(w, w->a->qp, stag, rnic_mr_stag(w->mr), at(w, off), len,
		  access);
	cqe = rnicpair_take(w->a, w->a->scq);
	assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	assert_int_equal(cqe.opcode, USIW_WC_BIND_MW);
	assert_int_equal(cqe.wr_id, 77);
	assert_int_equal(rnic_mw_stag(mw), stag);
	return stag;
}

static enum usiw_wc_status post_local_inv(struct world *w, struct rnic_qp *qp,
					  uint32_t stag)
{
	const struct rnicpair_wr wr = {
		.opcode = USIW_WR_LOCAL_INV,
		.flags = USIW_SQE_SIGNALED,
		.rkey = stag,
	};
	struct usiw_cqe cqe;

	assert_int_equal(rnicpair_post_qp(w->a, qp, &wr), 0);
	cqe = rnicpair_take(w->a, w->a->scq);
	if (cqe.status == USIW_WC_SUCCESS)
		assert_int_equal(cqe.opcode, USIW_WC_LOCAL_INV);
	return (enum usiw_wc_status)cqe.status;
}

/*
 * The result for side 1 of a READ or a WRITE of the octets. A WRITE is followed
 * by an empty READ, which shows the result, or is flushed if TERMINATE was
 * faster.
 */
static enum usiw_wc_status use_qp(struct world *w, struct rnic_qp *qp,
				  uint8_t opcode, uint32_t stag, uint64_t addr,
				  uint32_t len)
{
	const struct usiw_sge sge = rnicpair_sge(w->b, 0, len);
	struct rnicpair_wr wr = {
		.opcode = opcode,
		.flags = USIW_SQE_SIGNALED,
		.sge_cnt = 1,
		.sge = &sge,
		.rkey = stag,
		.remote_addr = addr,
	};
	struct usiw_cqe cqe;

	assert_int_equal(rnicpair_post_qp(w->b, qp, &wr), 0);
	cqe = rnicpair_take(w->b, w->b->scq);
	if (opcode == USIW_WR_READ || cqe.status != USIW_WC_SUCCESS)
		return (enum usiw_wc_status)cqe.status;
	wr.opcode = USIW_WR_READ;
	wr.sge_cnt = 0;
	wr.rkey = 0;
	assert_int_equal(rnicpair_post_qp(w->b, qp, &wr), 0);
	cqe = rnicpair_take(w->b, w->b->scq);
	if (cqe.status == USIW_WC_WR_FLUSH_ERR)
		return USIW_WC_REM_ACCESS_ERR;
	return (enum usiw_wc_status)cqe.status;
}

static enum usiw_wc_status use(struct world *w, uint8_t opcode, uint32_t stag,
			       uint64_t addr, uint32_t len)
{
	return use_qp(w, w->b->qp, opcode, stag, addr, len);
}

/* ---- binding ---- */

enum which { THE_MR, NO_MR, OTHER_PD, NULL_MR, WINDOW };

struct bad_bind {
	const char *name;
	uint32_t mr_access;
	enum which lkey, window; /* WINDOW: the correct one */
	enum rnic_mw_type type;
	int64_t off;
	uint64_t len, access;
	bool is_bound; /* before */
};

static const struct bad_bind bad_binds[] = {
	{ "no right to bind", LW, THE_MR, WINDOW, T1, 0, 64, RR, 0 },
	{ "no right to bind", LW, THE_MR, WINDOW, T2, 0, 64, RR, 0 },
	{ "writes", BINDABLE, THE_MR, WINDOW, T1, 0, 64, RW, 0 },
	{ "atomics", BINDABLE, THE_MR, WINDOW, T2, 0, 64, 8, 0 },
	{ "local right", LB, THE_MR, WINDOW, T1, 0, 64, LW, 0 },
	{ "right to bind", LB, THE_MR, WINDOW, T2, 0, 64, BINDABLE, 0 },
	{ "high right", LB, THE_MR, WINDOW, T1, 0, 64, 1ull << 33, 0 },
	{ "no region", LB, NO_MR, WINDOW, T1, 0, 64, RR, 0 },
	{ "other domain", LB, OTHER_PD, WINDOW, T1, 0, 64, RR, 0 },
	{ "null region", LB, NULL_MR, WINDOW, T2, 0, 64, RR, 0 },
	{ "window in window", LB, WINDOW, WINDOW, T2, 0, 64, RR, 0 },
	{ "before", LB, THE_MR, WINDOW, T1, -1, 64, RR, 0 },
	{ "behind", LB, THE_MR, WINDOW, T2, MR_LEN - 63, 64, RR, 0 },
	{ "too long", LB, THE_MR, WINDOW, T1, 0, MR_LEN + 1, RR, 0 },
	{ "wraps", LB, THE_MR, WINDOW, T2, 64, UINT64_MAX, RR, 0 },
	{ "region for window", LB, THE_MR, THE_MR, T1, 0, 64, RR, 0 },
	{ "no window", LB, THE_MR, NO_MR, T1, 0, 64, RR, 0 },
	{ "window of another", LB, THE_MR, OTHER_PD, T2, 0, 64, RR, 0 },
	{ "type 2 to nothing", LB, THE_MR, WINDOW, T2, 0, 0, RR, 0 },
	{ "type 2 that is bound", LB, THE_MR, WINDOW, T2, 0, 64, RR, 1 },
};

/* Objects of another window, region or domain. */
struct foreign {
	struct rnic_pd *pd;
	struct rnic_mr *mr, *null_mr;
	struct rnic_mw *mw;
};

static void foreign_open(struct foreign *other, struct world *w,
			 enum rnic_mw_type type)
{
	must(!rnic_pd_alloc(w->a->ctx, &other->pd));
	other->mr = mr_new(w, other->pd, LB);
	must(!rnic_mw_alloc(other->pd, type, &other->mw));
	must(!rnic_mr_alloc_null(w->a->pd, &other->null_mr));
}

static void foreign_close(struct foreign *other)
{
	assert_int_equal(other->mr->mw_cnt, 0);
	assert_int_equal(rnic_mw_dealloc(other->mw), 0);
	assert_int_equal(rnic_mr_dereg(other->mr), 0);
	assert_int_equal(rnic_mr_dereg(other->null_mr), 0);
	assert_int_equal(rnic_pd_free(other->pd), 0);
}

static void post_bad_bind(struct world *w, const struct foreign *other,
			  const struct bad_bind *row)
{
	const uint32_t old = rnic_mw_stag(w->mw[row->type]);
	const uint32_t lkeys[] = {
		[THE_MR] = rnic_mr_stag(w->mr),
		[NO_MR] = 0x12345678,
		[OTHER_PD] = rnic_mr_stag(other->mr),
		[NULL_MR] = rnic_mr_stag(other->null_mr),
		[WINDOW] = old,
	};
	const uint32_t windows[] = {
		[THE_MR] = rnic_mr_stag(w->mr),
		[NO_MR] = 0x12345678,
		[OTHER_PD] = rnic_mw_stag(other->mw),
		[WINDOW] = next_key(old),
	};

	post_bind(w, w->a->qp, windows[row->window], lkeys[row->lkey],
		  at(w, 0) + (uint64_t)row->off, row->len, row->access);
}

CASE(refuses_what_may_not_be_bound)
{
	for (size_t i = 0; i < ARRAY_LEN(bad_binds); i++) {
		const struct bad_bind *row = &bad_binds[i];
		struct foreign other;
		struct usiw_cqe cqe;
		struct rnic_mw *mw;
		struct world w;
		uint32_t old;

		world_open(&w, row->mr_access);
		foreign_open(&other, &w, row->type);
		mw = w.mw[row->type];
		if (row->is_bound)
			bind_ok(&w, mw, 0, 32, RR);
		old = rnic_mw_stag(mw);
		post_bad_bind(&w, &other, row);
		cqe = rnicpair_take(w.a, w.a->scq);
		if (cqe.status != USIW_WC_MW_BIND_ERR)
			fail_msg("%s: status %u", row->name, cqe.status);
		assert_int_equal(cqe.wr_id, 77);
		assert_int_equal(state_now(w.a->qp), RNIC_QPS_TERMINATE);
		/* nothing has changed */
		assert_int_equal(rnic_mw_stag(mw), old);
		assert_int_equal(w.mr->mw_cnt, row->is_bound);
		foreign_close(&other);
		world_close(&w);
	}
}

/* Every kind of window against every access that its peer may try. */
CASE(opens_what_it_covers_and_no_more)
{
	static const struct {
		uint64_t off, len, access;
		uint8_t opcode;
		int64_t use; /* offset from the beginning of the window */
		uint32_t use_len;
		bool is_good;
	} rows[] = {
		{ 64, 100, RR, USIW_WR_READ, 0, 100, true },
		{ 64, 100, RR | ZERO, USIW_WR_READ, 0, 100, true },
		{ 64, 100, RR, USIW_WR_READ, 99, 1, true },
		{ 64, 100, RR | RW, USIW_WR_WRITE, 50, 50, true },
		{ 64, 100, RW | ZERO, USIW_WR_WRITE, 99, 1, true },
		{ 0, MR_LEN, RR, USIW_WR_READ, 0, MR_LEN, true },
		{ 64, 100, RR, USIW_WR_READ, 0, 101, false },
		{ 64, 100, RR | ZERO, USIW_WR_READ, 0, 101, false },
		{ 64, 100, RR, USIW_WR_READ, -1, 2, false },
		{ 64, 100, RR, USIW_WR_READ, 100, 1, false },
		{ 64, 100, RW, USIW_WR_READ, 0, 1, false },
		{ 64, 100, RR, USIW_WR_WRITE, 0, 1, false },
		{ 64, 100, 0, USIW_WR_READ, 0, 1, false },
		{ 64, 100, RW | ZERO, USIW_WR_WRITE, 100, 1, false },
	};

	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		size_t row = i / 2;
		uint64_t begin;
		enum usiw_wc_status status;
		struct world w;
		uint32_t stag;

		world_open(&w, LW | BINDABLE);
		rnicpair_fill(w.a->buf, MR_LEN, 1);
		rnicpair_fill(w.b->buf, MR_LEN, 2);
		stag = bind_ok(&w, w.mw[1 + i % 2], rows[row].off,
			       rows[row].len, rows[row].access);
		begin = rows[row].access & ZERO ? 0 : at(&w, rows[row].off);
		status = use(&w, rows[row].opcode, stag,
			     begin + (uint64_t)rows[row].use,
			     rows[row].use_len);
		if (status != (rows[row].is_good ? USIW_WC_SUCCESS
						 : USIW_WC_REM_ACCESS_ERR))
			fail_msg("row %zu: status %d", row, status);
		if (rows[row].is_good)
			assert_memory_equal(w.b->buf,
					    w.a->buf + rows[row].off +
						    rows[row].use,
					    rows[row].use_len);
		else
			assert_true(rnicpair_is_filled(w.a->buf, MR_LEN, 1));
		world_close(&w);
	}
}

/* A window gives its own side no access. */
CASE(is_no_lkey)
{
	struct usiw_sge sge;
	struct rnicpair_wr wr = {
		.opcode = USIW_WR_SEND,
		.flags = USIW_SQE_SIGNALED,
		.sge_cnt = 1,
		.sge = &sge,
	};
	struct world w;

	world_open(&w, LW | BINDABLE);
	sge.lkey = bind_ok(&w, w.mw[T1], 0, 64, RR | RW);
	sge.addr = at(&w, 0);
	sge.len = 8;
	assert_int_equal(rnicpair_post(w.a, &wr), 0);
	assert_int_equal(rnicpair_take(w.a, w.a->scq).status,
			 USIW_WC_LOC_PROT_ERR);
	world_close(&w);
}

/* A type 1 window belongs to its domain, a type 2 window to the QP that bound
 * it. */
/* DDP-57, RDMAP-70: another stream can neither read nor place through it. */
CASE(type_2_is_for_one_peer)
{
	for (int i = 0; i < 4; i++) {
		uint8_t opcode = i % 2 ? USIW_WR_WRITE : USIW_WR_READ;
		int type = i / 2 ? T2 : T1;
		struct rnic_qp *qp[2];
		uint32_t stag, events;
		struct world w;

		world_open(&w, LW | BINDABLE);
		qp[0] = rnicpair_qp_new(&w.p, 0);
		qp[1] = rnicpair_qp_new(&w.p, 1);
		rnicpair_join(&w.p, qp[0], qp[1]);
		stag = bind_ok(&w, w.mw[type], 0, 64, RR | RW);
		memset(w.a->buf, 0x11, 64);
		memset(w.b->buf, 0x22, 64);
		assert_int_equal(use_qp(&w, qp[1], opcode, stag, at(&w, 0), 64),
				 type == T1 ? USIW_WC_SUCCESS
					    : USIW_WC_REM_ACCESS_ERR);
		for (int k = 0; k < 64; k++) {
			bool is_written = type == T1 && i % 2;
			bool is_read = type == T1 && !(i % 2);

			assert_int_equal(w.a->buf[k], is_written ? 0x22 : 0x11);
			assert_int_equal(w.b->buf[k], is_read ? 0x11 : 0x22);
		}
		assert_int_equal(state_now(qp[0]),
				 type == T1 ? RNIC_QPS_RTS
					    : RNIC_QPS_TERMINATE);
		/* The owner of the window continues. */
		assert_int_equal(use(&w, opcode, stag, at(&w, 0), 64),
				 USIW_WC_SUCCESS);
		assert_int_equal(rnic_qp_destroy(qp[0], &events), 0);
		assert_int_equal(rnic_qp_destroy(qp[1], &events), 0);
		world_close(&w);
	}
}

/* Not even for a QP of the same device. */
CASE(type_1_is_for_its_domain)
{
	for (int i = 0; i < 2; i++) {
		uint8_t opcode = i ? USIW_WR_WRITE : USIW_WR_READ;
		struct rnic_pd *pd, *other;
		struct rnic_qp *qp[2];
		uint32_t stag, events;
		struct world w;

		world_open(&w, LW | BINDABLE);
		must(!rnic_pd_alloc(w.a->ctx, &other));
		pd = w.a->pd;
		w.a->pd = other;
		qp[0] = rnicpair_qp_new(&w.p, 0);
		w.a->pd = pd;
		qp[1] = rnicpair_qp_new(&w.p, 1);
		rnicpair_join(&w.p, qp[0], qp[1]);
		stag = bind_ok(&w, w.mw[T1], 0, 64, RR | RW);
		memset(w.a->buf, 0x11, 64);
		memset(w.b->buf, 0x22, 64);
		assert_int_equal(use_qp(&w, qp[1], opcode, stag, at(&w, 0), 64),
				 USIW_WC_REM_ACCESS_ERR);
		for (int k = 0; k < 64; k++) {
			assert_int_equal(w.a->buf[k], 0x11);
			assert_int_equal(w.b->buf[k], 0x22);
		}
		assert_int_equal(use(&w, opcode, stag, at(&w, 0), 64),
				 USIW_WC_SUCCESS);
		assert_int_equal(rnic_qp_destroy(qp[0], &events), 0);
		assert_int_equal(rnic_qp_destroy(qp[1], &events), 0);
		assert_int_equal(rnic_pd_free(other), 0);
		world_close(&w);
	}
}

/* ---- closing ---- */

CASE(rebinding_takes_type_1_away)
{
	uint32_t first, second;
	struct world w;

	world_open(&w, LW | BINDABLE);
	first = bind_ok(&w, w.mw[T1], 0, 64, RR);
	assert_int_equal(w.mr->mw_cnt, 1);
	second = bind_ok(&w, w.mw[T1], 64, 64, RR);
	assert_int_equal(w.mr->mw_cnt, 1);
	assert_int_equal(use(&w, USIW_WR_READ, second, at(&w, 64), 64),
			 USIW_WC_SUCCESS);
	assert_int_equal(use(&w, USIW_WR_READ, first, at(&w, 0), 64),
			 USIW_WC_REM_ACCESS_ERR);
	world_close(&w);
}

enum closing { UNBIND, LOCAL_INV, PEER_INV, DEALLOC };

static void close_window(struct world *w, enum rnic_mw_type type, uint32_t stag,
			 enum closing how)
{
	struct rnicpair_wr send = {
		.opcode = USIW_WR_SEND_INV,
		.flags = USIW_SQE_SIGNALED,
		.rkey = stag,
	};
	struct usiw_cqe cqe;

	switch (how) {
	case UNBIND:
		bind_ok(w, w->mw[type], 0, 0, 0);
		break;
	case LOCAL_INV:
		assert_int_equal(post_local_inv(w, w->a->qp, stag),
				 USIW_WC_SUCCESS);
		break;
	case PEER_INV:
		assert_int_equal(rnicpair_post_recv(w->a, 1, NULL, 0), 0);
		assert_int_equal(rnicpair_post(w->b, &send), 0);
		cqe = rnicpair_take(w->a, w->a->rcq);
		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
		assert_int_equal(cqe.wc_flags, USIW_WC_FLAG_INV);
		assert_int_equal(cqe.imm_be, stag);
		assert_int_equal(rnicpair_take(w->b, w->b->scq).status,
				 USIW_WC_SUCCESS);
		break;
	case DEALLOC:
		assert_int_equal(rnic_mw_dealloc(w->mw[type]), 0);
		w->mw[type] = NULL;
		break;
	}
}

/* In each case the peer has no access and the region is free. What can be bound
 * again is bound again. */
CASE(is_closed_in_each_way)
{
	static const struct {
		enum rnic_mw_type type;
		enum closing how;
	} rows[] = {
		{ T1, UNBIND },	  { T1, DEALLOC }, { T2, LOCAL_INV },
		{ T2, PEER_INV }, { T2, DEALLOC },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rnic_mw *mw;
		struct world w;
		uint32_t stag;

		world_open(&w, LW | BINDABLE);
		mw = w.mw[rows[i].type];
		stag = bind_ok(&w, mw, 0, 64, RR);
		assert_int_equal(rnic_mr_dereg(w.mr), -EBUSY);
		assert_int_equal(use(&w, USIW_WR_READ, stag, at(&w, 0), 64),
				 USIW_WC_SUCCESS);
		close_window(&w, rows[i].type, stag, rows[i].how);
		assert_int_equal(w.mr->mw_cnt, 0);
		assert_true(LIST_EMPTY(&w.a->qp->owner.windows));
		if (rows[i].how != DEALLOC) {
			uint32_t again = bind_ok(&w, mw, 64, 64, RR);

			assert_int_equal(
				use(&w, USIW_WR_READ, again, at(&w, 64), 64),
				USIW_WC_SUCCESS);
		}
		assert_int_equal(use(&w, USIW_WR_READ, stag, at(&w, 0), 64),
				 USIW_WC_REM_ACCESS_ERR);
		world_close(&w);
	}
}

/* Keys that a QP may not invalidate: the QP fails. */
CASE(refuses_to_invalidate)
{
	enum { TYPE_1, NOBODYS, OLD_KEY, ANOTHER_QPS, BOUND_REGION, UNBOUND };
	static const struct {
		const char *name;
		int what;
	} rows[] = {
		{ "type 1", TYPE_1 },
		{ "nobody's STag", NOBODYS },
		{ "the old key", OLD_KEY },
		{ "another QP's window", ANOTHER_QPS },
		{ "a region with windows", BOUND_REGION },
		{ "a window that is not bound", UNBOUND },
	};

	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		bool is_remote = i % 2;
		struct rnicpair_wr send = {
			.opcode = USIW_WR_SEND_INV,
			.flags = USIW_SQE_SIGNALED,
		};
		uint32_t stags[UNBOUND + 1], events;
		struct rnic_qp *qp[2], *local, *remote;
		struct world w;

		world_open(&w, LW | RR | BINDABLE);
		qp[0] = rnicpair_qp_new(&w.p, 0);
		qp[1] = rnicpair_qp_new(&w.p, 1);
		rnicpair_join(&w.p, qp[0], qp[1]);
		stags[UNBOUND] = rnic_mw_stag(w.mw[T2]);
		stags[OLD_KEY] = stags[UNBOUND];
		stags[NOBODYS] = 0x12345678;
		stags[BOUND_REGION] = rnic_mr_stag(w.mr);
		if (rows[i / 2].what != UNBOUND) {
			stags[TYPE_1] = bind_ok(&w, w.mw[T1], 0, 64, RR);
			stags[ANOTHER_QPS] = bind_ok(&w, w.mw[T2], 0, 64, RR);
		}
		local = rows[i / 2].what == ANOTHER_QPS ? qp[0] : w.a->qp;
		remote = rows[i / 2].what == ANOTHER_QPS ? qp[1] : w.b->qp;
		if (is_remote) {
			send.rkey = stags[rows[i / 2].what];
			assert_int_equal(
				rnicpair_post_recv_qp(w.a, local, 1, NULL, 0),
				0);
			assert_int_equal(rnicpair_post_qp(w.b, remote, &send),
					 0);
			if (rnicpair_take(w.a, w.a->rcq).status !=
			    USIW_WC_LOC_ACCESS_ERR)
				fail_msg("%s", rows[i / 2].name);
		} else if (post_local_inv(&w, local, stags[rows[i / 2].what]) !=
			   USIW_WC_LOC_QP_OP_ERR) {
			fail_msg("%s", rows[i / 2].name);
		}
		assert_int_equal(state_now(local), RNIC_QPS_TERMINATE);
		assert_int_equal(w.mr->mw_cnt,
				 rows[i / 2].what == UNBOUND ? 0 : 2);
		assert_int_equal(rnic_qp_destroy(qp[0], &events), 0);
		assert_int_equal(rnic_qp_destroy(qp[1], &events), 0);
		world_close(&w);
	}
}

/* The peer of @from receives a TERMINATE on its stream; @to is its QP. */
static void invalidation_fails(struct rnicpair *p, struct rnic_qp *from,
			       struct rnic_qp *to, uint32_t stag)
{
	const struct rnicpair_wr send = {
		.opcode = USIW_WR_SEND_INV,
		.rkey = stag,
	};
	struct rnicpair_side *a = &p->side[0];

	assert_int_equal(rnicpair_post_recv_qp(a, to, 1, NULL, 0), 0);
	assert_int_equal(rnicpair_post_qp(&p->side[1], from, &send), 0);
	assert_int_equal(rnicpair_take(a, a->rcq).status,
			 USIW_WC_LOC_ACCESS_ERR);
	assert_int_equal(state_now(to), RNIC_QPS_TERMINATE);
}

/*
 * RDMAP-74: a region belongs to its domain. The peer of one QP cannot
 * invalidate it for the peer of another, not even during that peer's Read, nor
 * for the application, whose lkey it is.
 */
CASE(no_peer_takes_a_region_from_others)
{
	const uint32_t len = 3000000;
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rnicpair_wr send = { .opcode = USIW_WR_SEND,
				    .flags = USIW_SQE_SIGNALED,
				    .sge_cnt = 1 };
	const struct smpa_counters *cnt;
	struct rnicpair_side *a;
	struct rnic_qp *qp[2];
	struct usiw_sge sge;
	struct rnicpair p;
	struct rawpeer raw;
	uint32_t events;

	opt.sockbuf = 16384;
	a = rawpeer_open(&raw, &p, &opt);
	for (int i = 0; i < 2; i++)
		qp[i] = rnicpair_qp_new(&p, i);
	rnicpair_join(&p, qp[0], qp[1]);
	rawpeer_read(&raw, 7, 0, a->stag, rnicpair_addr(a, 0), len);
	cnt = smpa_conn_counters(raw.conn);
	while (cnt->rx_staged + cnt->rx_direct == 0)
		assert_int_equal(rawpeer_try(&raw).type, SMPA_EV_NONE);
	invalidation_fails(&p, qp[1], qp[0], a->stag);

	assert_true(cnt->rx_staged + cnt->rx_direct < len);
	assert_int_equal(rawpeer_event(&raw).type, SMPA_EV_MESSAGE);
	assert_true(cnt->rx_staged + cnt->rx_direct == len);
	sge = rnicpair_sge(a, 0, 8);
	send.sge = &sge;
	assert_int_equal(rnicpair_post(a, &send), 0);
	assert_int_equal(rnicpair_take(a, a->scq).status, USIW_WC_SUCCESS);
	assert_int_equal(rawpeer_event(&raw).type, SMPA_EV_MESSAGE);
	rawpeer_close(&raw);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rnic_qp_destroy(qp[i], &events), 0);
	rnicpair_close(&p);
}

CASE(local_invalidation_ends_a_region)
{
	struct world w;

	world_open(&w, LW | RR | BINDABLE);
	assert_int_equal(
		use(&w, USIW_WR_READ, rnic_mr_stag(w.mr), at(&w, 0), 8),
		USIW_WC_SUCCESS);
	assert_int_equal(post_local_inv(&w, w.a->qp, rnic_mr_stag(w.mr)),
			 USIW_WC_SUCCESS);
	assert_int_equal(
		use(&w, USIW_WR_READ, rnic_mr_stag(w.mr), at(&w, 0), 8),
		USIW_WC_REM_ACCESS_ERR);
	world_close(&w);
}

/* LOCAL_INV waits for earlier sends from the region and, if it is fenced, for
 * earlier READs into it. */
CASE(invalidation_keeps_its_turn)
{
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct rnicpair_wr wr = { .flags = USIW_SQE_SIGNALED, .sge_cnt = 1 };
	struct rnicpair_side *a, *b;
	struct rnic_mr *mr;
	struct usiw_sge sge;
	struct rnicpair p;
	struct usiw_cqe cqe;

	opt.sockbuf = 16384;
	rnicpair_open(&p, &opt);
	a = &p.side[0];
	b = &p.side[1];
	rnicpair_fill(a->buf, a->buf_len, 1);
	rnicpair_fill(b->buf, b->buf_len, 2);
	for (int turn = 0; turn < 2; turn++) {
		assert_int_equal(rnic_mr_reg(a->pd, a->buf, 1u << 20,
					     (uintptr_t)a->buf, LW, &mr),
				 0);
		sge = (struct usiw_sge){ (uintptr_t)a->buf, 1u << 20,
					 rnic_mr_stag(mr) };
		wr.wr_id = 1;
		wr.opcode = turn ? USIW_WR_READ : USIW_WR_WRITE;
		wr.flags = USIW_SQE_SIGNALED;
		wr.sge = &sge;
		wr.sge_cnt = 1;
		wr.rkey = b->stag;
		wr.remote_addr = rnicpair_addr(b, turn ? 2u << 20 : 0);
		assert_int_equal(rnicpair_post(a, &wr), 0);
		wr.wr_id = 2;
		wr.opcode = USIW_WR_LOCAL_INV;
		wr.rkey = rnic_mr_stag(mr);
		wr.sge_cnt = 0;
		if (turn)
			wr.flags |= USIW_SQE_FENCE;
		assert_int_equal(rnicpair_post(a, &wr), 0);
		wr.wr_id = 3;
		wr.opcode = USIW_WR_READ;
		assert_int_equal(rnicpair_post(a, &wr), 0);
		for (uint64_t i = 1; i <= 3; i++) {
			while (!rnicpair_poll(a, a->scq, &cqe)) {
				struct usiw_cqe none;

				(void)rnicpair_poll(b, b->rcq, &none);
			}
			assert_int_equal(cqe.status, USIW_WC_SUCCESS);
			assert_int_equal(cqe.wr_id, i);
		}
		assert_int_equal(rnic_mr_dereg(mr), 0);
		if (turn)
			assert_true(
				!memcmp(a->buf, b->buf + (2u << 20), 1u << 20));
		else
			assert_true(rnicpair_is_filled(b->buf, 1u << 20, 1));
	}
	rnicpair_close(&p);
}

CASE(a_queue_pair_takes_its_windows_along)
{
	for (int is_reset = 0; is_reset < 2; is_reset++) {
		uint32_t events;
		struct world w;

		world_open(&w, LW | BINDABLE);
		bind_ok(&w, w.mw[T1], 0, 64, RR);
		bind_ok(&w, w.mw[T2], 0, 64, RR);
		assert_int_equal(w.mr->mw_cnt, 2);
		if (is_reset) {
			assert_int_equal(
				rnic_qp_modify(w.a->qp, RNIC_QPS_ERROR), 0);
			assert_int_equal(w.mr->mw_cnt, 2);
			assert_int_equal(rnic_qp_modify(w.a->qp, RNIC_QPS_IDLE),
					 0);
		} else {
			assert_int_equal(rnic_qp_destroy(w.a->qp, &events), 0);
			w.a->qp = NULL;
		}
		assert_int_equal(w.mr->mw_cnt, 1);
		assert_int_equal(rnic_mr_dereg(w.mr), -EBUSY); /* type 1 */
		world_close(&w);
	}
}

CASE(windows_are_counted)
{
	struct rnic_mw *mw;
	struct rnic_pd *pd;
	struct world w;

	world_open(&w, LW | BINDABLE);
	assert_int_equal(rnic_pd_alloc(w.a->ctx, &pd), 0);
	assert_int_equal(rnic_mw_alloc(pd, T1, &mw), 0);
	assert_int_equal(w.a->ctx->mrs.mw_cnt, 3);
	assert_int_equal(rnic_pd_free(pd), -EBUSY);
	assert_int_equal(rnic_mw_dealloc(mw), 0);
	w.a->ctx->mrs.mw_cnt += rnic_limits()->max_mw;
	assert_int_equal(rnic_mw_alloc(pd, T2, &mw), -ENOMEM);
	w.a->ctx->mrs.mw_cnt -= rnic_limits()->max_mw;
	assert_int_equal(rnic_pd_free(pd), 0);
	world_close(&w);
}

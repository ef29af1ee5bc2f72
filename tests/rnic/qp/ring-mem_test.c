/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ring-mem.c: rings in memory of the library and of the caller, and moves
 * between them; queues whose entries are all in memory of the caller. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "qp/ring-mem.h"
#include "rnicpair.h"

#define STRIDE 48u

static void *lent_new(uint32_t depth)
{
	size_t size = rnic_ring_slots_size(depth, STRIDE);
	void *mem = aligned_alloc(USIW_CACHE_LINE,
				  (size + USIW_CACHE_LINE - 1) /
					  USIW_CACHE_LINE * USIW_CACHE_LINE);

	assert_non_null(mem);
	/* with any content */
	memset(mem, 0xa5, size);
	return mem;
}

static void push(const struct usiw_ring *ring, uint64_t value)
{
	uint64_t *slot = usiw_ring_reserve(ring, 0);

	assert_non_null(slot);
	*slot = value;
	usiw_ring_commit(ring, 1);
}

static void take(const struct usiw_ring *ring, uint64_t value)
{
	const uint64_t *slot = usiw_ring_peek(ring, 0);

	assert_non_null(slot);
	assert_int_equal(*slot, value);
	usiw_ring_consume(ring, 1);
}

static int swap_all(struct usiw_ring *ring, struct rnic_ring_mem *mem,
		    uint32_t depth, void *lent)
{
	struct rnic_ring_swap swap;
	int rc = rnic_ring_swap_begin(ring, mem, depth, lent, &swap);

	assert_int_equal(rc, 0);
	if (!rnic_ring_swap(ring, mem, &swap))
		rc = -EINVAL;
	rnic_ring_swap_end(ring, mem, &swap);
	return rc;
}

/* From each kind of memory to each, in sizes that grow, shrink and stay.
 * Entries are kept, and the old memory is neither accessed nor kept. */
CASE(swaps_between_ours_and_lent)
{
	static const struct {
		bool is_lent;
		uint32_t depth;
		int rc;
	} steps[] = {
		{ false, 16, 0 },  { false, 15, 0 },	 { false, 3, 0 },
		{ true, 3, 0 },	   { true, 2, -EINVAL }, { true, 200, 0 },
		{ true, 200, 0 },  { false, 200, 0 },	 { false, 2, -EINVAL },
		{ false, 7, 0 },   { true, 7, 0 },	 { false, 7, 0 },
		{ false, 300, 0 },
	};
	size_t step_cnt = ARRAY_LEN(steps);

	/* begins in the library's memory, or in the caller's */
	for (int kind = 0; kind < 2; kind++) {
		struct rnic_shm shm;
		struct rnic_ring_mem mem = { .shm = &shm };
		struct usiw_ring ring = { 0 };
		void *lent = kind ? lent_new(4) : NULL;
		uint64_t first = 0;

		rnic_shm_init(&shm);
		assert_int_equal(rnic_ring_alloc(&ring, &mem, 4, STRIDE, lent),
				 0);
		assert_true(!lent || (void *)ring.slots == lent);
		assert_int_equal(usiw_ring_used(&ring), 0);
		for (uint64_t i = 0; i < 3; i++)
			push(&ring, i);
		for (size_t i = 0; i < step_cnt; i++) {
			struct usiw_ring was = ring;
			void *to = steps[i].is_lent ? lent_new(steps[i].depth)
						    : NULL;

			assert_int_equal(
				swap_all(&ring, &mem, steps[i].depth, to),
				steps[i].rc);
			assert_ptr_equal(ring.hdr, was.hdr);
			assert_true(steps[i].rc == 0 ||
				    ring.slots == was.slots);
			assert_true(steps[i].rc || !to || ring.slots == to);
			if (steps[i].rc) {
				free(to);
			} else {
				assert_int_equal(ring.depth, steps[i].depth);
				free(lent); /* it is no longer read */
				lent = to;
			}
			/* there are always three entries, and the indices
			 * wrap */
			take(&ring, first);
			push(&ring, first + 3);
			first++;
		}
		for (uint64_t i = 0; i < 3; i++)
			take(&ring, first + i);
		rnic_ring_free(&ring, &mem);
		free(lent);
		assert_true(rnic_shm_is_empty(&shm));
		rnic_shm_fini(&shm);
	}
}

/* The same number of slots in the library's memory: no copy, only another
 * size. */
CASE(stays_where_it_is_for_as_many_slots)
{
	struct rnic_shm shm;
	struct rnic_ring_mem mem = { .shm = &shm };
	struct usiw_ring ring = { 0 };
	const void *slots;

	rnic_shm_init(&shm);
	assert_int_equal(rnic_ring_alloc(&ring, &mem, 8, STRIDE, NULL), 0);
	slots = ring.slots;
	assert_int_equal(swap_all(&ring, &mem, 5, NULL), 0);
	assert_ptr_equal(ring.slots, slots);
	assert_int_equal(ring.depth, 5);
	rnic_ring_free(&ring, &mem);
	assert_true(rnic_shm_is_empty(&shm));
	rnic_shm_fini(&shm);
}

/* Neither its own memory is freed, nor that of another. */
CASE(a_ring_that_never_was_ends)
{
	struct rnic_shm shm;
	const struct rnic_ring_mem none_mem = { .shm = &shm };
	struct rnic_ring_mem mem = { .shm = &shm };
	const struct usiw_ring none = { 0 };
	struct usiw_ring ring = { 0 };

	rnic_shm_init(&shm);
	rnic_ring_free(&none, &none_mem);
	assert_true(rnic_shm_is_empty(&shm));
	assert_int_equal(rnic_ring_alloc(&ring, &mem, 4, STRIDE, NULL), 0);
	push(&ring, 1);
	rnic_ring_free(&none, &none_mem);
	assert_false(rnic_shm_is_empty(&shm));
	take(&ring, 1);
	rnic_ring_free(&ring, &mem);
	assert_true(rnic_shm_is_empty(&shm));
	rnic_shm_fini(&shm);
}

/* ---- queues in the caller's memory ---- */

static void *lend(size_t size)
{
	size_t rounded = (size + USIW_CACHE_LINE - 1) / USIW_CACHE_LINE *
			 USIW_CACHE_LINE;
	void *mem = aligned_alloc(USIW_CACHE_LINE, rounded);

	assert_non_null(mem);
	memset(mem, 0xa5, rounded);
	return mem;
}

/* The memory that one side has provided. */
struct lent {
	void *cq, *srq, *sq, *rq;
};

static void lent_open(struct rnicpair *p, int side, struct lent *lent)
{
	struct rnicpair_side *s = &p->side[side];
	struct rnic_srq_options srq_opt = { .max_wr = 8, .max_sge = 2 };
	struct rnic_qp_options opt = {
		.max_send_wr = 5,
		.max_recv_wr = 3,
		.max_send_sge = 2,
		.max_recv_sge = 2,
		.max_inline = 100,
	};
	size_t sq_size, rq_size;
	uint32_t comp, async;

	assert_int_equal(rnic_qp_destroy(s->qp, &async), 0);
	assert_int_equal(rnic_cq_destroy(s->rcq, &comp, &async), 0);
	lent->cq = lend(rnic_cq_slots_size(20));
	assert_int_equal(rnic_cq_create(s->ctx, 20, NULL, 0, lent->cq, &s->rcq),
			 0);
	if (s->srq) {
		assert_int_equal(rnic_srq_destroy(s->srq, &async), 0);
		lent->srq = lend(rnic_srq_slots_size(8, 2));
		srq_opt.slots = lent->srq;
		assert_int_equal(rnic_srq_create(s->pd, &srq_opt, &s->srq), 0);
		assert_ptr_equal(rnic_srq_ring(s->srq)->slots, lent->srq);
	}
	opt.send_cq = opt.recv_cq = s->rcq;
	opt.srq = s->srq;
	rnic_qp_slots_size(&opt, &sq_size, &rq_size);
	assert_int_equal(rq_size == 0, s->srq != NULL);
	opt.sq_slots = lent->sq = lend(sq_size);
	if (rq_size)
		opt.rq_slots = lent->rq = lend(rq_size);
	assert_int_equal(rnic_qp_create(s->pd, &opt, &s->qp), 0);
	assert_ptr_equal(rnic_cq_ring(s->rcq)->slots, lent->cq);
	assert_ptr_equal(rnic_qp_sq(s->qp)->slots, lent->sq);
	if (rq_size)
		assert_ptr_equal(rnic_qp_rq(s->qp)->slots, lent->rq);
}

static void lent_close(struct lent *lent)
{
	free(lent->cq);
	free(lent->srq);
	free(lent->sq);
	free(lent->rq);
}

/* A Send from @from to the other side, whose receive is @recv_id. */
static void send_one(struct rnicpair *p, int from, uint64_t recv_id)
{
	struct rnicpair_side *a = &p->side[from], *b = &p->side[!from];
	struct usiw_sge to = rnicpair_sge(b, 0, 4096);
	struct usiw_sge sge = rnicpair_sge(a, 8192, 300);
	struct rnicpair_wr wr = { .opcode = USIW_WR_SEND,
				  .flags = USIW_SQE_SIGNALED,
				  .wr_id = recv_id + 1000,
				  .sge = &sge,
				  .sge_cnt = 1 };
	struct usiw_cqe cqe;

	rnicpair_fill(a->buf + 8192, 300, (uint32_t)recv_id);
	assert_int_equal(rnicpair_post_recv(b, recv_id, &to, 1), 0);
	assert_int_equal(rnicpair_post(a, &wr), 0);
	cqe = rnicpair_take(b, b->rcq);
	assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	assert_true(rnicpair_is_filled(b->buf, 300, (uint32_t)recv_id));
	cqe = rnicpair_take(a, a->rcq);
	assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	assert_int_equal(cqe.wr_id, recv_id + 1000);
}

/* Every ring wraps around, with resizes in between to memory of either owner.
 * The old memory is freed, so that sanitizers report an access. */
CASE(work_goes_through_what_was_lent)
{
	static const uint32_t sizes[] = { 40, 40, 9, 0,
					  12 }; /* 0: the library's */
	struct rnicpair_options opt = RNICPAIR_OPTIONS_INIT;
	struct lent lent[2] = { 0 };
	struct rnicpair p;
	struct rnicpair_side *b = &p.side[1];
	uint64_t id = 0;

	opt.srq_wr = 4;
	rnicpair_open_idle(&p, &opt);
	lent_open(&p, 0, &lent[0]);
	lent_open(&p, 1, &lent[1]);
	rnicpair_connect(&p);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		uint32_t size = sizes[i] ? sizes[i] : 30;
		void *cq = sizes[i] ? lend(rnic_cq_slots_size(size)) : NULL;
		void *srq = sizes[i] ? lend(rnic_srq_slots_size(size, 2))
				     : NULL;

		for (int j = 0; j < 25; j++, id++) {
			send_one(&p, 0, id);
			send_one(&p, 1, id);
		}
		assert_int_equal(rnic_cq_resize(b->rcq, size, cq), 0);
		free(lent[1].cq);
		lent[1].cq = cq;
		assert_int_equal(rnic_srq_resize(b->srq, size, srq), 0);
		free(lent[1].srq);
		lent[1].srq = srq;
	}
	/* Work in the caller's rings at the end is flushed from there. */
	for (int j = 0; j < 3; j++)
		assert_int_equal(rnicpair_post_recv(&p.side[0], 7, NULL, 0), 0);
	assert_int_equal(rnic_qp_modify(p.side[0].qp, RNIC_QPS_ERROR), 0);
	for (int j = 0; j < 3; j++)
		assert_int_equal(
			rnicpair_take(&p.side[0], p.side[0].rcq).status,
			USIW_WC_WR_FLUSH_ERR);
	rnicpair_close(&p);
	lent_close(&lent[0]);
	lent_close(&lent[1]);
}

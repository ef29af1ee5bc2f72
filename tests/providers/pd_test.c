/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Protection, thread and parent domains: creation, combination, order of
 * destruction. */
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake-rnic.h"

static char buf[4096];

static void *some_alloc(struct ibv_pd *pd, void *pd_context, size_t size,
			size_t alignment, uint64_t resource_type)
{
	(void)pd;
	(void)pd_context;
	(void)size;
	(void)alignment;
	(void)resource_type;
	return IBV_ALLOCATOR_USE_DEFAULT;
}

static void some_free(struct ibv_pd *pd, void *pd_context, void *ptr,
		      uint64_t resource_type)
{
	(void)pd;
	(void)pd_context;
	(void)ptr;
	(void)resource_type;
}

static struct ibv_td *td_new(struct ibv_context *context)
{
	struct ibv_td_init_attr attr = { 0 };
	struct ibv_td *td = ibv_alloc_td(context, &attr);

	assert_non_null(td);
	assert_ptr_equal(td->context, context);
	return td;
}

static struct ibv_pd *parent_new(struct ibv_pd *pd, struct ibv_td *td)
{
	struct ibv_parent_domain_init_attr attr = { .pd = pd, .td = td };
	struct ibv_pd *parent = ibv_alloc_parent_domain(pd->context, &attr);

	assert_non_null(parent);
	assert_ptr_equal(parent->context, pd->context);
	return parent;
}

static struct ibv_cq *cq_on(struct ibv_pd *parent)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 4,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
		.parent_domain = parent,
	};
	/* not ibv_create_cq_ex(): only ibv_open_device() sets it */
	struct ibv_cq_ex *cq = usiw_create_cq_ex(parent->context, &attr);

	assert_non_null(cq);
	verbs_init_cq(ibv_cq_ex_to_cq(cq), parent->context, NULL, NULL);
	return ibv_cq_ex_to_cq(cq);
}

FAKE_CASE(failures_of_the_rnic_go_through)
{
	struct fake_world *w = *state;
	struct ibv_pd *pd;

	fake.fail_name = "rnic_pd_alloc";
	fake.fail_err = -ENOMEM;
	errno = 0;
	assert_null(ibv_alloc_pd(w->context));
	assert_int_equal(errno, ENOMEM);
	fake.fail_name = "rnic_pd_free";
	fake.fail_err = -EBUSY;
	pd = ibv_alloc_pd(w->context);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	fake.fail_name = NULL;
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

FAKE_CASE(attributes_are_checked)
{
	struct fake_world *w = *state;
	struct ibv_context *other = fake_open();
	struct ibv_pd *other_pd = ibv_alloc_pd(other);
	struct ibv_td *other_td = td_new(other), *td = td_new(w->context);
	const uint32_t both = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			      IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
	const struct {
		struct ibv_parent_domain_init_attr attr;
		int err;
	} rows[] = {
		{ { .pd = NULL }, EINVAL },
		{ { .pd = NULL, .td = td }, EINVAL },
		{ { .pd = other_pd }, EINVAL },
		{ { .pd = w->pd, .td = other_td }, EINVAL },
		{ { .pd = w->pd, .comp_mask = 1u << 3 }, EOPNOTSUPP },
		{ { .pd = w->pd, .comp_mask = 1u << 31 }, EOPNOTSUPP },
		{ { .pd = w->pd,
		    .comp_mask = USIW_PARENT_DOMAIN_ALLOW_CC_UNPROTECTED },
		  0 },
		{ { .pd = w->pd, .comp_mask = both, .alloc = some_alloc },
		  EINVAL },
		{ { .pd = w->pd, .comp_mask = both, .free = some_free },
		  EINVAL },
		{ { .pd = w->pd,
		    .comp_mask = both,
		    .alloc = some_alloc,
		    .free = some_free },
		  0 },
		{ { .pd = w->pd,
		    .comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS,
		    .alloc = some_alloc,
		    .free = some_free },
		  0 },
		{ { .pd = w->pd,
		    .comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT },
		  0 },
		{ { .pd = w->pd, .td = td }, 0 },
		{ { .pd = w->pd }, 0 },
	};
	struct ibv_td_init_attr td_attr = { .comp_mask = 1 };
	struct ibv_pd *pd;
	size_t i;

	for (i = 0; i < ARRAY_LEN(rows); i++) {
		struct ibv_parent_domain_init_attr attr = rows[i].attr;

		errno = 0;
		pd = ibv_alloc_parent_domain(w->context, &attr);
		assert_int_equal(!pd, rows[i].err != 0);
		if (pd)
			assert_int_equal(ibv_dealloc_pd(pd), 0);
		else
			assert_int_equal(errno, rows[i].err);
	}
	assert_null(ibv_alloc_parent_domain(w->context, NULL));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_alloc_td(w->context, NULL));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_alloc_td(w->context, &td_attr));
	assert_int_equal(errno, EOPNOTSUPP);
	/* no row has left a reference */
	assert_int_equal(ibv_dealloc_td(td), 0);
	assert_int_equal(ibv_dealloc_td(other_td), 0);
	assert_int_equal(ibv_dealloc_pd(other_pd), 0);
	fake_close(other);
}

/* Each kind of object keeps the parent domain in use, and that its parts. */
FAKE_CASE(users_come_first)
{
	struct fake_world *w = *state;
	struct ibv_pd *base = ibv_alloc_pd(w->context);
	struct ibv_td *td = td_new(w->context);
	struct ibv_pd *parent = parent_new(base, td);
	struct ibv_qp_init_attr qp_attr = fake_qp_attr(w);
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 2 } };
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_cq *cq;

	assert_int_equal(ibv_dealloc_pd(base), EBUSY);
	assert_int_equal(ibv_dealloc_td(td), EBUSY);

	qp = ibv_create_qp(parent, &qp_attr);
	assert_non_null(qp);
	assert_ptr_equal(qp->pd, parent);
	assert_int_equal(ibv_dealloc_pd(parent), EBUSY);
	fake.fail_name = "rnic_qp_destroy";
	fake.fail_err = -EBUSY;
	assert_int_equal(ibv_destroy_qp(qp), EBUSY);
	assert_int_equal(ibv_dealloc_pd(parent), EBUSY); /* still in use */
	fake.fail_name = NULL;
	assert_int_equal(ibv_destroy_qp(qp), 0);

	srq = ibv_create_srq(parent, &srq_attr);
	assert_non_null(srq);
	assert_int_equal(ibv_dealloc_pd(parent), EBUSY);
	assert_int_equal(ibv_destroy_srq(srq), 0);

	mr = ibv_reg_mr(parent, buf, sizeof(buf), 0);
	assert_non_null(mr);
	assert_int_equal(ibv_dealloc_pd(parent), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);

	mw = ibv_alloc_mw(parent, IBV_MW_TYPE_2);
	assert_non_null(mw);
	assert_int_equal(ibv_dealloc_pd(parent), EBUSY);
	assert_int_equal(ibv_dealloc_mw(mw), 0);

	cq = cq_on(parent);
	assert_int_equal(ibv_dealloc_pd(parent), EBUSY);
	assert_int_equal(ibv_destroy_cq(cq), 0);

	assert_int_equal(ibv_dealloc_pd(parent), 0);
	assert_int_equal(ibv_dealloc_td(td), 0);
	assert_int_equal(ibv_dealloc_pd(base), 0);
}

FAKE_CASE(a_failed_creation_keeps_nothing)
{
	static const char *const names[] = { "rnic_qp_create",
					     "rnic_srq_create", "rnic_mr_reg",
					     "rnic_cq_create" };
	struct fake_world *w = *state;
	struct ibv_pd *parent = parent_new(w->pd, NULL);
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 2 } };
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 4,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
		.parent_domain = parent,
	};
	struct ibv_qp_init_attr qp_attr = fake_qp_attr(w);
	size_t i;

	fake.fail_err = -ENOMEM;
	for (i = 0; i < ARRAY_LEN(names); i++) {
		fake.fail_name = names[i];
		if (i == 0)
			assert_null(ibv_create_qp(parent, &qp_attr));
		if (i == 1)
			assert_null(ibv_create_srq(parent, &srq_attr));
		if (i == 2)
			assert_null(ibv_reg_mr(parent, buf, sizeof(buf), 0));
		if (i == 3)
			assert_null(usiw_create_cq_ex(w->context, &cq_attr));
		assert_int_equal(errno, ENOMEM);
	}
	fake.fail_name = NULL;
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}

FAKE_CASE(registering_anew_moves_the_user)
{
	struct fake_world *w = *state;
	struct ibv_pd *from = parent_new(w->pd, NULL);
	struct ibv_pd *to = parent_new(w->pd, NULL);
	struct ibv_mr *mr = ibv_reg_mr(from, buf, sizeof(buf), 0);

	assert_non_null(mr);
	fake.fail_name = "rnic_mr_rereg";
	fake.fail_err = -ENOMEM;
	assert_int_not_equal(
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, to, NULL, 0, 0), 0);
	fake.fail_name = NULL;
	assert_int_equal(ibv_dealloc_pd(from), EBUSY);
	assert_int_equal(
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, to, NULL, 0, 0), 0);
	assert_int_equal(ibv_dealloc_pd(from), 0);
	assert_int_equal(ibv_dealloc_pd(to), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(to), 0);
}

FAKE_CASE(domains_stack)
{
	struct fake_world *w = *state;
	struct ibv_pd *lower = parent_new(w->pd, NULL);
	struct ibv_pd *upper = parent_new(lower, NULL);
	struct ibv_mr *mr = ibv_reg_mr(upper, buf, sizeof(buf), 0);

	assert_non_null(mr);
	assert_int_equal(ibv_dealloc_pd(lower), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(upper), 0);
	assert_int_equal(ibv_dealloc_pd(lower), 0);
}

/* ---- allocators ---- */

#define STORE_MAX 8

/* pd_context points to this: all memory allocated, and how the allocator
 * behaves. */
struct store {
	struct ibv_pd *pd;
	struct {
		void *mem;
		size_t size;
		uint64_t type;
	} given[STORE_MAX]; /* mem NULL: free */
	uint32_t given_cnt, alloc_cnt, free_cnt;
	bool is_default;	/* leaves the allocation to the RNIC */
	uint32_t refused_alloc; /* number of the allocation that fails, from 1
				   on */
	uint32_t misaligned_by;
};

static void *store_alloc(struct ibv_pd *pd, void *pd_context, size_t size,
			 size_t alignment, uint64_t resource_type)
{
	struct store *st = pd_context;
	void *mem;
	int i;

	assert_ptr_equal(pd, st->pd);
	assert_int_equal(alignment, sysconf(_SC_PAGESIZE));
	assert_int_equal(size % alignment, 0);
	assert_true(size > 0);
	if (++st->alloc_cnt == st->refused_alloc)
		return NULL;
	if (st->is_default)
		return IBV_ALLOCATOR_USE_DEFAULT;
	mem = aligned_alloc(alignment, size + alignment);
	assert_non_null(mem);
	mem = (char *)mem + st->misaligned_by;
	for (i = 0; st->given[i].mem; i++)
		assert_true(i < STORE_MAX - 1);
	st->given[i].mem = mem;
	st->given[i].size = size;
	st->given[i].type = resource_type;
	st->given_cnt++;
	return mem;
}

static void store_free(struct ibv_pd *pd, void *pd_context, void *ptr,
		       uint64_t resource_type)
{
	struct store *st = pd_context;
	int i;

	assert_ptr_equal(pd, st->pd);
	assert_non_null(ptr);
	for (i = 0; i < STORE_MAX && st->given[i].mem != ptr; i++)
		;
	assert_true(i < STORE_MAX);
	assert_int_equal(st->given[i].type, resource_type);
	free((char *)ptr - st->misaligned_by);
	st->given[i].mem = NULL;
	st->given_cnt--;
	st->free_cnt++;
}

static struct ibv_pd *store_open(struct fake_world *w, struct store *st)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = w->pd,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = store_alloc,
		.free = store_free,
		.pd_context = st,
	};

	*st = (struct store){ 0 };
	st->pd = ibv_alloc_parent_domain(w->context, &attr);
	assert_non_null(st->pd);
	return st->pd;
}

/* Checks that the ring is in memory that was allocated as @type. */
static void assert_in_store(const struct store *st,
			    const struct usiw_ring *ring, uint64_t type)
{
	int i;

	for (i = 0; i < STORE_MAX && st->given[i].mem != ring->slots; i++)
		;
	assert_true(i < STORE_MAX);
	assert_int_equal(st->given[i].type, type);
	assert_true(st->given[i].size >=
		    (size_t)(ring->mask + 1) * ring->stride);
}

/* A CQ, an SRQ and two QPs on @pd, in this order; false: see errno. */
struct queues {
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp, *srq_qp;
};

static bool queues_open(struct fake_world *w, struct ibv_pd *pd,
			struct queues *q)
{
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 4,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
		.parent_domain = pd,
	};
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 2 } };
	struct ibv_qp_init_attr qp_attr = fake_qp_attr(w);
	struct ibv_cq_ex *cq = usiw_create_cq_ex(w->context, &cq_attr);

	*q = (struct queues){ 0 };
	if (!cq)
		return false;
	q->cq = ibv_cq_ex_to_cq(cq);
	verbs_init_cq(q->cq, w->context, NULL, NULL);
	q->srq = ibv_create_srq(pd, &srq_attr);
	if (!q->srq)
		return false;
	q->qp = ibv_create_qp(pd, &qp_attr);
	if (!q->qp)
		return false;
	qp_attr = fake_qp_attr(w);
	qp_attr.srq = q->srq;
	q->srq_qp = ibv_create_qp(pd, &qp_attr);
	return q->srq_qp != NULL;
}

static void queues_close(struct queues *q)
{
	if (q->srq_qp)
		assert_int_equal(ibv_destroy_qp(q->srq_qp), 0);
	if (q->qp)
		assert_int_equal(ibv_destroy_qp(q->qp), 0);
	if (q->srq)
		assert_int_equal(ibv_destroy_srq(q->srq), 0);
	if (q->cq)
		assert_int_equal(ibv_destroy_cq(q->cq), 0);
}

FAKE_CASE(allocators_give_the_slots)
{
	struct fake_world *w = *state;
	struct store st;
	struct ibv_pd *pd = store_open(w, &st);
	struct ibv_pd *upper;
	struct queues q;

	assert_true(queues_open(w, pd, &q));
	assert_int_equal(st.given_cnt, 5);
	assert_in_store(&st, usiw_cq(q.cq)->ring, USIWDV_RES_CQ);
	assert_in_store(&st, usiw_srq(q.srq)->ring, USIWDV_RES_SRQ);
	assert_in_store(&st, usiw_qp(q.qp)->sq, USIWDV_RES_SQ);
	assert_in_store(&st, usiw_qp(q.qp)->rq, USIWDV_RES_RQ);
	assert_in_store(&st, usiw_qp(q.srq_qp)->sq, USIWDV_RES_SQ);
	/* the remaining objects keep their memory */
	fake.fail_name = "rnic_qp_destroy";
	fake.fail_err = -EBUSY;
	assert_int_equal(ibv_destroy_qp(q.qp), EBUSY);
	assert_int_equal(st.given_cnt, 5);
	fake.fail_name = NULL;
	queues_close(&q);
	assert_int_equal(st.given_cnt, 0);

	/* a domain on top of it inherits no allocators */
	upper = parent_new(pd, NULL);
	assert_true(queues_open(w, upper, &q));
	queues_close(&q);
	assert_int_equal(st.alloc_cnt, 5);
	assert_int_equal(ibv_dealloc_pd(upper), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

FAKE_CASE(allocators_may_leave_it_to_the_rnic)
{
	struct fake_world *w = *state;
	struct ibv_srq_attr srq_attr = { .max_wr = 5 };
	struct store st;
	struct ibv_pd *pd = store_open(w, &st);
	struct queues q;

	st.is_default = true;
	assert_true(queues_open(w, pd, &q));
	assert_int_equal(st.alloc_cnt, 5);
	assert_null(usiw_qp(q.qp)->sq_slots);
	assert_int_equal(ibv_resize_cq(q.cq, 3), 0);
	assert_int_equal(ibv_modify_srq(q.srq, &srq_attr, IBV_SRQ_MAX_WR), 0);
	queues_close(&q);
	assert_int_equal(st.alloc_cnt, 7);
	assert_int_equal(st.free_cnt, 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

/* The allocator fails, or the RNIC fails after it, or the memory is unsuitable:
 * all memory allocated before is freed, exactly once. */
FAKE_CASE(failures_give_everything_back)
{
	static const char *const names[] = { "rnic_cq_create",
					     "rnic_srq_create",
					     "rnic_qp_create" };
	struct fake_world *w = *state;
	struct store st;
	struct ibv_pd *pd = store_open(w, &st);
	struct queues q;
	uint32_t i;

	for (i = 1; i <= 5; i++) {
		st.alloc_cnt = 0;
		st.refused_alloc = i;
		errno = 0;
		assert_false(queues_open(w, pd, &q));
		assert_int_equal(errno, ENOMEM);
		assert_int_equal(st.alloc_cnt, i);
		queues_close(&q);
		assert_int_equal(st.given_cnt, 0);
	}
	st.refused_alloc = 0;
	for (i = 0; i < ARRAY_LEN(names); i++) {
		fake.fail_name = names[i];
		fake.fail_err = -ENOSPC;
		errno = 0;
		assert_false(queues_open(w, pd, &q));
		assert_int_equal(errno, ENOSPC);
		fake.fail_name = NULL;
		queues_close(&q);
		assert_int_equal(st.given_cnt, 0);
	}
	st.misaligned_by = USIW_CACHE_LINE / 2;
	assert_false(queues_open(w, pd, &q));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(st.given_cnt, 0);
	st.misaligned_by = USIW_CACHE_LINE;
	assert_true(queues_open(w, pd, &q));
	queues_close(&q);
	assert_int_equal(st.given_cnt, 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

FAKE_CASE(resizing_exchanges_the_slots)
{
	struct fake_world *w = *state;
	struct ibv_srq_attr srq_attr = { .max_wr = 9 };
	struct ibv_recv_wr recv = { .wr_id = 5 }, *bad;
	struct store st;
	struct ibv_pd *pd = store_open(w, &st);
	struct queues q;
	const void *was;

	assert_true(queues_open(w, pd, &q));
	was = usiw_cq(q.cq)->ring->slots;
	assert_int_equal(ibv_resize_cq(q.cq, 100), 0);
	assert_ptr_not_equal(usiw_cq(q.cq)->ring->slots, was);
	assert_in_store(&st, usiw_cq(q.cq)->ring, USIWDV_RES_CQ);
	was = usiw_srq(q.srq)->ring->slots;
	assert_int_equal(ibv_modify_srq(q.srq, &srq_attr, IBV_SRQ_MAX_WR), 0);
	assert_ptr_not_equal(usiw_srq(q.srq)->ring->slots, was);
	assert_in_store(&st, usiw_srq(q.srq)->ring, USIWDV_RES_SRQ);
	assert_int_equal(st.alloc_cnt, 7);
	assert_int_equal(st.given_cnt, 5);
	assert_int_equal(ibv_post_srq_recv(q.srq, &recv, &bad), 0);

	/* a failure changes nothing in the RNIC or the allocator */
	was = usiw_cq(q.cq)->ring->slots;
	fake.fail_name = "rnic_cq_resize";
	fake.fail_err = -EINVAL;
	assert_int_equal(ibv_resize_cq(q.cq, 50), EINVAL);
	fake.fail_name = "rnic_srq_resize";
	assert_int_equal(ibv_modify_srq(q.srq, &srq_attr, IBV_SRQ_MAX_WR),
			 EINVAL);
	fake.fail_name = NULL;
	assert_int_equal(st.alloc_cnt, 9);
	st.refused_alloc = 10;
	assert_int_equal(ibv_resize_cq(q.cq, 50), ENOMEM);
	st.refused_alloc = 11;
	assert_int_equal(ibv_modify_srq(q.srq, &srq_attr, IBV_SRQ_MAX_WR),
			 ENOMEM);
	assert_ptr_equal(usiw_cq(q.cq)->ring->slots, was);
	assert_int_equal(st.given_cnt, 5);
	/* no allocator is called for an invalid size */
	assert_int_equal(ibv_resize_cq(q.cq, (int)fake.limits.max_cqe + 1),
			 EINVAL);
	assert_int_equal(st.alloc_cnt, 11);
	queues_close(&q);
	assert_int_equal(st.given_cnt, 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

FAKE_CASE(a_child_gives_nothing_back)
{
	struct fake_world *w = *state;
	struct store st;
	struct ibv_pd *pd = store_open(w, &st);
	struct queues q;
	int status;
	pid_t pid;

	assert_true(queues_open(w, pd, &q));
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		/* the domain may be destroyed first, because it is not used
		 * again */
		fake.fork_gen++;
		if (ibv_dealloc_pd(pd))
			_exit(1);
		queues_close(&q);
		_exit(st.free_cnt || st.alloc_cnt != 5);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	queues_close(&q);
	assert_int_equal(st.given_cnt, 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

/* ---- locks ---- */

struct party {
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
};

static void party_open(struct fake_world *w, struct ibv_pd *pd, struct party *p)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 2 } };
	struct ibv_qp_init_attr plain = fake_qp_attr(w);
	struct ibv_qp_init_attr_ex attr = {
		.cap = plain.cap,
		.qp_type = IBV_QPT_RC,
		.pd = pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};

	p->cq = cq_on(pd);
	attr.send_cq = attr.recv_cq = p->cq;
	p->srq = ibv_create_srq(pd, &srq_attr);
	p->qp = ibv_create_qp_ex(w->context, &attr);
	assert_non_null(p->srq);
	assert_non_null(p->qp);
}

static void party_close(struct party *p)
{
	assert_int_equal(ibv_destroy_qp(p->qp), 0);
	assert_int_equal(ibv_destroy_srq(p->srq), 0);
	assert_int_equal(ibv_destroy_cq(p->cq), 0);
}

/* Makes every call that would take one of the three locks. One of them is
 * held. */
static void use_all(struct party *p, struct util_lock *held)
{
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(p->qp);
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_recv_wr recv = { 0 }, *bad_recv;
	const struct usiw_cqe cqe = { .wr_id = 7, .opcode = USIW_WC_RECV };
	struct ibv_wc wc;

	assert_true(util_trylock(held));
	assert_int_equal(ibv_post_send(p->qp, &send, &bad_send), 0);
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	assert_int_equal(ibv_wr_complete(qpx), 0);
	ibv_wr_start(qpx);
	ibv_wr_abort(qpx);
	assert_int_equal(ibv_post_recv(p->qp, &recv, &bad_recv), 0);
	assert_int_equal(ibv_post_srq_recv(p->srq, &recv, &bad_recv), 0);
	fake_cq_push(usiw_cq(p->cq)->rnic, &cqe);
	assert_int_equal(ibv_poll_cq(p->cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 7);
	/* no call released the lock that it had not taken */
	assert_false(util_trylock(held));
	util_unlock(held);
	usiw_ring_consume(usiw_qp(p->qp)->sq, 2);
	usiw_ring_consume(usiw_qp(p->qp)->rq, 1);
	usiw_ring_consume(usiw_srq(p->srq)->ring, 1);
}

static void lock_of(struct party *p, int which, struct util_lock **ret_lock)
{
	struct util_lock *locks[] = { &usiw_qp(p->qp)->sq_lock,
				      &usiw_qp(p->qp)->rq_lock,
				      &usiw_srq(p->srq)->lock,
				      &usiw_cq(p->cq)->lock };

	*ret_lock = locks[which];
}

FAKE_CASE(thread_domain_takes_no_lock)
{
	struct fake_world *w = *state;
	struct ibv_td *td = td_new(w->context);
	struct ibv_pd *parent = parent_new(w->pd, td);
	struct util_lock *lock;
	struct party p;
	int which;

	party_open(w, parent, &p);
	for (which = 0; which < 4; which++) {
		lock_of(&p, which, &lock);
		use_all(&p, lock);
	}
	party_close(&p);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	assert_int_equal(ibv_dealloc_td(td), 0);
}

/* Without a thread domain the same calls wait until the lock is free. */
FAKE_CASE(no_thread_domain_takes_locks)
{
	struct fake_world *w = *state;
	struct ibv_pd *parent = parent_new(w->pd, NULL);
	struct util_lock *lock;
	struct party p;
	int which, status;
	pid_t pid;

	party_open(w, parent, &p);
	for (which = 0; which < 4; which++) {
		lock_of(&p, which, &lock);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			const struct itimerval soon = {
				.it_value = { .tv_usec = 50000 }
			};

			signal(SIGALRM, SIG_DFL);
			/* debug builds abort, because the thread holds the lock
			 * already */
			signal(SIGABRT, SIG_DFL);
			setitimer(ITIMER_REAL, &soon, NULL);
			use_all(&p, lock);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		assert_true(WTERMSIG(status) == SIGALRM ||
			    WTERMSIG(status) == SIGABRT);
	}
	party_close(&p);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}

FAKE_CASE(inherited_domains_are_enodev)
{
	struct fake_world *w = *state;
	struct ibv_td_init_attr td_attr = { 0 };
	struct ibv_parent_domain_init_attr attr = { .pd = w->pd };
	struct ibv_td *td = td_new(w->context);
	struct ibv_pd *parent = parent_new(w->pd, td);

	fake.fork_gen++;
	assert_null(ibv_alloc_td(w->context, &td_attr));
	assert_int_equal(errno, ENODEV);
	assert_null(ibv_alloc_parent_domain(w->context, &attr));
	assert_int_equal(errno, ENODEV);
	/* in any order, because they are copies */
	assert_int_equal(ibv_dealloc_td(td), 0);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	fake.fork_gen--;
	usiw_pd_put(usiw_pd(w->pd)); /* here parent was not destroyed */
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* srq.c: sizes, limits and their event, receives shared by QPs. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "qp/qp.h"
#include "rnicpair.h"

static const struct rnicpair_options defaults = RNICPAIR_OPTIONS_INIT;

IDLE_PAIR_CASE(gives_what_was_asked_or_refuses)
{
	const struct rnic_limits *max = rnic_limits();
	const struct {
		struct rnic_srq_options opt;
		int rc;
	} rows[] = {
		{ { .max_wr = 0 }, -EINVAL },
		{ { .max_wr = max->max_srq_wr + 1 }, -EINVAL },
		{ { .max_wr = 1, .max_sge = max->max_srq_sge + 1 }, -EINVAL },
		{ { .max_wr = 1, .max_sge = 0 }, 0 },
		{ { .max_wr = 100, .max_sge = 3, .handle = 5 }, 0 },
		{ { .max_wr = 7, .max_sge = max->max_srq_sge }, 0 },
	};
	struct rnicpair *p = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rnic_srq_options opt = rows[i].opt, query;
		struct rnic_srq *srq = NULL;
		uint32_t events;

		assert_int_equal(rnic_srq_create(p->side[0].pd, &opt, &srq),
				 rows[i].rc);
		if (rows[i].rc) {
			assert_null(srq);
			continue;
		}
		assert_true(opt.max_wr >= rows[i].opt.max_wr);
		assert_true(opt.max_sge >= 1);
		assert_true(opt.max_sge >= rows[i].opt.max_sge);
		rnic_srq_query(srq, &query);
		assert_int_equal(query.max_wr, opt.max_wr);
		assert_int_equal(query.max_sge, opt.max_sge);
		assert_int_equal(query.limit, 0);
		assert_int_equal(rnic_srq_ring(srq)->depth, opt.max_wr);
		assert_int_equal(rnic_pd_free(p->side[0].pd), -EBUSY);
		assert_int_equal(rnic_srq_destroy(srq, &events), 0);
		assert_int_equal(events, 0);
	}
}

static void send_one(struct rnicpair *p)
{
	struct rnicpair_wr wr = { .opcode = USIW_WR_SEND };

	assert_int_equal(rnicpair_post(&p->side[0], &wr), 0);
	assert_int_equal(rnicpair_take(&p->side[1], p->side[1].rcq).status,
			 USIW_WC_SUCCESS);
}

CASE(limit_fires_once_when_it_is_undercut)
{
	struct rnicpair_options opt = defaults;
	struct rnic_srq_options query;
	struct rnicpair p;
	struct rnicpair_side *b = &p.side[1];
	uint64_t element;
	uint32_t async;

	opt.srq_wr = 16;
	rnicpair_open(&p, &opt);
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(rnicpair_post_recv(b, i, NULL, 0), 0);
	assert_int_equal(rnic_srq_set_limit(b->srq, 17), -EINVAL);
	assert_int_equal(rnic_srq_set_limit(b->srq, 6), 0);
	rnic_srq_query(b->srq, &query);
	assert_int_equal(query.limit, 6);
	send_one(&p);
	send_one(&p);
	assert_false(rnicpair_has_async(b));
	send_one(&p); /* five are left */
	assert_int_equal(rnicpair_async(b, &element),
			 USIW_EVENT_SRQ_LIMIT_REACHED);
	assert_int_equal(element, 0x401);
	send_one(&p);
	assert_false(rnicpair_has_async(b));
	rnic_srq_query(b->srq, &query);
	assert_int_equal(query.limit, 0);
	/* Already below the limit: at once. */
	assert_int_equal(rnic_srq_set_limit(b->srq, 8), 0);
	assert_int_equal(rnicpair_async(b, &element),
			 USIW_EVENT_SRQ_LIMIT_REACHED);
	/* Disarmed in time. */
	assert_int_equal(rnic_srq_set_limit(b->srq, 4), 0);
	assert_int_equal(rnic_srq_set_limit(b->srq, 0), 0);
	send_one(&p);
	assert_false(rnicpair_has_async(b));
	assert_int_equal(rnic_qp_destroy(b->qp, &async), 0);
	b->qp = NULL;
	assert_int_equal(rnic_srq_destroy(b->srq, &async), 0);
	assert_int_equal(async, 2);
	b->srq = NULL;
	rnicpair_close(&p);
}

/* Two QPs use one queue. One that fails leaves the rest to the other. */
CASE(queue_outlives_one_of_its_pairs)
{
	struct rnicpair_options opt = defaults;
	struct rnic_qp *qp[2];
	struct rnicpair p;
	struct rnicpair_side *b = &p.side[1];
	struct rnicpair_wr wr = { .opcode = USIW_WR_SEND };
	struct usiw_cqe cqe;
	uint32_t seen = 0, async;

	opt.srq_wr = 16;
	rnicpair_open(&p, &opt);
	qp[0] = rnicpair_qp_new(&p, 0);
	qp[1] = rnicpair_qp_new(&p, 1);
	rnicpair_join(&p, qp[0], qp[1]);
	for (uint64_t i = 0; i < 10; i++)
		assert_int_equal(rnicpair_post_recv(b, i, NULL, 0), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(
			rnicpair_post_qp(&p.side[0], p.side[0].qp, &wr), 0);
		assert_int_equal(rnicpair_post_qp(&p.side[0], qp[0], &wr), 0);
	}
	for (int i = 0; i < 6; i++) {
		cqe = rnicpair_take(b, b->rcq);
		assert_int_equal(cqe.status, USIW_WC_SUCCESS);
		assert_true(cqe.qp_num == rnic_qp_num(b->qp) ||
			    cqe.qp_num == rnic_qp_num(qp[1]));
		assert_false(seen & 1u << cqe.wr_id);
		seen |= 1u << cqe.wr_id;
	}
	assert_int_equal(seen, 0x3f);
	assert_int_equal(rnic_qp_modify(b->qp, RNIC_QPS_ERROR), 0);
	/* Not flushed: they belong to the other QP too. */
	assert_int_equal(rnicpair_async(b, NULL),
			 USIW_EVENT_QP_LAST_WQE_REACHED);
	assert_true(rnicpair_is_quiet(&p, b->rcq));
	assert_int_equal(usiw_ring_used(rnic_srq_ring(b->srq)), 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(rnicpair_post_qp(&p.side[0], qp[0], &wr), 0);
	for (uint64_t i = 6; i < 10; i++) {
		cqe = rnicpair_take(b, b->rcq);
		assert_int_equal(cqe.wr_id, i);
		assert_int_equal(cqe.qp_num, rnic_qp_num(qp[1]));
	}
	assert_int_equal(rnic_qp_destroy(qp[0], &async), 0);
	assert_int_equal(rnic_qp_destroy(qp[1], &async), 0);
	rnicpair_close(&p);
}

/* A receive is checked against the domain of the queue that it was posted to,
 * and an STag of the peer against the domain of the QP. An STag of the former
 * is invalid for the peer. */
IDLE_PAIR_CASE(keys_are_those_of_the_queues_domain)
{
	struct rnic_srq_options srq_opt = { .max_wr = 4, .max_sge = 1 };
	struct rnic_qp_options opt = { .max_send_wr = 4, .max_send_sge = 1 };
	struct rnicpair *p = *state;
	struct rnicpair_side *a = &p->side[0], *b = &p->side[1];
	struct rnicpair_wr wr = { .opcode = USIW_WR_SEND, .sge_cnt = 1 };
	struct usiw_sge from, to;
	struct usiw_cqe cqe;
	struct rnic_pd *pd;
	struct rnic_mr *mr;
	struct rnic_mw *mw;
	struct rnic_qp *qp;
	uint32_t async;

	assert_int_equal(rnic_pd_alloc(b->ctx, &pd), 0);
	assert_int_equal(rnic_srq_create(b->pd, &srq_opt, &b->srq), 0);
	opt.send_cq = b->scq;
	opt.recv_cq = b->rcq;
	opt.srq = b->srq;
	assert_int_equal(rnic_qp_create(pd, &opt, &qp), 0);
	rnicpair_join(p, a->qp, qp);
	from = rnicpair_sge(a, 0, 50);
	to = rnicpair_sge(b, 0, 50);
	rnicpair_fill(a->buf, 50, 3);
	wr.sge = &from;
	assert_int_equal(rnicpair_post_recv(b, 1, &to, 1), 0);
	assert_int_equal(rnicpair_post(a, &wr), 0);
	cqe = rnicpair_take(b, b->rcq);
	assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	assert_true(rnicpair_is_filled(b->buf, 50, 3));

	assert_int_equal(
		rnic_mr_reg(pd, b->buf, 8, 0, RNIC_ACCESS_MW_BIND, &mr), 0);
	mw = rnicpair_window_open(b, qp, mr, RNIC_MW_TYPE_2,
				  RNIC_ACCESS_REMOTE_READ);
	wr.opcode = USIW_WR_SEND_INV;
	wr.rkey = rnic_mw_stag(mw);
	assert_int_equal(rnicpair_post_recv(b, 2, &to, 1), 0);
	assert_int_equal(rnicpair_post(a, &wr), 0);
	cqe = rnicpair_take(b, b->rcq);
	assert_int_equal(cqe.status, USIW_WC_SUCCESS);
	assert_int_equal(cqe.wc_flags & USIW_WC_FLAG_INV, USIW_WC_FLAG_INV);
	wr.opcode = USIW_WR_WRITE;
	wr.rkey = b->stag;
	wr.remote_addr = rnicpair_addr(b, 0);
	assert_int_equal(rnicpair_post(a, &wr), 0);
	assert_int_equal(rnicpair_async(b, NULL), USIW_EVENT_QP_ACCESS_ERR);
	assert_int_equal(rnic_qp_destroy(qp, &async), 0);
	assert_int_equal(rnic_mw_dealloc(mw), 0);
	assert_int_equal(rnic_mr_dereg(mr), 0);
	assert_int_equal(rnic_pd_free(pd), 0);
}

/* Grows and shrinks around posted receives, which keep their order. */
CASE(resize_keeps_what_is_posted)
{
	static const uint32_t sizes[] = { 64, 8, 9, 300, 5, 5, 4096, 6 };
	struct rnicpair_options opt = defaults;
	struct rnicpair_wr wr = { .opcode = USIW_WR_SEND };
	uint64_t posted = 0, done = 0;
	struct rnic_srq_options query;
	struct rnicpair p;
	struct rnicpair_side *b = &p.side[1];

	opt.srq_wr = 7;
	rnicpair_open(&p, &opt);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		while (posted - done < 5)
			assert_int_equal(
				rnicpair_post_recv(b, posted++, NULL, 0), 0);
		assert_int_equal(rnic_srq_resize(b->srq, 4, NULL), -EINVAL);
		assert_int_equal(rnic_srq_resize(b->srq, 0, NULL), -EINVAL);
		assert_int_equal(rnic_srq_resize(b->srq,
						 rnic_limits()->max_srq_wr + 1,
						 NULL),
				 -EINVAL);
		assert_int_equal(rnic_srq_resize(b->srq, sizes[i], NULL), 0);
		rnic_srq_query(b->srq, &query);
		assert_int_equal(query.max_wr, sizes[i]);
		/* As many as fit, and no more. */
		while (posted - done < sizes[i])
			assert_int_equal(
				rnicpair_post_recv(b, posted++, NULL, 0), 0);
		assert_int_equal(rnicpair_post_recv(b, 0, NULL, 0), -ENOMEM);
		while (posted - done > 2) {
			struct usiw_cqe cqe;

			assert_int_equal(rnicpair_post(&p.side[0], &wr), 0);
			cqe = rnicpair_take(b, b->rcq);
			assert_int_equal(cqe.status, USIW_WC_SUCCESS);
			assert_int_equal(cqe.wr_id, done++);
		}
	}
	rnicpair_close(&p);
}

/* An ERROR by the application ends the use of an SRQ too. */
CASE(last_wqe_comes_once)
{
	struct rnicpair_options opt = defaults;
	struct rnicpair p;
	struct rnicpair_side *b = &p.side[1];
	uint64_t element;

	opt.srq_wr = 4;
	rnicpair_open(&p, &opt);
	assert_int_equal(rnic_qp_modify(b->qp, RNIC_QPS_ERROR), 0);
	assert_int_equal(rnicpair_async(b, &element),
			 USIW_EVENT_QP_LAST_WQE_REACHED);
	assert_int_equal(element, 0x101);
	assert_int_equal(rnic_qp_modify(b->qp, RNIC_QPS_ERROR), 0);
	assert_false(rnicpair_has_async(b));
	rnicpair_close(&p);
}

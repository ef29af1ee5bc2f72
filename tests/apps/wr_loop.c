/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ibv_wr_* through stock libibverbs and over a real connection: every
 * operation, batches, errors, and threads. Runs alone under `usiw run`, and
 * connects to itself: once without a thread domain, once in a thread domain
 * with queues in memory of the program.
 */
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop.h"

#define HALF 65536 /* octets of the buffer that belong to one end */
#define THREAD_CNT 4
#define BATCH_CNT 200

struct world {
	struct loop loop;
	struct ibv_context *context;
	struct ibv_pd *base, *pd;
	struct ibv_td *td;
	struct ibv_cq *scq, *rcq;
	struct ibv_mr *mr;
	struct ibv_qp_ex *qpx; /* of the active end */
	struct ibv_qp *peer;
	uint8_t *buf; /* this end's half, then the peer's */
	uint64_t send_ops;
};

static uint8_t *theirs(const struct world *w)
{
	return w->buf + HALF;
}

/* All operations of RC that this build supports. */
static uint64_t offered(struct ibv_qp_init_attr_ex attr)
{
	uint64_t send_ops = 0;
	struct ibv_qp *qp;
	int bit;

	for (bit = 0; bit < 64; bit++) {
		attr.send_ops_flags = 1ull << bit;
		qp = ibv_create_qp_ex(attr.pd->context, &attr);
		if (!qp) {
			NEEDS(errno == EOPNOTSUPP);
			continue;
		}
		send_ops |= 1ull << bit;
		NEEDS(ibv_destroy_qp(qp) == 0);
	}
	return send_ops;
}

/* The queues of a thread domain are in mappings of the program. The page before
 * a mapping contains its size. */
#define PAGE 4096

static uint32_t given_cnt, given_max;

static void *slots_give(struct ibv_pd *pd, void *pd_context, size_t size,
			size_t alignment, uint64_t resource_type)
{
	size_t *head;

	(void)pd;
	NEEDS(pd_context == &given_cnt);
	NEEDS(alignment <= PAGE && size % alignment == 0 && resource_type);
	head = mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEEDS(head != MAP_FAILED);
	*head = size + PAGE;
	if (++given_cnt > given_max)
		given_max = given_cnt;
	return (char *)head + PAGE;
}

static void slots_take(struct ibv_pd *pd, void *pd_context, void *ptr,
		       uint64_t resource_type)
{
	size_t *head = (size_t *)(void *)((char *)ptr - PAGE);

	(void)pd;
	NEEDS(pd_context == &given_cnt && resource_type);
	given_cnt--;
	/* a later access ends the program */
	NEEDS(munmap(head, *head) == 0);
}

static void domain_open(struct world *w, bool has_td)
{
	struct ibv_td_init_attr td_attr = { 0 };
	struct ibv_parent_domain_init_attr attr = { 0 };

	w->base = ibv_alloc_pd(w->context);
	NEEDS(w->base);
	w->pd = w->base;
	if (!has_td)
		return;
	w->td = ibv_alloc_td(w->context, &td_attr);
	NEEDS(w->td);
	attr.pd = w->base;
	attr.td = w->td;
	attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			 IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
	attr.alloc = slots_give;
	attr.free = slots_take;
	attr.pd_context = &given_cnt;
	w->pd = ibv_alloc_parent_domain(w->context, &attr);
	NEEDS(w->pd);
}

static struct ibv_cq *cq_open(struct world *w)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 4096,
		.comp_mask = w->td ? IBV_CQ_INIT_ATTR_MASK_PD : 0,
		.parent_domain = w->td ? w->pd : NULL,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(w->context, &attr);

	NEEDS(cq);
	return ibv_cq_ex_to_cq(cq);
}

static void world_open(struct world *w, bool has_td)
{
	struct ibv_qp_init_attr_ex attr = {
		.cap = { .max_send_wr = 64,
			 .max_recv_wr = 2048,
			 .max_send_sge = 4,
			 .max_recv_sge = 2,
			 .max_inline_data = 64 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	};

	loop_open(&w->loop);
	w->context = w->loop.active->verbs;
	domain_open(w, has_td);
	w->scq = cq_open(w);
	w->rcq = cq_open(w);
	w->buf = calloc(2, HALF);
	NEEDS(w->buf);
	/* on the base domain: equivalent to the parent domain */
	w->mr = ibv_reg_mr(w->base, w->buf, 2 * HALF,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC);
	NEEDS(w->mr);
	attr.pd = w->pd;
	attr.send_cq = w->scq;
	attr.recv_cq = w->rcq;
	attr.send_ops_flags = w->send_ops = offered(attr);
	loop_connect(&w->loop, &attr);
	w->qpx = ibv_qp_to_qp_ex(w->loop.active->qp);
	w->peer = w->loop.passive->qp;
	NEEDS(w->qpx);
	NEEDS(w->send_ops & IBV_QP_EX_WITH_SEND);
}

static void world_close(struct world *w)
{
	loop_close(&w->loop);
	NEEDS(ibv_dereg_mr(w->mr) == 0);
	if (w->td) {
		NEEDS(ibv_dealloc_pd(w->pd) == EBUSY); /* the CQs use it */
		NEEDS(ibv_dealloc_pd(w->base) == EBUSY);
	}
	NEEDS(ibv_destroy_cq(w->scq) == 0);
	NEEDS(ibv_destroy_cq(w->rcq) == 0);
	if (w->td) {
		/* at least two CQs, an SQ and an RQ, and everything was
		 * freed */
		NEEDS(given_max >= 4 && given_cnt == 0);
		NEEDS(ibv_dealloc_td(w->td) == EBUSY);
		NEEDS(ibv_dealloc_pd(w->pd) == 0);
		NEEDS(ibv_dealloc_td(w->td) == 0);
	}
	NEEDS(ibv_dealloc_pd(w->base) == 0);
	free(w->buf);
}

static void receive_at(struct world *w, uint64_t wr_id, size_t off, size_t len)
{
	struct ibv_sge sge = { (uintptr_t)theirs(w) + off, (uint32_t)len,
			       w->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id,
				  .sg_list = &sge,
				  .num_sge = len != 0 };
	struct ibv_recv_wr *bad;

	NEEDS(ibv_post_recv(w->peer, &wr, &bad) == 0);
}

/* The next completion of @cq must be this one. */
static struct ibv_wc done(struct ibv_cq *cq, uint64_t wr_id,
			  enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc;

	loop_wc(cq, &wc);
	if (wc.wr_id != wr_id || wc.status != IBV_WC_SUCCESS ||
	    wc.opcode != opcode) {
		printf("wr %llu: %s, opcode %d; want wr %llu, opcode %d\n",
		       (unsigned long long)wc.wr_id,
		       ibv_wc_status_str(wc.status), wc.opcode,
		       (unsigned long long)wr_id, opcode);
		exit(1);
	}
	return wc;
}

static void begin(struct world *w, uint64_t wr_id)
{
	w->qpx->wr_id = wr_id;
	w->qpx->wr_flags = IBV_SEND_SIGNALED;
}

static void sends(struct world *w)
{
	const struct ibv_sge list[] = {
		{ (uintptr_t)w->buf + 10, 20, w->mr->lkey },
		{ (uintptr_t)w->buf + 50, 5, w->mr->lkey },
		{ (uintptr_t)w->buf + 3, 1, w->mr->lkey },
	};
	struct ibv_wc wc;

	receive_at(w, 1, 0, 100);
	receive_at(w, 2, 100, 100);
	ibv_wr_start(w->qpx);
	begin(w, 11);
	ibv_wr_send(w->qpx);
	ibv_wr_set_sge_list(w->qpx, 3, list);
	begin(w, 12);
	ibv_wr_send(w->qpx);
	ibv_wr_set_sge(w->qpx, w->mr->lkey, (uintptr_t)w->buf + 7, 30);
	NEEDS(ibv_wr_complete(w->qpx) == 0);
	(void)done(w->scq, 11, IBV_WC_SEND);
	(void)done(w->scq, 12, IBV_WC_SEND);
	wc = done(w->rcq, 1, IBV_WC_RECV);
	NEEDS(wc.byte_len == 26);
	wc = done(w->rcq, 2, IBV_WC_RECV);
	NEEDS(wc.byte_len == 30);
	NEEDS(!memcmp(theirs(w), w->buf + 10, 20));
	NEEDS(!memcmp(theirs(w) + 20, w->buf + 50, 5));
	NEEDS(theirs(w)[25] == w->buf[3]);
	NEEDS(!memcmp(theirs(w) + 100, w->buf + 7, 30));
}

static void writes_and_reads(struct world *w)
{
	uint64_t at = (uintptr_t)theirs(w) + 1000;
	struct ibv_data_buf bufs[] = { { w->buf + 200, 10 },
				       { NULL, 0 },
				       { w->buf + 300, 20 } };

	ibv_wr_start(w->qpx);
	begin(w, 21);
	ibv_wr_rdma_write(w->qpx, w->mr->rkey, at);
	ibv_wr_set_sge(w->qpx, w->mr->lkey, (uintptr_t)w->buf + 100, 500);
	begin(w, 22);
	ibv_wr_rdma_write(w->qpx, w->mr->rkey, at + 500);
	ibv_wr_set_inline_data_list(w->qpx, 3, bufs);
	/* completes after the earlier writes, because they share a stream */
	begin(w, 23);
	w->qpx->wr_flags |= IBV_SEND_FENCE;
	ibv_wr_rdma_read(w->qpx, w->mr->rkey, at);
	ibv_wr_set_sge(w->qpx, w->mr->lkey, (uintptr_t)w->buf + 5000, 530);
	NEEDS(ibv_wr_complete(w->qpx) == 0);
	(void)done(w->scq, 21, IBV_WC_RDMA_WRITE);
	(void)done(w->scq, 22, IBV_WC_RDMA_WRITE);
	(void)done(w->scq, 23, IBV_WC_RDMA_READ);
	NEEDS(!memcmp(theirs(w) + 1000, w->buf + 100, 500));
	NEEDS(!memcmp(theirs(w) + 1500, w->buf + 200, 10));
	NEEDS(!memcmp(theirs(w) + 1510, w->buf + 300, 20));
	NEEDS(!memcmp(w->buf + 5000, theirs(w) + 1000, 530));
}

static void immediate_data(struct world *w)
{
	uint64_t at = (uintptr_t)theirs(w) + 2000;
	struct ibv_wc wc;
	char own[] = "inline: the buffer is mine again at once";

	if (!(w->send_ops & IBV_QP_EX_WITH_SEND_WITH_IMM))
		return;
	receive_at(w, 31, 3000, 64);
	receive_at(w, 32, 0, 0);
	ibv_wr_start(w->qpx);
	begin(w, 33);
	ibv_wr_send_imm(w->qpx, htobe32(0xcafe0001));
	ibv_wr_set_inline_data(w->qpx, own, sizeof(own));
	memset(own, 'x', sizeof(own));
	begin(w, 34);
	ibv_wr_rdma_write_imm(w->qpx, w->mr->rkey, at, htobe32(0xcafe0002));
	ibv_wr_set_sge(w->qpx, w->mr->lkey, (uintptr_t)w->buf + 40, 40);
	NEEDS(ibv_wr_complete(w->qpx) == 0);
	(void)done(w->scq, 33, IBV_WC_SEND);
	(void)done(w->scq, 34, IBV_WC_RDMA_WRITE);
	wc = done(w->rcq, 31, IBV_WC_RECV);
	NEEDS((wc.wc_flags & IBV_WC_WITH_IMM) &&
	      wc.imm_data == htobe32(0xcafe0001));
	NEEDS(!strncmp((char *)theirs(w) + 3000, "inline: the", 11));
	wc = done(w->rcq, 32, IBV_WC_RECV_RDMA_WITH_IMM);
	NEEDS((wc.wc_flags & IBV_WC_WITH_IMM) &&
	      wc.imm_data == htobe32(0xcafe0002) && wc.byte_len == 40);
	NEEDS(!memcmp(theirs(w) + 2000, w->buf + 40, 40));
}

/* A peer may invalidate a window that was bound for its stream. */
static void invalidation(struct world *w)
{
	struct ibv_send_wr bind = { .wr_id = 40,
				    .opcode = IBV_WR_BIND_MW,
				    .send_flags = IBV_SEND_SIGNALED };
	struct ibv_mw *mw = ibv_alloc_mw(w->pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr =
		ibv_reg_mr(w->pd, theirs(w), 64,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	NEEDS(mw && mr);
	bind.bind_mw.mw = mw;
	bind.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	bind.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = mr,
		.addr = (uintptr_t)theirs(w),
		.length = 64,
		.mw_access_flags = IBV_ACCESS_REMOTE_READ,
	};
	NEEDS(ibv_post_send(w->peer, &bind, &bad) == 0);
	(void)done(w->scq, 40, IBV_WC_BIND_MW);
	NEEDS(ibv_dereg_mr(mr) == EBUSY);
	receive_at(w, 41, 0, 0);
	memset(theirs(w), 'v', 64);
	ibv_wr_start(w->qpx);
	begin(w, 43);
	ibv_wr_rdma_read(w->qpx, bind.bind_mw.rkey, (uintptr_t)theirs(w));
	ibv_wr_set_sge(w->qpx, w->mr->lkey, (uintptr_t)w->buf + 300, 64);
	begin(w, 42); /* not fenced: it is executed after the READ */
	ibv_wr_send_inv(w->qpx, bind.bind_mw.rkey);
	NEEDS(ibv_wr_complete(w->qpx) == 0);
	(void)done(w->scq, 43, IBV_WC_RDMA_READ);
	NEEDS(!memcmp(w->buf + 300, theirs(w), 64));
	(void)done(w->scq, 42, IBV_WC_SEND);
	wc = done(w->rcq, 41, IBV_WC_RECV);
	NEEDS((wc.wc_flags & IBV_WC_WITH_INV) &&
	      wc.invalidated_rkey == bind.bind_mw.rkey);
	NEEDS(ibv_dereg_mr(mr) == 0); /* nothing is bound to it any more */
	NEEDS(ibv_dealloc_mw(mw) == 0);
}

static void atomics(struct world *w)
{
	uint64_t *word = (uint64_t *)(void *)(theirs(w) + 4096);
	uint64_t *old = (uint64_t *)(void *)(w->buf + 8192);

	if (!(w->send_ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP))
		return;
	*word = 40;
	ibv_wr_start(w->qpx);
	begin(w, 51);
	ibv_wr_atomic_fetch_add(w->qpx, w->mr->rkey, (uintptr_t)word, 2);
	ibv_wr_set_sge(w->qpx, w->mr->lkey, (uintptr_t)&old[0], 8);
	begin(w, 52);
	ibv_wr_atomic_cmp_swp(w->qpx, w->mr->rkey, (uintptr_t)word, 42, 99);
	ibv_wr_set_sge(w->qpx, w->mr->lkey, (uintptr_t)&old[1], 8);
	begin(w, 53);
	ibv_wr_atomic_cmp_swp(w->qpx, w->mr->rkey, (uintptr_t)word, 42, 7);
	ibv_wr_set_sge(w->qpx, w->mr->lkey, (uintptr_t)&old[2], 8);
	NEEDS(ibv_wr_complete(w->qpx) == 0);
	(void)done(w->scq, 51, IBV_WC_FETCH_ADD);
	(void)done(w->scq, 52, IBV_WC_COMP_SWAP);
	(void)done(w->scq, 53, IBV_WC_COMP_SWAP);
	NEEDS(old[0] == 40 && old[1] == 42 && old[2] == 99 && *word == 99);
}

static void peer_posts(struct world *w, enum ibv_wr_opcode opcode,
		       uint64_t wr_id, size_t off, uint64_t addr, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)theirs(w) + off, 64, w->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { addr, rkey } };
	struct ibv_send_wr *bad;

	NEEDS(ibv_post_send(w->peer, &wr, &bad) == 0);
}

/* A window of this end. The peer writes and reads it while it is bound. */
static void windows(struct world *w)
{
	const uint64_t both = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
	const int access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	uint8_t *at = w->buf + 9000;
	struct ibv_mw_bind_info info = { .addr = (uintptr_t)at,
					 .length = 64,
					 .mw_access_flags = access };
	struct ibv_mw *mw;
	uint32_t rkey;

	if ((w->send_ops & both) != both)
		return;
	info.mr = ibv_reg_mr(w->pd, at, 64,
			     access | IBV_ACCESS_LOCAL_WRITE |
				     IBV_ACCESS_MW_BIND);
	NEEDS(info.mr);
	mw = ibv_alloc_mw(w->pd, IBV_MW_TYPE_2);
	NEEDS(mw);
	rkey = ibv_inc_rkey(mw->rkey);
	ibv_wr_start(w->qpx);
	begin(w, 81);
	ibv_wr_bind_mw(w->qpx, mw, rkey, &info);
	NEEDS(ibv_wr_complete(w->qpx) == 0);
	(void)done(w->scq, 81, IBV_WC_BIND_MW);
	memset(theirs(w) + 6000, 0x5a, 64);
	memset(theirs(w) + 6100, 0, 64);
	peer_posts(w, IBV_WR_RDMA_WRITE, 82, 6000, info.addr, rkey);
	peer_posts(w, IBV_WR_RDMA_READ, 83, 6100, info.addr, rkey);
	(void)done(w->scq, 82, IBV_WC_RDMA_WRITE);
	(void)done(w->scq, 83, IBV_WC_RDMA_READ);
	NEEDS(!memcmp(at, theirs(w) + 6000, 64));
	NEEDS(!memcmp(at, theirs(w) + 6100, 64));
	ibv_wr_start(w->qpx);
	begin(w, 84);
	ibv_wr_local_inv(w->qpx, rkey);
	NEEDS(ibv_wr_complete(w->qpx) == 0);
	(void)done(w->scq, 84, IBV_WC_LOCAL_INV);
	/* nothing is bound to the region any more */
	NEEDS(ibv_dereg_mr(info.mr) == 0);
	NEEDS(ibv_dealloc_mw(mw) == 0);
}

/* Requests of a batch that failed or was aborted are never executed. */
static void dropped_batches(struct world *w)
{
	struct ibv_wc wc;
	int i;

	receive_at(w, 61, 0, 64);
	for (i = 0; i < 100; i++) { /* more than the queue holds */
		ibv_wr_start(w->qpx);
		begin(w, 62);
		ibv_wr_send(w->qpx);
		ibv_wr_set_inline_data(w->qpx, w->buf, 13);
		if (i & 1) {
			ibv_wr_abort(w->qpx);
			continue;
		}
		begin(w, 63);
		ibv_wr_send(w->qpx);
		ibv_wr_set_inline_data(w->qpx, w->buf, 100000);
		NEEDS(ibv_wr_complete(w->qpx) == EINVAL);
	}
	ibv_wr_start(w->qpx);
	for (i = 0; i < 65; i++) {
		begin(w, 64);
		ibv_wr_send(w->qpx);
	}
	NEEDS(ibv_wr_complete(w->qpx) == ENOMEM);
	ibv_wr_start(w->qpx);
	begin(w, 65);
	ibv_wr_send(w->qpx);
	ibv_wr_set_inline_data(w->qpx, w->buf, 3);
	NEEDS(ibv_wr_complete(w->qpx) == 0);
	(void)done(w->scq, 65, IBV_WC_SEND);
	wc = done(w->rcq, 61, IBV_WC_RECV);
	NEEDS(wc.byte_len == 3);
}

struct poster {
	struct world *w;
	uint32_t num;
};

/* Posts batches of two. No other request may come between the two. */
static void *poster_run(void *arg)
{
	struct poster *p = arg;
	struct ibv_qp_ex *qpx = p->w->qpx;
	uint32_t i, what[2];
	int err;

	for (i = 0; i < BATCH_CNT; i++) {
		what[0] = p->num;
		what[1] = i;
		do {
			ibv_wr_start(qpx);
			qpx->wr_id = 0;
			qpx->wr_flags = 0;
			ibv_wr_send(qpx);
			ibv_wr_set_inline_data(qpx, what, sizeof(what));
			qpx->wr_id = 70 + p->num;
			qpx->wr_flags = IBV_SEND_SIGNALED;
			ibv_wr_send(qpx);
			ibv_wr_set_inline_data(qpx, what, sizeof(what));
			err = ibv_wr_complete(qpx);
		} while (err == ENOMEM);
		NEEDS(err == 0);
	}
	return NULL;
}

static void threads(struct world *w)
{
	const uint32_t cnt = THREAD_CNT * BATCH_CNT;
	struct poster posters[THREAD_CNT];
	pthread_t thread[THREAD_CNT];
	uint32_t next[THREAD_CNT] = { 0 }, i, got[4];
	struct ibv_wc wc;

	for (i = 0; i < 2 * cnt; i++)
		receive_at(w, i, (size_t)i * 8, 8);
	for (i = 0; i < THREAD_CNT; i++) {
		posters[i] = (struct poster){ w, i };
		NEEDS(!pthread_create(&thread[i], NULL, poster_run,
				      &posters[i]));
	}
	for (i = 0; i < cnt; i++) {
		loop_wc(w->scq, &wc);
		NEEDS(wc.status == IBV_WC_SUCCESS && wc.wr_id >= 70);
	}
	for (i = 0; i < THREAD_CNT; i++)
		NEEDS(!pthread_join(thread[i], NULL));
	for (i = 0; i < 2 * cnt; i++)
		(void)done(w->rcq, i, IBV_WC_RECV);
	for (i = 0; i < cnt; i++) {
		memcpy(got, theirs(w) + (size_t)i * 16, 16);
		NEEDS(got[0] == got[2] && got[1] == got[3]);
		NEEDS(got[0] < THREAD_CNT && got[1] == next[got[0]]);
		next[got[0]]++;
	}
}

/* A child that is forked during the parent's batch has no ring to write to. */
static void forked(struct world *w)
{
	int status;
	pid_t pid;

	ibv_wr_start(w->qpx);
	w->qpx->wr_id = 1;
	ibv_wr_send(w->qpx);
	pid = fork();
	NEEDS(pid >= 0);
	if (pid == 0) {
		ibv_wr_set_sge(w->qpx, w->mr->lkey, (uintptr_t)w->buf, 8);
		ibv_wr_send(w->qpx);
		ibv_wr_set_sge(w->qpx, w->mr->lkey, (uintptr_t)w->buf, 8);
		_exit(ibv_wr_complete(w->qpx) == ENODEV ? 0 : 1);
	}
	NEEDS(waitpid(pid, &status, 0) == pid && status == 0);
	ibv_wr_abort(w->qpx);
}

static void run(bool has_td)
{
	struct world w = { .base = NULL };
	size_t i;

	world_open(&w, has_td);
	for (i = 0; i < HALF; i++)
		w.buf[i] = (uint8_t)(i * 7 + i / 256);
	sends(&w);
	writes_and_reads(&w);
	immediate_data(&w);
	invalidation(&w);
	atomics(&w);
	windows(&w);
	dropped_batches(&w);
	forked(&w);
	if (!has_td)
		threads(&w);
	printf("%s: operations 0x%llx\n",
	       has_td ? "thread domain" : "no thread domain",
	       (unsigned long long)w.send_ops);
	world_close(&w);
}

int main(void)
{
	run(false);
	run(true);
	return 0;
}

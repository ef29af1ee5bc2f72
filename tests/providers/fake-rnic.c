/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The RNIC of the provider's tests; see fake-rnic.h. */
#include "fake-rnic.h"
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fake_rnic fake;

struct rnic_device {
	int unused;
};

struct rnic_context {
	int unused;
};

struct rnic_pd {
	int unused;
};

struct rnic_mr {
	uint32_t stag;
};

struct rnic_mw {
	uint32_t stag;
};

struct rnic_dm {
	int unused;
};

struct rnic_chan {
	int unused;
};

struct rnic_cq {
	struct usiw_ring ring;
};

struct rnic_srq {
	struct usiw_ring ring;
	struct rnic_srq_options opt;
};

struct rnic_qp {
	struct usiw_ring sq, rq;
	struct rnic_srq *srq;
	struct rnic_cq *cq[2];
	bool is_retired;
};

static struct rnic_device the_device;
static struct rnic_chan the_chan;

void fake_reset(void)
{
	fake = (struct fake_rnic){
		.limits = {
			.max_mr_size = 1ull << 40, .max_dm_size = 256,
			.max_qp = 1000, .max_qp_wr = 64, .max_sge = 8,
			.max_sge_rd = 2, .max_inline = 256, .max_cq = 1001,
			.max_cqe = 128, .max_mr = 1002, .max_pd = 1003,
			.max_mw = 1005,
			.max_srq = 1004, .max_srq_wr = 32, .max_srq_sge = 4,
			.max_ird = 16, .max_ord = 32,
			.max_msg_size = 1u << 30,
			.vendor_id = 0x626d74, .vendor_part_id = 7,
			.hw_ver = 3,
		},
		.device = {
			.name = "usiw_fake", .ifname = "none-such",
			.guid_be = 0x1122334455667788, .mtu = 1500,
			.is_up = true, .gid_cnt = 2,
		},
		.qp_state = RNIC_QPS_RTS,
	};
}

/* 0, or the result that the test has set for @name. */
int fake_result_of(const char *name)
{
	if (fake.fail_name && strcmp(fake.fail_name, name) == 0)
		return fake.fail_err;
	return 0;
}

static void ring_new(struct usiw_ring *ring, uint32_t depth, uint32_t stride,
		     void *slots)
{
	size_t size = usiw_ring_size(depth, stride);
	size_t rounded = (size + USIW_CACHE_LINE - 1) / USIW_CACHE_LINE *
			 USIW_CACHE_LINE;
	void *mem = aligned_alloc(USIW_CACHE_LINE, rounded);

	assert_non_null(mem);
	memset(mem, 0, rounded);
	usiw_ring_init(ring, mem, depth, stride);
	if (slots) {
		/* fill the whole size that was requested: its owner may use all
		 * of it */
		memset(slots, 0xa5, (size_t)usiw_ring_slot_cnt(depth) * stride);
		ring->slots = slots;
	}
}

static void ring_free(struct usiw_ring *ring)
{
	free(ring->hdr);
}

static void *object_new(size_t size)
{
	void *object = calloc(1, size);

	assert_non_null(object);
	fake.open_cnt++;
	return object;
}

static void object_free(void *object)
{
	fake.open_cnt--;
	free(object);
}

uint32_t rnic_fork_gen(void)
{
	return fake.fork_gen;
}

const struct rnic_limits *rnic_limits(void)
{
	return &fake.limits;
}

struct rnic_device *rnic_device_by_name(const char *name)
{
	return strcmp(name, fake.device.name) == 0 ? &the_device : NULL;
}

int rnic_device_query(const struct rnic_device *dev,
		      struct rnic_device_attr *ret_attr)
{
	int err = fake_result_of(__func__);

	assert_ptr_equal(dev, &the_device);
	if (!err)
		*ret_attr = fake.device;
	return err;
}

enum rnic_persona rnic_device_persona(const struct rnic_device *dev)
{
	assert_ptr_equal(dev, &the_device);
	return fake.device.persona;
}

struct rnic_chan *rnic_chan_get_fd(int fd)
{
	if (fd != FAKE_CHAN_FD)
		return NULL;
	fake.chan_refs++;
	return &the_chan;
}

void rnic_chan_put(struct rnic_chan *chan)
{
	assert_ptr_equal(chan, &the_chan);
	fake.chan_refs--;
}

int rnic_context_open(struct rnic_device *dev, struct rnic_context **ret_ctx)
{
	int err = fake_result_of(__func__);

	assert_ptr_equal(dev, &the_device);
	if (!err)
		*ret_ctx = object_new(sizeof(**ret_ctx));
	return err;
}

void rnic_context_close(struct rnic_context *ctx)
{
	object_free(ctx);
}

int rnic_context_enter(struct rnic_context *ctx)
{
	return rnic_context_is_forked(ctx) && !fake.can_renew ? -ENODEV : 0;
}

bool rnic_context_is_forked(const struct rnic_context *ctx)
{
	return ctx && fake.fork_gen != 0;
}

int rnic_pd_enter(struct rnic_pd *pd, _Atomic uint32_t *user_cnt)
{
	return user_cnt ? rnic_context_enter((struct rnic_context *)pd) : 0;
}

bool rnic_pd_is_forked(const struct rnic_pd *pd)
{
	return pd && fake.fork_gen != 0;
}

int rnic_context_async_fd(const struct rnic_context *ctx)
{
	assert_non_null(ctx);
	return 4712;
}

int rnic_pd_alloc(struct rnic_context *ctx, struct rnic_pd **ret_pd)
{
	int err = fake_result_of(__func__);

	assert_non_null(ctx);
	if (!err)
		*ret_pd = object_new(sizeof(**ret_pd));
	return err;
}

int rnic_pd_free(struct rnic_pd *pd)
{
	int err = fake_result_of(__func__);

	if (!err)
		object_free(pd);
	return err;
}

int rnic_mr_advise(struct rnic_pd *pd, uint32_t advice, uint32_t stag,
		   uint64_t addr, size_t len)
{
	assert_non_null(pd);
	fake.advice = advice;
	fake.advice_cnt++;
	fake.advice_sge.addr = addr;
	fake.advice_sge.len = (uint32_t)len;
	fake.advice_sge.lkey = stag;
	return fake_result_of(__func__);
}

int rnic_mr_reg(struct rnic_pd *pd, void *addr, size_t len, uint64_t iova,
		uint32_t access, struct rnic_mr **ret_mr)
{
	int err = fake_result_of(__func__);

	(void)addr;
	(void)len;
	assert_non_null(pd);
	if (err)
		return err;
	*ret_mr = object_new(sizeof(**ret_mr));
	(*ret_mr)->stag = 0x123456ab;
	fake.iova = iova;
	fake.mr_access = access;
	return 0;
}

uint32_t rnic_mr_stag(const struct rnic_mr *mr)
{
	return mr->stag + fake.mr_key;
}

int rnic_mr_rereg(struct rnic_mr *mr, const struct rnic_mr_change *want)
{
	int err = fake_result_of(__func__);

	assert_non_null(mr);
	fake.change = *want;
	return err;
}

int rnic_mr_alloc_null(struct rnic_pd *pd, struct rnic_mr **ret_mr)
{
	int err = fake_result_of(__func__);

	assert_non_null(pd);
	if (err)
		return err;
	*ret_mr = object_new(sizeof(**ret_mr));
	(*ret_mr)->stag = 0x77;
	return 0;
}

int rnic_mw_alloc(struct rnic_pd *pd, enum rnic_mw_type type,
		  struct rnic_mw **ret_mw)
{
	int err = fake_result_of(__func__);

	assert_non_null(pd);
	if (err)
		return err;
	fake.mw_type = type;
	*ret_mw = object_new(sizeof(**ret_mw));
	(*ret_mw)->stag = 0xabcdefff;
	return 0;
}

uint32_t rnic_mw_stag(const struct rnic_mw *mw)
{
	return mw->stag;
}

int rnic_mw_dealloc(struct rnic_mw *mw)
{
	int err = fake_result_of(__func__);

	if (!err)
		object_free(mw);
	return err;
}

int rnic_dm_alloc(struct rnic_context *ctx, size_t len, uint32_t log_align,
		  struct rnic_dm **ret_dm)
{
	int err = fake_result_of(__func__);

	assert_non_null(ctx);
	if (err)
		return err;
	fake.dm_len = len;
	fake.dm_log_align = log_align;
	*ret_dm = object_new(sizeof(**ret_dm));
	return 0;
}

int rnic_dm_free(struct rnic_dm *dm)
{
	int err = fake_result_of(__func__);

	if (!err)
		object_free(dm);
	return err;
}

int rnic_dm_write(struct rnic_dm *dm, uint64_t off, const void *from,
		  size_t len)
{
	int err = fake_result_of(__func__);

	assert_non_null(dm);
	if (!err)
		memcpy(fake.dm + off, from, len);
	return err;
}

int rnic_dm_read(const struct rnic_dm *dm, uint64_t off, void *to, size_t len)
{
	int err = fake_result_of(__func__);

	assert_non_null(dm);
	if (!err)
		memcpy(to, fake.dm + off, len);
	return err;
}

int rnic_dm_reg(struct rnic_pd *pd, struct rnic_dm *dm, uint64_t off,
		size_t len, uint32_t access, struct rnic_mr **ret_mr)
{
	int err = fake_result_of(__func__);

	assert_non_null(pd);
	assert_non_null(dm);
	if (err)
		return err;
	fake.dm_off = off;
	fake.dm_len = len;
	fake.mr_access = access;
	*ret_mr = object_new(sizeof(**ret_mr));
	(*ret_mr)->stag = 0x88;
	return 0;
}

int rnic_mr_dereg(struct rnic_mr *mr)
{
	int err = fake_result_of(__func__);

	if (!err)
		object_free(mr);
	return err;
}

size_t rnic_cq_slots_size(uint32_t cqe)
{
	return (size_t)usiw_ring_slot_cnt(cqe) * sizeof(struct usiw_cqe);
}

int rnic_cq_create(struct rnic_context *ctx, uint32_t cqe,
		   struct rnic_chan *chan, uint64_t handle, void *slots,
		   struct rnic_cq **ret_cq)
{
	int err = fake_result_of(__func__);

	assert_non_null(ctx);
	if (err)
		return err;
	*ret_cq = object_new(sizeof(**ret_cq));
	ring_new(&(*ret_cq)->ring, cqe, sizeof(struct usiw_cqe), slots);
	fake.handle = handle;
	if (chan)
		fake.chan_refs++;
	return 0;
}

void rnic_cq_set_flags(struct rnic_cq *cq, uint32_t flags)
{
	assert_non_null(cq);
	fake.cq_flags = flags;
}

/* For an empty ring. */
static void ring_resize(struct usiw_ring *ring, uint32_t depth, void *slots)
{
	uint32_t stride = ring->stride;

	ring_free(ring);
	ring_new(ring, depth, stride, slots);
}

int rnic_cq_resize(struct rnic_cq *cq, uint32_t cqe, void *slots)
{
	int err = fake_result_of(__func__);

	if (!err && slots)
		ring_resize(&cq->ring, cqe, slots);
	else if (!err)
		cq->ring.depth = cqe;
	return err;
}

uint64_t rnic_raw_clock_ns(void)
{
	return fake.clock_ns;
}

const struct usiw_ring *rnic_cq_ring(const struct rnic_cq *cq)
{
	return &cq->ring;
}

bool rnic_cq_wants_progress(const struct rnic_cq *cq)
{
	(void)cq;
	return fake.wants_progress;
}

void rnic_cq_progress(struct rnic_cq *cq)
{
	fake.progress_cnt++;
	if (fake.on_progress)
		fake.on_progress(cq);
}

void rnic_cq_arm(struct rnic_cq *cq, bool solicited_only)
{
	assert_non_null(cq);
	fake.arm_cnt++;
	fake.is_solicited_only = solicited_only;
}

void rnic_cq_moved(struct rnic_cq *cq)
{
	assert_non_null(cq);
}

int rnic_cq_sleep_begin(struct rnic_cq *cq)
{
	assert_non_null(cq);
	fake.sleep_cnt++;
	return fake.sleep_ret;
}

void rnic_cq_sleep_end(struct rnic_cq *cq)
{
	assert_non_null(cq);
	fake.sleep_cnt--;
}

int rnic_cq_destroy(struct rnic_cq *cq, uint32_t *ret_comp_events,
		    uint32_t *ret_async_events)
{
	int err = fake_result_of(__func__);

	if (err)
		return err;
	*ret_comp_events = fake.comp_events;
	*ret_async_events = fake.async_events;
	ring_free(&cq->ring);
	object_free(cq);
	return 0;
}

void fake_cq_push(struct rnic_cq *cq, const struct usiw_cqe *cqe)
{
	void *slot = usiw_ring_reserve(&cq->ring, 0);

	assert_non_null(slot);
	memcpy(slot, cqe, sizeof(*cqe));
	usiw_ring_commit(&cq->ring, 1);
}

static uint32_t srq_stride(uint32_t max_sge)
{
	return (uint32_t)(sizeof(struct usiw_rqe) +
			  max_sge * sizeof(struct usiw_sge));
}

size_t rnic_srq_slots_size(uint32_t max_wr, uint32_t max_sge)
{
	/* one more, like rnic_srq_create() */
	return (size_t)usiw_ring_slot_cnt(max_wr + 1) * srq_stride(max_sge);
}

int rnic_srq_create(struct rnic_pd *pd, struct rnic_srq_options *opt,
		    struct rnic_srq **ret_srq)
{
	int err = fake_result_of(__func__);

	assert_non_null(pd);
	if (err)
		return err;
	*ret_srq = object_new(sizeof(**ret_srq));
	opt->max_wr += 1;
	(*ret_srq)->opt = *opt;
	ring_new(&(*ret_srq)->ring, opt->max_wr, srq_stride(opt->max_sge),
		 opt->slots);
	fake.handle = opt->handle;
	return 0;
}

const struct usiw_ring *rnic_srq_ring(const struct rnic_srq *srq)
{
	return &srq->ring;
}

int rnic_srq_set_limit(struct rnic_srq *srq, uint32_t limit)
{
	int err = fake_result_of(__func__);

	if (!err)
		srq->opt.limit = limit;
	return err;
}

int rnic_srq_resize(struct rnic_srq *srq, uint32_t max_wr, void *slots)
{
	int err = fake_result_of(__func__);

	if (!err && slots)
		ring_resize(&srq->ring, max_wr, slots);
	if (!err)
		srq->opt.max_wr = max_wr;
	return err;
}

void rnic_srq_query(struct rnic_srq *srq, struct rnic_srq_options *ret_opt)
{
	*ret_opt = srq->opt;
}

int rnic_srq_destroy(struct rnic_srq *srq, uint32_t *ret_async_events)
{
	int err = fake_result_of(__func__);

	if (err)
		return err;
	*ret_async_events = fake.async_events;
	ring_free(&srq->ring);
	object_free(srq);
	return 0;
}

/* Size of a slot with room for this after the entry's head. */
static uint32_t stride_for(size_t head, uint32_t sge_cnt, uint32_t inline_len)
{
	size_t tail = sge_cnt * sizeof(struct usiw_sge);

	if (tail < inline_len)
		tail = inline_len;
	return (uint32_t)((head + tail + USIW_CACHE_LINE - 1) /
			  USIW_CACHE_LINE * USIW_CACHE_LINE);
}

static uint32_t sq_stride(const struct rnic_qp_options *opt)
{
	return stride_for(sizeof(struct usiw_sqe), opt->max_send_sge,
			  opt->max_inline + 16);
}

static uint32_t rq_stride(const struct rnic_qp_options *opt)
{
	return stride_for(sizeof(struct usiw_rqe), opt->max_recv_sge, 0);
}

void rnic_qp_slots_size(const struct rnic_qp_options *opt, size_t *ret_sq,
			size_t *ret_rq)
{
	*ret_sq = (size_t)usiw_ring_slot_cnt(opt->max_send_wr) * sq_stride(opt);
	*ret_rq = opt->srq ? 0
			   : (size_t)usiw_ring_slot_cnt(opt->max_recv_wr) *
				     rq_stride(opt);
}

int rnic_qp_create(struct rnic_pd *pd, struct rnic_qp_options *opt,
		   struct rnic_qp **ret_qp)
{
	int err = fake_result_of(__func__);

	assert_non_null(pd);
	if (err)
		return err;
	*ret_qp = object_new(sizeof(**ret_qp));
	ring_new(&(*ret_qp)->sq, opt->max_send_wr, sq_stride(opt),
		 opt->sq_slots);
	opt->max_inline += 16;
	(*ret_qp)->srq = opt->srq;
	(*ret_qp)->cq[0] = opt->send_cq;
	(*ret_qp)->cq[1] = opt->recv_cq;
	if (!opt->srq)
		ring_new(&(*ret_qp)->rq, opt->max_recv_wr, rq_stride(opt),
			 opt->rq_slots);
	fake.handle = opt->handle;
	fake.qp_type = opt->type;
	return 0;
}

uint32_t rnic_qp_num(const struct rnic_qp *qp)
{
	assert_non_null(qp);
	return FAKE_QP_NUM;
}

const struct usiw_ring *rnic_qp_sq(const struct rnic_qp *qp)
{
	return &qp->sq;
}

const struct usiw_ring *rnic_qp_rq(const struct rnic_qp *qp)
{
	return qp->srq ? NULL : &qp->rq;
}

enum rnic_qp_state rnic_qp_state(const struct rnic_qp *qp)
{
	assert_non_null(qp);
	return fake.qp_state;
}

void rnic_qp_ring_sq(struct rnic_qp *qp)
{
	assert_non_null(qp);
	fake.ring_sq_cnt++;
}

void rnic_srq_ring_rq(struct rnic_srq *srq)
{
	assert_non_null(srq);
	fake.ring_srq_cnt++;
}

void rnic_qp_ring_rq(struct rnic_qp *qp)
{
	assert_non_null(qp);
	fake.ring_rq_cnt++;
}

int rnic_qp_set_access(struct rnic_qp *qp, uint32_t access)
{
	int err = fake_result_of(__func__);

	assert_non_null(qp);
	if (!err)
		fake.access = access;
	return err;
}

int rnic_qp_modify(struct rnic_qp *qp, enum rnic_qp_state state)
{
	int err = fake_result_of(__func__);

	assert_non_null(qp);
	if (!err)
		fake.moves[fake.move_cnt++] = state;
	return err;
}

/* ---- connecting without rdma_cm ---- */

int rnic_qp_oob(struct rnic_qp *qp, const struct rnic_oob_options *opt)
{
	int err = fake_result_of(__func__);

	assert_non_null(qp);
	if (err)
		return err;
	fake.oob.cnt++;
	fake.oob.opt = *opt;
	fake.qp_state = RNIC_QPS_CONNECTING;
	return 0;
}

void rnic_qp_oob_send(struct rnic_qp *qp,
		      const struct rnic_oob_send_options *opt)
{
	assert_non_null(qp);
	fake.oob.send_cnt++;
	fake.oob.send = *opt;
}

/* ---- datagrams ---- */

int rnic_qp_ud_start(struct rnic_qp *qp, const struct rnic_ud_options *opt)
{
	int err = fake_result_of(__func__);

	assert_non_null(qp);
	if (err)
		return err;
	fake.ud.start_cnt++;
	fake.ud.opt = *opt;
	fake.qp_state = RNIC_QPS_RTS;
	return 0;
}

void rnic_qp_ud_set(struct rnic_qp *qp, const struct rnic_ud_options *opt)
{
	assert_non_null(qp);
	fake.ud.set_cnt++;
	fake.ud.opt = *opt;
}

uint32_t rnic_device_ud_mtu(const struct rnic_device_attr *attr)
{
	return attr->mtu;
}

bool rnic_gid_is_own(const uint8_t gid[16])
{
	(void)gid;
	return fake.ud.is_own;
}

/* ---- attaching a socket ---- */

struct rnic_attach {
	int unused;
};

static struct rnic_attach the_attach;

int rnic_attach_open(struct rnic_qp *qp, int fd,
		     const struct rnic_attach_options *opt,
		     struct rnic_attach **ret_attach)
{
	int err = fake_result_of(__func__);

	assert_non_null(qp);
	fake.attach.opt = *opt;
	fake.attach.fd = fd;
	if (err)
		return err;
	fake.attach.alive++;
	*ret_attach = &the_attach;
	return 0;
}

int rnic_attach_wait(struct rnic_attach *attach,
		     struct rnic_attach_start *ret_start)
{
	int err = fake_result_of(__func__);

	assert_ptr_equal(attach, &the_attach);
	fake.attach.wait_cnt++;
	if (!err || err == -ECONNREFUSED)
		*ret_start = fake.attach.start;
	return err;
}

static int attach_answer(struct rnic_attach *attach, const char *name,
			 const void *pd, size_t pd_len)
{
	assert_ptr_equal(attach, &the_attach);
	assert_true(pd_len <= sizeof(fake.attach.pd));
	if (pd_len)
		memcpy(fake.attach.pd, pd, pd_len);
	fake.attach.pd_len = pd_len;
	return fake_result_of(name);
}

int rnic_attach_accept(struct rnic_attach *attach, const void *pd,
		       size_t pd_len, uint16_t ird, uint16_t ord,
		       struct rnic_attach_start *ret_start)
{
	fake.attach.accept_cnt++;
	fake.attach.ird = ird;
	fake.attach.ord = ord;
	*ret_start = (struct rnic_attach_start){ .ird = 3, .ord = 2 };
	return attach_answer(attach, __func__, pd, pd_len);
}

int rnic_attach_reject(struct rnic_attach *attach, const void *pd,
		       size_t pd_len)
{
	fake.attach.reject_cnt++;
	return attach_answer(attach, __func__, pd, pd_len);
}

int rnic_attach_finish(struct rnic_attach *attach)
{
	assert_ptr_equal(attach, &the_attach);
	fake.attach.finish_cnt++;
	return fake_result_of(__func__);
}

size_t rnic_attach_taken(const struct rnic_attach *attach)
{
	assert_ptr_equal(attach, &the_attach);
	return fake.attach.taken;
}

void rnic_attach_free(struct rnic_attach *attach)
{
	assert_ptr_equal(attach, &the_attach);
	fake.attach.alive--;
}

/* ---- requests ---- */

int rnic_qp_error(const struct rnic_qp *qp)
{
	assert_non_null(qp);
	return fake.tcp_error;
}

void rnic_qp_query(struct rnic_qp *qp, struct rnic_qp_attr *ret_attr)
{
	assert_non_null(qp);
	*ret_attr = (struct rnic_qp_attr){
		.state = fake.qp_state,
		.access = fake.access,
		.ird = 5,
		.ord = 6,
		.timeout = 21,
		.local = fake.local,
		.peer = fake.peer,
	};
}

/* The last completions arrive while it is being retired. */
void rnic_qp_retire(struct rnic_qp *qp)
{
	const struct usiw_cqe last = { .qp_num = FAKE_QP_NUM };

	qp->is_retired = true;
	for (int i = 0; fake.completes_when_retired && i < 2; i++)
		fake_cq_push(qp->cq[i], &last);
}

/* From here on another QP may have the number, and get the completions. */
static void expect_no_completion(const struct rnic_cq *cq)
{
	const struct usiw_cqe *cqe;

	for (uint32_t i = 0; (cqe = usiw_ring_peek(&cq->ring, i)); i++)
		assert_int_not_equal(cqe->qp_num, FAKE_QP_NUM);
}

int rnic_qp_destroy(struct rnic_qp *qp, uint32_t *ret_async_events)
{
	int err = fake_result_of(__func__);

	if (err)
		return err;
	if (!qp->is_retired)
		rnic_qp_retire(qp);
	for (int i = 0; i < 2; i++)
		expect_no_completion(qp->cq[i]);
	*ret_async_events = fake.async_events;
	ring_free(&qp->sq);
	if (!qp->srq)
		ring_free(&qp->rq);
	object_free(qp);
	return 0;
}

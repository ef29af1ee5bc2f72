/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The fake RNIC's device, and the objects that most tests need. */
#include "fake-rnic.h"
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>

/* As the preload library of the same build shows it. */
char usiw_interface[] = USIW_INTERFACE;

/* libibverbs would make it from sysfs. It is never freed. */
static struct verbs_device fake_vdev = {
	.device = { .node_type = IBV_NODE_RNIC,
		    .transport_type = IBV_TRANSPORT_IWARP,
		    .name = "usiw_fake" },
	.ops = &usiw_device_ops,
	.refcount = 1,
};

struct ibv_context *fake_open(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct verbs_context *vctx;

	assert_true(fd >= 0);
	vctx = usiw_device_ops.alloc_context(&fake_vdev.device, fd, NULL);
	return vctx ? &vctx->context : NULL;
}

void fake_close(struct ibv_context *context)
{
	assert_int_equal(ibv_close_device(context), 0);
}

struct ibv_qp_init_attr fake_qp_attr(const struct fake_world *w)
{
	return (struct ibv_qp_init_attr){
		.qp_context = &fake,
		.send_cq = w->cq,
		.recv_cq = w->cq,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 4,
			 .max_send_sge = 3,
			 .max_recv_sge = 3,
			 .max_inline_data = 32 },
		.qp_type = IBV_QPT_RC,
	};
}

const struct usiw_cqe fake_cqe = {
	.wr_id = 0x1122334455667788,
	.status = USIW_WC_SUCCESS,
	.opcode = USIW_WC_RECV,
	.byte_len = 4096,
	.imm_be = 0xcafe0102,
	.qp_num = 0xabcd12,
	.wc_flags = USIW_WC_FLAG_INV,
	.vendor_err = 9,
	.timestamp_ns = 0x123456789abcdef0,
	.wallclock_ns = 0xfedcba9876543210,
};

struct ibv_sge fake_sges[3] = {
	{ 0x1000, 100, 11 },
	{ 0x2000, 200, 22 },
	{ 0x3000, 300, 33 },
};

struct ibv_send_wr fake_send_wr(enum ibv_wr_opcode opcode)
{
	return (struct ibv_send_wr){
		.wr_id = 0x99,
		.opcode = opcode,
		.sg_list = fake_sges,
		.num_sge = 2,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = 0x7fff00001234,
			     .rkey = 0xabcdef01 },
		.imm_data = 0x01020304,
	};
}

int fake_setup(void **state)
{
	struct fake_world *w = calloc(1, sizeof(*w));
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 3,
							.max_sge = 2 } };
	struct ibv_qp_init_attr attr;

	assert_non_null(w);
	fake_reset();
	w->context = fake_open();
	assert_non_null(w->context);
	w->pd = ibv_alloc_pd(w->context);
	w->cq = ibv_create_cq(w->context, 8, w, NULL, 0);
	assert_non_null(w->pd);
	assert_non_null(w->cq);
	w->srq = ibv_create_srq(w->pd, &srq_attr);
	assert_non_null(w->srq);
	attr = fake_qp_attr(w);
	w->qp = ibv_create_qp(w->pd, &attr);
	assert_non_null(w->qp);
	attr = fake_qp_attr(w);
	attr.srq = w->srq;
	w->srq_qp = ibv_create_qp(w->pd, &attr);
	assert_non_null(w->srq_qp);
	*state = w;
	return 0;
}

int fake_teardown(void **state)
{
	struct fake_world *w = *state;

	fake.fail_name = NULL;
	fake.comp_events = 0;
	fake.async_events = 0;
	fake.fork_gen = 0;
	assert_int_equal(ibv_destroy_qp(w->srq_qp), 0);
	assert_int_equal(ibv_destroy_qp(w->qp), 0);
	assert_int_equal(ibv_destroy_srq(w->srq), 0);
	assert_int_equal(ibv_destroy_cq(w->cq), 0);
	assert_int_equal(ibv_dealloc_pd(w->pd), 0);
	fake_close(w->context);
	assert_int_equal(fake.open_cnt, 0);
	free(w);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which devices belong to usiw; opening and closing one; a forked child. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake-rnic.h"

CASE(devices_are_distinguished_by_name)
{
	static const struct {
		const char *name;
		bool is_ours;
	} rows[] = {
		{ "usiw_lo", true },   { "usiw_eth0", true },
		{ "usiw_", true },     { "usiw", false },
		{ "siw_lo", false },   { "mlx5_0", false },
		{ "xusiw_lo", false }, { "", false },
	};
	struct verbs_sysfs_dev dev = { .sysfs_name = "uverbs1000",
				       .abi_ver = USIW_UVERBS_ABI };
	size_t i;

	for (i = 0; i < ARRAY_LEN(rows); i++) {
		strcpy(dev.ibdev_name, rows[i].name);
		assert_int_equal(usiw_device_ops.match_device(&dev),
				 rows[i].is_ours);
	}
}

CASE(device_is_zeroed_and_freed)
{
	struct verbs_sysfs_dev dev = { .ibdev_name = "usiw_lo" };
	struct verbs_device *vdev = usiw_device_ops.alloc_device(&dev);

	assert_non_null(vdev);
	/* libibverbs asserts these two */
	assert_null(vdev->device._ops._dummy1);
	assert_null(vdev->device._ops._dummy2);
	usiw_device_ops.uninit_device(vdev);
}

CASE(open_gives_async_fd_and_vectors)
{
	struct ibv_context *context;

	fake_reset();
	context = fake_open();
	assert_non_null(context);
	assert_int_equal(context->async_fd, 4712);
	assert_true(context->num_comp_vectors >= 1);
	assert_int_equal(fake.open_cnt, 1);
	fake_close(context);
	assert_int_equal(fake.open_cnt, 0);
}

CASE(open_of_unknown_device_is_enodev)
{
	fake_reset();
	strcpy(fake.device.name, "usiw_gone");
	errno = 0;
	assert_null(fake_open());
	assert_int_equal(errno, ENODEV);
}

CASE(open_passes_the_rnic_error_on)
{
	fake_reset();
	fake.fail_name = "rnic_context_open";
	fake.fail_err = -EMFILE;
	errno = 0;
	assert_null(fake_open());
	assert_int_equal(errno, EMFILE);
	assert_int_equal(fake.open_cnt, 0);
}

/* The provider cannot free what it cannot release. */
static void *kept;

static void *longer_context(struct ibv_device *device, int cmd_fd,
			    size_t alloc_size, struct verbs_context *offset,
			    uint32_t driver_id)
{
	char *ctx = calloc(1, alloc_size);
	size_t at = (size_t)offset + 8 * sizeof(void *);
	size_t size = usiw_library.layout->head + 8 * sizeof(void *) +
		      sizeof(struct ibv_context);

	(void)device;
	(void)cmd_fd;
	(void)driver_id;
	assert_non_null(ctx);
	at += usiw_library.layout->head;
	assert_true(at + sizeof(struct ibv_context) <= alloc_size);
	memcpy(ctx + at - sizeof(size), &size, sizeof(size));
	kept = ctx;
	return ctx;
}

/* A library that reports one number and has the structures of another. */
CASE(longer_context_is_refused)
{
	struct verbs_library known = usiw_library.fn;

	fake_reset();
	usiw_library.fn.init_and_alloc_context = longer_context;
	errno = 0;
	assert_null(fake_open());
	assert_int_equal(errno, EPROTONOSUPPORT);
	assert_int_equal(fake.open_cnt, 0);
	usiw_library.fn = known;
	free(kept);
}

/* Contexts and protection domains work as new ones. Nothing else does. */
FAKE_CASE(inherited_contexts_can_be_used)
{
	struct fake_world *w = *state;
	struct ibv_qp_init_attr qp_attr = fake_qp_attr(w);
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	char buf[8];

	fake.fork_gen = 1;
	fake.can_renew = true;
	pd = ibv_alloc_pd(w->context);
	mr = ibv_reg_mr(w->pd, buf, sizeof(buf), 0);
	cq = ibv_create_cq(w->context, 1, NULL, NULL, 0);
	assert_true(pd && mr && cq);
	assert_null(ibv_create_qp(w->pd, &qp_attr));
	assert_int_equal(errno, ENODEV);
	qp_attr.send_cq = qp_attr.recv_cq = cq;
	qp_attr.srq = NULL;
	qp = ibv_create_qp(w->pd, &qp_attr);
	assert_non_null(qp);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	fake.fork_gen = 0;
	fake.can_renew = false;
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

/* Each verb on inherited objects returns an error and does not call the
 * RNIC. */
FAKE_CASE(inherited_objects_answer_enodev)
{
	struct fake_world *w = *state;
	struct ibv_qp_init_attr qp_attr = fake_qp_attr(w);
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 1 } };
	struct ibv_recv_wr recv = { 0 }, *bad_recv = NULL;
	struct ibv_send_wr send = { 0 }, *bad_send = NULL;
	struct ibv_qp_attr attr = { 0 };
	struct ibv_srq_attr srq_attr;
	struct ibv_device_attr dev_attr;
	struct ibv_port_attr port;
	struct ibv_wc wc;
	uint32_t alive = fake.open_cnt;
	char buf[8];

	fake.fork_gen = 1;
	assert_int_equal(ibv_query_device(w->context, &dev_attr), 0);
	assert_int_equal(usiw_query_port(w->context, 1, &port), 0);
	assert_null(ibv_alloc_pd(w->context));
	assert_int_equal(errno, ENODEV);
	assert_null(ibv_reg_mr(w->pd, buf, sizeof(buf), 0));
	assert_null(ibv_create_cq(w->context, 1, NULL, NULL, 0));
	assert_null(ibv_create_srq(w->pd, &srq_init));
	assert_null(ibv_create_qp(w->pd, &qp_attr));
	assert_int_equal(ibv_poll_cq(w->cq, 1, &wc), -1);
	assert_int_equal(errno, ENODEV);
	assert_int_equal(ibv_req_notify_cq(w->cq, 0), ENODEV);
	assert_int_equal(ibv_post_send(w->qp, &send, &bad_send), ENODEV);
	assert_ptr_equal(bad_send, &send);
	assert_int_equal(ibv_post_recv(w->qp, &recv, &bad_recv), ENODEV);
	assert_ptr_equal(bad_recv, &recv);
	bad_recv = NULL;
	assert_int_equal(ibv_post_srq_recv(w->srq, &recv, &bad_recv), ENODEV);
	assert_ptr_equal(bad_recv, &recv);
	assert_int_equal(ibv_modify_qp(w->qp, &attr, 0), ENODEV);
	assert_int_equal(ibv_query_qp(w->qp, &attr, 0, &qp_attr), ENODEV);
	assert_int_equal(ibv_modify_srq(w->srq, &srq_attr, IBV_SRQ_LIMIT),
			 ENODEV);
	assert_int_equal(ibv_query_srq(w->srq, &srq_attr), ENODEV);
	assert_int_equal(fake.open_cnt, alive);
	assert_int_equal(fake.progress_cnt, 0);
}

/* Only memory of the child is freed. No thread is waited for. */
FAKE_CASE(inherited_objects_are_dropped_locally)
{
	struct fake_world *w = *state;
	char buf[8];
	struct ibv_mr *mr = ibv_reg_mr(w->pd, buf, sizeof(buf), 0);
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 1 } };
	struct ibv_srq *srq = ibv_create_srq(w->pd, &srq_attr);
	struct ibv_cq *cq = ibv_create_cq(w->context, 1, NULL, NULL, 0);
	struct ibv_qp_init_attr qp_attr = fake_qp_attr(w);
	struct ibv_qp *qp = ibv_create_qp(w->pd, &qp_attr);
	struct ibv_pd *pd = ibv_alloc_pd(w->context);
	struct rnic_qp *parents_qp = usiw_qp(qp)->rnic;
	struct rnic_cq *parents_cq = usiw_cq(cq)->rnic;
	struct rnic_srq *parents_srq = usiw_srq(srq)->rnic;
	struct rnic_mr *parents_mr = usiw_mr((struct verbs_mr *)mr)->rnic;
	struct rnic_pd *parents_pd = usiw_pd(pd)->rnic;
	uint32_t alive = fake.open_cnt, cnt;

	fake.fork_gen = 1;
	fake.comp_events = 3; /* of the parent, never acknowledged here */
	fake.async_events = 3;
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(fake.open_cnt, alive);
	/* the parent still has to destroy the real object */
	assert_int_equal(rnic_qp_destroy(parents_qp, &cnt), 0);
	assert_int_equal(rnic_cq_destroy(parents_cq, &cnt, &cnt), 0);
	assert_int_equal(rnic_srq_destroy(parents_srq, &cnt), 0);
	assert_int_equal(rnic_mr_dereg(parents_mr), 0);
	assert_int_equal(rnic_pd_free(parents_pd), 0);
	usiw_pd_put(usiw_pd(w->pd)); /* QP, SRQ, MR: never destroyed here */
	usiw_pd_put(usiw_pd(w->pd));
	usiw_pd_put(usiw_pd(w->pd));
}

/* libibverbs walks every provider's table if netlink has reported the driver id
 * of other hardware. */
CASE(match_table_ends_at_once)
{
	assert_non_null(usiw_device_ops.match_table);
	assert_int_equal(usiw_device_ops.match_table->kind, 0);
}

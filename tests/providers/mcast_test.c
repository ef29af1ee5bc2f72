/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Multicast groups: who may be attached, and what the verbs say. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "fake-rnic.h"

static const union ibv_gid mgid = { .raw = {
					    [10] = 0xff, 0xff, 239, 1, 1, 1 } };

struct world {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static void world_open(struct world *w, enum rnic_persona persona,
		       enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = type, .cap = { .max_send_wr = 1, .max_recv_wr = 1 }
	};

	fake.device.persona = persona;
	fake.qp_state = RNIC_QPS_IDLE;
	w->context = fake_open();
	w->pd = ibv_alloc_pd(w->context);
	w->cq = ibv_create_cq(w->context, 8, NULL, NULL, 0);
	attr.send_cq = attr.recv_cq = w->cq;
	w->qp = ibv_create_qp(w->pd, &attr);
	assert_non_null(w->qp);
}

static void world_close(struct world *w)
{
	assert_int_equal(ibv_destroy_qp(w->qp), 0);
	assert_int_equal(ibv_destroy_cq(w->cq), 0);
	assert_int_equal(ibv_dealloc_pd(w->pd), 0);
	fake_close(w->context);
}

static const struct {
	const char *name;
	enum rnic_persona persona;
	enum ibv_qp_type type;
	const char *fail_name; /* a call of the RNIC, which fails so */
	int fail_err;
	int attach, detach; /* what the verbs return */
} rows[] = {
	{ "UD", RNIC_PERSONA_CA, IBV_QPT_UD, NULL, 0, 0, 0 },
	{ "RC", RNIC_PERSONA_CA, IBV_QPT_RC, NULL, 0, EINVAL, EINVAL },
	{ "rnic", RNIC_PERSONA_RNIC, IBV_QPT_RC, NULL, 0, EOPNOTSUPP,
	  EOPNOTSUPP },
	{ "no group", RNIC_PERSONA_CA, IBV_QPT_UD, "rnic_qp_attach", -EINVAL,
	  EINVAL, 0 },
	{ "too many", RNIC_PERSONA_CA, IBV_QPT_UD, "rnic_qp_attach", -ENOMEM,
	  ENOMEM, 0 },
	{ "not attached", RNIC_PERSONA_CA, IBV_QPT_UD, "rnic_qp_detach",
	  -EINVAL, 0, EINVAL },
};

FAKE_CASE(attach_and_detach_say_what_is_wrong)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;

		world_open(&w, rows[i].persona, rows[i].type);
		memset(&fake.ud, 0, sizeof(fake.ud));
		fake.fail_name = rows[i].fail_name;
		fake.fail_err = rows[i].fail_err;
		assert_row(rows[i].name,
			   ibv_attach_mcast(w.qp, &mgid, 0) == rows[i].attach);
		assert_row(rows[i].name,
			   ibv_detach_mcast(w.qp, &mgid, 0) == rows[i].detach);
		if (!rows[i].attach)
			assert_memory_equal(fake.ud.mgid, mgid.raw, 16);
		fake.fail_name = NULL;
		fake.ud.group_cnt = 0;
		world_close(&w);
	}
}

/* As the kernel: the application detaches first. */
FAKE_CASE(a_qp_that_is_attached_stays)
{
	struct world w;

	(void)state;
	world_open(&w, RNIC_PERSONA_CA, IBV_QPT_UD);
	assert_int_equal(ibv_attach_mcast(w.qp, &mgid, 0xc000), 0);
	assert_int_equal(ibv_destroy_qp(w.qp), EBUSY);
	assert_int_equal(ibv_detach_mcast(w.qp, &mgid, 0xc000), 0);
	world_close(&w);
}

FAKE_CASE(the_device_tells_its_limits)
{
	struct ibv_device_attr attr;
	struct world w;

	(void)state;
	world_open(&w, RNIC_PERSONA_CA, IBV_QPT_UD);
	assert_int_equal(ibv_query_device(w.context, &attr), 0);
	assert_int_equal(attr.max_mcast_grp, RNIC_GROUP_MAX);
	assert_int_equal(attr.max_mcast_qp_attach, RNIC_GROUP_QP_MAX);
	assert_int_equal(attr.max_total_mcast_qp_attach,
			 RNIC_GROUP_MAX * RNIC_GROUP_QP_MAX);
	world_close(&w);
}

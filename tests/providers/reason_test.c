/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* reason.c: what a refused verb says at USIW_LOG=debug. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "fake-rnic.h"
#include "providers/usiw/reason.h"
#include "said.h"
#include "util/log.h"

static int setup(void **state)
{
	(void)state;
	return util_log_route("verbs", UTIL_LOG_DEBUG, UTIL_LOG_STDERR, NULL);
}

CASE_WITH(missing_bits_have_names, setup, NULL)
{
	const char *text;

	assert_int_equal(usiw_check_mask(IBV_QPS_RTR, 7, 3), 0);
	said_begin();
	assert_int_equal(
		usiw_check_mask(IBV_QPS_RTR, IBV_QP_STATE,
				IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN),
		-EINVAL);
	text = said_end();
	assert_non_null(strstr(text, "EINVAL: RTR needs IBV_QP_AV "
				     "IBV_QP_DEST_QPN in attr_mask\n"));
	said_begin();
	assert_int_equal(usiw_check_mask(IBV_QPS_RTR, 0, (1 << 21) - 1),
			 -EINVAL);
	text = said_end();
	assert_non_null(strstr(text, "IBV_QP_STATE"));
	assert_non_null(strstr(text, "\n"));
}

/* ---- verbs --------------------------------------------------------------- */

static int qp_with(struct fake_world *w, struct ibv_qp_init_attr attr)
{
	struct ibv_qp *qp;

	attr.send_cq = attr.recv_cq = w->cq;
	errno = 0;
	qp = ibv_create_qp(w->pd, &attr);
	assert_null(qp);
	return errno;
}

static int qp_wr(struct fake_world *w)
{
	return qp_with(w, (struct ibv_qp_init_attr){
				  .qp_type = IBV_QPT_RC,
				  .cap = { .max_send_wr = UINT32_MAX } });
}

static int qp_raw(struct fake_world *w)
{
	return qp_with(
		w, (struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RAW_PACKET });
}

static int cq_none(struct fake_world *w)
{
	errno = 0;
	assert_null(ibv_create_cq(w->context, 0, NULL, NULL, 0));
	return errno;
}

static int srq_sge(struct fake_world *w)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1,
						    .max_sge = 5 } };

	errno = 0;
	assert_null(ibv_create_srq(w->pd, &attr));
	return errno;
}

static int mr_rights(struct fake_world *w)
{
	static char octet;

	errno = 0;
	assert_null(ibv_reg_mr(w->pd, &octet, 1, IBV_ACCESS_REMOTE_WRITE));
	return errno;
}

static int modify(struct fake_world *w, struct ibv_qp_attr attr, int mask)
{
	return ibv_modify_qp(w->qp, &attr, mask);
}

static int qp_rtr(struct fake_world *w)
{
	return modify(w, (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR },
		      IBV_QP_STATE);
}

static int qp_port(struct fake_world *w)
{
	return modify(w, (struct ibv_qp_attr){ .port_num = 2 }, IBV_QP_PORT);
}

static int qp_alt_path(struct fake_world *w)
{
	return modify(w, (struct ibv_qp_attr){ 0 }, IBV_QP_ALT_PATH);
}

static int qp_cur_state(struct fake_world *w)
{
	return modify(w, (struct ibv_qp_attr){ .cur_qp_state = IBV_QPS_SQE },
		      IBV_QP_CUR_STATE);
}

static int send_sge(struct fake_world *w)
{
	struct ibv_send_wr wr = fake_send_wr(IBV_WR_SEND), *bad;

	wr.num_sge = 4;
	return ibv_post_send(w->qp, &wr, &bad);
}

static int recv_sge(struct fake_world *w)
{
	struct ibv_recv_wr wr = { .num_sge = -1 }, *bad;

	return ibv_post_recv(w->qp, &wr, &bad);
}

static int recv_full(struct fake_world *w)
{
	struct ibv_recv_wr wr = { .num_sge = 0 }, *bad;
	int err = 0;

	for (int i = 0; i < 1000 && !err; i++)
		err = ibv_post_recv(w->qp, &wr, &bad);
	return err;
}

static const struct {
	int (*call)(struct fake_world *w);
	int err;
	const char *says;
} rows[] = {
	{ qp_wr, EINVAL,
	  "ibv_create_qp: EINVAL: max_send_wr is 4294967295, "
	  "not 0 to " },
	{ qp_raw, EOPNOTSUPP,
	  "ibv_create_qp: EOPNOTSUPP: qp_type is 8, not "
	  "IBV_QPT_RC" },
	{ cq_none, EINVAL, "ibv_create_cq: EINVAL: cqe is 0, not 1 to " },
	{ srq_sge, EINVAL, "ibv_create_srq: EINVAL: max_sge is 5, not 0 to 4" },
	{ qp_rtr, EINVAL,
	  "ibv_modify_qp: EINVAL: a QP in RTS cannot go to "
	  "RTR" },
	{ qp_port, EINVAL, "ibv_modify_qp: EINVAL: port_num is 2, not 1 to 1" },
	{ qp_alt_path, EOPNOTSUPP,
	  "ibv_modify_qp: EOPNOTSUPP: attr_mask is "
	  "0x4000" },
	{ qp_cur_state, EINVAL,
	  "ibv_modify_qp: EINVAL: cur_qp_state is SQE, "
	  "not RTS" },
	{ send_sge, EINVAL, "ibv_post_send: EINVAL: num_sge is 4, not 0 to 3" },
	{ recv_sge, EINVAL, "ibv_post_recv: EINVAL: num_sge is -1, not 0 to" },
	{ recv_full, ENOMEM, "ibv_post_recv: ENOMEM: as many receives" },
	{ mr_rights, EINVAL,
	  "ibv_reg_mr: EINVAL: access is 0x2: "
	  "IBV_ACCESS_REMOTE_WRITE" },
};

FAKE_CASE(a_refused_verb_says_why)
{
	struct fake_world *w = *state;

	assert_int_equal(setup(NULL), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *text;
		int err;

		said_begin();
		err = rows[i].call(w);
		text = said_end();
		assert_row(rows[i].says, err == rows[i].err);
		assert_row(rows[i].says, strstr(text, rows[i].says));
	}
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connecting by ibv_modify_qp(): its requests to the RNIC, and its results. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "fake-rnic.h"

#define RTR                                                                    \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |        \
	 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS                                                                    \
	(IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |    \
	 IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)

/* A queue pair in INIT. */
static int begin(void **state)
{
	int ret = fake_setup(state);

	fake.qp_state = RNIC_QPS_IDLE;
	return ret;
}

#define FILE_CASE(name) CASE_WITH(name, begin, fake_teardown)

static struct ibv_qp_attr rtr_attr(void)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = 0x123456,
		.rq_psn = 77,
		.max_dest_rd_atomic = 3,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid.raw = { [10] = 0xff,
						    [11] = 0xff,
						    10,
						    1,
						    2,
						    3 },
				      .sgid_index = 1,
				      .traffic_class = 0x20 } },
	};
}

static struct ibv_qp_attr rts_attr(void)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.timeout = 20,
		.retry_cnt = 1,
		.rnr_retry = 7,
		.max_rd_atomic = 2,
	};
}

static void expect_state(struct fake_world *w, enum ibv_qp_state want)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(w->qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, want);
}

FILE_CASE(rtr_names_the_peer_and_rts_the_retries)
{
	struct fake_world *w = *state;
	struct ibv_qp_attr rtr = rtr_attr(), rts = rts_attr();
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_modify_qp(w->qp, &rtr, RTR), 0);
	assert_int_equal(fake.oob.cnt, 1);
	assert_int_equal(fake.oob.opt.gid_idx, 1);
	assert_memory_equal(fake.oob.opt.dgid, rtr.ah_attr.grh.dgid.raw, 16);
	assert_int_equal(fake.oob.opt.dest_num, 0x123456);
	assert_int_equal(fake.oob.opt.ird, 3);
	assert_int_equal(fake.oob.opt.tos, 0x20);
	assert_int_equal(fake.oob.opt.min_rnr_timer, 12);
	expect_state(w, IBV_QPS_RTR);
	/* whether the peer has connected already or not */
	fake.qp_state = RNIC_QPS_RTS;
	expect_state(w, IBV_QPS_RTR);
	assert_int_equal(ibv_modify_qp(w->qp, &rtr, RTR), EINVAL);
	assert_int_equal(ibv_modify_qp(w->qp, &rts, RTS), 0);
	assert_int_equal(fake.oob.send_cnt, 1);
	assert_int_equal(fake.oob.send.ord, 2);
	assert_int_equal(fake.oob.send.rnr_retry, 7);
	assert_true(fake.oob.send.retry_ns == 2 * (UINT64_C(4096) << 20));
	assert_true(fake.oob.send.gone_ns == 2 * (UINT64_C(4096) << 20));
	expect_state(w, IBV_QPS_RTS);
	assert_int_equal(ibv_post_send(w->qp, &wr, &bad), 0);
	/* Programs connect again with the values that they read here. */
	assert_int_equal(ibv_query_qp(w->qp, &attr, ~0, &init), 0);
	assert_int_equal(attr.dest_qp_num, rtr.dest_qp_num);
	assert_int_equal(attr.path_mtu, rtr.path_mtu);
	assert_int_equal(attr.rq_psn, rtr.rq_psn);
	assert_int_equal(attr.min_rnr_timer, rtr.min_rnr_timer);
	assert_memory_equal(&attr.ah_attr, &rtr.ah_attr, sizeof(rtr.ah_attr));
	assert_int_equal(attr.retry_cnt, rts.retry_cnt);
	assert_int_equal(attr.rnr_retry, rts.rnr_retry);
}

FILE_CASE(work_may_be_posted_before_the_peer_comes)
{
	struct fake_world *w = *state;
	struct ibv_qp_attr rtr = rtr_attr(), rts = rts_attr();
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;

	assert_int_equal(ibv_modify_qp(w->qp, &rtr, RTR), 0);
	assert_int_equal(ibv_modify_qp(w->qp, &rts, RTS), 0);
	expect_state(w, IBV_QPS_RTS);
	assert_int_equal(ibv_post_send(w->qp, &wr, &bad), 0);
}

/* Each bit of @mask except IBV_QP_STATE is required. */
static void assert_each_bit_is_needed(struct fake_world *w,
				      struct ibv_qp_attr attr, int mask)
{
	for (int bit = 1; bit <= mask; bit <<= 1)
		if (mask & bit & ~IBV_QP_STATE)
			assert_int_equal(
				ibv_modify_qp(w->qp, &attr, mask & ~bit),
				EINVAL);
}

FILE_CASE(a_bad_way_to_rtr_is_einval)
{
	struct fake_world *w = *state;
	struct ibv_qp_attr rtr = rtr_attr();

	assert_each_bit_is_needed(w, rtr, RTR);
	/* No LID, and no source address to derive it from. */
	rtr.ah_attr.is_global = 0;
	assert_int_equal(ibv_modify_qp(w->qp, &rtr, RTR), EINVAL);
	rtr.ah_attr.dlid = 0x0203;
	assert_int_equal(ibv_modify_qp(w->qp, &rtr, RTR), EINVAL);
	rtr.ah_attr.is_global = 1;
	rtr.min_rnr_timer = 32;
	assert_int_equal(ibv_modify_qp(w->qp, &rtr, RTR), EINVAL);
	assert_int_equal(fake.oob.cnt, 0);
}

FILE_CASE(a_bad_way_to_rts_is_einval)
{
	struct fake_world *w = *state;
	struct ibv_qp_attr rtr = rtr_attr(), rts = rts_attr();

	assert_int_equal(ibv_modify_qp(w->qp, &rtr, RTR), 0);
	assert_each_bit_is_needed(w, rts, RTS);
	rts.retry_cnt = 8;
	assert_int_equal(ibv_modify_qp(w->qp, &rts, RTS), EINVAL);
	rts = rts_attr();
	rts.rnr_retry = 8;
	assert_int_equal(ibv_modify_qp(w->qp, &rts, RTS), EINVAL);
	rts = rts_attr();
	rts.timeout = 32;
	assert_int_equal(ibv_modify_qp(w->qp, &rts, RTS), EINVAL);
	assert_int_equal(fake.oob.send_cnt, 0);
}

/* What UC does not have is not read, whatever it is. */
FILE_CASE(uc_needs_what_the_man_page_lists_for_it)
{
	const int uc_rtr = RTR &
			   ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	const int uc_rts = IBV_QP_STATE | IBV_QP_SQ_PSN;
	struct fake_world *w = *state;
	struct ibv_qp_attr rtr = rtr_attr(), rts = rts_attr();
	struct ibv_qp_init_attr attr = fake_qp_attr(w);
	struct ibv_qp *rc = w->qp;

	attr.qp_type = IBV_QPT_UC;
	w->qp = ibv_create_qp(w->pd, &attr);
	assert_non_null(w->qp);
	rtr.min_rnr_timer = 99;
	rts.timeout = 99;
	rts.max_rd_atomic = 99;
	assert_each_bit_is_needed(w, rtr, uc_rtr);
	assert_int_equal(ibv_modify_qp(w->qp, &rtr, uc_rtr), 0);
	assert_int_equal(fake.oob.opt.dest_num, 0x123456);
	assert_int_equal(fake.oob.opt.ird, 0);
	assert_int_equal(fake.oob.opt.min_rnr_timer, 0);
	assert_each_bit_is_needed(w, rts, uc_rts);
	assert_int_equal(ibv_modify_qp(w->qp, &rts, uc_rts), 0);
	assert_int_equal(fake.oob.send.ord, 0);
	assert_true(fake.oob.send.retry_ns == UINT64_C(4000000000));
	assert_true(fake.oob.send.gone_ns == 0);
	assert_int_equal(ibv_destroy_qp(w->qp), 0);
	w->qp = rc;
}

/* What programs exchange that do not use GIDs. */
FILE_CASE(a_lid_is_the_end_of_an_address)
{
	static const uint8_t v6[16] = { 0xfe, 0x80, [15] = 9 };
	static const uint8_t own[16] = { [10] = 0xff, 0xff, 10, 1, 0, 7 };
	static const uint8_t peer[16] = { [10] = 0xff, 0xff, 10, 1, 2, 3 };
	struct fake_world *w = *state;
	struct ibv_qp_attr rtr = rtr_attr();
	struct ibv_port_attr port;

	memcpy(fake.device.gid[0], v6, sizeof(v6));
	memcpy(fake.device.gid[1], own, sizeof(own));
	assert_int_equal(usiw_query_port(w->context, 1, &port), 0);
	assert_int_equal(port.lid, 7);
	rtr.ah_attr = (struct ibv_ah_attr){ .port_num = 1 };
	assert_int_equal(ibv_modify_qp(w->qp, &rtr, RTR), EINVAL);
	rtr.ah_attr.dlid = 0x0203;
	assert_int_equal(ibv_modify_qp(w->qp, &rtr, RTR), 0);
	assert_int_equal(fake.oob.cnt, 1);
	assert_int_equal(fake.oob.opt.gid_idx, 1);
	assert_memory_equal(fake.oob.opt.dgid, peer, sizeof(peer));
}

FILE_CASE(a_refusal_of_the_rnic_leaves_init)
{
	struct fake_world *w = *state;
	struct ibv_qp_attr rtr = rtr_attr(), rts = rts_attr();

	fake.fail_name = "rnic_qp_oob";
	fake.fail_err = -EADDRNOTAVAIL;
	assert_int_equal(ibv_modify_qp(w->qp, &rtr, RTR), EADDRNOTAVAIL);
	expect_state(w, IBV_QPS_INIT);
	assert_int_equal(ibv_modify_qp(w->qp, &rts, RTS), EINVAL);
}

CASE(the_retry_time_is_what_the_man_page_says)
{
	assert_true(usiw_retry_ns(0, 7) == 0);
	assert_true(usiw_retry_ns(1, 0) == UINT64_C(4096) << 1);
	assert_true(usiw_retry_ns(20, 0) == UINT64_C(4096) << 20);
	assert_true(usiw_retry_ns(20, 7) == UINT64_C(4096) << 23);
	assert_true(usiw_retry_ns(31, 7) == UINT64_C(4096) << 34);
}

/* A process that is silent gets more than an adapter would; one that has gone
 * does not. */
FILE_CASE(a_silent_peer_has_four_seconds_at_least)
{
	static const struct {
		uint8_t timeout, retry_cnt;
		uint64_t silent_ns, gone_ns;
	} rows[] = {
		{ 0, 7, 0, 0 },
		{ 1, 0, UINT64_C(4000000000), UINT64_C(4096) << 1 },
		{ 14, 7, UINT64_C(4000000000), UINT64_C(4096) << 17 },
		{ 20, 0, UINT64_C(4096) << 20, UINT64_C(4096) << 20 },
	};
	struct fake_world *w = *state;
	struct ibv_qp_attr rts = rts_attr();

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		rts.timeout = rows[i].timeout;
		rts.retry_cnt = rows[i].retry_cnt;
		assert_int_equal(
			usiw_qp_connect_send(usiw_qp(w->qp), &rts, RTS), 0);
		assert_true(fake.oob.send.retry_ns == rows[i].silent_ns);
		assert_true(fake.oob.send.gone_ns == rows[i].gone_ns);
	}
}

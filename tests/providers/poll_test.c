/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Conversion of CQEs to work completions: every field, every status, invalid
 * ones. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "fake-rnic.h"

CASE(every_field_arrives)
{
	struct ibv_wc wc;

	memset(&wc, 0xff, sizeof(wc));
	usiw_cqe_decode(&fake_cqe, &wc);
	assert_true(wc.wr_id == 0x1122334455667788);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 4096);
	assert_int_equal(wc.invalidated_rkey, 0xcafe0102);
	assert_int_equal(wc.qp_num, 0xabcd12);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc.vendor_err, 9);
	assert_int_equal(wc.src_qp, 0);
	assert_int_equal(wc.slid, 0);
}

CASE(immediate_data_keeps_its_octets)
{
	static const uint8_t wire[4] = { 1, 2, 3, 4 };
	struct usiw_cqe cqe = fake_cqe;
	struct ibv_wc wc;

	memcpy(&cqe.imm_be, wire, 4);
	cqe.wc_flags = USIW_WC_FLAG_IMM;
	cqe.opcode = USIW_WC_RECV_WITH_IMM;
	usiw_cqe_decode(&cqe, &wc);
	assert_memory_equal(&wc.imm_data, wire, 4);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
}

/* The ring is shared memory: whatever it contains, a valid wc is returned. */
CASE(impossible_entries_become_errors)
{
	struct usiw_cqe cqe;
	struct ibv_wc wc;
	uint32_t v;

	for (v = 0; v < 1024; v++) {
		cqe = fake_cqe;
		cqe.status = v;
		usiw_cqe_decode(&cqe, &wc);
		assert_int_equal(wc.status, v <= IBV_WC_GENERAL_ERR
						    ? v
						    : IBV_WC_GENERAL_ERR);
		cqe = fake_cqe;
		cqe.opcode = v;
		usiw_cqe_decode(&cqe, &wc);
		if (v <= 6 || v == 128 || v == 129)
			assert_int_equal(wc.opcode, v);
		else
			assert_int_equal(wc.status, IBV_WC_GENERAL_ERR);
		assert_true(wc.wr_id == fake_cqe.wr_id);
	}
	cqe = fake_cqe;
	cqe.wc_flags = UINT32_MAX;
	usiw_cqe_decode(&cqe, &wc);
	assert_int_equal(wc.wc_flags,
			 IBV_WC_GRH | IBV_WC_WITH_IMM | IBV_WC_WITH_INV);
	assert_int_equal(wc.sl, 0xa);
	cqe.wc_flags = USIW_WC_FLAG_GRH;
	cqe.src_qp = 0x123456;
	usiw_cqe_decode(&cqe, &wc);
	assert_int_equal(wc.sl, 0x9);
	assert_int_equal(wc.src_qp, 0x123456);
}

static void push(struct fake_world *w, uint64_t first, uint64_t cnt)
{
	struct usiw_cqe cqe = fake_cqe;
	uint64_t i;

	for (i = 0; i < cnt; i++) {
		cqe.wr_id = first + i;
		fake_cq_push(usiw_cq(w->cq)->rnic, &cqe);
	}
}

FAKE_CASE(batches_come_in_order)
{
	struct fake_world *w = *state;
	struct ibv_wc wc[8];
	uint64_t next = 0, i;
	int round, cnt;

	/* often enough that the ring wraps */
	for (round = 0; round < 20; round++) {
		push(w, (uint64_t)round * 7, 7);
		while ((cnt = ibv_poll_cq(w->cq, 3, wc)) > 0)
			for (i = 0; i < (uint64_t)cnt; i++)
				assert_int_equal(wc[i].wr_id, next++);
		assert_int_equal(cnt, 0);
	}
	assert_int_equal(next, 140);
	assert_int_equal(usiw_ring_used(usiw_cq(w->cq)->ring), 0);
}

FAKE_CASE(bad_counts)
{
	struct fake_world *w = *state;
	struct ibv_wc wc;

	push(w, 1, 1);
	errno = 0;
	assert_int_equal(ibv_poll_cq(w->cq, -1, &wc), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_poll_cq(w->cq, 0, NULL), 0);
	assert_int_equal(usiw_ring_used(usiw_cq(w->cq)->ring), 1);
}

static void push_one(struct rnic_cq *cq)
{
	fake_cq_push(cq, &fake_cqe);
}

FAKE_CASE(empty_queue_drives_the_engine_once)
{
	struct fake_world *w = *state;
	struct ibv_wc wc;

	assert_int_equal(ibv_poll_cq(w->cq, 1, &wc), 0);
	assert_int_equal(fake.progress_cnt, 1);
	fake.on_progress = push_one;
	assert_int_equal(ibv_poll_cq(w->cq, 1, &wc), 1);
	assert_int_equal(fake.progress_cnt, 2);
	push(w, 1, 1);
	assert_int_equal(ibv_poll_cq(w->cq, 1, &wc), 1);
	assert_int_equal(fake.progress_cnt, 2);
}

FAKE_CASE(posts_that_wait_drive_it_too)
{
	struct fake_world *w = *state;
	struct ibv_wc wc;

	fake.wants_progress = true;
	push(w, 1, 1);
	assert_int_equal(ibv_poll_cq(w->cq, 1, &wc), 1);
	assert_int_equal(fake.progress_cnt, 1);
}

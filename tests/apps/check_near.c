/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* For usiw check: programs that do nearly what a rule forbids. */
#include <sys/mman.h>

#include "check_pair.h"

static void cap_wanted(struct want want)
{
	pair_make(&want);
	pair_connect();
}

/* The last octet of the SGE is the region's. */
static void region_end(void)
{
	usual();
	NEEDS(!send_post(1, IBV_WR_RDMA_WRITE, LEN, 0, 1));
	wcs_wait(1);
}

/* Who only reads memory needs no right. */
static void source_without_rights(void)
{
	struct ibv_send_wr wr = { .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE };
	struct ibv_send_wr *bad;
	struct ibv_mr *source;
	struct ibv_sge sge;

	usual();
	source = ibv_reg_mr(pd, buf, LEN, 0);
	NEEDS(source);
	sge = (struct ibv_sge){ (uintptr_t)buf, LEN, source->lkey };
	wr.sg_list = &sge;
	wr.wr.rdma.remote_addr = (uintptr_t)buf + LEN;
	wr.wr.rdma.rkey = mr->rkey;
	NEEDS(!ibv_post_send(qp[0], &wr, &bad));
	wcs_wait(1);
	NEEDS(!ibv_dereg_mr(source));
}

/* The Write is executed first, and its completion comes with the READ's. */
static void source_read_into(void)
{
	struct want want = WANT_USUAL;

	want.is_all_signaled = false;
	cap_wanted(want);
	memset(buf + LEN, 1, LEN);
	at = 64; /* not where the peer's memory is overwritten */
	NEEDS(!send_post(0, IBV_WR_RDMA_WRITE, 16, 0, 1));
	at = 0;
	NEEDS(!send_post(0, IBV_WR_RDMA_READ, LEN, IBV_SEND_SIGNALED, 2));
	wcs_wait(1);
	NEEDS(buf[LEN - 1] == 1);
}

static void unmapped_after(void)
{
	usual();
	write_now();
	wcs_wait(1);
	NEEDS(!munmap(buf, LEN));
}

/* Each place is taken, twice. */
static void sq_full(void)
{
	usual();
	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < DEPTH; i++)
			NEEDS(!send_post(0, IBV_WR_RDMA_WRITE, 8, 0, i));
		wcs_wait(DEPTH);
	}
}

static void inline_limit(void)
{
	struct want want = WANT_USUAL;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	want.inline_len = 64;
	cap_wanted(want);
	NEEDS(!ibv_query_qp(qp[0], &attr, IBV_QP_CAP, &init));
	NEEDS(init.cap.max_inline_data <= LEN);
	NEEDS(!send_post(0, IBV_WR_RDMA_WRITE, init.cap.max_inline_data,
			 IBV_SEND_INLINE, 1));
	wcs_wait(1);
}

/* INIT takes receives, and no sends. */
static void recv_in_init(void)
{
	const struct want want = WANT_USUAL;

	pair_make(&want);
	for (int i = 0; i < 2; i++)
		to_init(qp[i]);
	NEEDS(!recv_post(1, 1));
}

/* To the state where it is, and to ERR and RESET from there. */
static void transitions_allowed(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .qp_access_flags = IBV_ACCESS_REMOTE_READ };
	const struct want want = WANT_USUAL;

	pair_make(&want);
	to_init(qp[0]);
	to_init(qp[0]);
	to_init(qp[1]);
	for (int i = 0; i < 2; i++)
		to_rts(qp[i], qp[1 - i]);
	write_now();
	wcs_wait(1);
	NEEDS(!ibv_modify_qp(qp[0], &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS));
	attr.qp_state = IBV_QPS_ERR;
	NEEDS(!ibv_modify_qp(qp[0], &attr, IBV_QP_STATE));
	to_reset(qp[0]);
}

/* The region has the one right that the peer needs. */
static void access_exact(void)
{
	struct want want = WANT_USUAL;

	want.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
	cap_wanted(want);
	NEEDS(!send_post(0, IBV_WR_RDMA_READ, LEN, 0, 1));
	wcs_wait(1);
}

const struct check_case near_cases[] = {
	CHECK_CASE(region_end),	      CHECK_CASE(source_without_rights),
	CHECK_CASE(source_read_into), CHECK_CASE(unmapped_after),
	CHECK_CASE(sq_full),	      CHECK_CASE(inline_limit),
	CHECK_CASE(recv_in_init),     CHECK_CASE(transitions_allowed),
	CHECK_CASE(access_exact),     { NULL, NULL },
};

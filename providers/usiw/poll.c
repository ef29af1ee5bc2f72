/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Work completions from CQEs. */
#include <string.h>

#include "objects.h"
#include "result.h"

/* Status, opcode and flags have the same numbers. */
_Static_assert((int)IBV_WC_SUCCESS == USIW_WC_SUCCESS, "wc status");
_Static_assert((int)IBV_WC_LOC_LEN_ERR == USIW_WC_LOC_LEN_ERR, "wc status");
_Static_assert((int)IBV_WC_LOC_QP_OP_ERR == USIW_WC_LOC_QP_OP_ERR, "wc status");
_Static_assert((int)IBV_WC_LOC_PROT_ERR == USIW_WC_LOC_PROT_ERR, "wc status");
_Static_assert((int)IBV_WC_WR_FLUSH_ERR == USIW_WC_WR_FLUSH_ERR, "wc status");
_Static_assert((int)IBV_WC_MW_BIND_ERR == USIW_WC_MW_BIND_ERR, "wc status");
_Static_assert((int)IBV_WC_BAD_RESP_ERR == USIW_WC_BAD_RESP_ERR, "wc status");
_Static_assert((int)IBV_WC_LOC_ACCESS_ERR == USIW_WC_LOC_ACCESS_ERR,
	       "wc status");
_Static_assert((int)IBV_WC_REM_INV_REQ_ERR == USIW_WC_REM_INV_REQ_ERR,
	       "wc status");
_Static_assert((int)IBV_WC_REM_ACCESS_ERR == USIW_WC_REM_ACCESS_ERR,
	       "wc status");
_Static_assert((int)IBV_WC_REM_OP_ERR == USIW_WC_REM_OP_ERR, "wc status");
_Static_assert((int)IBV_WC_RETRY_EXC_ERR == USIW_WC_RETRY_EXC_ERR, "wc status");
_Static_assert((int)IBV_WC_RNR_RETRY_EXC_ERR == USIW_WC_RNR_RETRY_EXC_ERR,
	       "wc status");
_Static_assert((int)IBV_WC_REM_ABORT_ERR == USIW_WC_REM_ABORT_ERR, "wc status");
_Static_assert((int)IBV_WC_FATAL_ERR == USIW_WC_FATAL_ERR, "wc status");
_Static_assert((int)IBV_WC_RESP_TIMEOUT_ERR == USIW_WC_RESP_TIMEOUT_ERR,
	       "wc status");
_Static_assert((int)IBV_WC_GENERAL_ERR == USIW_WC_GENERAL_ERR, "wc status");

_Static_assert((int)IBV_WC_SEND == USIW_WC_SEND, "wc opcode");
_Static_assert((int)IBV_WC_RDMA_WRITE == USIW_WC_WRITE, "wc opcode");
_Static_assert((int)IBV_WC_RDMA_READ == USIW_WC_READ, "wc opcode");
_Static_assert((int)IBV_WC_COMP_SWAP == USIW_WC_CMP_SWP, "wc opcode");
_Static_assert((int)IBV_WC_FETCH_ADD == USIW_WC_FETCH_ADD, "wc opcode");
_Static_assert((int)IBV_WC_BIND_MW == USIW_WC_BIND_MW, "wc opcode");
_Static_assert((int)IBV_WC_LOCAL_INV == USIW_WC_LOCAL_INV, "wc opcode");
_Static_assert((int)IBV_WC_RECV == USIW_WC_RECV, "wc opcode");
_Static_assert((int)IBV_WC_RECV_RDMA_WITH_IMM == USIW_WC_RECV_WITH_IMM,
	       "wc opcode");

_Static_assert((int)IBV_WC_GRH == USIW_WC_FLAG_GRH, "wc flags");
_Static_assert((int)IBV_WC_WITH_IMM == USIW_WC_FLAG_IMM, "wc flags");
_Static_assert((int)IBV_WC_WITH_INV == USIW_WC_FLAG_INV, "wc flags");

#define WC_FLAGS_KNOWN (USIW_WC_FLAG_GRH | USIW_WC_FLAG_IMM | USIW_WC_FLAG_INV)

static bool cqe_is_sane(const struct usiw_cqe *cqe)
{
	switch (cqe->opcode) {
	case USIW_WC_SEND:
	case USIW_WC_WRITE:
	case USIW_WC_READ:
	case USIW_WC_CMP_SWP:
	case USIW_WC_FETCH_ADD:
	case USIW_WC_BIND_MW:
	case USIW_WC_LOCAL_INV:
	case USIW_WC_RECV:
	case USIW_WC_RECV_WITH_IMM:
		return cqe->status <= USIW_WC_GENERAL_ERR;
	default:
		return false;
	}
}

/* What UCX expects of an adapter for RoCE (A17.4.5.1 leaves the place open):
 * packets of RoCEv2, and the IP version of their GRH. */
enum { SL_ROCE_V2_IPV6 = 0x9, SL_ROCE_V2_IPV4 = 0xa };

static uint8_t cqe_sl(const struct usiw_cqe *cqe)
{
	if (!(cqe->wc_flags & USIW_WC_FLAG_GRH))
		return 0;
	return cqe->wc_flags & USIW_WC_FLAG_IPV4 ? SL_ROCE_V2_IPV4
						 : SL_ROCE_V2_IPV6;
}

void usiw_cqe_decode(const struct usiw_cqe *cqe, struct ibv_wc *ret_wc)
{
	bool is_sane = cqe_is_sane(cqe);

	*ret_wc = (struct ibv_wc){
		.wr_id = cqe->wr_id,
		.status = is_sane ? cqe->status : IBV_WC_GENERAL_ERR,
		.opcode = is_sane ? cqe->opcode : IBV_WC_SEND,
		.vendor_err = cqe->vendor_err,
		.byte_len = cqe->byte_len,
		/* imm_data and invalidated_rkey share the place */
		.imm_data = cqe->imm_be,
		.qp_num = cqe->qp_num,
		.src_qp = cqe->src_qp,
		.sl = cqe_sl(cqe),
		.wc_flags = cqe->wc_flags & WC_FLAGS_KNOWN,
	};
}

static int cq_drain(struct usiw_cq *cq, int num, struct ibv_wc *wc)
{
	struct usiw_cqe cqe;
	uint32_t cnt;
	void *slot;

	/* Without the lock: an empty queue does not need it. */
	if (usiw_ring_is_empty(cq->ring))
		return 0;
	usiw_cq_lock(cq);
	for (cnt = 0; cnt < (uint32_t)num; cnt++) {
		slot = usiw_ring_peek(cq->ring, cnt);
		if (!slot)
			break;
		memcpy(&cqe, slot, sizeof(cqe));
		usiw_cqe_decode(&cqe, &wc[cnt]);
	}
	if (cnt)
		usiw_ring_consume(cq->ring, cnt);
	usiw_cq_unlock(cq);
	return (int)cnt;
}

#define POLL "ibv_poll_cq"

int usiw_poll_cq(struct ibv_cq *ibcq, int num, struct ibv_wc *wc)
{
	struct usiw_cq *cq = usiw_cq(ibcq);
	int cnt;

	if (usiw_is_forked(cq->fork_gen))
		return usiw_result_minus(usiw_refuse_forked(POLL));
	if (num < 0)
		return usiw_result_minus(usiw_refuse(
			EINVAL, POLL, "num_entries is %d, below 0", num));
	if (num == 0)
		return 0;
	/* The poller runs the engine, so no thread has to be woken. */
	if (rnic_cq_wants_progress(cq->rnic))
		rnic_cq_progress(cq->rnic);
	cnt = cq_drain(cq, num, wc);
	if (cnt == 0) {
		rnic_cq_progress(cq->rnic);
		cnt = cq_drain(cq, num, wc);
	}
	return cnt;
}

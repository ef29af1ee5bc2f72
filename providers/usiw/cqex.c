/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Extended completion queues: attributes, and polling one by one. */
#include <string.h>

#include "call.h"
#include "objects.h"
#include "print.h"
#include "reason.h"
#include "result.h"

/* The fields that a completion of an RC queue pair can have. */
#define WC_FLAGS_OFFERED                                                       \
	((uint64_t)IBV_WC_STANDARD_FLAGS |                                     \
	 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |                                 \
	 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

static struct usiw_cq *cq_of(struct ibv_cq_ex *cq_ex)
{
	return (struct usiw_cq *)cq_ex;
}

/* ---- the iterator ------------------------------------------------------- */

/* Under the lock: the oldest completion becomes the current one. */
static int cq_look(struct usiw_cq *cq)
{
	const void *slot = usiw_ring_peek(cq->ring, 0);
	struct usiw_cqe cqe;

	if (!slot)
		return ENOENT;
	memcpy(&cqe, slot, sizeof(cqe));
	usiw_cqe_decode(&cqe, &cq->wc);
	cq->timestamp_ns = cqe.timestamp_ns;
	cq->wallclock_ns = cqe.wallclock_ns;
	cq->cq_ex.status = cq->wc.status;
	cq->cq_ex.wr_id = cq->wc.wr_id;
	/* The completion is copied and the slot is free at once, so that a
	 * batch without end does not overrun the ring. */
	usiw_ring_consume(cq->ring, 1);
	return 0;
}

static int cq_start(struct usiw_cq *cq)
{
	int ret;

	/* Without the lock: an empty queue does not need it. */
	if (usiw_ring_is_empty(cq->ring))
		return ENOENT;
	usiw_cq_lock(cq);
	ret = cq_look(cq);
	if (ret)
		usiw_cq_unlock(cq);
	else
		atomic_store_explicit(&cq->batch_thread, pthread_self(),
				      memory_order_relaxed);
	return ret;
}

/* If there is a completion, the caller holds the lock until ibv_end_poll(). */
static int poll_start(struct ibv_cq_ex *cq_ex, struct ibv_poll_cq_attr *attr)
{
	static const char call[] = "ibv_start_poll";
	struct usiw_cq *cq = cq_of(cq_ex);
	int ret;

	if (usiw_is_forked(cq->fork_gen))
		return usiw_result_int(usiw_refuse_forked(call));
	if (attr && attr->comp_mask)
		return usiw_result_int(usiw_refuse(EINVAL, call,
						   "comp_mask is 0x%x, not 0",
						   attr->comp_mask));
	if (usiw_cq_is_in_batch(cq))
		return usiw_result_int(usiw_refuse(
			EBUSY, call, "ibv_end_poll() comes before"));
	/* The poller runs the engine, so no thread has to be woken. */
	if (rnic_cq_wants_progress(cq->rnic))
		rnic_cq_progress(cq->rnic);
	ret = cq_start(cq);
	if (ret) {
		rnic_cq_progress(cq->rnic);
		ret = cq_start(cq);
	}
	return ret;
}

static int poll_next(struct ibv_cq_ex *cq_ex)
{
	return cq_look(cq_of(cq_ex));
}

static void poll_end(struct ibv_cq_ex *cq_ex)
{
	struct usiw_cq *cq = cq_of(cq_ex);

	atomic_store_explicit(&cq->batch_thread, 0, memory_order_relaxed);
	usiw_cq_unlock(cq);
}

/* ---- the same, observed: see call.h -------------------------------------- */

static void observed_begin(struct usiw_call *call, const char *name,
			   struct ibv_cq_ex *cq_ex)
{
	usiw_call_begin(call, name);
	call->is_poll = true;
	usiw_print_name(call, "cq");
	usiw_print_cq_ex(call, cq_ex);
	usiw_call_args_end(call);
}

/* ENOENT says that the CQ is empty. */
static int observed_end(struct usiw_call *call, struct ibv_cq_ex *cq_ex,
			int err)
{
	usiw_call_return(call);
	if (!err)
		call->wc = &cq_of(cq_ex)->wc;
	if (err == ENOENT)
		util_text_add(&call->text, "ENOENT");
	usiw_call_end(call, err == ENOENT ? 0 : err ? -err : 1);
	return err;
}

static int cqex_start_poll(struct ibv_cq_ex *cq_ex,
			   struct ibv_poll_cq_attr *attr)
{
	struct usiw_call call;

	if (!usiw_calls_are_observed())
		return poll_start(cq_ex, attr);
	observed_begin(&call, "ibv_start_poll", cq_ex);
	return observed_end(&call, cq_ex,
			    usiw_call_fails(&call, NULL)
				    ? usiw_result_int(call.err)
				    : poll_start(cq_ex, attr));
}

static int cqex_next_poll(struct ibv_cq_ex *cq_ex)
{
	struct usiw_call call;

	if (!usiw_calls_are_observed())
		return poll_next(cq_ex);
	observed_begin(&call, "ibv_next_poll", cq_ex);
	return observed_end(&call, cq_ex, poll_next(cq_ex));
}

static void cqex_end_poll(struct ibv_cq_ex *cq_ex)
{
	struct usiw_call call;

	if (!usiw_calls_are_observed()) {
		poll_end(cq_ex);
		return;
	}
	observed_begin(&call, "ibv_end_poll", cq_ex);
	call.is_poll = false;
	poll_end(cq_ex);
	usiw_call_return(&call);
	usiw_call_end(&call, 0);
}

/* ---- the current completion --------------------------------------------- */

static enum ibv_wc_opcode cqex_read_opcode(struct ibv_cq_ex *cq_ex)
{
	return cq_of(cq_ex)->wc.opcode;
}

static uint32_t cqex_read_vendor_err(struct ibv_cq_ex *cq_ex)
{
	return cq_of(cq_ex)->wc.vendor_err;
}

static uint32_t cqex_read_byte_len(struct ibv_cq_ex *cq_ex)
{
	return cq_of(cq_ex)->wc.byte_len;
}

/* It also returns an invalidated rkey. */
static __be32 cqex_read_imm_data(struct ibv_cq_ex *cq_ex)
{
	return cq_of(cq_ex)->wc.imm_data;
}

static uint32_t cqex_read_qp_num(struct ibv_cq_ex *cq_ex)
{
	return cq_of(cq_ex)->wc.qp_num;
}

static uint32_t cqex_read_src_qp(struct ibv_cq_ex *cq_ex)
{
	return cq_of(cq_ex)->wc.src_qp;
}

static unsigned int cqex_read_wc_flags(struct ibv_cq_ex *cq_ex)
{
	return cq_of(cq_ex)->wc.wc_flags;
}

static uint32_t cqex_read_slid(struct ibv_cq_ex *cq_ex)
{
	return cq_of(cq_ex)->wc.slid;
}

static uint8_t cqex_read_sl(struct ibv_cq_ex *cq_ex)
{
	return cq_of(cq_ex)->wc.sl;
}

static uint8_t cqex_read_dlid_path_bits(struct ibv_cq_ex *cq_ex)
{
	return cq_of(cq_ex)->wc.dlid_path_bits;
}

static uint64_t cqex_read_completion_ts(struct ibv_cq_ex *cq_ex)
{
	return cq_of(cq_ex)->timestamp_ns;
}

static uint64_t cqex_read_wallclock(struct ibv_cq_ex *cq_ex)
{
	return cq_of(cq_ex)->wallclock_ns;
}

/* ---- creation ----------------------------------------------------------- */

static uint32_t cqex_flags(const struct ibv_cq_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
}

#define CREATE_EX "ibv_create_cq_ex"

/* *ret_pd: the parent domain asked for; NULL: none. */
static int cqex_check(const struct ibv_context *context,
		      const struct ibv_cq_init_attr_ex *attr,
		      struct usiw_pd **ret_pd)
{
	*ret_pd = NULL;
	if (attr->wc_flags & ~WC_FLAGS_OFFERED)
		return usiw_refuse(EOPNOTSUPP, CREATE_EX,
				   "wc_flags is 0x%llx, more than 0x%llx",
				   (unsigned long long)attr->wc_flags,
				   (unsigned long long)WC_FLAGS_OFFERED);
	if (attr->comp_mask &
	    ~(uint32_t)(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD))
		return usiw_refuse(EOPNOTSUPP, CREATE_EX,
				   "comp_mask is 0x%x, with more than "
				   "IBV_CQ_INIT_ATTR_MASK_FLAGS and _PD",
				   attr->comp_mask);
	if (cqex_flags(attr) & ~(uint32_t)(IBV_CREATE_CQ_ATTR_SINGLE_THREADED |
					   IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN))
		return usiw_refuse(EOPNOTSUPP, CREATE_EX,
				   "flags is 0x%x, with more than "
				   "IBV_CREATE_CQ_ATTR_SINGLE_THREADED and "
				   "_IGNORE_OVERRUN",
				   cqex_flags(attr));
	if (!(attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD))
		return 0;
	if (!attr->parent_domain || attr->parent_domain->context != context ||
	    !usiw_pd(attr->parent_domain)->base)
		return usiw_refuse(EINVAL, CREATE_EX,
				   "parent_domain is no parent domain of this "
				   "context");
	*ret_pd = usiw_pd(attr->parent_domain);
	return 0;
}

static uint32_t cqex_rnic_flags(const struct ibv_cq_init_attr_ex *attr)
{
	uint32_t flags = 0;

	if (attr->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		flags |= RNIC_CQ_TIMESTAMP;
	if (attr->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		flags |= RNIC_CQ_WALLCLOCK;
	if (cqex_flags(attr) & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN)
		flags |= RNIC_CQ_IGNORE_OVERRUN;
	return flags;
}

/* Readers of fields that cost time are set only if the application asks for
 * them. */
static void cqex_set_readers(struct ibv_cq_ex *cq_ex, uint64_t wc_flags)
{
	cq_ex->start_poll = cqex_start_poll;
	cq_ex->next_poll = cqex_next_poll;
	cq_ex->end_poll = cqex_end_poll;
	cq_ex->read_opcode = cqex_read_opcode;
	cq_ex->read_vendor_err = cqex_read_vendor_err;
	cq_ex->read_byte_len = cqex_read_byte_len;
	cq_ex->read_imm_data = cqex_read_imm_data;
	cq_ex->read_qp_num = cqex_read_qp_num;
	cq_ex->read_src_qp = cqex_read_src_qp;
	cq_ex->read_wc_flags = cqex_read_wc_flags;
	cq_ex->read_slid = cqex_read_slid;
	cq_ex->read_sl = cqex_read_sl;
	cq_ex->read_dlid_path_bits = cqex_read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		cq_ex->read_completion_ts = cqex_read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		cq_ex->read_completion_wallclock_ns = cqex_read_wallclock;
}

struct ibv_cq_ex *usiw_create_cq_ex(struct ibv_context *context,
				    struct ibv_cq_init_attr_ex *attr)
{
	struct usiw_pd *pd;
	struct usiw_cq *cq;
	int err = cqex_check(context, attr, &pd);

	if (err)
		return usiw_result_null(err);
	err = usiw_cq_new(context, attr->cqe, attr->channel, attr->comp_vector,
			  pd, &cq);
	if (err)
		return usiw_result_null(err);
	rnic_cq_set_flags(cq->rnic, cqex_rnic_flags(attr));
	cq->is_single =
		(cqex_flags(attr) & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) ||
		(pd && pd->td);
	cqex_set_readers(&cq->cq_ex, attr->wc_flags);
	return &cq->cq_ex;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See print.h. */
#define _GNU_SOURCE /* process_vm_readv */
#include "print.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "print-parts.h"
#include "sqe.h"
#include "util/keep-errno.h"

/* ---- values -------------------------------------------------------------- */

void usiw_print_name(struct usiw_call *call, const char *name)
{
	call->arg = name;
	if (!call->qp_attr) /* its mask: both are printed together */
		ADD("%s%s=", call->text.len ? ", " : "", name);
}

void usiw_print_pointer(struct usiw_call *call, const void *value)
{
	if (value)
		ADD("%p", value);
	else
		ADD("NULL");
}

bool usiw_print_is_read(struct usiw_call *call, void *to, const void *from,
			size_t len)
{
	struct iovec ours = { to, len };
	struct iovec theirs = { (void *)(uintptr_t)from, len };
	UTIL_KEEP_ERRNO();
	int ret;

	if (!call->text.size || call->text.is_cut)
		return false;
	ret = -EFAULT;
	if (from && (!call->is_query || call->is_answered))
		ret = rnic_guard_copy(to, from, len);
	/* Nothing is registered yet, so nothing is guarded. */
	if (ret == -ENOSYS &&
	    process_vm_readv(getpid(), &ours, 1, &theirs, 1, 0) == (ssize_t)len)
		ret = 0;
	if (ret < 0)
		usiw_print_pointer(call, from);
	return ret == 0;
}

/* The flags of an argument; NULL: a number. */
static const struct util_text_name *flags_of(const struct usiw_call *call)
{
	static const struct {
		const char *arg, *call; /* NULL: of any */
		const struct util_text_name *names;
	} rows[] = {
		{ "access", NULL, usiw_names_access },
		{ "attr_mask", "ibv_modify_srq", usiw_names_srq_mask },
		{ "flags", "ibv_rereg_mr", usiw_names_rereg },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].arg, call->arg) == 0 &&
		    (!rows[i].call || strcmp(rows[i].call, call->name) == 0))
			return rows[i].names;
	return NULL;
}

void usiw_print_number(struct usiw_call *call, unsigned int value)
{
	const struct util_text_name *flags = flags_of(call);

	if (flags)
		util_text_add_flags(&call->text, flags, value);
	else if (strcmp(call->arg, "type") == 0)
		ADD_NAME(mw_type, value);
	else if (strcmp(call->arg, "op") == 0)
		ADD_NAME(wr_opcode, value);
	else
		ADD("%u", value);
}

void usiw_print_int(struct usiw_call *call, int value)
{
	if (call->qp_attr) {
		usiw_print_qp_attr_mask(call, call->qp_attr, value);
		ADD(", %s=0x%x", call->arg, (unsigned int)value);
		call->qp_attr = NULL;
	} else if (value < 0) {
		ADD("%d", value);
	} else {
		usiw_print_number(call, (unsigned int)value);
	}
}

/* What of it is set, the next argument says. */
void usiw_print_qp_attr(struct usiw_call *call, struct ibv_qp_attr *attr)
{
	call->qp_attr = attr;
	if (!attr)
		ADD("NULL");
}

void usiw_print_size(struct usiw_call *call, uint64_t value)
{
	if (strcmp(call->arg, "hca_va") == 0 || strcmp(call->arg, "iova") == 0)
		ADD("0x%" PRIx64, value);
	else
		ADD("%" PRIu64, value);
}

void usiw_print_gid(struct usiw_call *call, const union ibv_gid *gid)
{
	char text[INET6_ADDRSTRLEN];
	READ(union ibv_gid, copy, gid);

	ADD("%s", inet_ntop(AF_INET6, copy.raw, text, sizeof(text)));
}

/* ---- objects ------------------------------------------------------------ */

/* The library has found the verb by it. */
void usiw_print_context(struct usiw_call *call, struct ibv_context *context)
{
	ADD("%s", context->device->name);
}

/* Not one of the RNIC's: the library's. */
void usiw_print_channel(struct usiw_call *call,
			struct ibv_comp_channel *channel)
{
	READ(struct ibv_comp_channel, copy, channel);

	ADD("{fd=%d}", copy.fd);
}

#define PRINT_OBJECT(kind, type, object, format, ...)                          \
	void usiw_print_##kind(struct usiw_call *call, type *object)           \
	{                                                                      \
		const struct usiw_##kind *own = (const void *)object;          \
                                                                               \
		if (!call->text.size)                                          \
			return;                                                \
		if (object && usiw_handle_is_there(&own->handle))              \
			ADD(format, __VA_ARGS__);                              \
		else                                                           \
			usiw_print_pointer(call, object);                      \
	}

PRINT_OBJECT(pd, struct ibv_pd, pd, "%u", pd->handle)
PRINT_OBJECT(mr, struct ibv_mr, mr, "{lkey=0x%x, rkey=0x%x}", mr->lkey,
	     mr->rkey)
PRINT_OBJECT(mw, struct ibv_mw, mw, "{rkey=0x%x}", mw->rkey)
PRINT_OBJECT(ah, struct ibv_ah, ah, "%u", ah->handle)
PRINT_OBJECT(dm, struct ibv_dm, dm, "%u", dm->handle)
PRINT_OBJECT(srq, struct ibv_srq, srq, "%u", srq->handle)
PRINT_OBJECT(qp, struct ibv_qp, qp, "0x%06x",
	     (call->is_ud = own->is_ud, qp->qp_num))
PRINT_OBJECT(cq, struct ibv_cq, cq, "%u", call->cq_num = cq->handle)

void usiw_print_cq_ex(struct usiw_call *call, struct ibv_cq_ex *cq)
{
	usiw_print_cq(call, (void *)cq);
}

void usiw_print_vmr(struct usiw_call *call, struct verbs_mr *vmr)
{
	usiw_print_mr(call, &vmr->ibv_mr);
}

/* ---- work requests ----------------------------------------------------- */

static void sges_print(struct usiw_call *call, const struct ibv_sge *sges,
		       int64_t cnt)
{
	ADD("sge=[");
	for (int64_t i = 0; i < cnt && !call->text.is_cut; i++) {
		struct ibv_sge sge;

		if (i)
			ADD(", ");
		if (!usiw_print_is_read(call, &sge, &sges[i], sizeof(sge)))
			break;
		ADD("{0x%" PRIx64 ", %u, lkey=0x%x}", sge.addr, sge.length,
		    sge.lkey);
	}
	ADD("]");
}

static void bind_info_print(struct usiw_call *call,
			    const struct ibv_mw_bind_info *info)
{
	ADD("mr=");
	usiw_print_mr(call, info->mr);
	ADD(", addr=0x%" PRIx64 ", length=%" PRIu64 ", access=", info->addr,
	    info->length);
	ADD_FLAGS(access, info->mw_access_flags);
}

/* What the opcode has beside SGEs. */
static void send_more_print(struct usiw_call *call,
			    const struct ibv_send_wr *wr, unsigned int traits)
{
	if (traits & USIW_WR_REMOTE)
		ADD(", remote={0x%" PRIx64 ", rkey=0x%x}",
		    wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
	if (traits & USIW_WR_ATOMIC)
		ADD(", remote={0x%" PRIx64
		    ", rkey=0x%x}, compare_add=0x%" PRIx64 ", swap=0x%" PRIx64,
		    wr->wr.atomic.remote_addr, wr->wr.atomic.rkey,
		    wr->wr.atomic.compare_add, wr->wr.atomic.swap);
	if (traits & USIW_WR_IMM)
		ADD(", imm_data=0x%x", ntohl(wr->imm_data));
	if (traits & USIW_WR_INV)
		ADD(", invalidate_rkey=0x%x", wr->invalidate_rkey);
	if (traits & USIW_WR_BIND) {
		ADD(", mw=");
		usiw_print_mw(call, wr->bind_mw.mw);
		ADD(", rkey=0x%x, ", wr->bind_mw.rkey);
		bind_info_print(call, &wr->bind_mw.bind_info);
	}
}

static void send_print(struct usiw_call *call, const struct ibv_send_wr *wr,
		       bool is_ud)
{
	const struct usiw_wr_kind *kind = usiw_wr_kind_find(wr->opcode);
	unsigned int traits = kind ? kind->traits : 0;

	ADD("{wr_id=0x%" PRIx64 ", opcode=", wr->wr_id);
	ADD_NAME(wr_opcode, wr->opcode);
	ADD(", flags=");
	ADD_FLAGS(send, wr->send_flags);
	if (!(traits & USIW_WR_NO_DATA)) {
		ADD(", ");
		sges_print(call, wr->sg_list, wr->num_sge);
	}
	send_more_print(call, wr, traits);
	if (is_ud) {
		ADD(", ah=");
		usiw_print_ah(call, wr->wr.ud.ah);
		ADD(", remote_qpn=0x%x, remote_qkey=0x%x", wr->wr.ud.remote_qpn,
		    wr->wr.ud.remote_qkey);
	}
	ADD("}");
}

/* The queue pair is the argument before. */
void usiw_print_sends(struct usiw_call *call, struct ibv_send_wr *wr)
{
	const char *between = "[";
	struct ibv_send_wr copy;

	do {
		ADD("%s", between);
		if (!usiw_print_is_read(call, &copy, wr, sizeof(copy)))
			break;
		send_print(call, &copy, call->is_ud);
		between = ", ";
		wr = copy.next;
	} while (wr);
	ADD("]");
}

void usiw_print_recvs(struct usiw_call *call, struct ibv_recv_wr *wr)
{
	const char *between = "[";
	struct ibv_recv_wr copy;

	do {
		ADD("%s", between);
		if (!usiw_print_is_read(call, &copy, wr, sizeof(copy)))
			break;
		ADD("{wr_id=0x%" PRIx64 ", ", copy.wr_id);
		sges_print(call, copy.sg_list, copy.num_sge);
		ADD("}");
		between = ", ";
		wr = copy.next;
	} while (wr);
	ADD("]");
}

static void entry_print(struct usiw_call *call, const struct usiw_qp *qp,
			const struct usiw_sqe *sqe)
{
	unsigned int opcode = usiw_sqe_opcode(sqe);
	unsigned int traits = usiw_wr_kinds[opcode].traits;

	ADD("{wr_id=0x%" PRIx64 ", opcode=", sqe->wr_id);
	ADD_NAME(wr_opcode, opcode);
	ADD(", flags=");
	ADD_FLAGS(sqe, sqe->flags);
	if (sqe->flags & USIW_SQE_INLINE) {
		ADD(", inline=%u", sqe->inline_len);
	} else if (!(traits & USIW_WR_NO_DATA)) {
		ADD(", ");
		sges_print(call, (const struct ibv_sge *)(sqe + 1),
			   sqe->sge_cnt);
	}
	if (!qp->is_ud && traits & (USIW_WR_REMOTE | USIW_WR_ATOMIC))
		ADD(", remote={0x%" PRIx64 ", rkey=0x%x}", sqe->remote_addr,
		    sqe->rkey);
	if (traits & USIW_WR_ATOMIC)
		ADD(", compare_add=0x%" PRIx64 ", swap=0x%" PRIx64,
		    sqe->compare_add, sqe->swap);
	if (traits & USIW_WR_IMM)
		ADD(", imm_data=0x%x", ntohl(sqe->imm_be));
	if (traits & USIW_WR_INV)
		ADD(", invalidate_rkey=0x%x", sqe->rkey);
	ADD("}");
}

void usiw_print_entries(struct usiw_call *call, const struct usiw_qp *qp,
			uint32_t cnt)
{
	uint32_t first = usiw_ring_prod_idx(qp->sq);

	ADD(", wr=[");
	for (uint32_t i = 0; i < cnt && !call->text.is_cut; i++) {
		if (i)
			ADD(", ");
		entry_print(call, qp, usiw_ring_slot(qp->sq, first + i));
	}
	ADD("]");
}

void usiw_print_bind(struct usiw_call *call, struct ibv_mw_bind *bind)
{
	READ(struct ibv_mw_bind, copy, bind);

	ADD("{wr_id=0x%" PRIx64 ", flags=", copy.wr_id);
	ADD_FLAGS(send, copy.send_flags);
	ADD(", ");
	bind_info_print(call, &copy.bind_info);
	ADD("}");
}

/* ---- results ------------------------------------------------------------ */

void usiw_print_bad(struct usiw_call *call, int err, const void *bad_wr)
{
	uint64_t wr_id; /* the first member */

	if (err) {
		ADD(", bad_wr=");
		if (usiw_print_is_read(call, &wr_id, bad_wr, sizeof(wr_id)))
			ADD("{wr_id=0x%" PRIx64 "}", wr_id);
	}
	usiw_call_args_end(call);
}

void usiw_print_count(struct usiw_call *call, int value)
{
	usiw_call_args_end(call);
	if (value < 0)
		ADD("-1");
}

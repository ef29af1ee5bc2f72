/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The structures of attributes: see print.h. */
#include "print.h"

#include <arpa/inet.h>
#include <inttypes.h>

#include "event-object.h"
#include "print-parts.h"

static void cap_print(struct usiw_call *call, const struct ibv_qp_cap *cap)
{
	ADD("cap={max_send_wr=%u, max_recv_wr=%u, max_send_sge=%u, "
	    "max_recv_sge=%u, max_inline_data=%u}",
	    cap->max_send_wr, cap->max_recv_wr, cap->max_send_sge,
	    cap->max_recv_sge, cap->max_inline_data);
}

static void av_print(struct usiw_call *call, const struct ibv_ah_attr *attr)
{
	char text[INET6_ADDRSTRLEN];

	if (attr->is_global)
		ADD("{dgid=%s, sgid_index=%u, hop_limit=%u, ",
		    inet_ntop(AF_INET6, attr->grh.dgid.raw, text, sizeof(text)),
		    attr->grh.sgid_index, attr->grh.hop_limit);
	else
		ADD("{dlid=%u, ", attr->dlid);
	ADD("port_num=%u}", attr->port_num);
}

void usiw_print_ah_attr(struct usiw_call *call, struct ibv_ah_attr *attr)
{
	READ(struct ibv_ah_attr, copy, attr);

	av_print(call, &copy);
}

/* ---- queue pairs --------------------------------------------------------- */

enum look { DECIMAL, HEX, STATE, ACCESS, MTU, AV, CAP };

#define ROW(mask, name, look)                                                  \
	{ mask, #name, offsetof(struct ibv_qp_attr, name),                     \
	  sizeof(((struct ibv_qp_attr *)NULL)->name), look }

static const struct qp_attr_row {
	int mask;
	const char *name;
	size_t at, size;
	enum look look;
} qp_attr_rows[] = {
	ROW(IBV_QP_STATE, qp_state, STATE),
	ROW(IBV_QP_CUR_STATE, cur_qp_state, STATE),
	ROW(IBV_QP_ACCESS_FLAGS, qp_access_flags, ACCESS),
	ROW(IBV_QP_PKEY_INDEX, pkey_index, DECIMAL),
	ROW(IBV_QP_PORT, port_num, DECIMAL),
	ROW(IBV_QP_QKEY, qkey, HEX),
	ROW(IBV_QP_AV, ah_attr, AV),
	ROW(IBV_QP_PATH_MTU, path_mtu, MTU),
	ROW(IBV_QP_DEST_QPN, dest_qp_num, HEX),
	ROW(IBV_QP_TIMEOUT, timeout, DECIMAL),
	ROW(IBV_QP_RETRY_CNT, retry_cnt, DECIMAL),
	ROW(IBV_QP_RNR_RETRY, rnr_retry, DECIMAL),
	ROW(IBV_QP_RQ_PSN, rq_psn, DECIMAL),
	ROW(IBV_QP_SQ_PSN, sq_psn, DECIMAL),
	ROW(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic, DECIMAL),
	ROW(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic, DECIMAL),
	ROW(IBV_QP_MIN_RNR_TIMER, min_rnr_timer, DECIMAL),
	ROW(IBV_QP_CAP, cap, CAP),
};

static void qp_attr_row_print(struct usiw_call *call,
			      const struct ibv_qp_attr *attr,
			      const struct qp_attr_row *row)
{
	const char *at = (const char *)attr + row->at;
	uint32_t value = row->size == 1	  ? *(const uint8_t *)at
			 : row->size == 2 ? *(const uint16_t *)at
					  : *(const uint32_t *)at;

	if (row->look == CAP) {
		cap_print(call, &attr->cap);
		return;
	}
	ADD("%s=", row->name);
	if (row->look == STATE)
		ADD_NAME(qp_state, value);
	else if (row->look == ACCESS)
		ADD_FLAGS(access, value);
	else if (row->look == MTU)
		ADD_NAME(mtu, value);
	else if (row->look == AV)
		av_print(call, &attr->ah_attr);
	else
		ADD(row->look == HEX ? "0x%x" : "%u", value);
}

void usiw_print_qp_attr_mask(struct usiw_call *call,
			     const struct ibv_qp_attr *attr, int mask)
{
	const char *between = "";
	READ(struct ibv_qp_attr, copy, attr);

	ADD("{");
	for (size_t i = 0; i < sizeof(qp_attr_rows) / sizeof(qp_attr_rows[0]);
	     i++) {
		if (!(mask & qp_attr_rows[i].mask))
			continue;
		ADD("%s", between);
		qp_attr_row_print(call, &copy, &qp_attr_rows[i]);
		between = ", ";
	}
	ADD("}");
}

/* What both kinds of attributes for a new one begin with. */
#define INIT_PRINT(attr)                                                       \
	do {                                                                   \
		ADD("{send_cq=");                                              \
		usiw_print_cq(call, (attr)->send_cq);                          \
		ADD(", recv_cq=");                                             \
		usiw_print_cq(call, (attr)->recv_cq);                          \
		ADD(", srq=");                                                 \
		usiw_print_srq(call, (attr)->srq);                             \
		ADD(", ");                                                     \
		cap_print(call, &(attr)->cap);                                 \
		ADD(", qp_type=");                                             \
		ADD_NAME(qp_type, (attr)->qp_type);                            \
		ADD(", sq_sig_all=%d", (attr)->sq_sig_all);                    \
	} while (0)

void usiw_print_qp_init(struct usiw_call *call, struct ibv_qp_init_attr *attr)
{
	READ(struct ibv_qp_init_attr, copy, attr);

	INIT_PRINT(&copy);
	ADD("}");
}

void usiw_print_qp_init_ex(struct usiw_call *call,
			   struct ibv_qp_init_attr_ex *attr)
{
	READ(struct ibv_qp_init_attr_ex, copy, attr);

	INIT_PRINT(&copy);
	ADD(", comp_mask=0x%x", copy.comp_mask);
	if (copy.comp_mask & IBV_QP_INIT_ATTR_PD) {
		ADD(", pd=");
		usiw_print_pd(call, copy.pd);
	}
	if (copy.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		ADD(", send_ops_flags=0x%" PRIx64, copy.send_ops_flags);
	ADD("}");
}

/* ---- others -------------------------------------------------------------- */

void usiw_print_cq_init(struct usiw_call *call,
			struct ibv_cq_init_attr_ex *attr)
{
	READ(struct ibv_cq_init_attr_ex, copy, attr);

	ADD("{cqe=%u, channel=", copy.cqe);
	usiw_print_channel(call, copy.channel);
	ADD(", comp_vector=%u, wc_flags=0x%" PRIx64 ", comp_mask=0x%x",
	    copy.comp_vector, copy.wc_flags, copy.comp_mask);
	if (copy.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS)
		ADD(", flags=0x%x", copy.flags);
	ADD("}");
}

static void srq_attr_add(struct usiw_call *call,
			 const struct ibv_srq_attr *attr)
{
	ADD("{max_wr=%u, max_sge=%u, srq_limit=%u}", attr->max_wr,
	    attr->max_sge, attr->srq_limit);
}

void usiw_print_srq_attr(struct usiw_call *call, struct ibv_srq_attr *attr)
{
	READ(struct ibv_srq_attr, copy, attr);

	srq_attr_add(call, &copy);
}

void usiw_print_srq_init(struct usiw_call *call, struct ibv_srq_init_attr *attr)
{
	READ(struct ibv_srq_init_attr, copy, attr);

	srq_attr_add(call, &copy.attr);
}

void usiw_print_srq_init_ex(struct usiw_call *call,
			    struct ibv_srq_init_attr_ex *attr)
{
	READ(struct ibv_srq_init_attr_ex, copy, attr);

	srq_attr_add(call, &copy.attr);
}

void usiw_print_dm_init(struct usiw_call *call, struct ibv_alloc_dm_attr *attr)
{
	READ(struct ibv_alloc_dm_attr, copy, attr);

	ADD("{length=%zu, log_align_req=%u}", copy.length, copy.log_align_req);
}

void usiw_print_domain_init(struct usiw_call *call,
			    struct ibv_parent_domain_init_attr *attr)
{
	READ(struct ibv_parent_domain_init_attr, copy, attr);

	ADD("{pd=");
	usiw_print_pd(call, copy.pd);
	ADD(", td=");
	usiw_print_pointer(call, copy.td);
	ADD(", comp_mask=0x%x}", copy.comp_mask);
}

void usiw_print_port(struct usiw_call *call, struct ibv_port_attr *attr)
{
	READ(struct ibv_port_attr, copy, attr);

	ADD("{state=");
	ADD_NAME(port_state, copy.state);
	ADD(", active_mtu=");
	ADD_NAME(mtu, copy.active_mtu);
	ADD(", gid_tbl_len=%d, max_msg_sz=%u, link_layer=%u}", copy.gid_tbl_len,
	    copy.max_msg_sz, copy.link_layer);
}

/* The library's may be shorter than the header's: what all have. */
void usiw_print_device(struct usiw_call *call, struct ibv_device_attr_ex *attr)
{
	READ(struct ibv_device_attr, copy, &attr->orig_attr);

	ADD("{max_qp=%d, max_qp_wr=%d, max_sge=%d, max_cq=%d, max_cqe=%d, "
	    "max_mr=%d, max_srq=%d, max_qp_rd_atom=%d, phys_port_cnt=%u}",
	    copy.max_qp, copy.max_qp_wr, copy.max_sge, copy.max_cq,
	    copy.max_cqe, copy.max_mr, copy.max_srq, copy.max_qp_rd_atom,
	    copy.phys_port_cnt);
}

void usiw_print_event(struct usiw_call *call,
		      const struct ibv_async_event *event)
{
	const char *name = util_text_name(usiw_names_event, event->event_type);

	call->name = name ? name : "IBV_EVENT";
	switch (usiw_event_object(event->event_type)) {
	case USIW_EVENT_CQ:
		ADD("cq=");
		usiw_print_cq(call, event->element.cq);
		break;
	case USIW_EVENT_QP:
		ADD("qp=");
		usiw_print_qp(call, event->element.qp);
		break;
	case USIW_EVENT_SRQ:
		ADD("srq=");
		usiw_print_srq(call, event->element.srq);
		break;
	default:
		ADD("port_num=%d", event->element.port_num);
		break;
	}
}

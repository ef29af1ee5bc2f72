/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See resource.h. */
#include "netlink/resource.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink/listing.h"
#include "util/stat-read.h"

#define SLOT(row, type)                                                        \
	((const struct usiw_res_##type *)(const void *)(row)->slot)
#define LEN(array) (sizeof(array) / sizeof((array)[0]))

/* enum ib_qp_type, ib_qp_state and rdma_cm_state of the kernel. */
#define QPT_RC 2
#define QPT_UC 3
#define QPT_UD 4
enum { QPS_INIT = 1, QPS_RTR, QPS_RTS, QPS_SQD, QPS_SQE, QPS_ERR };
enum {
	CM_IDLE,
	CM_ADDR_RESOLVED = 2,
	CM_ROUTE_RESOLVED = 4,
	CM_CONNECT,
	CM_DISCONNECT,
	CM_ADDR_BOUND,
	CM_LISTEN,
};
#define UNKNOWN 255

/* @table[@value], or the tool shows "UNKNOWN". */
#define NAMED(table, value) ((value) < LEN(table) ? (table)[value] : UNKNOWN)

/* ---- what the tool shows with -dd ---------------------------------------- */

static void put_detail(struct kabi_nldev_reply *reply, const char *name,
		       uint32_t value)
{
	kabi_reply_text(reply, RDMA_NLDEV_ATTR_DRIVER_STRING, name);
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_DRIVER_U32, value);
}

static void put_detail_hex(struct kabi_nldev_reply *reply, const char *name,
			   uint64_t value)
{
	kabi_reply_text(reply, RDMA_NLDEV_ATTR_DRIVER_STRING, name);
	kabi_reply_u8(reply, RDMA_NLDEV_ATTR_DRIVER_PRINT_TYPE,
		      RDMA_NLDEV_PRINT_TYPE_HEX);
	kabi_reply_u64(reply, RDMA_NLDEV_ATTR_DRIVER_U64, value);
}

static void put_detail_text(struct kabi_nldev_reply *reply, const char *name,
			    const char *text)
{
	kabi_reply_text(reply, RDMA_NLDEV_ATTR_DRIVER_STRING, name);
	kabi_reply_text(reply, RDMA_NLDEV_ATTR_DRIVER_STRING, text);
}

/* "192.0.2.1:4791", "[::1]:4791". */
static void put_detail_addr(struct kabi_nldev_reply *reply, const char *name,
			    const struct usiw_res_addr *addr)
{
	bool is_ipv6 = addr->family == AF_INET6;
	char host[INET6_ADDRSTRLEN], text[INET6_ADDRSTRLEN + 16];

	if (!inet_ntop(addr->family, addr->addr, host, sizeof(host)))
		return; /* it has none */
	snprintf(text, sizeof(text), is_ipv6 ? "[%s]:%u" : "%s:%u", host,
		 addr->port);
	put_detail_text(reply, name, text);
}

/* ---- rows ---------------------------------------------------------------- */

static void put_context(struct kabi_nldev_reply *reply,
			const struct kabi_nldev *nldev,
			const struct kabi_resource *row)
{
	(void)nldev;
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_CTXN, row->slot->id);
	kabi_listing_put_pid(reply, row);
}

static void put_pd(struct kabi_nldev_reply *reply,
		   const struct kabi_nldev *nldev,
		   const struct kabi_resource *row)
{
	(void)nldev;
	kabi_reply_u64(reply, RDMA_NLDEV_ATTR_RES_USECNT, row->user_cnt);
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_PDN, row->slot->id);
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_CTXN, SLOT(row, pd)->context);
	kabi_listing_put_pid(reply, row);
}

static void put_cq(struct kabi_nldev_reply *reply,
		   const struct kabi_nldev *nldev,
		   const struct kabi_resource *row)
{
	const struct usiw_res_cq *cq = SLOT(row, cq);
	size_t details;

	(void)nldev;
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_CQE, cq->depth);
	kabi_reply_u64(reply, RDMA_NLDEV_ATTR_RES_USECNT, row->user_cnt);
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_CQN, row->slot->id);
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_CTXN, cq->context);
	kabi_listing_put_pid(reply, row);
	details = kabi_reply_nest(reply, RDMA_NLDEV_ATTR_DRIVER);
	put_detail(reply, "used",
		   util_stat_fill(UTIL_STAT_LIVE(cq->polled_idx),
				  UTIL_STAT_LIVE(cq->pushed_idx), cq->depth));
	put_detail(reply, "armed", UTIL_STAT_LIVE(cq->armed));
	put_detail(reply, "overrun", UTIL_STAT_LIVE(cq->is_overrun));
	kabi_reply_nested(reply, details);
}

static void put_mr(struct kabi_nldev_reply *reply,
		   const struct kabi_nldev *nldev,
		   const struct kabi_resource *row)
{
	const struct usiw_res_mr *mr = SLOT(row, mr);
	size_t details;

	(void)nldev;
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_RKEY, row->slot->id);
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_LKEY, row->slot->id);
	kabi_reply_u64(reply, RDMA_NLDEV_ATTR_RES_MRLEN, mr->len);
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_MRN,
		       kabi_listing_number(USIW_RES_MR, row));
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_PDN, mr->pd);
	kabi_listing_put_pid(reply, row);
	details = kabi_reply_nest(reply, RDMA_NLDEV_ATTR_DRIVER);
	put_detail_hex(reply, "addr", mr->addr);
	put_detail_hex(reply, "iova", mr->iova);
	put_detail_hex(reply, "access", mr->access);
	kabi_reply_nested(reply, details);
}

/* ---- queue pairs --------------------------------------------------------- */

static void put_qp_details(struct kabi_nldev_reply *reply,
			   const struct usiw_res_qp *qp)
{
	static const char *const carriers[] = {
		[USIW_RES_CARRIER_NONE] = "none",
		[USIW_RES_CARRIER_TCP] = "tcp",
		[USIW_RES_CARRIER_RING] = "memory",
		[USIW_RES_CARRIER_UDP] = "udp",
	};
	uint32_t carrier = UTIL_STAT_LIVE(qp->carrier);
	uint32_t sq_done = UTIL_STAT_LIVE(qp->sq_done_idx);
	uint32_t sq_posted = UTIL_STAT_LIVE(qp->sq_posted_idx);

	if (carrier < LEN(carriers))
		put_detail_text(reply, "carrier", carriers[carrier]);
	put_detail_addr(reply, "local", &qp->local);
	put_detail_addr(reply, "peer", &qp->peer);
	put_detail(reply, "send-cqn", qp->send_cq);
	put_detail(reply, "recv-cqn", qp->recv_cq);
	if (qp->srq)
		put_detail(reply, "srqn", qp->srq);
	put_detail(reply, "sq-depth", qp->sq_depth);
	put_detail(reply, "sq-used",
		   util_stat_fill(sq_done, sq_posted, qp->sq_depth));
	put_detail(reply, "rq-depth", qp->rq_depth);
	put_detail(reply, "rq-used",
		   util_stat_fill(UTIL_STAT_LIVE(qp->rq_taken_idx),
				  UTIL_STAT_LIVE(qp->rq_posted_idx),
				  qp->rq_depth));
	put_detail(reply, "reads-out", UTIL_STAT_LIVE(qp->reads_out));
	put_detail(reply, "reads-in", UTIL_STAT_LIVE(qp->reads_in));
	put_detail(reply, "rnr-held", UTIL_STAT_LIVE(qp->rnr_held));
	put_detail(reply, "status", UTIL_STAT_LIVE(qp->status));
	put_detail(reply, "errno", UTIL_STAT_LIVE(qp->error));
}

static void put_qp(struct kabi_nldev_reply *reply,
		   const struct kabi_nldev *nldev,
		   const struct kabi_resource *row)
{
	static const uint8_t types[] = { [USIW_RES_QPT_RC] = QPT_RC,
					 [USIW_RES_QPT_UC] = QPT_UC,
					 [USIW_RES_QPT_UD] = QPT_UD };
	/* As ibv_query_qp(); RESET is the provider's. */
	static const uint8_t states[] = {
		[USIW_RES_QPS_IDLE] = QPS_INIT,
		[USIW_RES_QPS_CONNECTING] = QPS_RTR,
		[USIW_RES_QPS_RTS] = QPS_RTS,
		[USIW_RES_QPS_CLOSING] = QPS_SQD,
		[USIW_RES_QPS_TERMINATE] = QPS_SQE,
		[USIW_RES_QPS_ERROR] = QPS_ERR,
	};
	const struct usiw_res_qp *qp = SLOT(row, qp);
	uint32_t state = UTIL_STAT_LIVE(qp->state);
	size_t details;

	(void)nldev;
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_PORT_INDEX, KABI_PORT_NUM);
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_LQPN, row->slot->id);
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_PDN, qp->pd);
	kabi_listing_put_pid(reply, row);
	/* iWARP has neither of the PSNs; the tool wants the second one. */
	if (qp->type != USIW_RES_QPT_UD) {
		kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_RQPN, qp->peer_num);
		kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_RQ_PSN, 0);
	}
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_SQ_PSN, 0);
	if (qp->type != USIW_RES_QPT_UD)
		kabi_reply_u8(reply, RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE, 0);
	kabi_reply_u8(reply, RDMA_NLDEV_ATTR_RES_TYPE, NAMED(types, qp->type));
	kabi_reply_u8(reply, RDMA_NLDEV_ATTR_RES_STATE, NAMED(states, state));
	details = kabi_reply_nest(reply, RDMA_NLDEV_ATTR_DRIVER);
	put_qp_details(reply, qp);
	kabi_reply_nested(reply, details);
}

/* ---- shared receive queues ----------------------------------------------- */

/* No more queue pairs than leave room for the rest of an entry. */
#define SRQ_QPS_MAX (KABI_DATAGRAM_MAX / 2)

static void put_range(struct kabi_nldev_reply *reply, uint32_t first,
		      uint32_t last)
{
	size_t entry = kabi_reply_nest(reply, RDMA_NLDEV_ATTR_RES_QP_ENTRY);

	if (first == last) {
		kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_LQPN, first);
	} else {
		kabi_reply_u32(reply, RDMA_NLDEV_ATTR_MIN_RANGE, first);
		kabi_reply_u32(reply, RDMA_NLDEV_ATTR_MAX_RANGE, last);
	}
	kabi_reply_nested(reply, entry);
}

/* Numbers that follow each other are one entry. */
static void put_srq_qps(struct kabi_nldev_reply *reply,
			const struct kabi_resources *qps,
			const struct kabi_resource *srq)
{
	size_t table = kabi_reply_nest(reply, RDMA_NLDEV_ATTR_RES_QP);
	uint32_t first = 0, last = 0;

	for (size_t i = 0; i < qps->cnt; i++) {
		const struct kabi_resource *qp = &qps->row[i];

		if (qp->pid != srq->pid || SLOT(qp, qp)->srq != srq->slot->id)
			continue;
		if (first && qp->slot->id == last + 1) {
			last++;
			continue;
		}
		if (first)
			put_range(reply, first, last);
		first = last = qp->slot->id;
		if (reply->len - table > SRQ_QPS_MAX)
			break;
	}
	if (first)
		put_range(reply, first, last);
	kabi_reply_nested(reply, table);
}

static void put_srq(struct kabi_nldev_reply *reply,
		    const struct kabi_nldev *nldev,
		    const struct kabi_resource *row)
{
	const struct usiw_res_srq *srq = SLOT(row, srq);
	size_t details;

	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_SRQN, row->slot->id);
	kabi_reply_u8(reply, RDMA_NLDEV_ATTR_RES_TYPE, 0); /* basic */
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_PDN, srq->pd);
	put_srq_qps(reply, &nldev->census->kind[USIW_RES_QP], row);
	kabi_listing_put_pid(reply, row);
	details = kabi_reply_nest(reply, RDMA_NLDEV_ATTR_DRIVER);
	put_detail(reply, "depth", srq->depth);
	put_detail(reply, "used",
		   util_stat_fill(UTIL_STAT_LIVE(srq->taken_idx),
				  UTIL_STAT_LIVE(srq->posted_idx), srq->depth));
	put_detail(reply, "limit", UTIL_STAT_LIVE(srq->limit));
	kabi_reply_nested(reply, details);
}

/* ---- identities of rdma_cm ----------------------------------------------- */

static void put_addr(struct kabi_nldev_reply *reply, uint16_t type,
		     const struct usiw_res_addr *addr)
{
	union {
		struct sockaddr_storage storage;
		struct sockaddr_in sin;
		struct sockaddr_in6 sin6;
	} to = { .storage = { .ss_family = addr->family } };

	if (addr->family == AF_INET) {
		to.sin.sin_port = htons(addr->port);
		memcpy(&to.sin.sin_addr, addr->addr, sizeof(to.sin.sin_addr));
	} else if (addr->family == AF_INET6) {
		to.sin6.sin6_port = htons(addr->port);
		to.sin6.sin6_scope_id = addr->scope;
		memcpy(&to.sin6.sin6_addr, addr->addr, sizeof(addr->addr));
	} else {
		return;
	}
	kabi_reply_put(reply, type, &to, sizeof(to.storage));
}

static void put_id(struct kabi_nldev_reply *reply,
		   const struct kabi_nldev *nldev,
		   const struct kabi_resource *row)
{
	/* A kernel's identity that is connected stays in CONNECT. */
	static const uint8_t states[] = {
		[USIW_RES_IDS_IDLE] = CM_IDLE,
		[USIW_RES_IDS_BOUND] = CM_ADDR_BOUND,
		[USIW_RES_IDS_ADDR] = CM_ADDR_RESOLVED,
		[USIW_RES_IDS_ROUTE] = CM_ROUTE_RESOLVED,
		[USIW_RES_IDS_LISTEN] = CM_LISTEN,
		[USIW_RES_IDS_CONNECT] = CM_CONNECT,
		[USIW_RES_IDS_REQUEST] = CM_CONNECT,
		[USIW_RES_IDS_ESTABLISHED] = CM_CONNECT,
		[USIW_RES_IDS_DISCONNECT] = CM_DISCONNECT,
	};
	const struct usiw_res_id *id = SLOT(row, id);

	(void)nldev;
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_PORT_INDEX, KABI_PORT_NUM);
	if (id->qp_num) {
		kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_LQPN, id->qp_num);
		kabi_reply_u8(reply, RDMA_NLDEV_ATTR_RES_TYPE,
			      id->port_space == RDMA_PS_TCP ? QPT_RC : QPT_UD);
	}
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_PS, id->port_space);
	kabi_reply_u8(reply, RDMA_NLDEV_ATTR_RES_STATE,
		      NAMED(states, id->state));
	put_addr(reply, RDMA_NLDEV_ATTR_RES_SRC_ADDR, &id->local);
	put_addr(reply, RDMA_NLDEV_ATTR_RES_DST_ADDR, &id->peer);
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_CM_IDN, row->slot->id);
	kabi_listing_put_pid(reply, row);
}

/* ---- operations ---------------------------------------------------------- */

#define LISTING(op_name, res, nr, per_port, attr, put_fn)                      \
	{                                                                      \
		.op = RDMA_NLDEV_CMD_RES_##op_name##_GET,                      \
		.kind = USIW_RES_##res,                                        \
		.number = KABI_ARG_##nr,                                       \
		.is_of_port = (per_port),                                      \
		.table = RDMA_NLDEV_ATTR_RES_##attr,                           \
		.entry = RDMA_NLDEV_ATTR_RES_##attr##_ENTRY,                   \
		.put = (put_fn),                                               \
	}

/* In the order of the kernel's sums. */
static const struct resource_listing {
	const char *name;
	struct kabi_listing listing;
} listings[] = {
	{ "pd", LISTING(PD, PD, PDN, false, PD, put_pd) },
	{ "cq", LISTING(CQ, CQ, CQN, false, CQ, put_cq) },
	{ "qp", LISTING(QP, QP, LQPN, true, QP, put_qp) },
	{ "cm_id", LISTING(CM_ID, ID, CM_IDN, true, CM_ID, put_id) },
	{ "mr", LISTING(MR, MR, MRN, false, MR, put_mr) },
	{ "ctx", LISTING(CTX, CONTEXT, CTXN, false, CTX, put_context) },
	{ "srq", LISTING(SRQ, SRQ, SRQN, false, SRQ, put_srq) },
};

static const struct kabi_listing *listing_of(uint32_t op)
{
	for (size_t i = 0; i < LEN(listings); i++)
		if (listings[i].listing.op == op)
			return &listings[i].listing;
	return NULL;
}

int kabi_resource_one(const struct kabi_nldev *nldev,
		      const struct kabi_nldev_request *req,
		      const struct kabi_nldev_device *dev,
		      struct kabi_nldev_reply *reply)
{
	return kabi_listing_one(listing_of(req->op), nldev, req, dev, reply);
}

int kabi_resource_dump(const struct kabi_nldev *nldev,
		       const struct kabi_nldev_request *req,
		       const struct kabi_nldev_device *dev,
		       struct kabi_nldev_reply *reply)
{
	return kabi_listing_dump(listing_of(req->op), nldev, req, dev, reply);
}

/* ---- sums ---------------------------------------------------------------- */

static uint64_t sum_of(const struct kabi_nldev *nldev,
		       const struct kabi_nldev_device *dev,
		       enum usiw_res_kind kind)
{
	const struct kabi_resources *rows = &nldev->census->kind[kind];
	uint64_t sum = 0;

	for (size_t i = 0; i < rows->cnt; i++)
		sum += kabi_listing_has(kind, dev, &rows->row[i]);
	return sum;
}

static void put_sums(const struct kabi_nldev *nldev,
		     const struct kabi_nldev_request *req,
		     const struct kabi_nldev_device *dev, uint16_t flags,
		     struct kabi_nldev_reply *reply)
{
	size_t start = kabi_reply_begin(reply, nldev, req,
					KABI_NLDEV_TYPE(RDMA_NLDEV_CMD_RES_GET),
					flags);
	size_t table, entry;

	kabi_reply_handle(reply, dev);
	table = kabi_reply_nest(reply, RDMA_NLDEV_ATTR_RES_SUMMARY);
	for (size_t i = 0; i < LEN(listings); i++) {
		entry = kabi_reply_nest(reply,
					RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY);
		kabi_reply_text(reply, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME,
				listings[i].name);
		kabi_reply_u64(reply, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR,
			       sum_of(nldev, dev, listings[i].listing.kind));
		kabi_reply_nested(reply, entry);
	}
	kabi_reply_nested(reply, table);
	kabi_reply_end(reply, start);
}

int kabi_resource_sums(const struct kabi_nldev *nldev,
		       const struct kabi_nldev_request *req,
		       const struct kabi_nldev_device *dev,
		       struct kabi_nldev_reply *reply)
{
	if (!dev)
		return -EINVAL;
	put_sums(nldev, req, dev, 0, reply);
	return 0;
}

int kabi_resource_dump_sums(const struct kabi_nldev *nldev,
			    const struct kabi_nldev_request *req,
			    const struct kabi_nldev_device *dev,
			    struct kabi_nldev_reply *reply)
{
	(void)dev;
	for (size_t i = 0; i < nldev->device_cnt; i++)
		put_sums(nldev, req, &nldev->devices[i], NLM_F_MULTI, reply);
	return 0;
}

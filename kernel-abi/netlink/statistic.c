/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See statistic.h. */
#include "netlink/statistic.h"

#include <errno.h>

#include "base/totals.h"
#include "netlink/listing.h"
#include "util/stat-read.h"

static void put_counter(struct kabi_nldev_reply *reply, const char *name,
			uint64_t value)
{
	size_t entry =
		kabi_reply_nest(reply, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);

	kabi_reply_text(reply, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name);
	kabi_reply_u64(reply, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE,
		       value);
	kabi_reply_nested(reply, entry);
}

/* ---- queue pairs --------------------------------------------------------- */

/* Three names are those of mlx5. */
#define QP_COUNTERS(X)                                                         \
	X(tx_send_requests, tx.messages[USIW_RES_OP_SEND])                     \
	X(tx_write_requests, tx.messages[USIW_RES_OP_WRITE])                   \
	X(tx_read_requests, tx.messages[USIW_RES_OP_READ])                     \
	X(tx_atomic_requests, tx.messages[USIW_RES_OP_ATOMIC])                 \
	X(tx_send_octets, tx.octets[USIW_RES_OP_SEND])                         \
	X(tx_write_octets, tx.octets[USIW_RES_OP_WRITE])                       \
	X(tx_read_octets, tx.octets[USIW_RES_OP_READ])                         \
	X(rx_send_requests, rx.messages[USIW_RES_OP_SEND])                     \
	X(rx_write_requests, rx.messages[USIW_RES_OP_WRITE])                   \
	X(rx_read_requests, rx.messages[USIW_RES_OP_READ])                     \
	X(rx_atomic_requests, rx.messages[USIW_RES_OP_ATOMIC])                 \
	X(rx_send_octets, rx.octets[USIW_RES_OP_SEND])                         \
	X(rx_write_octets, rx.octets[USIW_RES_OP_WRITE])                       \
	X(rx_read_octets, rx.octets[USIW_RES_OP_READ])                         \
	X(recv_held, rnr_cnt)

static void put_qp(struct kabi_nldev_reply *reply,
		   const struct kabi_nldev *nldev,
		   const struct kabi_resource *row)
{
	const struct usiw_res_qp *qp = (const void *)row->slot;
	size_t table, entry;

	(void)nldev;
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_PORT_INDEX, KABI_PORT_NUM);
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_STAT_COUNTER_ID, row->slot->id);
	kabi_listing_put_pid(reply, row);
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_STAT_MODE,
		       RDMA_COUNTER_MODE_MANUAL);
	table = kabi_reply_nest(reply, RDMA_NLDEV_ATTR_RES_QP);
	entry = kabi_reply_nest(reply, RDMA_NLDEV_ATTR_RES_QP_ENTRY);
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_LQPN, row->slot->id);
	kabi_reply_nested(reply, entry);
	kabi_reply_nested(reply, table);
	table = kabi_reply_nest(reply, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
#define PUT(name, field) put_counter(reply, #name, UTIL_STAT_LIVE(qp->field));
	QP_COUNTERS(PUT)
#undef PUT
	kabi_reply_nested(reply, table);
}

static const struct kabi_listing qp_listing = {
	.op = RDMA_NLDEV_CMD_STAT_GET,
	.kind = USIW_RES_QP,
	.number = KABI_ARG_COUNTER_ID,
	.is_of_port = true,
	.table = RDMA_NLDEV_ATTR_STAT_COUNTER,
	.entry = RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY,
	.put = put_qp,
};

/* ---- the port ------------------------------------------------------------ */

static size_t port_begin(const struct kabi_nldev *nldev,
			 const struct kabi_nldev_request *req,
			 const struct kabi_nldev_device *dev,
			 struct kabi_nldev_reply *reply)
{
	size_t start = kabi_reply_begin(
		reply, nldev, req, KABI_NLDEV_TYPE(RDMA_NLDEV_CMD_STAT_GET), 0);

	kabi_reply_handle(reply, dev);
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_PORT_INDEX, KABI_PORT_NUM);
	return start;
}

static void put_port(const struct kabi_nldev *nldev,
		     const struct kabi_nldev_request *req,
		     const struct kabi_nldev_device *dev,
		     struct kabi_nldev_reply *reply)
{
	size_t start = port_begin(nldev, req, dev, reply), table;

	table = kabi_reply_nest(reply, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
#define PUT(name, field) put_counter(reply, #name, dev->stats.field);
	KABI_HW_COUNTERS(PUT)
#undef PUT
	kabi_reply_nested(reply, table);
	kabi_reply_end(reply, start);
}

static void put_mode(const struct kabi_nldev *nldev,
		     const struct kabi_nldev_request *req,
		     const struct kabi_nldev_device *dev,
		     struct kabi_nldev_reply *reply)
{
	size_t start = port_begin(nldev, req, dev, reply);

	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_STAT_MODE,
		       RDMA_COUNTER_MODE_MANUAL);
	kabi_reply_end(reply, start);
}

/* ---- operations ---------------------------------------------------------- */

int kabi_statistic_get(const struct kabi_nldev *nldev,
		       const struct kabi_nldev_request *req,
		       const struct kabi_nldev_device *dev,
		       struct kabi_nldev_reply *reply)
{
	bool is_of_qps = kabi_nldev_has(req, KABI_ARG_STAT_RES);

	if (is_of_qps && req->arg[KABI_ARG_STAT_RES] != RDMA_NLDEV_ATTR_RES_QP)
		return -EOPNOTSUPP; /* regions are not counted */
	if (is_of_qps && kabi_nldev_has(req, KABI_ARG_COUNTER_ID))
		return kabi_listing_one(&qp_listing, nldev, req, dev, reply);
	if (!dev || !req->has_port || req->port_index != KABI_PORT_NUM)
		return -EINVAL;
	if (!is_of_qps)
		put_port(nldev, req, dev, reply);
	else if (kabi_nldev_has(req, KABI_ARG_STAT_MODE))
		put_mode(nldev, req, dev, reply);
	else
		return -EINVAL;
	return 0;
}

int kabi_statistic_dump(const struct kabi_nldev *nldev,
			const struct kabi_nldev_request *req,
			const struct kabi_nldev_device *dev,
			struct kabi_nldev_reply *reply)
{
	if (!kabi_nldev_has(req, KABI_ARG_STAT_RES))
		return -EINVAL;
	if (req->arg[KABI_ARG_STAT_RES] != RDMA_NLDEV_ATTR_RES_QP)
		return -EOPNOTSUPP;
	return kabi_listing_dump(&qp_listing, nldev, req, dev, reply);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Connection without rdma_cm: translates the attributes of ibv_modify_qp()
 * about the peer and the retries for the RNIC's connection out of band.
 */
#include <string.h>

#include "objects.h"
#include "reason.h"
#include "result.h"

#define NS_PER_TIMEOUT_UNIT UINT64_C(4096)
/* The peer is a process, not an adapter, and may not run for some time. */
#define RETRY_MIN_NS UINT64_C(4000000000)

/* 4.096 us * 2^timeout, for the first try and @retry_cnt more; 0: no limit. */
uint64_t usiw_retry_ns(uint8_t timeout, uint8_t retry_cnt)
{
	if (!timeout)
		return 0;
	return (NS_PER_TIMEOUT_UNIT << (timeout & 31)) * (retry_cnt + 1u);
}

static uint64_t silent_retry_ns(uint64_t ns)
{
	return ns && ns < RETRY_MIN_NS ? RETRY_MIN_NS : ns;
}

/*
 * The address for a LID, InfiniBand's address of a port in the same subnet,
 * without a GRH.  rnic_device_lid() describes usiw's convention.
 */
static int addr_from_lid(const struct usiw_qp *qp, uint16_t dlid,
			 struct rnic_oob_options *opt)
{
	struct rnic_device_attr dev;
	int err = usiw_device_query(usiw_context(qp->vqp.qp.context),
				    "ibv_modify_qp", &dev);

	if (err)
		return err;
	if (!dlid || !rnic_device_lid(&dev, &opt->gid_idx))
		return usiw_refuse(EINVAL, "ibv_modify_qp",
				   "ah_attr.dlid is %u: set is_global and "
				   "grh.dgid, or use a device with a LID",
				   dlid);
	memcpy(opt->dgid, dev.gid[opt->gid_idx], sizeof(opt->dgid));
	opt->dgid[14] = (uint8_t)(dlid >> 8);
	opt->dgid[15] = (uint8_t)dlid;
	return 0;
}

static int addr_from_attr(const struct usiw_qp *qp,
			  const struct ibv_ah_attr *ah,
			  struct rnic_oob_options *opt)
{
	if (!ah->is_global)
		return addr_from_lid(qp, ah->dlid, opt);
	opt->gid_idx = ah->grh.sgid_index;
	opt->tos = ah->grh.traffic_class;
	memcpy(opt->dgid, ah->grh.dgid.raw, sizeof(opt->dgid));
	return 0;
}

int usiw_qp_connect(struct usiw_qp *qp, const struct ibv_qp_attr *attr,
		    int mask)
{
	const int known = qp->type->rtr_mask;
	struct rnic_oob_options opt = { .dest_num = attr->dest_qp_num };
	int err;

	err = usiw_check_mask(IBV_QPS_RTR, mask, known);
	if (err)
		return err;
	if (known & IBV_QP_MAX_DEST_RD_ATOMIC)
		opt.ird = attr->max_dest_rd_atomic;
	if (known & IBV_QP_MIN_RNR_TIMER)
		opt.min_rnr_timer = attr->min_rnr_timer;
	err = addr_from_attr(qp, &attr->ah_attr, &opt);
	if (err)
		return err;
	return rnic_qp_oob(qp->rnic, &opt);
}

int usiw_qp_connect_send(struct usiw_qp *qp, const struct ibv_qp_attr *attr,
			 int mask)
{
	const int known = qp->type->rts_mask;
	/* Without retries: how long messages wait before they are lost. */
	struct rnic_oob_send_options opt = { .retry_ns = RETRY_MIN_NS };
	int err = usiw_check_mask(IBV_QPS_RTS, mask, known);

	if (err)
		return err;
	if (known & IBV_QP_RNR_RETRY)
		opt.rnr_retry = attr->rnr_retry;
	if (known & IBV_QP_MAX_QP_RD_ATOMIC)
		opt.ord = attr->max_rd_atomic;
	if (known & IBV_QP_TIMEOUT) {
		/* A process that has ended need not be waited for longer. */
		opt.gone_ns = usiw_retry_ns(attr->timeout, attr->retry_cnt);
		opt.retry_ns = silent_retry_ns(opt.gone_ns);
	}
	rnic_qp_oob_send(qp->rnic, &opt);
	return 0;
}

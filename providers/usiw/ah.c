/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Address handles: where a datagram goes.  Nothing is asked of the network: the
 * kernel finds the way when a datagram is sent.
 */
#include <stdlib.h>
#include <string.h>

#include "util/v4-mapped.h"
#include "reason.h"
#include "result.h"
#include "sqe.h"

#define FLOW_MASK 0xfffffu
#define NUM_MASK 0xffffffu

static bool gid_is_zero(const uint8_t gid[16])
{
	static const uint8_t zero[16];

	return memcmp(gid, zero, sizeof(zero)) == 0;
}

#define CREATE_AH "ibv_create_ah"

/* The address for a LID, as in usiw_qp_connect(). */
static int ah_from_lid(struct usiw_ah *ah, const struct rnic_device_attr *dev,
		       uint16_t dlid)
{
	uint32_t idx;

	if (!dlid || !rnic_device_lid(dev, &idx))
		return usiw_refuse(EINVAL, CREATE_AH,
				   "dlid is %u: set is_global and grh.dgid, or "
				   "use a device with a LID",
				   dlid);
	memcpy(ah->sgid, dev->gid[idx], sizeof(ah->sgid));
	memcpy(ah->dgid, ah->sgid, sizeof(ah->dgid));
	ah->dgid[14] = (uint8_t)(dlid >> 8);
	ah->dgid[15] = (uint8_t)dlid;
	return 0;
}

static int ah_from_grh(struct usiw_ah *ah, const struct rnic_device_attr *dev,
		       const struct ibv_global_route *grh)
{
	if (grh->sgid_index >= dev->gid_cnt)
		return usiw_refuse(EINVAL, CREATE_AH,
				   "grh.sgid_index is %u, the device has %u "
				   "GIDs",
				   grh->sgid_index, dev->gid_cnt);
	memcpy(ah->sgid, dev->gid[grh->sgid_index], sizeof(ah->sgid));
	memcpy(ah->dgid, grh->dgid.raw, sizeof(ah->dgid));
	ah->tclass = grh->traffic_class;
	/* UCX has more bits in it. */
	ah->label = (grh->flow_label & FLOW_MASK) |
		    (uint32_t)grh->hop_limit << USIW_AV_HOP_SHIFT;
	/* Both are IPv4, or neither. */
	if (gid_is_zero(ah->sgid) || gid_is_zero(ah->dgid) ||
	    util_v4_is_mapped(ah->sgid) != util_v4_is_mapped(ah->dgid))
		return usiw_refuse(EINVAL, CREATE_AH,
				   "grh.dgid and the GID of grh.sgid_index %u "
				   "must both be IPv4's or IPv6's",
				   grh->sgid_index);
	return 0;
}

static int ah_fill(struct usiw_ah *ah, const struct usiw_context *ctx,
		   const struct ibv_ah_attr *attr)
{
	struct rnic_device_attr dev;
	int err;

	err = usiw_check_range(CREATE_AH, "port_num", attr->port_num, USIW_PORT,
			       USIW_PORT);
	if (err)
		return err;
	err = usiw_device_query(ctx, CREATE_AH, &dev);
	if (err)
		return err;
	err = attr->is_global ? ah_from_grh(ah, &dev, &attr->grh)
			      : ah_from_lid(ah, &dev, attr->dlid);
	if (!err && rnic_gid_is_own(ah->dgid))
		ah->label |= USIW_AV_OWN;
	return err;
}

struct ibv_ah *usiw_create_ah(struct ibv_pd *ibpd, struct ibv_ah_attr *attr)
{
	struct usiw_pd *pd = usiw_pd(ibpd);
	int err = usiw_pd_enter(pd, CREATE_AH);
	struct usiw_ah *ah;

	if (!err && !usiw_context(ibpd->context)->is_ca)
		err = usiw_refuse_datagrams(CREATE_AH);
	if (err)
		return usiw_result_null(err);
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return usiw_result_null(usiw_refuse_memory(CREATE_AH));
	err = ah_fill(ah, usiw_context(ibpd->context), attr);
	if (err) {
		free(ah);
		return usiw_result_null(err);
	}
	ah->fork_gen = rnic_fork_gen();
	ah->pd = pd;
	usiw_pd_get(pd);
	ah->ah.context = ibpd->context;
	ah->ah.pd = ibpd;
	ah->ah.handle = usiw_handle_next();
	usiw_handle_add(&ah->handle, &ah->ah.handle);
	return &ah->ah;
}

int usiw_destroy_ah(struct ibv_ah *ibah)
{
	struct usiw_ah *ah = usiw_ah(ibah);
	int err;

	/* There is none. */
	if (!usiw_context(ibah->context)->is_ca)
		return usiw_result_int(usiw_refuse_datagrams("ibv_destroy_ah"));
	err = usiw_handle_check(&ah->handle, "ibv_destroy_ah");
	if (err)
		return usiw_result_int(err);
	if (!usiw_is_forked(ah->fork_gen))
		usiw_pd_put(ah->pd);
	usiw_handle_remove(&ah->handle);
	free(ah);
	return 0;
}

int usiw_sqe_set_ud(const struct ibv_qp *qp, const struct ibv_ah *ibah,
		    uint32_t num, uint32_t qkey, struct usiw_sqe *slot)
{
	struct usiw_ud_sqe *sqe = (struct usiw_ud_sqe *)slot;
	const struct usiw_ah *ah = (const struct usiw_ah *)ibah;

	if (!ah || ah->ah.context != qp->context || num > NUM_MASK)
		return usiw_refuse(EINVAL, "ibv_post_send",
				   "wr.ud: there is no AH of this context, or "
				   "remote_qpn is 0x%x, above 0xffffff",
				   num);
	sqe->qkey = qkey;
	sqe->dest = num | (uint32_t)ah->tclass << 24;
	sqe->label = ah->label;
	memcpy(sqe->sgid, ah->sgid, sizeof(sqe->sgid));
	memcpy(sqe->dgid, ah->dgid, sizeof(sqe->dgid));
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Multicast groups of UD queue pairs.  Ethernet has no LIDs. */
#include "objects.h"
#include "result.h"

#define ATTACH "ibv_attach_mcast"
#define DETACH "ibv_detach_mcast"

static int mcast_check(const struct usiw_qp *qp, const char *call)
{
	int err = usiw_object_enter(&qp->handle, &qp->fork_gen, call);

	if (err)
		return err;
	if (!qp->is_ca)
		return usiw_refuse_datagrams(call);
	return qp->is_ud ? 0
			 : usiw_refuse(EINVAL, call,
				       "QP 0x%06x is not of type UD",
				       qp->vqp.qp.qp_num);
}

int usiw_attach_mcast(struct ibv_qp *ibqp, const union ibv_gid *gid,
		      uint16_t lid)
{
	struct usiw_qp *qp = usiw_qp(ibqp);
	int err = mcast_check(qp, ATTACH);

	(void)lid;
	return usiw_result_int(err ? err : rnic_qp_attach(qp->rnic, gid->raw));
}

int usiw_detach_mcast(struct ibv_qp *ibqp, const union ibv_gid *gid,
		      uint16_t lid)
{
	struct usiw_qp *qp = usiw_qp(ibqp);
	int err = mcast_check(qp, DETACH);

	(void)lid;
	return usiw_result_int(err ? err : rnic_qp_detach(qp->rnic, gid->raw));
}

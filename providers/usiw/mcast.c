/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Multicast groups of UD queue pairs.  Ethernet has no LIDs. */
#include "objects.h"
#include "result.h"

static int mcast_check(const struct usiw_qp *qp, const char *verb)
{
	int err = usiw_handle_check(&qp->handle, verb);

	if (err)
		return err;
	if (usiw_is_forked(qp->fork_gen))
		return -ENODEV;
	if (!qp->is_ca)
		return -EOPNOTSUPP; /* an iWARP device has no datagrams */
	return qp->is_ud ? 0 : -EINVAL;
}

int usiw_attach_mcast(struct ibv_qp *ibqp, const union ibv_gid *gid,
		      uint16_t lid)
{
	struct usiw_qp *qp = usiw_qp(ibqp);
	int err = mcast_check(qp, "attach_mcast");

	(void)lid;
	return usiw_result_int(err ? err : rnic_qp_attach(qp->rnic, gid->raw));
}

int usiw_detach_mcast(struct ibv_qp *ibqp, const union ibv_gid *gid,
		      uint16_t lid)
{
	struct usiw_qp *qp = usiw_qp(ibqp);
	int err = mcast_check(qp, "detach_mcast");

	(void)lid;
	return usiw_result_int(err ? err : rnic_qp_detach(qp->rnic, gid->raw));
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * rnic-cm-ud.h - identities for datagrams: the calls of kernel-abi/, with those
 * of rnic.h, whose first comment holds here, too.
 *
 * They take the same calls as others.  rnic_cm_connect() asks which QP the peer
 * has (SIDR), and ESTABLISHED says it; there is no connection.
 */
#ifndef RNIC_CM_UD_H
#define RNIC_CM_UD_H

#include "rnic/rnic.h"

/* The Q_Key of datagrams of rdma_cm. */
#define RNIC_CM_QKEY 0x01234567u

/*
 * @ps: RDMA_PS_UDP or RDMA_PS_IPOIB.
 * Return: 0; -EOPNOTSUPP: persona rnic, which has no datagrams; as
 *   rnic_cm_create().
 */
RNIC_EXPORT int rnic_cm_create_ud(struct rnic_cm_chan *chan, uint64_t uid,
				  uint16_t ps, uint32_t *ret_id);

/*
 * MULTICAST_JOIN follows, with the address of the group and RNIC_CM_QKEY.  It
 * has *ret_join instead of the identity's number, and @uid.  The application
 * attaches QPs by itself (rnic_qp_attach()).
 * Return: 0; -EINVAL: no group, not of the identity's family, or the identity
 *   is none for datagrams, or neither bound to a device nor resolved; -ENOENT;
 *   -ENOMEM; -EOPNOTSUPP: persona rnic.
 */
RNIC_EXPORT int rnic_cm_join(struct rnic_cm_chan *chan, uint32_t id,
			     const struct sockaddr *addr, size_t addr_len,
			     uint64_t uid, uint32_t *ret_join);
/* *ret_events_reported as of rnic_cm_destroy(), of the group.  Return: 0;
 * -ENOENT; -EOPNOTSUPP. */
RNIC_EXPORT int rnic_cm_leave(struct rnic_cm_chan *chan, uint32_t join,
			      uint32_t *ret_events_reported);

#endif

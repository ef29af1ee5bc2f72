/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * rnic-ud.h - datagrams: the calls of the verbs provider, with those of rnic.h,
 * whose first comment holds here, too.
 */
#ifndef RNIC_RNIC_UD_H
#define RNIC_RNIC_UD_H

#include "rnic/rnic.h"

/*
 * A UD QP goes from IDLE to RTS by itself, and receives from then
 * on. It has Q_Key and PSN of its sends. Everything else is in each WR (struct
 * usiw_ud_sqe).
 */
struct rnic_ud_options {
	uint32_t qkey;
	uint32_t psn; /* 24 bits */
};

/* Return: 0; -EINVAL: not IDLE; -ENOMEM; -errno of socket calls. */
RNIC_EXPORT int rnic_qp_ud_start(struct rnic_qp *qp,
				 const struct rnic_ud_options *opt);
/* Both change. IDLE: no effect. */
RNIC_EXPORT void rnic_qp_ud_set(struct rnic_qp *qp,
				const struct rnic_ud_options *opt);

/*
 * The QP gets what is sent to the group, with its Q_Key, from the network of
 * its device: also from processes of this host, and from itself.  To attach
 * twice is the same as once.
 * Return: 0; -EINVAL: no UD QP, or no group; -ENOMEM: too many QPs or groups;
 *   -errno of socket calls.
 */
RNIC_EXPORT int rnic_qp_attach(struct rnic_qp *qp, const uint8_t mgid[16]);
/* Return: 0; -EINVAL: it is not attached. */
RNIC_EXPORT int rnic_qp_detach(struct rnic_qp *qp, const uint8_t mgid[16]);
/* To any group? */
RNIC_EXPORT bool rnic_qp_is_attached(const struct rnic_qp *qp);

/* QPs of a group, and groups that a socket of Linux may join unless
 * net.ipv4.igmp_max_memberships says otherwise. */
#define RNIC_GROUP_QP_MAX 64
#define RNIC_GROUP_MAX 20

/* The longest payload of a datagram of that device: 256 to 4096 octets; 0: its
 * MTU is too small. */
RNIC_EXPORT uint32_t rnic_device_ud_mtu(const struct rnic_device_attr *attr);

/* Is it an address of this host? */
RNIC_EXPORT bool rnic_gid_is_own(const uint8_t gid[16]);

#endif

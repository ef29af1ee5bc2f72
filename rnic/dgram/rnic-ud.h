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

/* The longest payload of a datagram of that device: 256 to 4096 octets; 0: its
 * MTU is too small. */
RNIC_EXPORT uint32_t rnic_device_ud_mtu(const struct rnic_device_attr *attr);

/* Is it an address of this host? */
RNIC_EXPORT bool rnic_gid_is_own(const uint8_t gid[16]);

#endif

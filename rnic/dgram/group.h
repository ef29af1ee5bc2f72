/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which QPs of this process are attached to which multicast groups. */
#ifndef RNIC_GROUP_H
#define RNIC_GROUP_H

#include <stdint.h>

#include "libsiw-ib/include/siw-ib.h"
#include "rnic-ud.h"

/* The QPs of devices of interface @ifindex.  Return: how many. */
uint32_t rnic_group_members(const struct sib_gid *mgid, uint32_t ifindex,
			    uint32_t ret_num[RNIC_GROUP_QP_MAX]);

/* Those of a QP; of a context that ends. */
void rnic_group_leave_all(uint32_t num);
void rnic_group_forget(const struct rnic_context *ctx);

/* In a forked child: there are none. */
void rnic_group_fork_child(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The sockets of identities: bound to their port, or beside it. */
#ifndef RNIC_CM_BIND_H
#define RNIC_CM_BIND_H

#include "object.h"
#include "os/addr.h"

/* IDLE -> BOUND. Return: 0; -errno as bind(2) and rdma_bind_addr(3). */
int cm_id_bind(struct cm_id *id, rnic_addr_arg addr);
/* A socket with the options of the identity, on exactly this port; or
 * -errno. */
int cm_id_open_bound(const struct cm_id *id, rnic_addr_arg addr);
/* A socket to connect from, bound as the identity is; or -errno. */
int cm_id_open_source(const struct cm_id *id);
/* @addr is in use. Return: a socket on the port beside, and the identity is
 *   moved; -EADDRINUSE: the port is not used by a plain socket of the
 *   program. */
int cm_id_open_beside(struct cm_id *id, rnic_addr_arg addr);
/* Another socket, bound to the same address. On failure the state is IDLE. */
int cm_id_rebind(struct cm_id *id);

#endif

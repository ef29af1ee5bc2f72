/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The sockets of identities: bound to their port, or beside it. */
#ifndef RNIC_CM_BIND_H
#define RNIC_CM_BIND_H

#include "object.h"

/* IDLE -> BOUND.  Return: 0; -errno, as bind(2) and rdma_bind_addr(3) say. */
int cm_id_bind(struct cm_id *id, const struct sockaddr *addr);
/* A socket as the identity wants it, on exactly that port; or -errno. */
int cm_id_open_bound(const struct cm_id *id, const struct sockaddr *addr);
/* A socket to connect from, bound as the identity is; or -errno. */
int cm_id_open_source(const struct cm_id *id);
/* @addr was in use.  Return: a socket beside it, and the identity is moved;
 * -EADDRINUSE: it is not the program's plain socket that has it. */
int cm_id_open_beside(struct cm_id *id, const struct sockaddr *addr);
/* Another socket, bound to the same.  On failure the state is IDLE. */
int cm_id_rebind(struct cm_id *id);

#endif

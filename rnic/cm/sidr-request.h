/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The active side of datagrams: asks for the QP of a service, and tells the
 * application what came of it.  All calls are made with the manager locked. */
#ifndef RNIC_CM_SIDR_REQUEST_H
#define RNIC_CM_SIDR_REQUEST_H

#include "object.h"

/* The identity is in state ROUTE.  Return: 0; -EINVAL: it is not, or there is
 * too much private data; -errno. */
int cm_sidr_request(struct cm_id *id, const struct rnic_cm_conn_param *param);
/* The process's socket has answers. */
void cm_sidr_replies_ready(void);
/* No answer has come. */
void cm_sidr_request_again(struct rnic_timer *timer);
/* The peer's socket was full. */
void cm_sidr_request_full(struct cm_sidr *sidr);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The passive side of datagrams: a request makes an identity, and is answered.
 * All calls are made with the manager locked. */
#ifndef RNIC_CM_SIDR_ANSWER_H
#define RNIC_CM_SIDR_ANSWER_H

#include "object.h"

/* The socket of a listening identity has requests. */
void cm_service_ready(struct cm_id *id);
/* Both: the identity is in state REQUEST.  Return: 0; -EINVAL: it is not, or
 * there is too much private data. */
int cm_sidr_accept(struct cm_id *id, const struct rnic_cm_conn_param *param);
int cm_sidr_reject(struct cm_id *id, const void *pd, uint8_t pd_len);
/* The asker's socket was full. */
void cm_sidr_answer_full(struct cm_sidr *sidr);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The passive side: Request, child identity, accept or reject. */
#ifndef RNIC_CM_PASSIVE_H
#define RNIC_CM_PASSIVE_H

#include "object.h"

/* Takes over an accepted socket, which is closed on failure. */
void cm_passive_accepted(struct cm_id *listener, int fd);
/* The Request has arrived. */
void cm_passive_request(struct cm_conn *conn, const struct smpa_event *ev);
int cm_passive_accept(struct cm_id *id, const struct rnic_cm_conn_param *param);
/* ANSWERED: octets have arrived, or the peer has closed. */
void cm_passive_answered(struct cm_conn *conn);
/* Sends a Reply with R=1, then closes in order. The connection leaves its
 * identity. */
void cm_conn_reject(struct cm_conn *conn, const void *pd, uint8_t pd_len);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The orderly end of a connection that no QP took. */
#ifndef RNIC_CM_CLOSE_H
#define RNIC_CM_CLOSE_H

#include "object.h"

/* What is queued goes out, FIN, the peer's FIN is awaited, bounded. */
void cm_conn_close(struct cm_conn *conn);
/* The same, but for a while the peer may be the first to close. */
void cm_conn_close_behind_peer(struct cm_conn *conn);
/* How many there are of both kinds. */
uint32_t cm_conn_closing_cnt(void);
/* The socket is ready. */
void cm_conn_close_ready(struct cm_conn *conn);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The orderly end of a connection without a QP. */
#ifndef RNIC_CM_CLOSE_H
#define RNIC_CM_CLOSE_H

#include "object.h"

/* Sends what is queued and FIN, and waits for the peer's FIN, with a limit. */
void cm_conn_close(struct cm_conn *conn);
/* The same, but first gives the peer a while to close. */
void cm_conn_close_behind_peer(struct cm_conn *conn);
/* The number of connections that close in either way. */
uint32_t cm_conn_closing_cnt(void);
/* The socket is ready. */
void cm_conn_close_ready(struct cm_conn *conn);

#endif

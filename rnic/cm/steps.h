/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The steps of connections that are being set up. */
#ifndef RNIC_CM_STEPS_H
#define RNIC_CM_STEPS_H

#include "object.h"

/* The socket is ready; without @events: step the start exchange. */
void cm_conn_ready(struct cm_conn *conn, uint32_t events);
/* The time limit of its phase is over. */
void cm_conn_expire(struct rnic_timer *timer);
/* Sockets cannot be waited for any more: ends connections that are being set
 * up. Established connections are not affected. */
void cm_conns_broken(void);

#endif

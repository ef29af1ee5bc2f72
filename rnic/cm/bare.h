/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections without a QP. */
#ifndef RNIC_CM_BARE_H
#define RNIC_CM_BARE_H

#include "object.h"

/* The connection is established. Return: 0: it stays with its identity;
 * -errno. */
int cm_bare_stand(struct cm_conn *conn);
/* The application disconnects: DISCONNECTED, and an orderly close. */
void cm_bare_end(struct cm_conn *conn);
/* The socket is ready. */
void cm_bare_ready(struct cm_conn *conn, uint32_t events);

#endif

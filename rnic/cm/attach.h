/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The stream of a connection: opened, and taken by a QP. */
#ifndef RNIC_CM_ATTACH_H
#define RNIC_CM_ATTACH_H

#include "object.h"

int cm_conn_open_stream(struct cm_conn *conn, struct smpa_options *opt);
/* The identity is established by the connection. */
void cm_conn_stands(struct cm_conn *conn, struct cm_id *id);
/* The QP takes the stream, with reads at a time as agreed.  Return: 0;
 * -errno: the stream is still ours. */
int cm_conn_attach(struct cm_conn *conn, struct cm_id *id, struct rnic_qp *qp,
		   uint16_t ird, uint16_t ord);

#endif

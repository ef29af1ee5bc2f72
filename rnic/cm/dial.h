/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The active side's TCP connection. */
#ifndef RNIC_CM_DIAL_H
#define RNIC_CM_DIAL_H

#include "object.h"

/* A socket bound as the identity is; or -errno. */
int cm_dial_open_source(const struct cm_id *id);
/* Return: 0: connected, or under way; -errno: what connect() says at once. */
int cm_dial(struct cm_conn *conn, const struct sockaddr_storage *to);
bool cm_dial_is_connected(const struct cm_conn *conn);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The active side's TCP connection. */
#ifndef RNIC_START_DIAL_H
#define RNIC_START_DIAL_H

#include "object.h"

/*
 * A socket that connects from @local. The next try binds a port given there
 * again. Without one, TCP chooses a port at connect(), per destination. Return:
 * the socket, in the fd table; -errno. With or without any lock.
 */
int rnic_dial_open(const struct sockaddr_storage *local, uint8_t tos);

/* Return: 0: connected, or in progress; -errno: immediate error of connect().
 *   With or without any lock. */
int rnic_dial_connect(int fd, const struct sockaddr_storage *to);

/*
 * The state of the connection, at once and when the socket is ready.
 * Return: 1: connected; 0: in progress; -errno; -ECONNREFUSED also if TCP has
 *   connected the socket to itself.
 */
int rnic_dial_result(struct rnic_start *start);

#endif

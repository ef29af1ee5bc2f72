/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The active side's TCP connection. */
#ifndef RNIC_START_DIAL_H
#define RNIC_START_DIAL_H

#include "object.h"

/*
 * A socket that connects from @local.  A port there is bound again by the next
 * try; if there is none, TCP draws one at connect(), per destination.
 * Return: the socket, in the fd table; -errno.  Any lock or none.
 */
int rnic_dial_open(const struct sockaddr_storage *local, uint8_t tos);

/* Return: 0: connected, or under way; -errno: what connect() says at once.  Any
 * lock or none. */
int rnic_dial_connect(int fd, const struct sockaddr_storage *to);

/*
 * How far it is, at once and when the socket is ready.
 * Return: 1: connected; 0: under way; -errno; -ECONNREFUSED also if TCP has
 *   connected the socket to itself.
 */
int rnic_dial_result(struct rnic_start *start);

#endif

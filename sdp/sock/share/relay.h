/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A socket that others hold too: a forked child, an executed program, libc's
 * stdio. Its shadow then carries the data, and the process that has the
 * connection copies between the two. Every holder simply reads and writes, with
 * this library or without it.
 */
#ifndef SDP_SOCK_RELAY_H
#define SDP_SOCK_RELAY_H

#include <stdint.h>

#include "sock/base/table.h"

/* STARTING, STREAM: from now on the number is an ordinary stream of the kernel.
 * What was received before is there for the holders, if the pair has space for
 * it. Return: 0; -errno, and nothing has changed. */
int sdp_relay_enter(struct sdp_sock *sock);

/* Gives the numbers of @sock the file of @fd, which is closed. */
void sdp_relay_cover(struct sdp_sock *sock, int fd);

/* The last number in this process is closed. Return: true: other processes may
 * hold more; the relay ends the connection when they have closed them. */
bool sdp_relay_keeps(struct sdp_sock *sock);

/* Whether this process relays a socket. */
bool sdp_relay_is_any(void);

/* Whether something that holders have written has not reached the peer. */
bool sdp_relay_is_owing(void);

/* The process exits: ends the holders' stream and sends what they have written,
 * by @deadline of sdp_now_ns(). */
void sdp_relay_end(uint64_t deadline);

/* A forked child has no threads of relays. */
void sdp_relay_fork_child(void);

#endif

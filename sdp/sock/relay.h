/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A socket that others hold as well: a forked child, a program that was
 * executed, libc's own stdio.  Its shadow then carries the octets, and the
 * process that has the connection copies between the two.  Every holder simply
 * reads and writes, with this library or without.
 */
#ifndef SDP_SOCK_RELAY_H
#define SDP_SOCK_RELAY_H

#include <stdint.h>

#include "table.h"

/* STARTING, STREAM: from now on the number is the kernel's.  Return: 0;
 * -errno, nothing has changed. */
int sdp_relay_enter(struct sdp_sock *sock);

/* The holders find what had come before, if they have space for it. */
void sdp_relay_settle(struct sdp_sock *sock);

/* The last number here is closed.  Return: true: others may hold more; the
 * relay ends the connection when they have gone. */
bool sdp_relay_keeps(struct sdp_sock *sock);

/* Sleeps until the relay of @sock has ended. */
void sdp_relay_wait(struct sdp_sock *sock);

/* The process exits: the holders' stream ends, and what they have written goes
 * out, by @deadline of sdp_now_ns(). */
void sdp_relay_end(uint64_t deadline);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections that TCP has made: taken in, and bounded until their Request. */
#ifndef RNIC_START_ACCEPT_H
#define RNIC_START_ACCEPT_H

#include "object.h"

/*
 * Take what has come to @listener.
 * Return: 0: nothing is left; 1: there may be more, but others have their turn;
 *   -errno: out of descriptors or memory.
 */
int rnic_acceptor_take(struct rnic_acceptor *acceptor, int listener);

/*
 * Out of descriptors or memory the connection stays in TCP's queue, and the
 * socket stays readable: to look away for a moment keeps the thread from
 * spinning.  Then the timer expires.
 */
void rnic_acceptor_pause(struct rnic_acceptor *acceptor);

/* What it accepted is the parent's. */
void rnic_acceptor_fork_child(struct rnic_acceptor *acceptor);

#endif

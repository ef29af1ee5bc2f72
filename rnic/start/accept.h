/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Accepted TCP connections: their number is limited until their Request. */
#ifndef RNIC_START_ACCEPT_H
#define RNIC_START_ACCEPT_H

#include "object.h"

/* Keeps a descriptor with which connections can be refused when there is no
 * other. Locked. */
void rnic_acceptor_reserve(void);

/*
 * Accepts from @listener, or refuses if there is no descriptor for it.
 * Return: 0: nothing is left; 1: there may be more, but others must be served
 *   first; -errno: out of descriptors or memory.
 */
int rnic_acceptor_take(struct rnic_acceptor *acceptor, int listener);

/*
 * Without descriptors or memory the connection stays in TCP's queue, and the
 * socket stays readable. A pause keeps the thread from spinning. Then the timer
 * expires.
 */
void rnic_acceptor_pause(struct rnic_acceptor *acceptor);

/* In a forked child: accepted connections belong to the parent. */
void rnic_acceptor_fork_child(struct rnic_acceptor *acceptor);

#endif

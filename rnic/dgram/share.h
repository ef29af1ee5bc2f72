/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The sockets of the UDP port are the same ones in all processes of a user, so
 * that each of them can read what comes, whoever is stopped.
 *
 * The first process makes them, and listens at an abstract AF_UNIX name.  The
 * others connect there, and are given the sockets and the listener.  So each
 * that has them gives them, and they end with the last one.  Who asks waits for
 * nothing: until it is given them, another process reads, and hands on.
 *
 * All calls with the loop locked.
 */
#ifndef RNIC_SHARE_H
#define RNIC_SHARE_H

#include <stdint.h>

#define RNIC_SHARE_CNT 2 /* sockets: of IPv4 and of IPv6 */

/* What the loop waits for, as RNIC_LOOP_UDP: references that sockets do not
 * have. */
enum rnic_share_ref {
	RNIC_SHARE_LISTENER = 8,
	RNIC_SHARE_ASKER,
};

enum rnic_share {
	RNIC_SHARE_NONE,  /* another user has the name, or it does not work */
	RNIC_SHARE_FIRST, /* the caller makes them; rnic_share_set() follows */
	RNIC_SHARE_ASKED, /* rnic_share_take() will have them */
};

enum rnic_share rnic_share_begin(void);

/* What others are given.  Stays the caller's, until rnic_share_end().  -1:
 * there is none of that family. */
void rnic_share_set(const int fds[RNIC_SHARE_CNT]);

/* RNIC_SHARE_LISTENER is ready: others ask. */
void rnic_share_give(void);

/*
 * RNIC_SHARE_ASKER is ready.
 * Return: 0: *ret_fds are the caller's, in the fd table; -EAGAIN: not yet;
 *   -EPIPE: who was asked has ended, and the caller begins anew.
 */
int rnic_share_take(int ret_fds[RNIC_SHARE_CNT]);

/* The process neither asks nor gives any more. */
void rnic_share_end(void);

void rnic_share_fork_child(void);

#endif

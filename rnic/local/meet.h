/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How the two ends of a TCP connection find out that they are on one host, and
 * come to share memory, without an octet on the wire:
 *
 * 1. The active side listens at an abstract AF_UNIX name that is made of the
 *    addresses and ports of the TCP connection.
 * 2. The passive side connects there, and passes the memory.  If there is no
 *    listener, or none yet, it gets ECONNREFUSED.
 * 3. The active side takes what has been passed.
 *
 * Neither side waits for the other.  What has not happened is tried again
 * later, and the connection uses TCP meanwhile.
 *
 * The AF_UNIX connection stays: each end wakes the other one by it.  An eventfd
 * would be one file for both, which one end could make block in the other.
 */
#ifndef RNIC_LOCAL_MEET_H
#define RNIC_LOCAL_MEET_H

#include <stdint.h>
#include <sys/types.h>

#include "object.h"

/*
 * 1., of a connected TCP socket.
 * Return: the listening socket, in the fd table; -errno: all stays on TCP;
 *   -EOPNOTSUPP: USIW_LOCAL says so; -EREMOTE: the peer's address is not of
 *   this host; -EMFILE: so few descriptors are left that the application may
 *   need them.
 */
int rnic_meet_listen(int tcp_fd);

/* 2.  Return: 0; -errno: as above; -ECONNREFUSED: there is no listener;
 * -EACCES: the peer belongs to another user. */
int rnic_meet_offer(int tcp_fd, struct rnic_local **ret_local);

/* 3.  The listening socket stays the caller's.  Return: 0; -errno: as above;
 * -EAGAIN: nothing has been offered yet. */
int rnic_meet_take(int listen_fd, struct rnic_local **ret_local);

#endif

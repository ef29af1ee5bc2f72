/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How the two ends of a TCP connection find out that they are on one host, and
 * come to share memory, while MPA starts and without an octet on the wire:
 *
 * 1. Before its Request the active side listens at an abstract AF_UNIX name
 *    that is made of the addresses and ports of the TCP connection.
 * 2. Before its Reply the passive side connects there, and passes the memory.
 *    Without a listener, in another network namespace for example, it gets
 *    ECONNREFUSED, and all stays on TCP.
 * 3. Behind the Reply the active side takes what has been passed, if anything.
 *    Its first FPDU, which comes first by MPA's rule, goes by the ring then.
 *    So the passive side learns by its first octets what has been decided, and
 *    neither side ever waits for the other.
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
 *   this host.
 */
int rnic_meet_listen(int tcp_fd);

/* 2.  Return: 0; -errno: as above; -ECONNREFUSED: nobody listens; -EACCES: the
 * peer belongs to another user. */
int rnic_meet_offer(int tcp_fd, struct rnic_local **ret_local);

/* 3.  The listening socket stays the caller's, who closes it now.  Return: 0;
 * -errno: as above; -EAGAIN: nothing has been offered. */
int rnic_meet_take(int listen_fd, struct rnic_local **ret_local);

#endif

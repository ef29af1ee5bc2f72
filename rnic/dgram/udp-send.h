/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Packets out, by the UDP sockets, which are open (udp.h).  Any thread. */
#ifndef RNIC_UDP_SEND_H
#define RNIC_UDP_SEND_H

#include <stdint.h>
#include <sys/uio.h>

#include "libsiw-ib/include/siw-ib.h"

/*
 * @path: source and destination address, traffic class, and hop limit (0: the
 *   kernel's); ports are SIB_UDP_PORT.
 * @dev_ifindex: of the device: for groups and link-local addresses.
 * @iov: header, then payload, with a place for one more behind its @cnt.
 * Return: 0; -EAGAIN: the socket is full; -EFAULT: the payload cannot be read;
 *   other -errno: it is lost.
 */
int rnic_udp_send(const struct sib_path *path, uint32_t dev_ifindex,
		  struct iovec *iov, int cnt);

/* The same for a management datagram of SIB_MAD_SIZE octets, from QP 1 to
 * QP 1. */
int rnic_udp_send_mad(const struct sib_path *path, uint32_t dev_ifindex,
		      void *mad);

#endif

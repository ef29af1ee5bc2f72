/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Packets out, by the UDP sockets, which are open (udp.h).  Any thread. */
#ifndef RNIC_UDP_SEND_H
#define RNIC_UDP_SEND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "libsiw-ib/include/siw-ib.h"

/* The address that a GID is, with a port.  @ifindex: for groups and link-local
 * addresses.  Return: its length. */
socklen_t rnic_udp_addr(const struct sib_gid *gid, uint16_t port,
			uint32_t ifindex, struct sockaddr_storage *ret_addr);

/* The sockets that are open from here on; negative: there is none. */
void rnic_udp_send_by(int ipv4_fd, int ipv6_fd);
int rnic_udp_send_fd(bool is_ipv4);

#define RNIC_UDP_BATCH 16u /* packets of one system call */
#define RNIC_UDP_PIECES 32 /* of a payload */

struct rnic_udp_datagram {
	struct sib_hdr hdr;
	/* Both addresses, traffic class, and hop limit (0: the kernel's);
	 * dst_port is SIB_UDP_PORT, and the socket has its own. */
	struct sib_path path;
	uint32_t dev_ifindex;	 /* for groups and link-local addresses */
	const struct iovec *iov; /* @cnt pieces of the payload, of @len */
	int cnt;
	uint32_t len;
};

/* Packets that leave together.  NULL: out of memory; free() ends it. */
struct rnic_udp_batch;
struct rnic_udp_batch *rnic_udp_batch_new(void);

/* Return: 0; -ENOSPC: it is full, or of the other IP version; -EFAULT: the
 * payload cannot be read; -EINVAL. */
int rnic_udp_batch_add(struct rnic_udp_batch *batch,
		       const struct rnic_udp_datagram *datagram);

/*
 * Sends them, and empties the batch.
 * Return: how many have left, the first ones.  *ret_err: 0; or why not the next
 * one: -EAGAIN: the socket is full; -EFAULT; other -errno: it is lost.
 */
uint32_t rnic_udp_batch_send(struct rnic_udp_batch *batch, int *ret_err);

/*
 * A management datagram of SIB_MAD_SIZE octets, from QP 1 to QP 1.  @path and
 * @dev_ifindex as above.  Return: 0; errors as above.
 */
int rnic_udp_send_mad(const struct sib_path *path, uint32_t dev_ifindex,
		      void *mad);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Datagrams for a command that captures them (abi/usiw-packet.h).  Any thread,
 * once rnic_observed() has said that there is one.
 */
#ifndef RNIC_DGRAM_TAP_H
#define RNIC_DGRAM_TAP_H

#include "abi/usiw-packet.h"
#include "host.h"

/* @iov: the payload of UDP, BTH to ICRC.  @path: src_port, too. */
void rnic_dgram_tap_packet(uint32_t qp_num, const struct sib_path *path,
			   const struct iovec *iov, int cnt);

/*
 * The same for a datagram that is no packet, or is one no more: it is made from
 * @head.  Of what comes by UDP the sender's port is not known any more.
 * @iov: the payload, which may be the application's memory.
 */
void rnic_dgram_tap(uint32_t qp_num, bool is_sent, enum usiw_carrier carrier,
		    const struct rnic_host_head *head, const struct iovec *iov,
		    int cnt);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The QPs of this host that a UD QP sends to.  Datagrams go by AF_UNIX until
 * the other QP has given its inbox, and by that from then on.  A QP that is not
 * known is asked for it with the first datagram.
 */
#ifndef RNIC_PEER_H
#define RNIC_PEER_H

#include "host.h"
#include "object.h"

/*
 * @iov[0] is the head.
 * Return: as rnic_host_send().
 */
int rnic_peer_send(struct rnic_ud *ud, uint32_t num, struct iovec *iov,
		   int cnt);

/* Do datagrams go to its inbox? */
bool rnic_peer_has_inbox(const struct rnic_ud *ud, uint32_t num);

/* An inbox was given: @fd is closed. */
void rnic_peer_given(struct rnic_ud *ud, uint32_t num, int fd);

/* The QP ends. */
void rnic_peers_free(struct rnic_ud *ud);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Making links, for the carriers. */
#ifndef SDP_LINK_OBJECT_H
#define SDP_LINK_OBJECT_H

#include <netinet/in.h>

#include "state.h"

/* A name is an address of IPv4 or IPv6, with a port. */
static inline socklen_t link_name_len(const struct sockaddr *name)
{
	return name->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					   : sizeof(struct sockaddr_in);
}

static inline void link_name_set_port(struct sockaddr_storage *name,
				      uint16_t port)
{
	if (name->ss_family == AF_INET6)
		((struct sockaddr_in6 *)name)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)name)->sin_port = htons(port);
}

/* @cm: by rdma_cm, or NULL.  The link has a QP in INIT, its core has been
 * started, Hello's octets are there (Connecting Peer), no other thread knows
 * it. Return: 0; -ENOMEM ... */
int sdp_link_new(struct sdp_link **ret_link, struct sdp_dev *dev,
		 struct rdma_cm_id *cm, enum sdp_role role,
		 enum sdp_carrier carrier, const struct sdp_link_options *opt);

/* A link between two carriers gets the next one's queue pair.  Return: 0;
 * -ECANCELED: it has ended meanwhile; -ENOMEM ... */
int sdp_link_renew(struct sdp_link *link, struct rdma_cm_id *cm,
		   enum sdp_role role, enum sdp_carrier carrier);

/* A link that came to nothing. */
void sdp_link_discard(struct sdp_link *link);

/* The carrier stands: private data of the answer or NULL, and RDMA Reads that
 * were agreed on.  Then waits for HelloAck.  Return: 0; -EPROTO,
 * -ECONNREFUSED, -ETIMEDOUT. */
int sdp_link_stand_up(struct sdp_link *link, const void *octets, size_t len,
		      uint16_t ord, uint64_t deadline);

/* @ret_outcome (or NULL) from @err, with @peer in the text. */
int sdp_link_tell(struct sdp_outcome *ret_outcome, int err, bool has_sent,
		  const struct sockaddr *peer, const char *what);

#endif

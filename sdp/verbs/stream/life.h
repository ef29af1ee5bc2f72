/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Functions for the carriers to make links. */
#ifndef SDP_LINK_OBJECT_H
#define SDP_LINK_OBJECT_H

#include "verbs/link/name.h"
#include "verbs/link/state.h"

/* @cm: identity for a carrier by rdma_cm, or NULL. The new link has a QP in
 *   INIT and a started core. On the Connecting Peer the octets of the Hello are
 *   ready. No other thread uses the link. Return: 0; -ENOMEM ... */
int sdp_link_new(struct sdp_link **ret_link, struct sdp_dev *dev,
		 struct rdma_cm_id *cm, enum sdp_role role,
		 enum sdp_carrier carrier, const struct sdp_link_options *opt);

/* During a move: gives the link the queue pair of the next carrier. Return: 0;
 * -ECANCELED: the link has ended; -ENOMEM ... */
int sdp_link_renew(struct sdp_link *link, struct rdma_cm_id *cm,
		   enum sdp_role role, enum sdp_carrier carrier);

/* Asks the peer's RNIC, and waits until it has answered, or the carrier has
 * ended: see sdp_verbs_confirm(). Return: 0; -ETIMEDOUT; -ENOTCONN: there is no
 * carrier to ask by. */
void sdp_link_confirm_begin(struct sdp_link *link);
int sdp_link_confirm_end(struct sdp_link *link, uint64_t deadline);

/* Frees a link after a failed start. */
void sdp_link_discard(struct sdp_link *link);

/* The peer's Hello. Posts the receives, which must precede the start of the
 * carrier, and makes the HelloAck in link->start.hello, or the rejection.
 * Return: 0; -errno: it is refused. */
int sdp_link_take_hello(struct sdp_link *link, const void *hello, size_t len);

/* The carrier is established. @octets: private data of the answer, or NULL;
 * @ord: RDMA Reads that were negotiated. Waits for HelloAck. Return: 0;
 * -EPROTO, -ECONNREFUSED, -ETIMEDOUT. */
int sdp_link_stand_up(struct sdp_link *link, const void *octets, size_t len,
		      uint16_t ord, uint64_t deadline);

/* Fills @ret_outcome (or NULL) from @err; its text names @peer. */
int sdp_link_tell(struct sdp_outcome *ret_outcome, int err, bool has_sent,
		  const struct sockaddr *peer, const char *what);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Carries events and work between a connection and its queue pair. */
#ifndef SDP_DRIVE_H
#define SDP_DRIVE_H

#include "state.h"

/*
 * Call it after every call on the connection. It handles events and posts work
 * until there is no more, then updates the state. @news: as for
 * sdp_notice_update(). The link's lock is held.
 */
void sdp_drive(struct sdp_link *link, unsigned int news);

/* A message of @len octets was received in @buf. Call sdp_drive()
 * afterwards. */
void sdp_drive_message(struct sdp_link *link, struct sdp_pbuf *buf,
		       uint32_t len, const uint32_t *inv_stag);

/* The core was told about the carrier: handles the messages that arrived
 * earlier. */
void sdp_drive_started(struct sdp_link *link);

/* Posts a Read without octets, which is answered behind all that was sent. The
 * link's lock is held. */
void sdp_drive_confirm(struct sdp_link *link);

/* Sends gathered octets. Call sdp_drive() afterwards. */
void sdp_drive_push(struct sdp_link *link);

/* Whether a Send with payload has not completed. */
bool sdp_drive_is_sending(const struct sdp_link *link);

/* Whether the peer waits for the next carrier and no thread connects it yet. A
 * second thread is not started before the first one has ended. */
bool sdp_drive_is_to_move(const struct sdp_link *link);

/* rdma_cm has ended the carrier: the next pass serves the link. Needs no
 * lock. */
void sdp_drive_cm_over(struct sdp_link *link);

#endif

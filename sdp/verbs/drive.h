/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Carries events and work between a connection and its queue pair. */
#ifndef SDP_DRIVE_H
#define SDP_DRIVE_H

#include "state.h"

/*
 * After every call on the connection: takes its events, posts its work, until
 * there is no more; then the state.  @news: as sdp_notice_update() has it.
 * The link's lock is held.
 */
void sdp_drive(struct sdp_link *link, unsigned int news);

/* A message was received, @len octets in @buf.  sdp_drive() is due. */
void sdp_drive_message(struct sdp_link *link, struct sdp_pbuf *buf,
		       uint32_t len, const uint32_t *inv_stag);

/* The core knows of the carrier: what came early is taken now. */
void sdp_drive_started(struct sdp_link *link);

/* Gathered octets go out.  sdp_drive() is due. */
void sdp_drive_push(struct sdp_link *link);

/* Whether a Send with payload has not completed. */
bool sdp_drive_is_sending(const struct sdp_link *link);

/* Whether the peer waits for the next carrier, and no thread makes it.  The
 * next one is not made before the thread that made the last one has ended. */
bool sdp_drive_is_to_move(const struct sdp_link *link);

/* Whether it is one that ends a connection, and is told once. */
bool sdp_drive_is_end(int error);

/* The connection failed here; the state says so after sdp_drive(). */
void sdp_drive_error(struct sdp_link *link, int error);

/* The link is to be looked at not later than its deadline. */
void sdp_drive_arm(struct sdp_link *link);

/* At once.  No lock is needed. */
void sdp_drive_hurry(struct sdp_link *link);

#endif

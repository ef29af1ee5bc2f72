/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sizes of receive Private Buffers, and ChRcvBuf (doc/spec/sdp.md 2.G).
 */
#ifndef SDP_RESIZE_H
#define SDP_RESIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "msg/msg.h"

struct sdp_resize {
	/* The peer's buffers: how much we may send, what we requested. */
	uint32_t peer_size;
	uint32_t asked;
	uint32_t size_before; /* is_asking: peer_size before the request */
	bool is_asking;
	bool is_void; /* our request crossed the peer's, which has priority */
	bool no_larger, no_smaller; /* was refused once (SDP-131) */
	/* Our buffers. */
	uint32_t own_size; /* as announced to the peer (SDP-130) */
	uint32_t new_size; /* of receives posted from now on */
	uint32_t wanted;   /* the peer's request; the owner decides */
	uint32_t old_cnt;  /* posted receives of the old size */
	bool is_wanted;
	bool is_answer_due; /* sent as soon as old_cnt is 0 */
};

void sdp_resize_init(struct sdp_resize *r, uint32_t own_size);
/* Takes the size from the peer's Hello or HelloAck. */
void sdp_resize_on_hello(struct sdp_resize *r, uint32_t peer_size);

/* Maximum payload of a message with that MID (SDP-30, SDP-80). */
uint32_t sdp_resize_payload_max(const struct sdp_resize *r, uint8_t mid);

/**
 * sdp_resize_may_ask - whether ChRcvBuf with @size may be sent
 * Return: 0; -EBUSY: a request of either side is unanswered; -EPERM: an earlier
 *   request in this direction was refused (SDP-131); -EINVAL: the peer has
 *   @size already, or @size is out of range.
 */
int sdp_resize_may_ask(const struct sdp_resize *r, uint32_t size);
void sdp_resize_sent_request(struct sdp_resize *r, uint32_t size);

enum sdp_fault sdp_resize_on_request(struct sdp_resize *r, uint32_t size,
				     bool is_accepting);
enum sdp_fault sdp_resize_on_ack(struct sdp_resize *r, uint32_t size);

/* The owner's answer to @wanted: receives have @size from now on, and @posted
 * receives have the old size. Limits @size to the range of SDP-124 and
 * SDP-125. */
void sdp_resize_decide(struct sdp_resize *r, uint32_t size, uint32_t posted);

/* A receive was used. Receives of the old size are used first. */
void sdp_resize_used(struct sdp_resize *r);

/* Whether ChRcvBufAck may be sent. It carries @new_size. */
bool sdp_resize_is_ack_due(const struct sdp_resize *r);
void sdp_resize_sent_ack(struct sdp_resize *r);

#endif

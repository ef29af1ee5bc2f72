/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sizes of receive Private Buffers, and ChRcvBuf (doc/spec/sdp.md 2.G).
 */
#ifndef SDP_RESIZE_H
#define SDP_RESIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/fault.h"
#include "msg/msg.h"

struct sdp_resize {
	/* the peer's buffers: what we may send, what we asked for */
	uint32_t peer_size;
	uint32_t asked;
	uint32_t size_before; /* is_asking: peer_size before */
	bool is_asking;
	bool is_void; /* our request crossed the peer's, which has priority */
	bool no_larger, no_smaller; /* refused once (SDP-131) */
	/* our buffers */
	uint32_t own_size; /* as the peer knows it (SDP-130) */
	uint32_t new_size; /* for receives that are posted from now on */
	uint32_t wanted;   /* the peer's request, for the owner to decide */
	uint32_t old_cnt;  /* old-size receives that still stand */
	bool is_wanted;
	bool is_answer_due; /* as soon as old_cnt is 0 */
};

void sdp_resize_init(struct sdp_resize *r, uint32_t own_size);
/* The peer's Hello or HelloAck. */
void sdp_resize_on_hello(struct sdp_resize *r, uint32_t peer_size);

/* Largest payload behind the headers of @mid (SDP-30, SDP-80). */
uint32_t sdp_resize_payload_max(const struct sdp_resize *r, uint8_t mid);

/**
 * sdp_resize_may_ask - whether ChRcvBuf with @size may be sent
 * Return: 0; -EBUSY: one is unanswered in either direction; -EPERM: an
 *   earlier one of that direction was refused (SDP-131); -EINVAL: @size is
 *   what the peer has, or out of range.
 */
int sdp_resize_may_ask(const struct sdp_resize *r, uint32_t size);
void sdp_resize_sent_request(struct sdp_resize *r, uint32_t size);

enum sdp_fault sdp_resize_on_request(struct sdp_resize *r, uint32_t size,
				     bool is_accepting);
enum sdp_fault sdp_resize_on_ack(struct sdp_resize *r, uint32_t size);

/* The owner's answer to @wanted: receives have @size from now on; @posted
 * old ones stand.  Brought into the range that SDP-124 and SDP-125 allow. */
void sdp_resize_decide(struct sdp_resize *r, uint32_t size, uint32_t posted);

/* A receive was used.  Those of the old size go first. */
void sdp_resize_used(struct sdp_resize *r);

/* ChRcvBufAck may go out, with @new_size in it. */
bool sdp_resize_is_ack_due(const struct sdp_resize *r);
void sdp_resize_sent_ack(struct sdp_resize *r);

#endif

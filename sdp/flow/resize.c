/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Resizing of receive Private Buffers.
 */
#include "flow/resize.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

void sdp_resize_init(struct sdp_resize *r, uint32_t own_size)
{
	memset(r, 0, sizeof(*r));
	r->own_size = own_size;
	r->new_size = own_size;
}

void sdp_resize_on_hello(struct sdp_resize *r, uint32_t peer_size)
{
	r->peer_size = peer_size;
}

uint32_t sdp_resize_payload_max(const struct sdp_resize *r, uint8_t mid)
{
	return r->peer_size - (uint32_t)sdp_mid_header_size(mid);
}

/* ---- requests ---- */

int sdp_resize_may_ask(const struct sdp_resize *r, uint32_t size)
{
	if (size < SDP_BUF_SIZE_MIN || size > SDP_LEN_MAX ||
	    size == r->peer_size)
		return -EINVAL;
	/* SDP-132. Not while the peer waits for an answer either: the peer
	 * would take the request for one that crossed its own. */
	if (r->is_asking || r->is_wanted || r->is_answer_due)
		return -EBUSY;
	if (size > r->peer_size ? r->no_larger : r->no_smaller)
		return -EPERM;
	return 0;
}

void sdp_resize_sent_request(struct sdp_resize *r, uint32_t size)
{
	assert(!sdp_resize_may_ask(r, size));
	r->is_asking = true;
	r->is_void = false;
	r->asked = size;
	r->size_before = r->peer_size;
	if (size < r->peer_size)
		r->peer_size = size; /* SDP-120; larger: SDP-121 */
}

/* Table of part 4. */
static bool is_answer_valid(const struct sdp_resize *r, uint32_t size)
{
	if (size > SDP_LEN_MAX)
		return false;
	if (r->asked < r->size_before)
		return size >= r->asked && size <= r->size_before;
	return size >= r->size_before;
}

enum sdp_fault sdp_resize_on_ack(struct sdp_resize *r, uint32_t size)
{
	if (!r->is_asking && !r->is_void)
		return SDP_FAULT_RESIZE;
	if (!is_answer_valid(r, size))
		return SDP_FAULT_RESIZE;
	if (size == r->size_before && r->asked > r->size_before)
		r->no_larger = true;
	if (size == r->size_before && r->asked < r->size_before)
		r->no_smaller = true;
	r->peer_size = size; /* SDP-122 */
	r->is_asking = false;
	r->is_void = false;
	return SDP_FAULT_NONE;
}

/* ---- answers ---- */

enum sdp_fault sdp_resize_on_request(struct sdp_resize *r, uint32_t size,
				     bool is_accepting)
{
	if (r->is_wanted || r->is_answer_due)
		return SDP_FAULT_RESIZE; /* SDP-132 */
	if (r->is_asking && is_accepting)
		return SDP_FAULT_NONE; /* SDP-133 */
	if (r->is_asking) {
		/* Our request is void and gets no answer (C25). If an answer
		 * comes nevertheless, the peer's request did not cross ours. */
		r->is_asking = false;
		r->is_void = true;
		r->peer_size = r->size_before;
	}
	r->wanted = size < SDP_BUF_SIZE_MIN ? SDP_BUF_SIZE_MIN : size;
	r->is_wanted = true;
	return SDP_FAULT_NONE;
}

void sdp_resize_decide(struct sdp_resize *r, uint32_t size, uint32_t posted)
{
	uint32_t old = r->own_size;

	assert(r->is_wanted);
	if (r->wanted > SDP_LEN_MAX || r->wanted == old ||
	    (r->wanted > old && size < old))
		size = old; /* SDP-125, SDP-129, C25 */
	else if (r->wanted < old && size > old)
		size = old;
	else if (r->wanted < old && size < r->wanted)
		size = r->wanted; /* SDP-124 */
	r->is_wanted = false;
	r->is_answer_due = true;
	r->new_size = size;
	/* All posted receives count, with the spare (SDP-128). A smaller size
	 * is answered at once (SDP-127). */
	r->old_cnt = size > old ? posted : 0;
}

void sdp_resize_used(struct sdp_resize *r)
{
	if (r->old_cnt)
		r->old_cnt--;
}

bool sdp_resize_is_ack_due(const struct sdp_resize *r)
{
	return r->is_answer_due && !r->old_cnt;
}

void sdp_resize_sent_ack(struct sdp_resize *r)
{
	assert(sdp_resize_is_ack_due(r));
	r->is_answer_due = false;
	r->own_size = r->new_size;
}

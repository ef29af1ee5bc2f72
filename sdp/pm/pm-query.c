/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The Port Mapper's client, without its socket. */
#include "pm/pm-query.h"

#include <string.h>

void sdp_pm_query_start(struct sdp_pm_query *query, uint64_t now_ms,
			const struct sdp_pm_msg *req, uint32_t timeout_ms,
			uint32_t send_cnt)
{
	*query = (struct sdp_pm_query){
		.state = SDP_PM_QUERY_ASKING,
		.req = *req,
		.due_ms = now_ms,
		.wait_ms = timeout_ms,
		.sends_left = send_cnt,
	};
	query->req.type = SDP_PM_REQ; /* SDP-252 */
	query->req.time = 0;
}

/* SDP-260: sends the same PMReq again; the wait doubles each time. */
static size_t ask(struct sdp_pm_query *query, uint64_t now_ms, uint8_t *out)
{
	if (now_ms < query->due_ms)
		return 0;
	if (query->sends_left == 0) {
		query->state = SDP_PM_QUERY_NO_ANSWER; /* SDP-263 */
		return 0;
	}
	query->sends_left--;
	query->due_ms = now_ms + query->wait_ms;
	if (query->wait_ms <= UINT32_MAX / 2)
		query->wait_ms *= 2;
	sdp_pm_msg_encode(&query->req, out);
	return SDP_PM_SIZE;
}

size_t sdp_pm_query_next(struct sdp_pm_query *query, uint64_t now_ms,
			 uint8_t *out)
{
	struct sdp_pm_msg ack;

	if (query->state == SDP_PM_QUERY_ASKING)
		return ask(query, now_ms, out);
	if (!query->is_ack_due)
		return 0;
	query->is_ack_due = false;
	ack = query->answer; /* SDP-254 */
	ack.type = SDP_PM_ACK;
	ack.time = 0;
	sdp_pm_msg_encode(&ack, out);
	return SDP_PM_SIZE;
}

static bool is_zero(const uint8_t *octets, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (octets[i])
			return false;
	return true;
}

/* SDP-265: compares AssocHandle, CpPort and CpIPAddr. Replies repeat IPV
 * (SDP-251). */
static bool is_answer(const struct sdp_pm_msg *req,
		      const struct sdp_pm_msg *msg)
{
	if (msg->ipv != req->ipv || msg->handle != req->handle ||
	    msg->cp_port != req->cp_port ||
	    memcmp(msg->cp_addr, req->cp_addr, sizeof(msg->cp_addr)))
		return false;
	if (msg->type == SDP_PM_DENY)
		return true;
	/* An accept without a usable address does not count. */
	return msg->type == SDP_PM_ACCEPT && msg->ap_port &&
	       !is_zero(msg->ap_addr, sizeof(msg->ap_addr));
}

bool sdp_pm_query_receive(struct sdp_pm_query *query, const uint8_t *buf,
			  size_t len)
{
	struct sdp_pm_msg msg;

	/* SDP-265: the first reply counts, later ones are discarded. */
	if (query->state != SDP_PM_QUERY_ASKING ||
	    sdp_pm_msg_decode(buf, len, &msg) < 0 ||
	    !is_answer(&query->req, &msg))
		return false;
	query->answer = msg;
	query->is_ack_due = msg.type == SDP_PM_ACCEPT; /* SDP-255 */
	query->state = msg.type == SDP_PM_ACCEPT ? SDP_PM_QUERY_ACCEPTED
						 : SDP_PM_QUERY_DENIED;
	return true;
}

uint64_t sdp_pm_query_due_ms(const struct sdp_pm_query *query)
{
	if (query->state == SDP_PM_QUERY_ASKING)
		return query->due_ms;
	return query->is_ack_due ? 0 : UINT64_MAX;
}

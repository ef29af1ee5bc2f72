/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One query to a Port Mapper, as a state machine without sockets and clocks.
 * Datagrams and times go in; datagrams and a result come out.
 *
 * Order of calls: start; then, whenever due_ms is reached or something was
 * received: receive for each datagram, and next until it returns 0.
 */
#ifndef SDP_PM_QUERY_H
#define SDP_PM_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pm/pm-msg.h"

enum sdp_pm_query_state {
	SDP_PM_QUERY_ASKING,
	SDP_PM_QUERY_ACCEPTED,
	SDP_PM_QUERY_DENIED,
	SDP_PM_QUERY_NO_ANSWER,
};

/* The caller may read only state and answer. */
struct sdp_pm_query {
	enum sdp_pm_query_state state;
	struct sdp_pm_msg answer; /* the PMAccept or PMDeny */
	struct sdp_pm_msg req;
	uint64_t due_ms;
	uint32_t wait_ms;
	uint32_t sends_left;
	bool is_ack_due;
};

/**
 * sdp_pm_query_start - begin a query
 * @req: family, addresses, ports and AssocHandle of the PMReq; this function
 *   sets type and time.
 * @timeout_ms: time between the first and the second PMReq; doubled for each
 *   further one.
 * @send_cnt: total number of PMReqs, at least 1.
 */
void sdp_pm_query_start(struct sdp_pm_query *query, uint64_t now_ms,
			const struct sdp_pm_msg *req, uint32_t timeout_ms,
			uint32_t send_cnt);

/* The datagram to send now. Return: SDP_PM_SIZE, and @out is set; 0: none. The
 * last time-out ends the query in this function. */
size_t sdp_pm_query_next(struct sdp_pm_query *query, uint64_t now_ms,
			 uint8_t *out);

/* Handles a datagram from the server. Drops it if it is not an answer to this
 * query.
 * Return: true: it was the answer. */
bool sdp_pm_query_receive(struct sdp_pm_query *query, const uint8_t *buf,
			  size_t len);

/* The latest time at which sdp_pm_query_next() must be called; UINT64_MAX: the
 * query has ended. */
uint64_t sdp_pm_query_due_ms(const struct sdp_pm_query *query);

#endif

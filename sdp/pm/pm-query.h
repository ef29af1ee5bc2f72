/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One question to a Port Mapper, as a state machine without sockets and
 * clocks: datagrams and times go in, datagrams and a result come out.
 *
 * The order of calls: start; then whenever due_ms has come or something was
 * received: receive for each datagram, next until it returns 0.
 */
#ifndef SDP_PM_QUERY_H
#define SDP_PM_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pm/pm-msg.h"

#define SDP_PM_QUERY_TIMEOUT_MS 250u
#define SDP_PM_QUERY_SENDS 4u

enum sdp_pm_query_state {
	SDP_PM_QUERY_ASKING,
	SDP_PM_QUERY_ACCEPTED,
	SDP_PM_QUERY_DENIED,
	SDP_PM_QUERY_NO_ANSWER,
};

/* Only state and answer are for the caller. */
struct sdp_pm_query {
	enum sdp_pm_query_state state;
	struct sdp_pm_msg answer; /* the PMAccept; the PMDeny */
	struct sdp_pm_msg req;
	uint64_t due_ms;
	uint32_t wait_ms;
	uint32_t sends_left;
	bool is_ack_due;
};

/**
 * sdp_pm_query_start - begin
 * @req: family, addresses, ports and AssocHandle of the PMReq; its type and
 *   time are set here.
 * @timeout_ms: until the second PMReq; doubled for each further one.
 * @send_cnt: PMReqs in all, at least 1.
 */
void sdp_pm_query_start(struct sdp_pm_query *query, uint64_t now_ms,
			const struct sdp_pm_msg *req, uint32_t timeout_ms,
			uint32_t send_cnt);

/* The datagram that is to be sent now.  Return: SDP_PM_SIZE, @out is set; 0:
 * none.  It is here that the last time-out ends the query. */
size_t sdp_pm_query_next(struct sdp_pm_query *query, uint64_t now_ms,
			 uint8_t *out);

/* A datagram from the server: what is no answer to this question is dropped.
 * Return: true: it was the answer. */
bool sdp_pm_query_receive(struct sdp_pm_query *query, const uint8_t *buf,
			  size_t len);

/* When sdp_pm_query_next() is to be called, at the latest; UINT64_MAX: the
 * query is over. */
uint64_t sdp_pm_query_due_ms(const struct sdp_pm_query *query);

#endif

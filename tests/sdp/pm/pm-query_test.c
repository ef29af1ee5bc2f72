/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One query to a Port Mapper: what is sent when, and what ends it. */
#include "test.h"

#include <stdbool.h>
#include <string.h>

#include "pm/pm-query.h"

#define NOW 1000000

static const struct sdp_pm_msg request = {
	.type = SDP_PM_DENY, /* set by the query */
	.ipv = 4,
	.time = 9,
	.ap_port = 80,
	.cp_port = 40000,
	.handle = 0x0102030405060708,
	.cp_addr = { 10, 0, 0, 1 },
	.ap_addr = { 10, 0, 0, 2 },
};

static void start(struct sdp_pm_query *query)
{
	sdp_pm_query_start(query, NOW, &request, 250, 4);
}

static bool receive(struct sdp_pm_query *query, const struct sdp_pm_msg *msg)
{
	uint8_t buf[SDP_PM_SIZE];

	sdp_pm_msg_encode(msg, buf);
	return sdp_pm_query_receive(query, buf, sizeof(buf));
}

static struct sdp_pm_msg reply(enum sdp_pm_type type)
{
	struct sdp_pm_msg msg = request;

	msg.type = (uint8_t)type;
	msg.ap_port = 4242;
	return msg;
}

/* T84: the vector of 1.10. */
CASE(sends_a_pm_req)
{
	static const uint8_t want[SDP_PM_SIZE] = {
		0x04, 0, 0, 0, 0,  0x50, 0x9c, 0x40, 1,		2, 3, 4,
		5,    6, 7, 8, 10, 0,	 0,    1,    [32] = 10, 0, 0, 2,
	};
	struct sdp_pm_query query;
	uint8_t out[SDP_PM_SIZE];

	start(&query);
	assert_true(sdp_pm_query_due_ms(&query) <= NOW);
	assert_int_equal(sdp_pm_query_next(&query, NOW, out), SDP_PM_SIZE);
	assert_memory_equal(out, want, sizeof(want));
	assert_int_equal(sdp_pm_query_next(&query, NOW, out), 0);
}

/* T86: the same four times, after 250, 500, 1000 ms; the end after 2000 ms. */
CASE(repeats_the_same_and_gives_up)
{
	static const unsigned int at_ms[] = { 0, 250, 750, 1750 };
	uint8_t first[SDP_PM_SIZE], out[SDP_PM_SIZE];
	struct sdp_pm_query query;

	start(&query);
	for (size_t i = 0; i < ARRAY_LEN(at_ms); i++) {
		assert_int_equal(sdp_pm_query_due_ms(&query), NOW + at_ms[i]);
		if (i)
			assert_int_equal(sdp_pm_query_next(&query,
							   NOW + at_ms[i] - 1,
							   out),
					 0);
		assert_int_equal(sdp_pm_query_next(&query, NOW + at_ms[i], out),
				 SDP_PM_SIZE);
		if (i == 0)
			memcpy(first, out, sizeof(first));
		assert_memory_equal(out, first, sizeof(first));
	}
	assert_int_equal(sdp_pm_query_due_ms(&query), NOW + 3750);
	assert_int_equal(sdp_pm_query_next(&query, NOW + 3749, out), 0);
	assert_int_equal(query.state, SDP_PM_QUERY_ASKING);
	assert_int_equal(sdp_pm_query_next(&query, NOW + 3750, out), 0);
	assert_int_equal(query.state, SDP_PM_QUERY_NO_ANSWER);
	assert_true(sdp_pm_query_due_ms(&query) == UINT64_MAX);
	/* T92: too late. */
	assert_false(receive(&query, &(struct sdp_pm_msg){ .ipv = 4 }));
	assert_int_equal(sdp_pm_query_next(&query, NOW + 9999, out), 0);
}

/* T87: the answer to a repeated PMReq, after the first answer was lost. */
CASE(acknowledges_the_accept_once)
{
	struct sdp_pm_msg accept = reply(SDP_PM_ACCEPT);
	uint8_t out[SDP_PM_SIZE], ack[SDP_PM_SIZE];
	struct sdp_pm_query query;

	start(&query);
	sdp_pm_query_next(&query, NOW, out);
	sdp_pm_query_next(&query, NOW + 250, out);
	accept.time = 40;
	accept.ap_addr[3] = 9;
	assert_true(receive(&query, &accept));
	assert_int_equal(query.state, SDP_PM_QUERY_ACCEPTED);
	assert_int_equal(query.answer.ap_port, 4242);
	assert_int_equal(query.answer.ap_addr[3], 9);
	assert_int_equal(query.answer.time, 40);
	assert_int_equal(sdp_pm_query_due_ms(&query), 0);
	assert_int_equal(sdp_pm_query_next(&query, NOW + 260, out),
			 SDP_PM_SIZE);
	assert_int_equal(out[0], 0x24);
	accept.type = SDP_PM_ACK;
	accept.time = 0;
	sdp_pm_msg_encode(&accept, ack);
	assert_memory_equal(out, ack, sizeof(ack));
	/* T92: a second answer changes nothing and is not acknowledged. */
	accept = reply(SDP_PM_ACCEPT);
	assert_false(receive(&query, &accept));
	accept = reply(SDP_PM_DENY);
	assert_false(receive(&query, &accept));
	assert_int_equal(query.state, SDP_PM_QUERY_ACCEPTED);
	assert_int_equal(query.answer.ap_addr[3], 9);
	assert_int_equal(sdp_pm_query_next(&query, NOW + 99999, out), 0);
	assert_true(sdp_pm_query_due_ms(&query) == UINT64_MAX);
}

/* T89 */
CASE(ends_at_a_deny_without_ack)
{
	struct sdp_pm_msg deny = reply(SDP_PM_DENY);
	struct sdp_pm_query query;
	uint8_t out[SDP_PM_SIZE];

	start(&query);
	sdp_pm_query_next(&query, NOW, out);
	deny.ap_port = 0; /* C20: ignored */
	assert_true(receive(&query, &deny));
	assert_int_equal(query.state, SDP_PM_QUERY_DENIED);
	assert_int_equal(sdp_pm_query_next(&query, NOW + 99999, out), 0);
	assert_true(sdp_pm_query_due_ms(&query) == UINT64_MAX);
}

/* T92, T93 */
CASE(drops_datagrams_that_are_no_replies)
{
	static const struct {
		const char *name;
		struct sdp_pm_msg
			change; /* changes to the answer, field by field */
	} rows[] = {
		{ "handle", { .handle = 1 } },
		{ "port", { .cp_port = 1 } },
		{ "address", { .cp_addr = { 1 } } },
		{ "family", { .ipv = 2 } },
		{ "PMReq", { .type = 3 } },
		{ "PMAck", { .type = 1 } },
	};
	struct sdp_pm_query query;
	uint8_t buf[SDP_PM_SIZE];
	struct sdp_pm_msg msg;

	start(&query);
	sdp_pm_query_next(&query, NOW, buf);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct sdp_pm_msg *change = &rows[i].change;

		msg = reply(SDP_PM_ACCEPT);
		msg.type = (msg.type + change->type) & 3;
		msg.ipv = (uint8_t)(msg.ipv + change->ipv);
		msg.handle += change->handle;
		msg.cp_port = (uint16_t)(msg.cp_port + change->cp_port);
		msg.cp_addr[0] = (uint8_t)(msg.cp_addr[0] + change->cp_addr[0]);
		assert_row(rows[i].name, !receive(&query, &msg));
		assert_row(rows[i].name, query.state == SDP_PM_QUERY_ASKING);
	}
	msg = reply(SDP_PM_ACCEPT);
	msg.ap_port = 0;
	assert_false(receive(&query, &msg));
	msg = reply(SDP_PM_ACCEPT);
	memset(msg.ap_addr, 0, sizeof(msg.ap_addr));
	assert_false(receive(&query, &msg));
	msg = reply(SDP_PM_ACCEPT);
	sdp_pm_msg_encode(&msg, buf);
	assert_false(sdp_pm_query_receive(&query, buf, 47));
	assert_false(sdp_pm_query_receive(&query, buf, 0));
	buf[0] |= 0x40;
	assert_false(sdp_pm_query_receive(&query, buf, 48));
	buf[0] &= 0x3f;
	assert_true(sdp_pm_query_receive(&query, buf, 48));
}

CASE(accepts_extreme_options)
{
	struct sdp_pm_query query;
	uint8_t out[SDP_PM_SIZE];
	uint64_t now = 0;
	int sends = 0;

	sdp_pm_query_start(&query, now, &request, UINT32_MAX / 3, 40);
	while (query.state == SDP_PM_QUERY_ASKING) {
		sends += sdp_pm_query_next(&query, now, out) != 0;
		if (query.state == SDP_PM_QUERY_ASKING) {
			assert_true(sdp_pm_query_due_ms(&query) > now);
			now = sdp_pm_query_due_ms(&query);
		}
	}
	assert_int_equal(sends, 40);
}

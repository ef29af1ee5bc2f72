/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The Port Mapper's server: replies, its state, and floods. */
#include "test.h"

#include <stdbool.h>
#include <string.h>

#include "pm/pm-server.h"

#define NOW 1000000
#define SDP_PORT 4242

static const struct sdp_pm_source here = { .addr = { 192, 0, 2, 1 } };

static struct sdp_pm_server *server;

static int setup(void **state)
{
	const struct sdp_pm_server_options options = {
		.slot_cnt = 16,
		.source_max = 8,
		.time = 40,
		.secret = 0x1234,
	};

	server = sdp_pm_server_new(&options);
	return server ? 0 : -1;
}

static int teardown(void **state)
{
	sdp_pm_server_free(server);
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, setup, teardown)

static const struct sdp_pm_server_counts *counts(void)
{
	return sdp_pm_server_counts(server);
}

static struct sdp_pm_msg request(unsigned int n)
{
	return (struct sdp_pm_msg){
		.type = SDP_PM_REQ,
		.ipv = 4,
		.ap_port = 80,
		.cp_port = (uint16_t)(40000 + n),
		.handle = 77 + n,
		.cp_addr = { 10, 0, 0, 1 },
		.ap_addr = { 10, 0, 0, 2 },
	};
}

static bool receive(const struct sdp_pm_msg *msg, uint64_t now_ms,
		    const struct sdp_pm_source *source,
		    struct sdp_pm_msg *ret_req)
{
	uint8_t buf[SDP_PM_SIZE];

	sdp_pm_msg_encode(msg, buf);
	return sdp_pm_server_receive(server, now_ms, source, buf, sizeof(buf),
				     ret_req);
}

/* PMReq to reply. */
static struct sdp_pm_msg ask_from(const struct sdp_pm_msg *req, uint64_t now_ms,
				  const struct sdp_pm_source *source,
				  uint16_t sdp_port)
{
	struct sdp_pm_msg got = { 0 }, reply;
	uint8_t out[SDP_PM_SIZE];

	assert_true(receive(req, now_ms, source, &got));
	sdp_pm_server_answer(server, now_ms, source, &got, sdp_port, out);
	assert_int_equal(sdp_pm_msg_decode(out, sizeof(out), &reply), 0);
	return reply;
}

static struct sdp_pm_msg ask(const struct sdp_pm_msg *req, uint16_t sdp_port)
{
	return ask_from(req, NOW, &here, sdp_port);
}

static bool acknowledge(const struct sdp_pm_msg *accept)
{
	struct sdp_pm_msg ack = *accept, req;
	uint64_t before = counts()->acked;

	ack.type = SDP_PM_ACK;
	ack.time = 0;
	assert_false(receive(&ack, NOW, &here, &req));
	return counts()->acked == before + 1;
}

/* Compares the encodings, because the structure has padding. */
static void assert_same(const struct sdp_pm_msg *a, const struct sdp_pm_msg *b)
{
	uint8_t octets_a[SDP_PM_SIZE], octets_b[SDP_PM_SIZE];

	sdp_pm_msg_encode(a, octets_a);
	sdp_pm_msg_encode(b, octets_b);
	assert_memory_equal(octets_a, octets_b, SDP_PM_SIZE);
}

static uint64_t pending(void)
{
	return sdp_pm_server_counts(server)->pending;
}

/* T84 */
FILE_CASE(accepts_and_echoes)
{
	struct sdp_pm_msg req = request(0), want = req, reply;

	reply = ask(&req, SDP_PORT);
	want.type = SDP_PM_ACCEPT;
	want.time = 40;
	want.ap_port = SDP_PORT;
	assert_same(&reply, &want);
	assert_int_equal(pending(), 1);
	assert_true(acknowledge(&reply));
	assert_int_equal(pending(), 0);
	/* SDP-269: a second time. */
	assert_false(acknowledge(&reply));
	assert_int_equal(counts()->unexpected, 1);
}

/* T89, C20 */
FILE_CASE(denies_and_keeps_nothing)
{
	struct sdp_pm_msg req = request(0), want = req, reply;

	reply = ask(&req, 0);
	want.type = SDP_PM_DENY;
	assert_same(&reply, &want);
	assert_int_equal(pending(), 0);
	assert_false(acknowledge(&reply));
	assert_int_equal(counts()->denied, 1);
}

/* T88, SDP-266, SDP-268 */
FILE_CASE(answers_duplicates_anew)
{
	struct sdp_pm_msg req = request(0), first, second;

	first = ask_from(&req, NOW, &here, SDP_PORT);
	second = ask_from(&req, NOW + 3000, &here, SDP_PORT);
	assert_same(&first, &second);
	assert_int_equal(pending(), 1);
	assert_int_equal(counts()->duplicates, 1);
	/* The timer has been restarted. */
	assert_true(sdp_pm_server_due_ms(server) ==
		    NOW + 3000 + SDP_PM_SERVER_ACK_MS);
	/* The listener has moved meanwhile, or no longer exists. */
	second = ask(&req, SDP_PORT + 1);
	assert_int_equal(second.ap_port, SDP_PORT + 1);
	assert_int_equal(pending(), 1);
	assert_false(acknowledge(&first));
	second = ask(&req, 0);
	assert_int_equal(second.type, SDP_PM_DENY);
	assert_int_equal(pending(), 0);
	/* Also after its PMAck, or a lost one (T87). */
	first = ask(&req, SDP_PORT);
	assert_true(acknowledge(&first));
	second = ask(&req, SDP_PORT);
	assert_same(&first, &second);
}

/* T88, SDP-270 */
FILE_CASE(replaces_a_transaction_by_a_newer_one)
{
	struct sdp_pm_msg req = request(0), old, new;

	old = ask(&req, SDP_PORT);
	req.handle++;
	new = ask(&req, SDP_PORT);
	assert_int_equal(pending(), 1);
	assert_int_equal(counts()->replaced, 1);
	assert_int_equal(counts()->duplicates, 0);
	assert_false(acknowledge(&old));
	assert_true(acknowledge(&new));
	/* A difference in any field of the 4-tuple makes another
	 * transaction. */
	req = request(0);
	ask(&req, SDP_PORT);
	req.ap_port++;
	ask(&req, SDP_PORT);
	req.ap_addr[0]++;
	ask(&req, SDP_PORT);
	req.cp_port++;
	ask(&req, SDP_PORT);
	req.cp_addr[0]++;
	ask(&req, SDP_PORT);
	req.ipv = 6;
	ask(&req, SDP_PORT);
	assert_int_equal(pending(), 6);
	assert_int_equal(counts()->replaced, 1);
}

/* T95 */
FILE_CASE(deletes_what_is_not_acknowledged)
{
	struct sdp_pm_msg req, reply;

	assert_true(sdp_pm_server_due_ms(server) == UINT64_MAX);
	req = request(0);
	reply = ask_from(&req, NOW, &here, SDP_PORT);
	req = request(1);
	ask_from(&req, NOW + 1, &here, SDP_PORT);
	assert_true(sdp_pm_server_due_ms(server) == NOW + 5000);
	sdp_pm_server_expire(server, NOW + 4999);
	assert_int_equal(pending(), 2);
	sdp_pm_server_expire(server, NOW + 5000);
	assert_int_equal(pending(), 1);
	assert_int_equal(counts()->expired, 1);
	/* A late PMAck. */
	assert_false(acknowledge(&reply));
	/* Any datagram removes expired entries. */
	assert_false(sdp_pm_server_receive(server, NOW + 5001, &here,
					   (const uint8_t *)"", 0, &req));
	assert_int_equal(pending(), 0);
}

/* T93 */
FILE_CASE(drops_what_it_does_not_expect)
{
	struct sdp_pm_msg req = request(0), msg;
	uint8_t buf[SDP_PM_SIZE + 1] = { 0 };

	sdp_pm_msg_encode(&req, buf);
	assert_false(sdp_pm_server_receive(server, NOW, &here, buf, 47, &msg));
	assert_false(sdp_pm_server_receive(server, NOW, &here, buf, 49, &msg));
	buf[0] = 0x05;
	assert_false(sdp_pm_server_receive(server, NOW, &here, buf, 48, &msg));
	buf[0] = 0x44;
	assert_false(sdp_pm_server_receive(server, NOW, &here, buf, 48, &msg));
	assert_int_equal(counts()->malformed, 4);
	req.type = SDP_PM_ACCEPT;
	assert_false(receive(&req, NOW, &here, &msg));
	req.type = SDP_PM_DENY;
	assert_false(receive(&req, NOW, &here, &msg));
	assert_int_equal(counts()->unexpected, 2);
	assert_int_equal(pending(), 0);
}

/* T95: a source at its limit loses its oldest entry. Others lose none. */
FILE_CASE(keeps_a_source_within_its_share)
{
	static const struct sdp_pm_source other = { .addr = { 192, 0, 2, 7 } };
	struct sdp_pm_msg req, reply[20], its;

	req = request(1000);
	its = ask_from(&req, NOW, &other, SDP_PORT);
	for (unsigned int i = 0; i < ARRAY_LEN(reply); i++) {
		req = request(i);
		reply[i] = ask(&req, SDP_PORT);
	}
	assert_int_equal(pending(), 8 + 1);
	assert_int_equal(counts()->evicted, 12);
	assert_true(acknowledge(&its));
	for (unsigned int i = 0; i < ARRAY_LEN(reply); i++)
		assert_int_equal(acknowledge(&reply[i]), i >= 12);
	assert_int_equal(pending(), 0);
}

/* T95: a flood from many sources removes the oldest entry. */
FILE_CASE(bears_a_flood)
{
	struct sdp_pm_msg req, reply = { 0 };

	for (unsigned int i = 0; i < 100000; i++) {
		struct sdp_pm_source source = {
			.addr = { 10, (uint8_t)(i >> 16), (uint8_t)(i >> 8),
				  (uint8_t)i },
		};

		req = request(i % 20000);
		req.cp_addr[1] = (uint8_t)(i >> 8);
		reply = ask_from(&req, NOW + i, &source, SDP_PORT);
		assert_int_equal(reply.type, SDP_PM_ACCEPT);
		assert_true(pending() <= 16);
	}
	assert_int_equal(pending(), 16);
	assert_true(acknowledge(&reply));
	assert_true(counts()->evicted > 90000);
}

FILE_CASE(answers_a_source_at_its_rate)
{
	struct sdp_pm_server_options options = { .source_per_s = 10 };
	static const struct sdp_pm_source other = { .addr = { 192, 0, 2, 7 } };
	struct sdp_pm_msg req = request(0), got;
	unsigned int answered = 0;

	sdp_pm_server_free(server);
	server = sdp_pm_server_new(&options);
	assert_non_null(server);
	for (unsigned int i = 0; i < 100; i++)
		answered += receive(&req, NOW, &here, &got);
	assert_int_equal(answered, 10);
	assert_int_equal(counts()->over_rate, 90);
	assert_true(receive(&req, NOW, &other, &got));
	/* A tenth of a second later, then a long time later. */
	assert_false(receive(&req, NOW + 99, &here, &got));
	assert_true(receive(&req, NOW + 100, &here, &got));
	assert_false(receive(&req, NOW + 100, &here, &got));
	answered = 0;
	for (unsigned int i = 0; i < 100; i++)
		answered += receive(&req, NOW + 3600000, &here, &got);
	assert_int_equal(answered, 10);
	/* Time that goes backwards does not block a source for ever. */
	assert_false(receive(&req, NOW, &here, &got));
	assert_true(receive(&req, NOW + 3600100, &here, &got));
}

CASE(checks_options)
{
	struct sdp_pm_server_options options = { .slot_cnt = 65536 };

	assert_null(sdp_pm_server_new(&options));
	sdp_pm_server_free(NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Client and server of the Port Mapper. A script of commands moves datagrams
 * between them. It loses, repeats, changes and invents some, and advances the
 * time.
 *
 * Every reply must be a PM message. The server's state must stay within its
 * table. A query must end in time and keep its result.
 */
#include "fuzz.h"

#include <stdbool.h>
#include <string.h>

#include "pm/pm-query.h"
#include "pm/pm-server.h"

#define SLOTS 8
#define QUERIES 4

struct world {
	struct sdp_pm_server *server;
	struct sdp_pm_query query[QUERIES];
	enum sdp_pm_query_state last[QUERIES];
	uint8_t wire[SDP_PM_SIZE + 1]; /* the datagram in transit */
	size_t wire_len;
	uint64_t now_ms;
	const uint8_t *data;
	size_t size;
};

static uint8_t take(struct world *world)
{
	if (!world->size)
		return 0;
	world->size--;
	return *world->data++;
}

static void query_start(struct world *world, unsigned int n)
{
	struct sdp_pm_msg req = {
		.ipv = n & 1 ? 6 : 4,
		.ap_port = take(world),
		.cp_port = (uint16_t)(n + take(world) % 2),
		.handle = take(world) % 4,
		.cp_addr = { 10, [15] = (uint8_t)(n & 1) },
		.ap_addr = { 10, 1 },
	};

	sdp_pm_query_start(&world->query[n], world->now_ms, &req, 250,
			   1 + take(world) % 4);
	world->last[n] = SDP_PM_QUERY_ASKING;
}

static void query_next(struct world *world, unsigned int n)
{
	uint8_t out[SDP_PM_SIZE];
	struct sdp_pm_msg msg;

	if (!sdp_pm_query_next(&world->query[n], world->now_ms, out))
		return;
	fuzz_assert(!sdp_pm_msg_decode(out, sizeof(out), &msg));
	fuzz_assert(msg.type == SDP_PM_REQ || msg.type == SDP_PM_ACK);
	fuzz_assert((msg.type == SDP_PM_ACK) ==
		    (world->query[n].state == SDP_PM_QUERY_ACCEPTED));
	memcpy(world->wire, out, sizeof(out));
	world->wire_len = sizeof(out);
}

static void server_take(struct world *world)
{
	struct sdp_pm_source source = { .addr = { take(world) % 16 } };
	uint8_t what = take(world), out[SDP_PM_SIZE];
	struct sdp_pm_msg req, reply;

	if (!sdp_pm_server_receive(world->server, world->now_ms, &source,
				   world->wire, world->wire_len, &req))
		return;
	fuzz_assert(req.type == SDP_PM_REQ);
	sdp_pm_server_answer(world->server, world->now_ms, &source, &req,
			     what & 0xf, out);
	fuzz_assert(!sdp_pm_msg_decode(out, sizeof(out), &reply));
	fuzz_assert(reply.type == (what & 0xf ? SDP_PM_ACCEPT : SDP_PM_DENY));
	fuzz_assert(reply.handle == req.handle && reply.ipv == req.ipv &&
		    reply.cp_port == req.cp_port);
	memcpy(world->wire, out, sizeof(out));
	world->wire_len = sizeof(out);
}

static void step(struct world *world)
{
	uint8_t command = take(world);
	unsigned int n = command >> 4 & (QUERIES - 1), at;

	switch (command & 7) {
	case 0:
		query_start(world, n);
		break;
	case 1:
		query_next(world, n);
		break;
	case 2:
		server_take(world);
		break;
	case 3:
		sdp_pm_query_receive(&world->query[n], world->wire,
				     world->wire_len);
		break;
	case 4:
		world->now_ms += (uint64_t)take(world) << (command >> 4);
		sdp_pm_server_expire(world->server, world->now_ms);
		break;
	case 5:
		at = take(world) % sizeof(world->wire);
		world->wire[at] ^= take(world);
		break;
	case 6:
		world->wire_len = take(world) % (sizeof(world->wire) + 1);
		break;
	default:
		for (at = 0; at < sizeof(world->wire); at++)
			world->wire[at] = take(world);
		world->wire_len = SDP_PM_SIZE;
	}
}

static void check(struct world *world)
{
	uint64_t pending = sdp_pm_server_counts(world->server)->pending;
	uint64_t due_ms = sdp_pm_server_due_ms(world->server);

	fuzz_assert(pending <= SLOTS);
	fuzz_assert((pending == 0) == (due_ms == UINT64_MAX));
	for (unsigned int i = 0; i < QUERIES; i++) {
		if (world->last[i] != SDP_PM_QUERY_ASKING)
			fuzz_assert(world->query[i].state == world->last[i]);
		world->last[i] = world->query[i].state;
	}
}

/* Nothing more arrives: everything must end. */
static void finish(struct world *world)
{
	uint8_t out[SDP_PM_SIZE];

	for (unsigned int i = 0; i < QUERIES; i++) {
		struct sdp_pm_query *query = &world->query[i];

		for (int n = 0; n < 10; n++) {
			if (sdp_pm_query_due_ms(query) == UINT64_MAX)
				break;
			if (sdp_pm_query_due_ms(query) > world->now_ms)
				world->now_ms = sdp_pm_query_due_ms(query);
			sdp_pm_query_next(query, world->now_ms, out);
		}
		fuzz_assert(query->state != SDP_PM_QUERY_ASKING);
	}
	sdp_pm_server_expire(world->server, world->now_ms + 5000);
	fuzz_assert(sdp_pm_server_counts(world->server)->pending == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sdp_pm_server_options options = {
		.slot_cnt = SLOTS,
		.source_max = 3,
		.source_per_s = 50,
		.secret = 1,
	};
	struct world world = { .data = data, .size = size, .now_ms = 1000 };

	world.server = sdp_pm_server_new(&options);
	fuzz_assert(world.server);
	for (unsigned int i = 0; i < QUERIES; i++)
		query_start(&world, i);
	while (world.size) {
		step(&world);
		check(&world);
	}
	finish(&world);
	sdp_pm_server_free(world.server);
	return 0;
}

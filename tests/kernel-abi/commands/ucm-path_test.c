/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The path that the rdma_cm file reports, for either persona. */
#include "util/env.h"
#include "ucm-fixture.h"

#include <infiniband/sa.h>

static bool is_ca; /* set by USIW_PERSONA: the test runs with both */

static const uint8_t lo[16] = { [10] = 0xff, 0xff, 127, 0, 0, 1 };

static struct rdma_ucm_query_route_resp ask_route(struct ucm *u, uint32_t id)
{
	struct rdma_ucm_query query = { .response = answer_of(u), .id = id };
	struct rdma_ucm_query_route_resp resp;

	assert_true(SEND(u, QUERY_ROUTE, query, sizeof(resp)) > 0);
	memcpy(&resp, u->answer, sizeof(resp));
	return resp;
}

/* Octets of the answer after @out stay 0xee. */
static ssize_t ask_path(struct ucm *u, uint32_t id, size_t out)
{
	struct rdma_ucm_query query = { .response = answer_of(u),
					.id = id,
					.option = RDMA_USER_CM_QUERY_PATH };

	memset(u->answer, 0xee, sizeof(u->answer));
	return SEND(u, QUERY, query, out);
}

static uint32_t path_cnt(struct ucm *u, uint32_t id)
{
	struct rdma_ucm_query_path_resp resp;

	assert_true(ask_path(u, id, ANSWER_SIZE) > 0);
	memcpy(&resp, u->answer, sizeof(resp));
	assert_int_equal(ask_route(u, id).num_paths, resp.num_paths);
	return resp.num_paths;
}

static uint32_t resolved(struct ucm *u)
{
	struct rdma_ucm_resolve_route route = { .timeout_ms = 1000 };
	uint8_t tos = 0x28;
	uint32_t id = ucm_create(u);
	struct rdma_ucm_set_option opt = { .optval = (uintptr_t)&tos,
					   .id = id,
					   .optname = RDMA_OPTION_ID_TOS,
					   .optlen = 1 };

	assert_int_equal(path_cnt(u, id), 0);
	assert_true(SEND(u, SET_OPTION, opt, 0) > 0);
	assert_true(ucm_resolve(u, id) > 0);
	assert_int_equal(ucm_event(u).event, RNIC_CM_ADDR_RESOLVED);
	/* The addresses are resolved, the route is not. */
	assert_int_equal(path_cnt(u, id), 0);
	assert_memory_equal(ask_route(u, id).ib_route[0].dgid, lo, 16);
	assert_int_equal(ask_route(u, id).ib_route[0].pkey, is_ca ? 0xffff : 0);
	route.id = id;
	assert_true(SEND(u, RESOLVE_ROUTE, route, 0) > 0);
	assert_int_equal(ucm_event(u).event, RNIC_CM_ROUTE_RESOLVED);
	return id;
}

static void a_channel_adapter_has_a_path_once_resolved(void **state)
{
	struct rdma_ucm_query_route_resp resp;
	const struct ib_user_path_rec *path = &resp.ib_route[0];
	struct ucm *u = *state;
	uint32_t id;

	id = resolved(u);
	assert_int_equal(path_cnt(u, id), is_ca);
	resp = ask_route(u, id);
	assert_memory_equal(path->dgid, lo, 16);
	assert_memory_equal(path->sgid, lo, 16);
	if (is_ca) {
		assert_int_equal(path->pkey, 0xffff);
		assert_int_equal(path->reversible, 1);
		assert_int_equal(path->traffic_class, 0x28);
		assert_true(path->hop_limit > 1);
		assert_true(path->mtu >= 1 && path->mtu <= 5);
		assert_int_equal(path->mtu_selector, 2);
		assert_true(path->rate > 0);
		assert_int_equal(path->packet_life_time, 19);
	}
}

/* The layout of <infiniband/sa.h>, with which librdmacm reads it. */
static void the_packed_record_says_the_same(void **state)
{
	struct rdma_ucm_query_route_resp route;
	const struct ib_user_path_rec *rec = &route.ib_route[0];
	struct ibv_path_data got;
	struct ucm *u = *state;
	uint32_t id;

	id = resolved(u);
	route = ask_route(u, id);
	assert_true(ask_path(u, id, ANSWER_SIZE) > 0);
	memcpy(&got, u->answer + 8, sizeof(got));
	assert_int_equal(got.flags, IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY |
					    IBV_PATH_FLAG_BIDIRECTIONAL);
	assert_memory_equal(&got.path.dgid, rec->dgid, 16);
	assert_memory_equal(&got.path.sgid, rec->sgid, 16);
	assert_int_equal(be64toh(got.path.service_id), 0x01060009);
	assert_int_equal(ntohl(got.path.flowlabel_hoplimit), rec->hop_limit);
	assert_int_equal(got.path.tclass, rec->traffic_class);
	assert_int_equal(got.path.reversible_numpath,
			 IBV_PATH_RECORD_REVERSIBLE | 1);
	assert_int_equal(got.path.pkey, rec->pkey);
	assert_int_equal(got.path.qosclass_sl, 0);
	assert_int_equal(got.path.mtu, 2 << 6 | rec->mtu);
	assert_int_equal(got.path.rate, 2 << 6 | rec->rate);
	assert_int_equal(got.path.packetlifetime,
			 2 << 6 | rec->packet_life_time);
}

static void a_small_place_gets_what_fits(void **state)
{
	struct ucm *u = *state;
	uint32_t id;

	id = resolved(u);
	for (size_t out = 0; out < 8; out++)
		assert_int_equal(ask_path(u, id, out), -ENOSPC);
	for (size_t out = 8; out < 80; out += 71) {
		assert_true(ask_path(u, id, out) > 0);
		assert_int_equal(u->answer[0], is_ca);
		assert_int_equal(u->answer[8], 0xee);
	}
	assert_true(ask_path(u, id, 80) > 0);
	assert_int_equal(u->answer[79], is_ca ? 0 : 0xee);
	assert_int_equal(u->answer[80], 0xee);
}

static void the_port_stands_in_the_service_id(void **state)
{
	struct rdma_ucm_query query = { .option = RDMA_USER_CM_QUERY_GID };
	struct rdma_ucm_query_addr_resp resp;
	uint64_t sid_be;
	struct ucm *u = *state;

	query.id = resolved(u);
	query.response = answer_of(u);
	assert_true(SEND(u, QUERY, query, sizeof(resp)) > 0);
	memcpy(&resp, u->answer, sizeof(resp));
	/* struct sockaddr_ib: GID at 8, service ID at 24 */
	assert_memory_equal((uint8_t *)&resp.dst_addr + 8, lo, 16);
	memcpy(&sid_be, (uint8_t *)&resp.dst_addr + 24, sizeof(sid_be));
	assert_int_equal(be64toh(sid_be), 0x01060009);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UCM_TEST(a_channel_adapter_has_a_path_once_resolved),
		UCM_TEST(a_small_place_gets_what_fits),
		UCM_TEST(the_port_stands_in_the_service_id),
	};
	const struct CMUnitTest ca_tests[] = {
		UCM_TEST(the_packed_record_says_the_same),
	};
	int failed;

	is_ca = util_settings()->persona == UTIL_PERSONA_CA;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (is_ca)
		failed += cmocka_run_group_tests(ca_tests, NULL, NULL);
	return failed;
}

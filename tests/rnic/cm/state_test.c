/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* state.c: what others see of identities, from the first state to the last. */
#include "fixture.h"

#include "resources.h"

static struct usiw_res_id id_seen(const struct cm_side *s)
{
	struct usiw_res_id seen;

	assert_true(resource_find(USIW_RES_ID, s->id, &seen));
	return seen;
}

CASE(a_listener_is_seen)
{
	struct sockaddr_storage addr = cm_loopback(AF_INET, 0);
	struct usiw_res_id seen;
	struct cm_side s;
	uint32_t events;

	cm_side_open(&s, 7);
	seen = id_seen(&s);
	assert_int_equal(seen.state, USIW_RES_IDS_IDLE);
	assert_int_equal(seen.port_space, 0x106);
	assert_int_equal(seen.local.family, 0);
	assert_int_equal(rnic_cm_bind(s.chan, s.id, (void *)&addr), 0);
	seen = id_seen(&s);
	assert_int_equal(seen.state, USIW_RES_IDS_BOUND);
	assert_int_equal(seen.local.family, AF_INET);
	assert_true(seen.local.port != 0);
	assert_true(seen.device != 0);
	assert_int_equal(rnic_cm_listen(s.chan, s.id, 5), 0);
	seen = id_seen(&s);
	assert_int_equal(seen.state, USIW_RES_IDS_LISTEN);
	assert_int_equal(seen.backlog, 5);
	assert_true(seen.state_ns >= seen.head.made_ns);
	assert_int_equal(rnic_cm_destroy(s.chan, s.id, &events), 0);
	assert_false(resource_find(USIW_RES_ID, s.id, NULL));
	rnic_cm_chan_close(s.chan);
	rnic_cm_chan_free(s.chan);
}

CASE(a_resolved_identity_has_its_peer)
{
	struct sockaddr_storage addr = cm_loopback(AF_INET6, 4711);
	struct usiw_res_id seen;
	struct rnic_cm_event ev;
	struct cm_side s;
	uint32_t events;

	cm_side_open(&s, 7);
	assert_int_equal(
		rnic_cm_resolve_addr(s.chan, s.id, NULL, (void *)&addr, 1000),
		0);
	cm_expect(s.chan, RNIC_CM_ADDR_RESOLVED, 0, &ev);
	seen = id_seen(&s);
	assert_int_equal(seen.state, USIW_RES_IDS_ADDR);
	assert_int_equal(seen.peer.family, AF_INET6);
	assert_int_equal(seen.peer.port, 4711);
	assert_memory_equal(seen.peer.addr, &in6addr_loopback, 16);
	assert_int_equal(rnic_cm_destroy(s.chan, s.id, &events), 0);
	rnic_cm_chan_close(s.chan);
	rnic_cm_chan_free(s.chan);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Both sides of datagrams in one process. */
#include "sidr-fixture.h"

#define MANY 40

static void loopback_pair(int family)
{
	struct cm_side listener, active;
	struct sockaddr_storage local = sidr_bind(&listener, family, 0);
	struct rnic_cm_event ev;
	struct sib_gid gid;

	assert_int_equal(rnic_cm_listen(listener.chan, listener.id, 0), 0);
	sidr_resolve(&active, family, cm_port(&local));
	assert_int_equal(sidr_connect(&active, "ask", 3), 0);
	cm_expect(listener.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	assert_int_equal(ev.pd_len, 180);
	assert_memory_equal(ev.pd, "ask\0", 4);
	assert_int_equal(sidr_accept(&listener, ev.id, 0x4711, "answer", 6), 0);
	cm_expect(active.chan, RNIC_CM_ESTABLISHED, 0, &ev);
	assert_int_equal(ev.qp_num, 0x4711);
	memset(&gid, 0, sizeof(gid));
	gid.raw[15] = 1;
	if (family == AF_INET)
		gid = sidr_loopback();
	assert_memory_equal(ev.dgid, &gid, sizeof(gid));
	assert_memory_equal(ev.pd, "answer\0", 7);
	/* Nothing follows at the passive side. */
	assert_false(cm_is_readable(listener.chan, 0));
	cm_side_close(&active);
	cm_side_close(&listener);
}

CASE(the_asker_learns_the_qp)
{
	loopback_pair(AF_INET);
}

CASE(the_asker_learns_the_qp_by_ipv6)
{
	loopback_pair(AF_INET6);
}

/* More than a socket holds: no request and no answer is lost. */
CASE(many_are_answered_at_once)
{
	static struct cm_side active[MANY];
	struct cm_side listener;
	uint16_t port = sidr_listen(&listener, 0);
	struct rnic_cm_event ev;

	for (int i = 0; i < MANY; i++) {
		sidr_resolve(&active[i], AF_INET, port);
		assert_int_equal(sidr_connect(&active[i], &i, sizeof(i)), 0);
	}
	for (int i = 0; i < MANY; i++) {
		int who;

		cm_expect(listener.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
		memcpy(&who, ev.pd, sizeof(who));
		assert_int_equal(sidr_accept(&listener, ev.id,
					     (uint32_t)(1000 + who), "", 0),
				 0);
	}
	for (int i = 0; i < MANY; i++) {
		cm_expect(active[i].chan, RNIC_CM_ESTABLISHED, 0, &ev);
		assert_int_equal(ev.qp_num, 1000 + i);
		cm_side_close(&active[i]);
	}
	assert_false(cm_is_readable(listener.chan, 0));
	cm_side_close(&listener);
}

/* Somebody passes descriptors to the listener, and to who waits for answers. */
CASE(strangers_stop_neither_requests_nor_answers)
{
	struct cm_side listener, active;
	uint16_t port = sidr_listen(&listener, 0);
	struct rnic_cm_event ev;

	for (int i = 0; i < 3; i++) {
		sidr_pass_descriptor(rnic_host_name_service(SIB_PS_UDP, port));
		sidr_resolve(&active, AF_INET, port);
		assert_int_equal(sidr_connect(&active, "ask", 3), 0);
		cm_expect(listener.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
		sidr_pass_descriptor(rnic_host_name_asker(cm.mads.tid_high));
		assert_int_equal(sidr_accept(&listener, ev.id, 0x4711, "", 0),
				 0);
		cm_expect(active.chan, RNIC_CM_ESTABLISHED, 0, &ev);
		cm_side_close(&active);
	}
	cm_side_close(&listener);
}

BEFORE_CASES()
{
	/* Before the settings are read for the first time. */
	setenv("USIW_PERSONA", "ca", 1);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fault.c of cm/: calls that end as if the network or the peer were another. */
#include "fixture.h"

#include "fault/rules.h"

#define START_STR "200"

static void rules(const char *text)
{
	rnic_fault_start();
	rnic_fault_read(text);
}

static void resolve_addr(struct cm_side *s, const char *peer)
{
	struct sockaddr_in dst = { .sin_family = AF_INET,
				   .sin_port = htons(9) };

	inet_pton(AF_INET, peer, &dst.sin_addr);
	assert_int_equal(rnic_cm_resolve_addr(s->chan, s->id, NULL,
					      (struct sockaddr *)&dst, 1),
			 0);
}

CASE(an_address_is_not_resolved)
{
	struct rnic_cm_event ev;
	struct rnic_cm_info info;
	struct cm_side s;

	rules("cm=addr-error,nth=1;cm=addr-error,errno=ENODEV,nth=2");
	cm_side_open(&s, 1);
	resolve_addr(&s, "127.0.0.1");
	cm_expect(s.chan, RNIC_CM_ADDR_ERROR, -EHOSTUNREACH, &ev);
	assert_int_equal(rnic_cm_query(s.chan, s.id, &info), 0);
	assert_int_equal(info.state, RNIC_CM_S_IDLE);
	/* It may be tried again. */
	resolve_addr(&s, "127.0.0.1");
	cm_expect(s.chan, RNIC_CM_ADDR_ERROR, -ENODEV, &ev);
	resolve_addr(&s, "127.0.0.1");
	cm_expect(s.chan, RNIC_CM_ADDR_RESOLVED, 0, &ev);
	cm_side_close(&s);
}

CASE(a_rule_is_for_a_peer)
{
	struct rnic_cm_event ev;
	struct cm_side s;

	rules("cm=addr-error,peer=127.0.0.2");
	cm_side_open(&s, 1);
	resolve_addr(&s, "127.0.0.2");
	cm_expect(s.chan, RNIC_CM_ADDR_ERROR, -EHOSTUNREACH, &ev);
	resolve_addr(&s, "127.0.0.1");
	cm_expect(s.chan, RNIC_CM_ADDR_RESOLVED, 0, &ev);
	cm_side_close(&s);
}

CASE(a_route_is_not_resolved)
{
	struct rnic_cm_event ev;
	struct cm_side s;

	rules("cm=route-error,times=1");
	cm_side_open(&s, 1);
	resolve_addr(&s, "127.0.0.1");
	cm_expect(s.chan, RNIC_CM_ADDR_RESOLVED, 0, &ev);
	assert_int_equal(rnic_cm_resolve_route(s.chan, s.id, 1), 0);
	cm_expect(s.chan, RNIC_CM_ROUTE_ERROR, -ETIMEDOUT, &ev);
	assert_int_equal(rnic_cm_resolve_route(s.chan, s.id, 1), 0);
	cm_expect(s.chan, RNIC_CM_ROUTE_RESOLVED, 0, &ev);
	cm_side_close(&s);
}

/* Nobody listens there: nobody is asked. */
CASE(a_connection_is_not_made)
{
	static const struct {
		const char *text;
		enum rnic_cm_event_type type;
		int status;
	} cases[] = {
		{ "cm=unreachable", RNIC_CM_UNREACHABLE, -EHOSTUNREACH },
		{ "cm=reject", RNIC_CM_REJECTED, -ECONNREFUSED },
		{ "cm=timeout", RNIC_CM_UNREACHABLE, -ETIMEDOUT },
	};
	struct rnic_cm_info info;
	struct rnic_cm_event ev;
	struct cm_qp qp;
	struct cm_side s;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		rules(cases[i].text);
		cm_qp_open(&qp);
		cm_dial(&s, &qp, 9, "");
		cm_expect(s.chan, cases[i].type, cases[i].status, &ev);
		assert_int_equal(rnic_cm_query(s.chan, s.id, &info), 0);
		assert_int_equal(info.state, RNIC_CM_S_DISCONNECT);
		assert_int_equal(rnic_qp_state(qp.qp), RNIC_QPS_IDLE);
		cm_side_close(&s);
		cm_qp_close(&qp);
	}
}

/* It has no socket, and waits for its time. */
CASE(an_identity_goes_while_its_time_runs)
{
	struct cm_side s;
	struct cm_qp qp;
	uint32_t cnt;

	rules("cm=timeout");
	cm_qp_open(&qp);
	cm_dial(&s, &qp, 9, "");
	assert_int_equal(rnic_cm_destroy(s.chan, s.id, &cnt), 0);
	cm_side_close(&s);
	cm_qp_close(&qp);
}

CASE(no_connection_is_made_while_the_port_is_down)
{
	struct rnic_cm_event ev;
	struct cm_qp qp;
	struct cm_side s;

	rules("cm=reject,nth=1000");
	rnic_fault_set_port_down(UINT64_MAX);
	cm_qp_open(&qp);
	cm_dial(&s, &qp, 9, "");
	cm_expect(s.chan, RNIC_CM_UNREACHABLE, -EHOSTUNREACH, &ev);
	rnic_fault_set_port_down(0);
	cm_side_close(&s);
	cm_qp_close(&qp);
}

BEFORE_CASES()
{
	setenv("USIW_START_MS", START_STR, 1);
}

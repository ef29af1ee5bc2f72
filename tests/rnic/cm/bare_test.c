/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections whose numbers are not those of a QP, between the steps of both
 * personas. */
#include "fixture.h"

#include "cm/object.h"

#define NO_QP 0xdead

/* Up to the request. The connecting side has no QP. */
static void ask(struct cm_side *listener, struct cm_side *active,
		bool wants_response, uint32_t *ret_child)
{
	struct rnic_cm_conn_param param = { .qp_num = NO_QP,
					    .ird = 1,
					    .ord = 1,
					    .wants_response = wants_response };
	struct rnic_cm_event ev;
	uint16_t port = cm_listen(listener, AF_INET, 0);

	cm_resolve(active, AF_INET, port);
	assert_int_equal(rnic_cm_connect(active->chan, active->id, &param), 0);
	cm_expect(listener->chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	*ret_child = ev.id;
}

static void answer(struct cm_side *listener, uint32_t child, uint32_t qp_num)
{
	struct rnic_cm_conn_param param = { .qp_num = qp_num,
					    .ird = 1,
					    .ord = 1 };

	assert_int_equal(rnic_cm_accept(listener->chan, child, &param), 0);
}

/* With either persona both sides are established afterwards. */
static void establish(struct cm_side *listener, struct cm_side *active,
		      bool wants_response)
{
	struct rnic_cm_event ev;

	if (wants_response) {
		cm_expect(active->chan, RNIC_CM_CONNECT_RESPONSE, 0, &ev);
		assert_int_equal(rnic_cm_establish(active->chan, active->id),
				 0);
	} else {
		cm_expect(active->chan, RNIC_CM_ESTABLISHED, 0, &ev);
	}
	cm_expect(listener->chan, RNIC_CM_ESTABLISHED, 0, &ev);
}

static bool is_ca(void)
{
	const char *persona = getenv("USIW_PERSONA");

	return persona && strcmp(persona, "ca") == 0;
}

static void neither_side_has_a_qp(void **state)
{
	for (int wants = is_ca(); wants < 2; wants++) {
		for (int is_active = 0; is_active < 2; is_active++) {
			struct cm_side listener, active;
			struct rnic_cm_event ev;
			uint32_t child;

			ask(&listener, &active, wants, &child);
			answer(&listener, child, NO_QP);
			establish(&listener, &active, wants);
			if (is_active)
				rnic_cm_disconnect(active.chan, active.id);
			else
				rnic_cm_disconnect(listener.chan, child);
			cm_expect(active.chan, RNIC_CM_DISCONNECTED, 0, &ev);
			cm_expect(listener.chan, RNIC_CM_DISCONNECTED, 0, &ev);
			cm_side_close(&active);
			cm_side_close(&listener);
		}
	}
}

/* A peer with a QP sees no difference. */
static void the_other_side_has_a_qp(void **state)
{
	struct cm_side listener, active;
	struct rnic_cm_event ev;
	struct cm_qp q;
	uint32_t child;

	cm_qp_open(&q);
	ask(&listener, &active, is_ca(), &child);
	answer(&listener, child, rnic_qp_num(q.qp));
	establish(&listener, &active, is_ca());
	assert_int_equal(rnic_qp_state(q.qp), RNIC_QPS_RTS);
	assert_int_equal(rnic_cm_disconnect(listener.chan, child), 0);
	cm_expect(active.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	cm_expect(listener.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	cm_side_close(&active);
	cm_side_close(&listener);
	cm_qp_close(&q);
}

static void destroying_either_identity_ends_it(void **state)
{
	for (int is_active = 0; is_active < 2; is_active++) {
		struct cm_side listener, active;
		struct rnic_cm_event ev;
		uint32_t child, cnt;

		ask(&listener, &active, is_ca(), &child);
		answer(&listener, child, NO_QP);
		establish(&listener, &active, is_ca());
		if (is_active) {
			rnic_cm_destroy(active.chan, active.id, &cnt);
			cm_expect(listener.chan, RNIC_CM_DISCONNECTED, 0, &ev);
		} else {
			rnic_cm_destroy(listener.chan, child, &cnt);
			cm_expect(active.chan, RNIC_CM_DISCONNECTED, 0, &ev);
		}
		cm_side_close(&active);
		cm_side_close(&listener);
	}
}

static void closing_a_channel_ends_it(void **state)
{
	struct cm_side listener, active;
	struct rnic_cm_event ev;
	uint32_t child;

	ask(&listener, &active, is_ca(), &child);
	answer(&listener, child, NO_QP);
	establish(&listener, &active, is_ca());
	cm_side_close(&active);
	cm_expect(listener.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	cm_side_close(&listener);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neither_side_has_a_qp),
		cmocka_unit_test(the_other_side_has_a_qp),
		cmocka_unit_test(destroying_either_identity_ends_it),
		cmocka_unit_test(closing_a_channel_ends_it),
	};

	/* Settings are read once, so the other persona runs in its own
	 * process. */
	setenv("USIW_DRAIN_MS", "300", 1);
	if (argc == 1) {
		setenv("USIW_PERSONA", "ca", 1);
		if (cmocka_run_group_tests(tests, NULL, NULL) != 0)
			return 1;
		unsetenv("USIW_PERSONA");
		execl("/proc/self/exe", argv[0], "rnic", NULL);
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The passive side: requests that are accepted, rejected or not answered. */
#include "fixture.h"

static void rejects_with_private_data(void **state)
{
	struct rnic_cm_event ev;
	struct cm_pair *p = *state;
	uint32_t cnt;

	assert_int_equal(rnic_cm_reject(p->listener.chan, p->child, "no", 2),
			 0);
	cm_expect(p->active.chan, RNIC_CM_REJECTED, -ECONNREFUSED, &ev);
	assert_int_equal(ev.pd_len, 2);
	assert_memory_equal(ev.pd, "no", 2);
	assert_int_equal(rnic_cm_reject(p->listener.chan, p->child, NULL, 0),
			 -EINVAL);
	assert_int_equal(rnic_cm_destroy(p->listener.chan, p->child, &cnt), 0);
	assert_int_equal(cnt, 0);
	assert_int_equal(rnic_qp_state(p->active_qp.qp), RNIC_QPS_IDLE);
}

static void destroying_a_request_rejects_it(void **state)
{
	struct rnic_cm_event ev;
	struct cm_pair *p = *state;
	uint32_t cnt;

	assert_int_equal(rnic_cm_destroy(p->listener.chan, p->child, &cnt), 0);
	cm_expect(p->active.chan, RNIC_CM_REJECTED, -ECONNREFUSED, &ev);
}

static void destroying_a_listener_takes_unfetched_requests(void **state)
{
	struct cm_side listener, active;
	struct rnic_cm_event ev;
	struct cm_qp q;
	uint32_t cnt;
	uint16_t port;

	cm_qp_open(&q);
	port = cm_listen(&listener, AF_INET, 0);
	cm_dial(&active, &q, port, "x");
	assert_true(cm_is_readable(listener.chan, CM_LIMIT_MS));
	assert_int_equal(rnic_cm_destroy(listener.chan, listener.id, &cnt), 0);
	assert_int_equal(cnt, 0);
	assert_false(cm_is_readable(listener.chan, 0));
	cm_expect(active.chan, RNIC_CM_REJECTED, -ECONNREFUSED, &ev);
	cm_side_close(&listener);
	cm_side_close(&active);
	cm_qp_close(&q);
}

static void peer_that_left_makes_accept_fail(void **state)
{
	struct rnic_cm_conn_param param;
	struct cm_side listener;
	struct rnic_cm_event ev;
	struct cm_qp q;
	uint32_t child;
	int fd, ret;

	cm_qp_open(&q);
	fd = cm_rawpeer_ask(&listener, cm_mpa_request, &child);
	cm_slam(fd);
	cm_param(&param, &q, "");
	/* Whether the manager has seen it already or not. */
	ret = rnic_cm_accept(listener.chan, child, &param);
	if (ret == 0) {
		cm_expect(listener.chan, RNIC_CM_ESTABLISHED, 0, &ev);
		cm_expect(listener.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	} else {
		assert_int_equal(ret, -ECONNRESET);
		assert_int_equal(rnic_qp_state(q.qp), RNIC_QPS_IDLE);
	}
	assert_false(cm_is_readable(listener.chan, 50));
	cm_side_close(&listener);
	cm_qp_close(&q);
}

static void accept_checks_the_qp(void **state)
{
	struct rnic_cm_conn_param param;
	struct cm_pair *p = *state;

	cm_param(&param, &p->passive_qp, "");
	param.qp_num = 0;
	assert_int_equal(rnic_cm_accept(p->listener.chan, p->child, &param),
			 -EINVAL);
	cm_pair_accept(p); /* nothing had changed */
	assert_int_equal(rnic_cm_accept(p->listener.chan, p->child, &param),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CM_PAIR_TEST(rejects_with_private_data),
		CM_PAIR_TEST(destroying_a_request_rejects_it),
		cmocka_unit_test(
			destroying_a_listener_takes_unfetched_requests),
		cmocka_unit_test(peer_that_left_makes_accept_fail),
		CM_PAIR_TEST(accept_checks_the_qp),
	};

	/* Before the settings are read for the first time. */
	setenv("USIW_START_MS", "400", 1);
	setenv("USIW_DRAIN_MS", "300", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

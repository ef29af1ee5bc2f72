/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The passive side: requests that are accepted, rejected or not answered. */
#include "fixture.h"

#include "cm/passive.h"
#include "loop/loop.h"

CM_PAIR_CASE(rejects_with_private_data)
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

CM_PAIR_CASE(destroying_a_request_rejects_it)
{
	struct rnic_cm_event ev;
	struct cm_pair *p = *state;
	uint32_t cnt;

	assert_int_equal(rnic_cm_destroy(p->listener.chan, p->child, &cnt), 0);
	cm_expect(p->active.chan, RNIC_CM_REJECTED, -ECONNREFUSED, &ev);
}

CASE(destroying_a_listener_takes_unfetched_requests)
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

/* Closes with FIN. */
static void leave_in_order(int fd)
{
	close(fd);
}

/* The manager's thread cannot see the end before accept does. */
static int accept_behind(struct cm_side *s, uint32_t child,
			 const struct cm_qp *q, int fd, void (*leave)(int fd))
{
	struct rnic_cm_conn_param param;
	struct cm_id *id;
	int ret;

	cm_param(&param, q, "");
	util_lock(&rnic_loop.lock);
	leave(fd);
	id = rnic_ref_get_slot(&rnic_loop.noted, child);
	assert_non_null(id);
	ret = cm_passive_accept(id, &param);
	util_unlock(&rnic_loop.lock);
	/* Nor does it say anything else later. */
	assert_int_equal(rnic_cm_accept(s->chan, child, &param), -ECONNRESET);
	assert_false(cm_is_readable(s->chan, 50));
	return ret;
}

CASE(peer_that_left_makes_accept_fail)
{
	static void (*const ways[])(int fd) = { leave_in_order, cm_slam };
	struct cm_side listener;
	struct cm_qp q;
	uint32_t child;
	int fd;

	cm_qp_open(&q);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		fd = cm_rawpeer_ask(&listener, cm_mpa_request, &child);
		assert_int_equal(
			accept_behind(&listener, child, &q, fd, ways[i]),
			-ECONNRESET);
		assert_int_equal(rnic_qp_state(q.qp), RNIC_QPS_IDLE);
		cm_side_close(&listener);
	}
	cm_qp_close(&q);
}

CM_PAIR_CASE(accept_checks_the_qp)
{
	struct rnic_cm_conn_param param;
	struct cm_pair *p = *state;
	struct cm_qp uc;

	cm_param(&param, &p->passive_qp, "");
	param.qp_num = 0;
	assert_int_equal(rnic_cm_accept(p->listener.chan, p->child, &param),
			 -EINVAL);
	cm_qp_open_type(&uc, RNIC_QPT_UC);
	cm_param(&param, &uc, "");
	assert_int_equal(rnic_cm_accept(p->listener.chan, p->child, &param),
			 -EINVAL);
	cm_qp_close(&uc);
	cm_pair_accept(p); /* nothing had changed */
	assert_int_equal(rnic_cm_accept(p->listener.chan, p->child, &param),
			 -EINVAL);
}

BEFORE_CASES()
{
	/* Before the settings are read for the first time. */
	setenv("USIW_START_MS", "1000", 1);
	setenv("USIW_DRAIN_MS", "300", 1);
}

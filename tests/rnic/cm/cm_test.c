/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections between both ends over loopback, with real QPs. */
#include "fixture.h"

#include "cm/object.h"
#include "util/env.h"
#include "qp/qp.h"
#include "qp/qp-table.h"
#include "stream/attach.h"

static void connects_and_disconnects(int family)
{
	struct rnic_cm_info here, there;
	struct rnic_cm_event ev;
	struct cm_pair p;

	cm_pair_open(&p, family);
	cm_pair_accept(&p);
	assert_int_equal(rnic_qp_state(p.active_qp.qp), RNIC_QPS_RTS);
	assert_int_equal(rnic_qp_state(p.passive_qp.qp), RNIC_QPS_RTS);

	assert_int_equal(rnic_cm_query(p.active.chan, p.active.id, &here), 0);
	assert_int_equal(rnic_cm_query(p.listener.chan, p.child, &there), 0);
	assert_int_equal(here.state, RNIC_CM_S_ESTABLISHED);
	assert_int_equal(there.state, RNIC_CM_S_ESTABLISHED);
	assert_memory_equal(&here.local, &there.peer, sizeof(here.local));
	assert_memory_equal(&here.peer, &there.local, sizeof(here.local));
	assert_non_null(here.dev);
	assert_ptr_equal(here.dev, there.dev);

	assert_int_equal(rnic_cm_disconnect(p.active.chan, p.active.id), 0);
	cm_expect(p.active.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	cm_expect(p.listener.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	assert_int_equal(ev.id, p.child);
	/* A second call changes nothing. */
	assert_int_equal(rnic_cm_disconnect(p.active.chan, p.active.id), 0);
	assert_int_equal(rnic_cm_disconnect(p.listener.chan, p.child), 0);
	assert_false(cm_is_readable(p.active.chan, 50));
	assert_false(cm_is_readable(p.listener.chan, 0));
	cm_pair_close(&p);
}

CASE(connects_and_disconnects_ipv4)
{
	connects_and_disconnects(AF_INET);
}

CASE(connects_and_disconnects_ipv6)
{
	connects_and_disconnects(AF_INET6);
}

/* A kernel's iWARP manager ignores it. */
CASE(rnr_retry_count_means_nothing_to_an_rnic)
{
	uint64_t rnr_ns = util_settings()->rnr_ms * NS_PER_MS;
	struct cm_pair p;

	cm_rnr_retry = 7;
	cm_pair_open(&p, AF_INET);
	cm_pair_accept(&p);
	cm_rnr_retry = 0;
	assert_true(p.active_qp.qp->rnr_ns == rnr_ns);
	assert_true(p.passive_qp.qp->rnr_ns == rnr_ns);
	cm_pair_close(&p);
}

CM_PAIR_CASE(passive_side_disconnects)
{
	struct rnic_cm_event ev;
	struct cm_pair *p = *state;

	cm_pair_accept(p);
	assert_int_equal(rnic_cm_disconnect(p->listener.chan, p->child), 0);
	cm_expect(p->active.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	cm_expect(p->listener.chan, RNIC_CM_DISCONNECTED, 0, &ev);
}

static void post_recv(struct rnic_qp *qp)
{
	const struct usiw_ring *ring = rnic_qp_rq(qp);
	struct usiw_rqe *rqe = usiw_ring_reserve(ring, 0);

	assert_non_null(rqe);
	*rqe = (struct usiw_rqe){ .wr_id = 1 };
	usiw_ring_commit(ring, 1);
	rnic_qp_ring_rq(qp);
}

static void post_send(struct rnic_qp *qp)
{
	const struct usiw_ring *ring = rnic_qp_sq(qp);
	struct usiw_sqe *sqe = usiw_ring_reserve(ring, 0);

	assert_non_null(sqe);
	*sqe = (struct usiw_sqe){ .opcode = USIW_WR_SEND };
	usiw_ring_commit(ring, 1);
	rnic_qp_ring_sq(qp);
}

/* The peer sends a message and disconnects. Both have arrived, and the message
 * is not polled. */
static void pair_leave_behind_message(struct cm_pair *p)
{
	cm_pair_open(p, AF_INET);
	cm_pair_accept(p);
	post_recv(p->passive_qp.qp);
	post_send(p->active_qp.qp);
	assert_int_equal(rnic_cm_disconnect(p->active.chan, p->active.id), 0);
	while (rnic_qp_state(p->passive_qp.qp) == RNIC_QPS_RTS)
		rnic_cq_progress(p->passive_qp.cq);
}

/* Programs destroy the QP at DISCONNECTED, and lose what they have not
 * polled. */
CASE(disconnected_waits_for_the_last_message)
{
	const struct usiw_ring *ring;
	const struct usiw_cqe *cqe;
	struct rnic_cm_event ev;
	uint64_t begin_ns, early_ns;
	bool is_early;
	struct cm_pair p;

	/* It does not wait long. On a slow machine a check may come late. */
	for (int i = 0; i < 100; i++) {
		begin_ns = util_now_ns();
		pair_leave_behind_message(&p);
		is_early = cm_is_readable(p.listener.chan, 20);
		early_ns = util_now_ns() - begin_ns;
		ring = rnic_cq_ring(p.passive_qp.cq);
		cqe = usiw_ring_peek(ring, 0);
		assert_non_null(cqe);
		assert_int_equal(cqe->status, USIW_WC_SUCCESS);
		assert_int_equal(cqe->opcode, USIW_WC_RECV);
		usiw_ring_consume(ring, 1);
		cm_expect(p.listener.chan, RNIC_CM_DISCONNECTED, 0, &ev);
		cm_pair_close(&p);
		if (early_ns < 90 * NS_PER_MS)
			break;
	}
	assert_true(early_ns < 90 * NS_PER_MS);
	assert_false(is_early);
}

CASE(disconnected_comes_without_a_poll)
{
	struct rnic_cm_event ev;
	uint32_t cnt, events;
	struct cm_pair p;

	pair_leave_behind_message(&p);
	cm_expect(p.listener.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	cm_pair_close(&p);
	/* Without the QP there is no reason to wait. */
	pair_leave_behind_message(&p);
	assert_int_equal(rnic_qp_destroy(p.passive_qp.qp, &events), 0);
	p.passive_qp.qp = NULL;
	cm_expect(p.listener.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	cm_pair_close(&p);
	/* A disconnect by the application does not wait. */
	pair_leave_behind_message(&p);
	assert_int_equal(rnic_cm_disconnect(p.listener.chan, p.child), 0);
	cm_expect(p.listener.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	cm_pair_close(&p);
	/* The waiting identity may be destroyed. */
	pair_leave_behind_message(&p);
	assert_int_equal(rnic_cm_destroy(p.listener.chan, p.child, &cnt), 0);
	cm_pair_close(&p);
}

/* The identity may be destroyed before its QP: then the event never comes, and
 * the connection is closed in order, as by a kernel. */
CASE(destroying_the_identity_ends_its_connection)
{
	struct rnic_cm_event ev;
	uint32_t cnt;
	struct cm_pair p;

	cm_pair_open(&p, AF_INET);
	cm_pair_accept(&p);
	assert_int_equal(rnic_cm_destroy(p.listener.chan, p.child, &cnt), 0);
	assert_int_equal(cnt, 1); /* ESTABLISHED */
	cm_expect(p.active.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	assert_int_not_equal(rnic_qp_state(p.passive_qp.qp), RNIC_QPS_RTS);
	assert_false(cm_is_readable(p.listener.chan, 50));
	cm_pair_close(&p);
	/* The same holds if the channel of the identity is closed. */
	cm_pair_open(&p, AF_INET);
	cm_pair_accept(&p);
	rnic_cm_chan_free(p.active.chan);
	cm_expect(p.listener.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	cm_side_open(&p.active, 1);
	cm_pair_close(&p);
}

/* The number of its former QP may belong to another QP with another stream. */
CM_PAIR_CASE(a_qp_of_another_identity_stays)
{
	struct rnic_qp *qp;
	struct cm_pair *p = *state;

	cm_pair_accept(p);
	qp = rnic_qp_get(rnic_qp_num(p->active_qp.qp));
	assert_non_null(qp);
	rnic_qp_disconnect(qp, 1);
	assert_int_equal(rnic_qp_state(qp), RNIC_QPS_RTS);
	rnic_qp_put(qp);
}

CASE(calls_out_of_order_are_refused)
{
	struct sockaddr_storage ss = cm_loopback(AF_INET, 1);
	struct rnic_cm_conn_param param = { .qp_num = 0 };
	struct rnic_cm_info info;
	struct cm_side s, t;
	uint32_t cnt;

	cm_side_open(&s, 1);
	cm_side_open(&t, 1);
	assert_int_equal(rnic_cm_connect(s.chan, s.id, &param), -EINVAL);
	assert_int_equal(rnic_cm_accept(s.chan, s.id, &param), -EINVAL);
	assert_int_equal(rnic_cm_reject(s.chan, s.id, NULL, 0), -EINVAL);
	assert_int_equal(rnic_cm_disconnect(s.chan, s.id), -EINVAL);
	assert_int_equal(rnic_cm_resolve_route(s.chan, s.id, 1), -EINVAL);
	ss.ss_family = AF_UNIX;
	assert_int_equal(rnic_cm_bind(s.chan, s.id, (struct sockaddr *)&ss),
			 -EAFNOSUPPORT);
	/* A number of another channel is invalid. */
	assert_int_equal(rnic_cm_query(s.chan, t.id, &info), -ENOENT);
	assert_int_equal(rnic_cm_destroy(s.chan, t.id, &cnt), -ENOENT);
	assert_int_equal(rnic_cm_destroy(s.chan, UINT32_MAX, &cnt), -ENOENT);
	assert_int_equal(rnic_cm_destroy(s.chan, s.id, &cnt), 0);
	assert_int_equal(rnic_cm_destroy(s.chan, s.id, &cnt), -ENOENT);
	cm_side_close(&s);
	cm_side_close(&t);
}

BEFORE_CASES()
{
	/* Before the settings are read for the first time. */
	setenv("USIW_START_MS", "1000", 1);
	setenv("USIW_DRAIN_MS", "300", 1);
}

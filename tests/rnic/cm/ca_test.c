/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Persona ca: InfiniBand's three steps. The connecting side gets
 * CONNECT_RESPONSE and confirms when it is ready. The other side's ESTABLISHED
 * waits for that.
 */
#include "fixture.h"

#include "lists.h"
#include "loop/loop.h"
#include "qp/qp.h"

#define PENDING_MS 50
#define RNR_MS 900
#define RNR_STR "900"

/* Reject reasons of InfiniBand: no listener, and one of the application. */
enum { REJ_INVALID_SERVICE = 8, REJ_CONSUMER = 28 };

/* Up to the peer's Reply: one side has accepted, the other has the event. */
static void answered(struct cm_pair *p)
{
	struct rnic_cm_event ev;

	cm_pair_open(p, AF_INET);
	cm_pair_answer(p);
	cm_pair_expect_answer(p, RNIC_CM_CONNECT_RESPONSE, &ev);
	assert_true(ev.qp_num > 1 && rnic_qp_num_is_cm(ev.qp_num));
}

static int setup_answered(void **state)
{
	static struct cm_pair p;

	answered(&p);
	*state = &p;
	return 0;
}

#define ANSWERED_CASE(name) CASE_WITH(name, setup_answered, cm_pair_teardown)

static void query(const struct cm_side *s, uint32_t id,
		  struct rnic_cm_info *ret_info)
{
	assert_int_equal(rnic_cm_query(s->chan, id, ret_info), 0);
	assert_int_equal(ret_info->persona, RNIC_PERSONA_CA);
}

ANSWERED_CASE(established_comes_with_the_last_step)
{
	struct rnic_cm_event ev;
	struct rnic_cm_info info;
	struct cm_pair *p = *state;

	assert_false(cm_is_readable(p->listener.chan, PENDING_MS));
	assert_int_equal(rnic_qp_state(p->active_qp.qp), RNIC_QPS_IDLE);
	assert_int_equal(rnic_qp_state(p->passive_qp.qp), RNIC_QPS_IDLE);
	query(&p->active, p->active.id, &info);
	assert_true(info.peer_num && rnic_qp_num_is_cm(info.peer_num));
	assert_int_equal(info.ird, 4);
	assert_int_equal(info.ord, 3);
	assert_int_equal(rnic_cm_establish(p->active.chan, p->active.id), 0);
	assert_int_equal(rnic_qp_state(p->active_qp.qp), RNIC_QPS_RTS);
	cm_expect(p->listener.chan, RNIC_CM_ESTABLISHED, 0, &ev);
	assert_int_equal(ev.id, p->child);
	assert_int_equal(ev.ird, 3);
	assert_int_equal(ev.ord, 3); /* it requests no more */
	assert_int_equal(rnic_qp_state(p->passive_qp.qp), RNIC_QPS_RTS);
	/* The connecting side already has its event. */
	assert_false(cm_is_readable(p->active.chan, PENDING_MS));
	assert_int_equal(rnic_cm_establish(p->active.chan, p->active.id),
			 -EINVAL);
	assert_int_equal(rnic_cm_disconnect(p->active.chan, p->active.id), 0);
	cm_expect(p->listener.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	cm_expect(p->active.chan, RNIC_CM_DISCONNECTED, 0, &ev);
}

/* What a program reads before it moves its QP. */
CM_PAIR_CASE(the_peer_has_a_number_from_its_start_frame_on)
{
	struct rnic_cm_info info;
	struct cm_pair *p = *state;

	query(&p->active, p->active.id, &info);
	assert_int_equal(info.peer_num, 0);
	query(&p->listener, p->child, &info);
	assert_true(info.peer_num > 1 && rnic_qp_num_is_cm(info.peer_num));
	assert_int_equal(info.ird, 3); /* as the peer requests */
	assert_int_equal(info.ord, 4);
	assert_int_equal(rnic_cm_establish(p->active.chan, p->active.id),
			 -EINVAL);
	assert_int_equal(rnic_cm_establish(p->listener.chan, p->child),
			 -EINVAL);
}

ANSWERED_CASE(peer_that_leaves_before_the_last_step)
{
	struct rnic_cm_event ev;
	struct cm_pair *p = *state;
	uint32_t cnt;

	assert_int_equal(rnic_cm_destroy(p->active.chan, p->active.id, &cnt),
			 0);
	cm_expect(p->listener.chan, RNIC_CM_REJECTED, REJ_CONSUMER, &ev);
	/* Its posted work fails as if the peer did not answer. */
	assert_int_equal(rnic_qp_state(p->passive_qp.qp), RNIC_QPS_ERROR);
}

/* It has accepted: the connection is established, and ends then. */
ANSWERED_CASE(passive_side_that_leaves_before_the_last_step)
{
	struct rnic_cm_event ev;
	struct cm_pair *p = *state;
	uint32_t cnt;

	assert_int_equal(rnic_cm_destroy(p->listener.chan, p->child, &cnt), 0);
	assert_false(cm_is_readable(p->active.chan, PENDING_MS));
	assert_int_equal(rnic_cm_establish(p->active.chan, p->active.id), 0);
	cm_expect(p->active.chan, RNIC_CM_DISCONNECTED, 0, &ev);
}

CASE(either_side_may_disconnect_before_the_last_step)
{
	struct rnic_cm_event ev;
	struct cm_pair p;

	answered(&p);
	assert_int_equal(rnic_cm_disconnect(p.active.chan, p.active.id), 0);
	cm_expect(p.listener.chan, RNIC_CM_REJECTED, REJ_CONSUMER, &ev);
	/* If the last step is refused, librdmacm reports no further event. */
	assert_int_equal(rnic_cm_establish(p.active.chan, p.active.id),
			 -ECONNRESET);
	assert_false(cm_is_readable(p.active.chan, PENDING_MS));
	cm_pair_close(&p);
	answered(&p);
	assert_int_equal(rnic_cm_disconnect(p.listener.chan, p.child), 0);
	cm_expect(p.listener.chan, RNIC_CM_REJECTED, REJ_CONSUMER, &ev);
	assert_int_equal(rnic_cm_establish(p.active.chan, p.active.id), 0);
	cm_expect(p.active.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	cm_pair_close(&p);
}

CASE(reasons_are_those_of_infiniband)
{
	struct cm_side active, late;
	struct rnic_cm_event ev;
	struct cm_pair p;
	struct cm_qp qp;
	uint16_t port;

	cm_pair_open(&p, AF_INET);
	assert_int_equal(rnic_cm_reject(p.listener.chan, p.child, "no", 2), 0);
	cm_expect(p.active.chan, RNIC_CM_REJECTED, REJ_CONSUMER, &ev);
	assert_int_equal(ev.pd_len, 2);
	cm_pair_close(&p);
	port = cm_listen(&late, AF_INET, 1);
	cm_side_close(&late);
	cm_qp_open(&qp);
	cm_dial(&active, &qp, port, "");
	cm_expect(active.chan, RNIC_CM_REJECTED, REJ_INVALID_SERVICE, &ev);
	cm_side_close(&active);
	cm_qp_close(&qp);
}

/* When the stream arrives, the named QP has been reset. */
CASE(a_qp_that_was_reset_gets_no_old_stream)
{
	struct rnic_cm_event ev;
	struct cm_pair p;

	answered(&p);
	assert_int_equal(rnic_qp_modify(p.passive_qp.qp, RNIC_QPS_ERROR), 0);
	assert_int_equal(rnic_qp_modify(p.passive_qp.qp, RNIC_QPS_IDLE), 0);
	assert_int_equal(rnic_cm_establish(p.active.chan, p.active.id), 0);
	cm_expect(p.listener.chan, RNIC_CM_CONNECT_ERROR, -EINVAL, &ev);
	cm_expect(p.active.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	assert_int_equal(rnic_qp_state(p.passive_qp.qp), RNIC_QPS_IDLE);
	cm_pair_close(&p);
	/* Or destroyed. */
	answered(&p);
	assert_int_equal(rnic_qp_destroy(p.passive_qp.qp, &p.child), 0);
	p.passive_qp.qp = NULL;
	assert_int_equal(rnic_cm_establish(p.active.chan, p.active.id), 0);
	cm_expect(p.listener.chan, RNIC_CM_CONNECT_ERROR, -EINVAL, &ev);
	cm_pair_close(&p);
}

ANSWERED_CASE(the_last_step_checks_the_qp)
{
	struct rnic_cm_event ev;
	struct cm_pair *p = *state;

	assert_int_equal(rnic_qp_modify(p->active_qp.qp, RNIC_QPS_ERROR), 0);
	assert_int_equal(rnic_cm_establish(p->active.chan, p->active.id),
			 -EINVAL);
	cm_expect(p->listener.chan, RNIC_CM_REJECTED, REJ_CONSUMER, &ev);
}

/* A peer of revision 1 sends no RTR to wait for. */
CASE(without_rtr_established_comes_at_once)
{
	struct cm_side listener;
	struct rnic_cm_event ev;
	struct cm_qp q;
	uint32_t child;
	int fd;

	cm_qp_open(&q);
	fd = cm_rawpeer_ask(&listener, cm_mpa_request, &child);
	cm_accept(&listener, child, &q, "");
	cm_expect(listener.chan, RNIC_CM_ESTABLISHED, 0, &ev);
	assert_int_equal(rnic_qp_state(q.qp), RNIC_QPS_RTS);
	close(fd);
	cm_side_close(&listener);
	cm_qp_close(&q);
}

/* Each application says how often its peer's Sends are retried, so the QP of
 * that application holds them. */
CASE(rnr_retry_count_is_for_the_peers_sends)
{
	static const struct {
		uint8_t active, passive;
		uint64_t active_ns, passive_ns;
	} rows[] = {
		{ 0, 0, RNR_MS * NS_PER_MS, RNR_MS * NS_PER_MS },
		{ 6, 6, RNR_MS * NS_PER_MS, RNR_MS * NS_PER_MS },
		{ 7, 0, UINT64_MAX, RNR_MS * NS_PER_MS },
		{ 0, 7, RNR_MS * NS_PER_MS, UINT64_MAX },
		{ 255, 255, UINT64_MAX, UINT64_MAX },
	};
	struct rnic_cm_event ev;
	struct cm_pair p;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("%u, %u\n", rows[i].active, rows[i].passive);
		cm_rnr_retry = rows[i].active;
		cm_pair_open(&p, AF_INET);
		cm_rnr_retry = rows[i].passive;
		cm_pair_answer(&p);
		cm_rnr_retry = 0;
		cm_pair_expect_answer(&p, RNIC_CM_CONNECT_RESPONSE, &ev);
		assert_int_equal(rnic_cm_establish(p.active.chan, p.active.id),
				 0);
		cm_expect(p.listener.chan, RNIC_CM_ESTABLISHED, 0, &ev);
		assert_true(p.active_qp.qp->rnr_ns == rows[i].active_ns);
		assert_true(p.passive_qp.qp->rnr_ns == rows[i].passive_ns);
		cm_pair_close(&p);
	}
}

/* Programs drop their last reference with that event. */
ANSWERED_CASE(timewait_ends_behind_disconnected)
{
	struct rnic_cm_event ev;
	struct cm_pair *p = *state;
	uint32_t cnt;

	assert_int_equal(rnic_cm_establish(p->active.chan, p->active.id), 0);
	cm_expect(p->listener.chan, RNIC_CM_ESTABLISHED, 0, &ev);
	assert_int_equal(rnic_cm_disconnect(p->active.chan, p->active.id), 0);
	cm_expect(p->active.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	cm_expect(p->active.chan, RNIC_CM_TIMEWAIT_EXIT, 0, &ev);
	assert_int_equal(ev.id, p->active.id);
	/* The other side disconnects too, and only once. */
	cm_expect(p->listener.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	assert_false(cm_is_readable(p->listener.chan, PENDING_MS));
	assert_int_equal(rnic_cm_disconnect(p->listener.chan, p->child), 0);
	assert_int_equal(rnic_cm_disconnect(p->listener.chan, p->child), 0);
	cm_expect(p->listener.chan, RNIC_CM_TIMEWAIT_EXIT, 0, &ev);
	assert_int_equal(ev.id, p->child);
	assert_int_equal(rnic_cm_disconnect(p->listener.chan, p->child), 0);
	assert_false(cm_is_readable(p->listener.chan, PENDING_MS));
	assert_int_equal(rnic_cm_destroy(p->listener.chan, p->child, &cnt), 0);
	assert_int_equal(cnt, 3);
}

/* A destroyed identity gets no further event. */
ANSWERED_CASE(no_timewait_exit_for_an_identity_that_is_gone)
{
	struct rnic_cm_event ev;
	struct cm_pair *p = *state;
	uint32_t cnt;

	assert_int_equal(rnic_cm_establish(p->active.chan, p->active.id), 0);
	cm_expect(p->listener.chan, RNIC_CM_ESTABLISHED, 0, &ev);
	assert_int_equal(rnic_cm_disconnect(p->active.chan, p->active.id), 0);
	cm_expect(p->active.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	assert_int_equal(rnic_cm_destroy(p->active.chan, p->active.id, &cnt),
			 0);
	util_lock(&rnic_loop.lock);
	assert_int_equal(rnic_timer_cnt(RNIC_TIMER_CM_TIMEWAIT), 0);
	util_unlock(&rnic_loop.lock);
}

/* A connection that was never established has no timewait. */
CM_PAIR_CASE(no_timewait_exit_after_a_rejection)
{
	struct rnic_cm_event ev;
	struct cm_pair *p = *state;

	assert_int_equal(rnic_cm_reject(p->listener.chan, p->child, "", 0), 0);
	cm_expect(p->active.chan, RNIC_CM_REJECTED, REJ_CONSUMER, &ev);
	assert_int_equal(rnic_cm_disconnect(p->active.chan, p->active.id), 0);
	util_lock(&rnic_loop.lock);
	assert_int_equal(rnic_timer_cnt(RNIC_TIMER_CM_TIMEWAIT), 0);
	util_unlock(&rnic_loop.lock);
}

/* For example the connecting application is stopped: the wait is limited. */
ANSWERED_CASE(an_answer_is_awaited_for_a_while)
{
	struct rnic_cm_event ev;
	struct cm_pair *p = *state;

	util_lock(&rnic_loop.lock);
	assert_int_equal(rnic_timer_cnt(RNIC_TIMER_CM_ANSWERED), 1);
	cm_first(RNIC_TIMER_CM_ANSWERED)->deadline_ns = util_now_ns();
	rnic_loop_deadline(util_now_ns());
	util_unlock(&rnic_loop.lock);
	cm_expect(p->listener.chan, RNIC_CM_UNREACHABLE, -ETIMEDOUT, &ev);
}

/* The thread sleeps until the deadline of the answer, one minute ahead. It must
 * be woken for an earlier one. */
static bool thread_is_asleep(void)
{
	bool is_asleep;

	util_lock(&rnic_loop.lock);
	is_asleep = rnic_loop.wakes_ns ==
		    cm_first(RNIC_TIMER_CM_ANSWERED)->deadline_ns;
	util_unlock(&rnic_loop.lock);
	return is_asleep;
}

/* A helper may set a time limit, and the thread must wake for it. */
ANSWERED_CASE(a_helper_tells_the_thread_of_deadlines)
{
	struct rnic_cm_event ev;
	struct cm_pair *p = *state;

	wait_until(thread_is_asleep());
	util_lock(&rnic_loop.lock);
	rnic_timer_start(cm_first(RNIC_TIMER_CM_ANSWERED),
			 RNIC_TIMER_CM_ANSWERED, 0);
	util_unlock(&rnic_loop.lock);
	cm_expect(p->listener.chan, RNIC_CM_UNREACHABLE, -ETIMEDOUT, &ev);
}

BEFORE_CASES()
{
	/* Before the settings are read for the first time. */
	setenv("USIW_PERSONA", "ca", 1);
	setenv("USIW_DRAIN_MS", "300", 1);
	setenv("USIW_RNR_MS", RNR_STR, 1);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* rdma_cm identities over real loopback sockets, with real QPs. */
#include "cm-fixture.h"

#include "stat.h"

struct pair {
	struct cm_side listener, active;
	struct cm_qp active_qp, passive_qp;
	uint32_t child;
};

static void pair_open(struct pair *p, int family)
{
	struct rnic_cm_conn_param param;
	struct rnic_cm_event ev;
	uint16_t port;

	memset(p, 0, sizeof(*p));
	cm_qp_open(&p->active_qp);
	cm_qp_open(&p->passive_qp);
	port = cm_listen(&p->listener, family, 0);
	cm_resolve(&p->active, family, port);
	cm_param(&param, &p->active_qp, "ask");
	assert_int_equal(rnic_cm_connect(p->active.chan, p->active.id, &param),
			 0);
	cm_expect(p->listener.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	assert_int_equal(ev.uid, 1);
	assert_int_equal(ev.listen_id, p->listener.id);
	assert_int_equal(ev.pd_len, 3);
	assert_memory_equal(ev.pd, "ask", 3);
	/* What the peer initiates we respond to, and the other way round. */
	assert_int_equal(ev.ird, 3);
	assert_int_equal(ev.ord, 4);
	p->child = ev.id;
}

static void pair_accept(struct pair *p)
{
	struct rnic_cm_conn_param param;
	struct rnic_cm_event ev;

	cm_param(&param, &p->passive_qp, "answer");
	assert_int_equal(rnic_cm_set_uid(p->listener.chan, p->child, 3), 0);
	assert_int_equal(rnic_cm_accept(p->listener.chan, p->child, &param), 0);
	cm_expect(p->listener.chan, RNIC_CM_ESTABLISHED, 0, &ev);
	assert_int_equal(ev.id, p->child);
	assert_int_equal(ev.uid, 3);
	cm_expect(p->active.chan, RNIC_CM_ESTABLISHED, 0, &ev);
	assert_int_equal(ev.pd_len, 6);
	assert_memory_equal(ev.pd, "answer", 6);
	assert_int_equal(ev.ird, 4); /* as offered: more than is asked for */
	assert_int_equal(ev.ord, 3); /* we want no more */
}

static void pair_close(struct pair *p)
{
	cm_side_close(&p->active);
	cm_side_close(&p->listener);
	cm_qp_close(&p->active_qp);
	cm_qp_close(&p->passive_qp);
}

static void connects_and_disconnects(int family)
{
	struct rnic_cm_info here, there;
	struct rnic_cm_event ev;
	struct pair p;

	pair_open(&p, family);
	pair_accept(&p);
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
	/* Once is enough, and asking again does no harm. */
	assert_int_equal(rnic_cm_disconnect(p.active.chan, p.active.id), 0);
	assert_int_equal(rnic_cm_disconnect(p.listener.chan, p.child), 0);
	assert_false(cm_is_readable(p.active.chan, 50));
	assert_false(cm_is_readable(p.listener.chan, 0));
	pair_close(&p);
}

static void connects_and_disconnects_ipv4(void **state)
{
	(void)state;
	connects_and_disconnects(AF_INET);
}

static void connects_and_disconnects_ipv6(void **state)
{
	(void)state;
	connects_and_disconnects(AF_INET6);
}

static void passive_side_disconnects(void **state)
{
	struct rnic_cm_event ev;
	struct pair p;

	(void)state;
	pair_open(&p, AF_INET);
	pair_accept(&p);
	assert_int_equal(rnic_cm_disconnect(p.listener.chan, p.child), 0);
	cm_expect(p.active.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	cm_expect(p.listener.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	pair_close(&p);
}

/* The stream is the QP's: the identity may go first, the event just never
 * comes; the other side sees the QP's end. */
static void id_goes_before_its_stream(void **state)
{
	struct rnic_cm_event ev;
	uint32_t cnt;
	struct pair p;

	(void)state;
	pair_open(&p, AF_INET);
	pair_accept(&p);
	assert_int_equal(rnic_cm_destroy(p.listener.chan, p.child, &cnt), 0);
	assert_int_equal(cnt, 1); /* ESTABLISHED */
	assert_int_equal(rnic_qp_state(p.passive_qp.qp), RNIC_QPS_RTS);
	assert_int_equal(rnic_qp_destroy(p.passive_qp.qp, &cnt), 0);
	p.passive_qp.qp = NULL;
	cm_expect(p.active.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	assert_false(cm_is_readable(p.listener.chan, 50));
	pair_close(&p);
}

static void rejects_with_private_data(void **state)
{
	struct rnic_cm_event ev;
	struct pair p;
	uint32_t cnt;

	(void)state;
	pair_open(&p, AF_INET);
	assert_int_equal(rnic_cm_reject(p.listener.chan, p.child, "no", 2), 0);
	cm_expect(p.active.chan, RNIC_CM_REJECTED, -ECONNREFUSED, &ev);
	assert_int_equal(ev.pd_len, 2);
	assert_memory_equal(ev.pd, "no", 2);
	assert_int_equal(rnic_cm_reject(p.listener.chan, p.child, NULL, 0),
			 -EINVAL);
	assert_int_equal(rnic_cm_destroy(p.listener.chan, p.child, &cnt), 0);
	assert_int_equal(cnt, 0);
	assert_int_equal(rnic_qp_state(p.active_qp.qp), RNIC_QPS_IDLE);
	pair_close(&p);
}

static void destroying_a_request_rejects_it(void **state)
{
	struct rnic_cm_event ev;
	struct pair p;
	uint32_t cnt;

	(void)state;
	pair_open(&p, AF_INET);
	assert_int_equal(rnic_cm_destroy(p.listener.chan, p.child, &cnt), 0);
	cm_expect(p.active.chan, RNIC_CM_REJECTED, -ECONNREFUSED, &ev);
	pair_close(&p);
}

static void destroying_a_listener_takes_unfetched_requests(void **state)
{
	struct cm_side listener, active;
	struct rnic_cm_event ev;
	struct cm_qp q;
	uint32_t cnt;
	uint16_t port;

	(void)state;
	cm_qp_open(&q);
	port = cm_listen(&listener, AF_INET, 0);
	cm_dial(&active, &q, port, "x");
	assert_true(cm_is_readable(listener.chan, CM_PATIENCE_MS));
	assert_int_equal(rnic_cm_destroy(listener.chan, listener.id, &cnt), 0);
	assert_int_equal(cnt, 0);
	assert_false(cm_is_readable(listener.chan, 0));
	cm_expect(active.chan, RNIC_CM_REJECTED, -ECONNREFUSED, &ev);
	cm_side_close(&listener);
	cm_side_close(&active);
	cm_qp_close(&q);
}

static void closed_port_is_refused(void **state)
{
	struct rnic_cm_event ev;
	struct cm_side active;
	struct cm_qp q;
	uint16_t port;

	(void)state;
	close(cm_stranger_listen(&port));
	cm_qp_open(&q);
	cm_dial(&active, &q, port, "");
	cm_expect(active.chan, RNIC_CM_REJECTED, -ECONNREFUSED, &ev);
	cm_side_close(&active);
	cm_qp_close(&q);
}

/* D-27 */
static void no_reply_to_revision_2_means_one_try_with_1(void **state)
{
	struct rnic_cm_event ev;
	struct cm_side active;
	uint8_t frame[24];
	struct cm_qp q;
	uint16_t port;
	int listener = cm_stranger_listen(&port), fd;

	(void)state;
	cm_qp_open(&q);
	cm_dial(&active, &q, port, "");
	fd = cm_stranger_accept(listener, frame, 24);
	assert_memory_equal(frame, "MPA ID Req Frame", 16);
	assert_int_equal(frame[17], 2);
	close(fd);
	fd = cm_stranger_accept(listener, frame, 20);
	assert_int_equal(frame[17], 1);
	close(fd);
	cm_expect(active.chan, RNIC_CM_REJECTED, -ECONNRESET, &ev);
	assert_false(cm_is_readable(active.chan, 50));
	cm_side_close(&active);
	cm_qp_close(&q);
	close(listener);
}

static void peer_of_revision_1_is_found_by_the_retry(void **state)
{
	static const uint8_t reply[20] = "MPA ID Rep Frame\x40\x01\x00";
	struct rnic_cm_event ev;
	struct cm_side active;
	uint8_t frame[24];
	struct cm_qp q;
	uint16_t port;
	int listener = cm_stranger_listen(&port), fd;

	(void)state;
	cm_qp_open(&q);
	cm_dial(&active, &q, port, "");
	cm_slam(cm_stranger_accept(listener, frame, 24));
	fd = cm_stranger_accept(listener, frame, 20);
	cm_say(fd, reply, sizeof(reply));
	cm_expect(active.chan, RNIC_CM_ESTABLISHED, 0, &ev);
	close(fd);
	cm_expect(active.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	cm_side_close(&active);
	cm_qp_close(&q);
	close(listener);
}

static void garbage_for_a_reply_is_an_error(void **state)
{
	uint8_t garbage[64];
	struct rnic_cm_event ev;
	struct cm_side active;
	uint8_t frame[24];
	struct cm_qp q;
	uint16_t port;
	int listener = cm_stranger_listen(&port), fd;

	(void)state;
	memset(garbage, 0xa5, sizeof(garbage));
	cm_qp_open(&q);
	cm_dial(&active, &q, port, "");
	fd = cm_stranger_accept(listener, frame, 24);
	cm_say(fd, garbage, sizeof(garbage));
	cm_expect(active.chan, RNIC_CM_CONNECT_ERROR, -EPROTO, &ev);
	close(fd);
	cm_side_close(&active);
	cm_qp_close(&q);
	close(listener);
}

static void silent_peer_is_unreachable_in_time(void **state)
{
	struct rnic_cm_event ev;
	struct cm_side active;
	uint8_t frame[24];
	struct cm_qp q;
	uint16_t port;
	int listener = cm_stranger_listen(&port), fd;

	(void)state;
	cm_qp_open(&q);
	cm_dial(&active, &q, port, "");
	fd = cm_stranger_accept(listener, frame, 24);
	cm_expect(active.chan, RNIC_CM_UNREACHABLE, -ETIMEDOUT, &ev);
	close(fd);
	cm_side_close(&active);
	cm_qp_close(&q);
	close(listener);
}

static void destroying_aborts_a_connect(void **state)
{
	struct cm_side active;
	uint8_t frame[24];
	struct cm_qp q;
	uint32_t cnt;
	uint16_t port;
	int listener = cm_stranger_listen(&port), fd;

	(void)state;
	cm_qp_open(&q);
	cm_dial(&active, &q, port, "");
	fd = cm_stranger_accept(listener, frame, 24);
	assert_int_equal(rnic_cm_destroy(active.chan, active.id, &cnt), 0);
	assert_int_equal(cnt, 2); /* ADDR_RESOLVED, ROUTE_RESOLVED */
	assert_int_equal(cm_read_to_end(fd, frame, sizeof(frame)), 0);
	assert_false(cm_is_readable(active.chan, 0));
	assert_int_equal(rnic_qp_state(q.qp), RNIC_QPS_IDLE);
	close(fd);
	cm_side_close(&active);
	cm_qp_close(&q);
	close(listener);
}

static void disconnect_aborts_a_connect(void **state)
{
	struct rnic_cm_event ev;
	struct cm_side active;
	uint8_t frame[24];
	struct cm_qp q;
	uint16_t port;
	int listener = cm_stranger_listen(&port), fd;

	(void)state;
	cm_qp_open(&q);
	cm_dial(&active, &q, port, "");
	fd = cm_stranger_accept(listener, frame, 24);
	assert_int_equal(rnic_cm_disconnect(active.chan, active.id), 0);
	cm_expect(active.chan, RNIC_CM_REJECTED, -ECONNRESET, &ev);
	close(fd);
	cm_side_close(&active);
	cm_qp_close(&q);
	close(listener);
}

static void peer_that_left_makes_accept_fail(void **state)
{
	struct rnic_cm_conn_param param;
	struct cm_side listener;
	struct rnic_cm_event ev;
	struct cm_qp q;
	uint16_t port;
	int fd, ret;

	(void)state;
	cm_qp_open(&q);
	port = cm_listen(&listener, AF_INET, 0);
	fd = cm_stranger(port);
	cm_say(fd, cm_mpa_request, sizeof(cm_mpa_request));
	cm_expect(listener.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	cm_slam(fd);
	cm_param(&param, &q, "");
	/* Whether or not the manager has seen it already. */
	ret = rnic_cm_accept(listener.chan, ev.id, &param);
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
	struct pair p;

	(void)state;
	pair_open(&p, AF_INET);
	cm_param(&param, &p.passive_qp, "");
	param.qp_num = 0xdead;
	assert_int_equal(rnic_cm_accept(p.listener.chan, p.child, &param),
			 -EINVAL);
	pair_accept(&p); /* nothing had changed */
	assert_int_equal(rnic_cm_accept(p.listener.chan, p.child, &param),
			 -EINVAL);
	pair_close(&p);
}

static void connect_checks_the_qp(void **state)
{
	struct rnic_cm_conn_param param;
	struct cm_side active;
	struct cm_qp q;
	uint16_t port;
	int listener = cm_stranger_listen(&port);
	struct pollfd pfd = { .fd = listener, .events = POLLIN };

	(void)state;
	cm_qp_open(&q);
	cm_resolve(&active, AF_INET, port);
	cm_param(&param, &q, "");
	param.qp_num = 0xdead;
	assert_int_equal(rnic_cm_connect(active.chan, active.id, &param),
			 -EINVAL);
	assert_int_equal(rnic_qp_modify(q.qp, RNIC_QPS_ERROR), 0);
	cm_param(&param, &q, "");
	assert_int_equal(rnic_cm_connect(active.chan, active.id, &param),
			 -EINVAL);
	assert_int_equal(poll(&pfd, 1, 50), 0);
	cm_side_close(&active);
	cm_qp_close(&q);
	close(listener);
}

static void calls_out_of_order_are_refused(void **state)
{
	struct sockaddr_storage ss = cm_loopback(AF_INET, 1);
	struct rnic_cm_conn_param param = { .qp_num = 0 };
	struct rnic_cm_info info;
	struct cm_side s, t;
	uint32_t cnt;

	(void)state;
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
	/* Another channel's number is no number. */
	assert_int_equal(rnic_cm_query(s.chan, t.id, &info), -ENOENT);
	assert_int_equal(rnic_cm_destroy(s.chan, t.id, &cnt), -ENOENT);
	assert_int_equal(rnic_cm_destroy(s.chan, UINT32_MAX, &cnt), -ENOENT);
	assert_int_equal(rnic_cm_destroy(s.chan, s.id, &cnt), 0);
	assert_int_equal(rnic_cm_destroy(s.chan, s.id, &cnt), -ENOENT);
	cm_side_close(&s);
	cm_side_close(&t);
}

static void unknown_network_gives_addr_error(void **state)
{
	struct sockaddr_in6 nowhere = { .sin6_family = AF_INET6 };
	struct rnic_cm_event ev;
	struct cm_side s;

	(void)state;
	/* Link-local without a scope can be reached by no interface. */
	inet_pton(AF_INET6, "fe80::1", &nowhere.sin6_addr);
	nowhere.sin6_port = htons(9);
	cm_side_open(&s, 1);
	assert_int_equal(rnic_cm_resolve_addr(s.chan, s.id, NULL,
					      (struct sockaddr *)&nowhere, 1),
			 0);
	assert_int_equal(rnic_cm_get_event(s.chan, &ev), 0);
	assert_int_equal(ev.type, RNIC_CM_ADDR_ERROR);
	assert_true(ev.status < 0);
	cm_side_close(&s);
}

static void foreign_source_address_is_refused_at_once(void **state)
{
	struct sockaddr_storage dst = cm_loopback(AF_INET, 9);
	struct sockaddr_in src = { .sin_family = AF_INET };
	struct cm_side s;

	(void)state;
	inet_pton(AF_INET, "192.0.2.1", &src.sin_addr);
	cm_side_open(&s, 1);
	assert_int_equal(rnic_cm_resolve_addr(s.chan, s.id,
					      (struct sockaddr *)&src,
					      (struct sockaddr *)&dst, 1),
			 -EADDRNOTAVAIL);
	assert_int_equal(rnic_cm_bind(s.chan, s.id, (struct sockaddr *)&src),
			 -EADDRNOTAVAIL);
	cm_side_close(&s);
}

static void destroy_takes_queued_events_along(void **state)
{
	struct sockaddr_storage dst = cm_loopback(AF_INET, 9);
	struct rnic_cm_event ev;
	struct cm_side s;
	uint32_t other, cnt;

	(void)state;
	cm_side_open(&s, 1);
	assert_int_equal(rnic_cm_create(s.chan, 7, &other), 0);
	assert_int_equal(rnic_cm_resolve_addr(s.chan, s.id, NULL,
					      (struct sockaddr *)&dst, 1),
			 0);
	assert_int_equal(rnic_cm_resolve_addr(s.chan, other, NULL,
					      (struct sockaddr *)&dst, 1),
			 0);
	assert_int_equal(rnic_cm_destroy(s.chan, s.id, &cnt), 0);
	assert_int_equal(cnt, 0);
	cm_expect(s.chan, RNIC_CM_ADDR_RESOLVED, 0, &ev);
	assert_int_equal(ev.uid, 7);
	assert_false(cm_is_readable(s.chan, 0));
	fcntl(rnic_cm_chan_fd(s.chan), F_SETFL, O_NONBLOCK);
	assert_int_equal(rnic_cm_get_event(s.chan, &ev), -EAGAIN);
	assert_int_equal(rnic_cm_destroy(s.chan, other, &cnt), 0);
	assert_int_equal(cnt, 1);
	cm_side_close(&s);
}

static void migrate_moves_id_and_events(void **state)
{
	struct sockaddr_storage dst = cm_loopback(AF_INET, 9);
	struct rnic_cm_event ev;
	struct rnic_cm_info info;
	struct cm_side s, t;
	uint32_t id, cnt;

	(void)state;
	cm_side_open(&s, 1);
	cm_side_open(&t, 2);
	assert_int_equal(rnic_cm_resolve_addr(s.chan, s.id, NULL,
					      (struct sockaddr *)&dst, 1),
			 0);
	assert_int_equal(rnic_cm_migrate(s.chan, s.id, t.chan, &id, &cnt), 0);
	assert_int_equal(cnt, 0);
	assert_false(cm_is_readable(s.chan, 0));
	cm_expect(t.chan, RNIC_CM_ADDR_RESOLVED, 0, &ev);
	assert_int_equal(ev.id, id);
	assert_int_equal(rnic_cm_query(s.chan, id, &info), -ENOENT);
	assert_int_equal(rnic_cm_query(t.chan, id, &info), 0);
	assert_int_equal(rnic_cm_migrate(s.chan, id, t.chan, &id, &cnt),
			 -ENOENT);
	cm_side_close(&s);
	cm_side_close(&t);
}

static void any_destination_means_this_machine(void **state)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct rnic_cm_event ev;
	struct rnic_cm_info info;
	struct cm_side s;

	(void)state;
	any.sin_port = htons(9);
	cm_side_open(&s, 1);
	assert_int_equal(rnic_cm_resolve_addr(s.chan, s.id, NULL,
					      (struct sockaddr *)&any, 1),
			 0);
	cm_expect(s.chan, RNIC_CM_ADDR_RESOLVED, 0, &ev);
	assert_int_equal(rnic_cm_query(s.chan, s.id, &info), 0);
	assert_int_equal(cm_port(&info.peer), 9);
	assert_non_null(info.dev);
	cm_side_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connects_and_disconnects_ipv4),
		cmocka_unit_test(connects_and_disconnects_ipv6),
		cmocka_unit_test(passive_side_disconnects),
		cmocka_unit_test(id_goes_before_its_stream),
		cmocka_unit_test(rejects_with_private_data),
		cmocka_unit_test(destroying_a_request_rejects_it),
		cmocka_unit_test(
			destroying_a_listener_takes_unfetched_requests),
		cmocka_unit_test(closed_port_is_refused),
		cmocka_unit_test(no_reply_to_revision_2_means_one_try_with_1),
		cmocka_unit_test(peer_of_revision_1_is_found_by_the_retry),
		cmocka_unit_test(garbage_for_a_reply_is_an_error),
		cmocka_unit_test(silent_peer_is_unreachable_in_time),
		cmocka_unit_test(destroying_aborts_a_connect),
		cmocka_unit_test(disconnect_aborts_a_connect),
		cmocka_unit_test(peer_that_left_makes_accept_fail),
		cmocka_unit_test(accept_checks_the_qp),
		cmocka_unit_test(connect_checks_the_qp),
		cmocka_unit_test(calls_out_of_order_are_refused),
		cmocka_unit_test(unknown_network_gives_addr_error),
		cmocka_unit_test(foreign_source_address_is_refused_at_once),
		cmocka_unit_test(destroy_takes_queued_events_along),
		cmocka_unit_test(migrate_moves_id_and_events),
		cmocka_unit_test(any_destination_means_this_machine),
	};

	/* Before the settings are read for the first time. */
	setenv("USIW_START_MS", "400", 1);
	setenv("USIW_DRAIN_MS", "300", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The active side: results of a connect. */
#include "fixture.h"
#include "lists.h"

#include "util/env.h"
#include "os/tcp.h"

static void closed_port_is_refused(void **state)
{
	struct rnic_cm_event ev;
	struct cm_side active;
	struct cm_qp q;
	uint16_t port;

	close(cm_rawpeer_listen(&port));
	cm_qp_open(&q);
	cm_dial(&active, &q, port, "");
	cm_expect(active.chan, RNIC_CM_REJECTED, -ECONNREFUSED, &ev);
	cm_side_close(&active);
	cm_qp_close(&q);
}

/* A server that binds first and listens later, as one does that listens again
 * for each connection. */
static void listener_that_comes_soon_is_found(void **state)
{
	struct sockaddr_storage ss = cm_loopback(AF_INET, 0);
	socklen_t len = sizeof(ss);
	struct rnic_cm_event ev;
	struct cm_side active;
	uint8_t frame[24];
	struct cm_qp q;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;

	assert_int_equal(bind(listener, (struct sockaddr *)&ss,
			      sizeof(struct sockaddr_in)),
			 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&ss, &len),
			 0);
	cm_qp_open(&q);
	cm_dial(&active, &q, cm_port(&ss), "");
	assert_false(cm_is_readable(active.chan, 50));
	assert_int_equal(listen(listener, 1), 0);
	fd = cm_rawpeer_accept(listener, frame, 24);
	assert_memory_equal(frame, "MPA ID Req Frame", 16);
	/* The retry with revision 1 finds the port closed. */
	close(listener);
	close(fd);
	cm_expect(active.chan, RNIC_CM_REJECTED, -ECONNREFUSED, &ev);
	cm_side_close(&active);
	cm_qp_close(&q);
}

static void destroying_ends_the_wait_for_a_listener(void **state)
{
	struct cm_side active;
	struct cm_qp q;
	uint32_t cnt;
	uint16_t port;

	close(cm_rawpeer_listen(&port));
	cm_qp_open(&q);
	cm_dial(&active, &q, port, "");
	assert_int_equal(rnic_cm_destroy(active.chan, active.id, &cnt), 0);
	assert_false(cm_is_readable(active.chan, 350));
	cm_side_close(&active);
	cm_qp_close(&q);
}

/* U-17, D-27 */
static void no_reply_to_revision_2_means_one_try_with_1(void **state)
{
	struct rnic_cm_event ev;
	struct cm_active *a = *state;
	int fd;

	fd = cm_active_request(a, 24);
	assert_memory_equal(a->frame, "MPA ID Req Frame", 16);
	assert_int_equal(a->frame[17], 2);
	close(fd);
	fd = cm_active_request(a, 20);
	assert_int_equal(a->frame[17], 1);
	close(fd);
	cm_expect(a->side.chan, RNIC_CM_REJECTED, -ECONNRESET, &ev);
	assert_false(cm_is_readable(a->side.chan, 50));
}

/* The peer's reaction to the first Request. */
static const struct {
	const char *name;
	const char *says;
	size_t len;
	bool is_reset;
	bool is_retried;
	enum rnic_cm_event_type type;
	int status;
} ends[] = {
	{ "closes", "", 0, false, true, RNIC_CM_REJECTED, -ECONNRESET },
	{ "resets", "", 0, true, true, RNIC_CM_REJECTED, -ECONNRESET },
	{ "closes in the middle of a Reply", "MPA ID Rep Frame\x50\x02", 18,
	  false, true, RNIC_CM_REJECTED, -ECONNRESET },
	{ "rejects, revision 2",
	  "MPA ID Rep Frame\x70\x02\x00\x04\x80\x08\x80\x06", 24, false, false,
	  RNIC_CM_REJECTED, -ECONNREFUSED },
	{ "rejects, revision 1", "MPA ID Rep Frame\x60\x01\x00\x00", 20, false,
	  false, RNIC_CM_REJECTED, -ECONNREFUSED },
	{ "says something else", "HTTP/1.1 400 Bad Request", 24, false, false,
	  RNIC_CM_CONNECT_ERROR, -EPROTO },
};

/* D-27: there is no second try if a Reply came, and never a third. */
static void only_silence_is_tried_again(void **state)
{
	bool has_rev_2 = util_settings()->mpa_rev == 2;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		int tries = has_rev_2 && ends[i].is_retried ? 2 : 1;
		struct rnic_cm_event ev;
		struct cm_active a;

		print_message("%s\n", ends[i].name);
		cm_active_open(&a);
		for (int try = 0; try < tries; try++) {
			bool is_rev_2 = has_rev_2 && try == 0;
			int fd = cm_active_request(&a, is_rev_2 ? 24 : 20);

			assert_int_equal(a.frame[17], is_rev_2 ? 2 : 1);
			cm_say(fd, (const uint8_t *)ends[i].says, ends[i].len);
			if (ends[i].is_reset)
				cm_slam(fd);
			else
				close(fd);
		}
		cm_expect(a.side.chan, ends[i].type, ends[i].status, &ev);
		/* Connections from before the event are in the backlog. */
		assert_int_equal(fcntl(a.listener, F_SETFL, O_NONBLOCK), 0);
		assert_int_equal(accept(a.listener, NULL, NULL), -1);
		assert_int_equal(errno, EAGAIN);
		cm_active_close(&a);
	}
}

/* The connect() number @fail_at to @port fails at once. */
static struct {
	uint16_t port;
	int fail_at, cnt;
	int (*real)(int fd, const struct sockaddr *addr, socklen_t len);
} dials;

static bool is_dial(int fd, const struct sockaddr *addr)
{
	int type = 0;
	socklen_t len = sizeof(type);

	/* Routes are looked up with datagram sockets. */
	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	       type == SOCK_STREAM &&
	       ((const struct sockaddr_in *)addr)->sin_port ==
		       htons(dials.port);
}

static int dial_or_fail(int fd, const struct sockaddr *addr, socklen_t len)
{
	if (!is_dial(fd, addr) || ++dials.cnt != dials.fail_at)
		return dials.real(fd, addr, len);
	errno = EHOSTUNREACH;
	return -1;
}

/* D-27: an immediate error of connect() ends the first try, or the retry. */
static void an_unreachable_peer_is_reported_at_once(void **state)
{
	struct rnic_tcp_ops ops = *rnic_tcp();
	int tries = util_settings()->mpa_rev == 2 ? 2 : 1;

	dials.real = ops.connect;
	ops.connect = dial_or_fail;
	rnic_tcp_replace(&ops);
	for (int fail_at = 1; fail_at <= tries; fail_at++) {
		struct rnic_cm_event ev;
		struct cm_side active;
		uint8_t frame[24];
		struct cm_qp q;
		int listener = cm_rawpeer_listen(&dials.port);

		dials.cnt = 0;
		dials.fail_at = fail_at;
		cm_qp_open(&q);
		cm_dial(&active, &q, dials.port, "");
		if (fail_at == 2)
			close(cm_rawpeer_accept(listener, frame, 24));
		cm_expect(active.chan, RNIC_CM_UNREACHABLE, -EHOSTUNREACH, &ev);
		assert_int_equal(dials.cnt, fail_at);
		cm_side_close(&active);
		cm_qp_close(&q);
		close(listener);
	}
	rnic_tcp_replace(NULL);
}

static void peer_of_revision_1_is_found_by_the_retry(void **state)
{
	static const uint8_t reply[20] = "MPA ID Rep Frame\x40\x01\x00";
	struct rnic_cm_event ev;
	struct cm_active *a = *state;
	int fd;

	cm_slam(cm_active_request(a, 24));
	fd = cm_active_request(a, 20);
	cm_say(fd, reply, sizeof(reply));
	cm_expect(a->side.chan, RNIC_CM_ESTABLISHED, 0, &ev);
	close(fd);
	cm_expect(a->side.chan, RNIC_CM_DISCONNECTED, 0, &ev);
}

static const struct {
	const char *name;
	uint8_t reply[24];
	enum rnic_cm_event_type type;
	int status;
	uint8_t ird, ord; /* of the event; this side requests IRD 4 and ORD 3 */
} depth_rows[] = {
	{ "accept: IRD 8, ORD 6",
	  "MPA ID Rep Frame\x50\x02\x00\x04\x80\x08\x80\x06",
	  RNIC_CM_ESTABLISHED, 0, 6, 8 },
	{ "accept: IRD 1, ORD 0",
	  "MPA ID Rep Frame\x50\x02\x00\x04\x80\x01\x80\x00",
	  RNIC_CM_ESTABLISHED, 0, 0, 1 },
	{ "accept: more than an octet says",
	  "MPA ID Rep Frame\x50\x02\x00\x04\x90\x00\x80\x04",
	  RNIC_CM_ESTABLISHED, 0, 4, 255 },
	{ "accept: not negotiated",
	  "MPA ID Rep Frame\x50\x02\x00\x04\xbf\xff\xbf\xff",
	  RNIC_CM_ESTABLISHED, 0, 4, 3 },
	{ "reject: IRD 2, ORD 32",
	  "MPA ID Rep Frame\x70\x02\x00\x04\x80\x02\x80\x20", RNIC_CM_REJECTED,
	  -ECONNREFUSED, 32, 2 },
};

/* MPA2-11: IRD and ORD are swapped: what the peer initiates, this side
 * answers. */
static void depths_of_the_reply_are_passed_up(void **state)
{
	for (size_t i = 0; i < sizeof(depth_rows) / sizeof(depth_rows[0]);
	     i++) {
		struct rnic_cm_event ev;
		struct cm_active a;
		int fd;

		print_message("%s\n", depth_rows[i].name);
		cm_active_open(&a);
		fd = cm_active_request(&a, 24);
		cm_say(fd, depth_rows[i].reply, 24);
		cm_expect(a.side.chan, depth_rows[i].type, depth_rows[i].status,
			  &ev);
		assert_int_equal(ev.ird, depth_rows[i].ird);
		assert_int_equal(ev.ord, depth_rows[i].ord);
		close(fd);
		cm_active_close(&a);
	}
}

/* MPA2-16, D-22: this side's IRD would have to be 256. It sends a TERMINATE
 * instead of the RTR, and the connection ends. */
static void too_large_an_ord_is_terminated(void **state)
{
	static const uint8_t reply[24] =
		"MPA ID Rep Frame\x50\x02\x00\x04\x80\x08\x81\x00";
	static const uint8_t terminate[28] = {
		0x00, 0x16, 0x41, 0x47, [11] = 0x02, [15] = 0x01, [20] = 0x20,
		0x06, 0x00, 0x00, 0x65, 0x40,	     0xfb,	  0x1b
	};
	struct rnic_cm_event ev;
	struct cm_active *a = *state;
	int fd;

	fd = cm_active_request(a, 24);
	cm_say(fd, reply, sizeof(reply));
	cm_expect(a->side.chan, RNIC_CM_CONNECT_ERROR, -EPROTO, &ev);
	assert_int_equal(cm_read_to_end(fd, a->frame, sizeof(a->frame)), 28);
	assert_memory_equal(a->frame, terminate, 28);
	assert_int_equal(rnic_qp_state(a->q.qp), RNIC_QPS_IDLE);
	close(fd);
}

static void garbage_for_a_reply_is_an_error(void **state)
{
	uint8_t garbage[64];
	struct rnic_cm_event ev;
	struct cm_active a;
	int fd;

	memset(garbage, 0xa5, sizeof(garbage));
	cm_active_open(&a);
	fd = cm_active_request(&a, 24);
	cm_say(fd, garbage, sizeof(garbage));
	cm_expect(a.side.chan, RNIC_CM_CONNECT_ERROR, -EPROTO, &ev);
	close(fd);
	cm_active_close(&a);
}

static void silent_peer_is_unreachable_in_time(void **state)
{
	struct rnic_cm_event ev;
	struct cm_active *a = *state;
	int fd;

	fd = cm_active_request(a, 24);
	cm_expect(a->side.chan, RNIC_CM_UNREACHABLE, -ETIMEDOUT, &ev);
	close(fd);
}

/* The peer's program may be busy when the Request arrives. */
static void a_reply_has_six_times_as_long_as_a_connection(void **state)
{
	uint64_t limit_ns = 6 * 400 * NS_PER_MS, begin_ns, deadline_ns;
	struct rnic_cm_event ev;
	struct cm_active a;
	int fd;

	begin_ns = util_now_ns();
	cm_active_open(&a);
	fd = cm_active_request(&a, 24);
	util_lock(&rnic_loop.lock);
	assert_int_equal(rnic_timer_cnt(RNIC_TIMER_CM_STARTING), 0);
	assert_int_equal(rnic_timer_cnt(RNIC_TIMER_CM_ASKED), 1);
	deadline_ns = cm_first(RNIC_TIMER_CM_ASKED)->deadline_ns;
	util_unlock(&rnic_loop.lock);
	assert_true(deadline_ns >= begin_ns + limit_ns);
	assert_true(deadline_ns <= util_now_ns() + limit_ns);
	cm_expect(a.side.chan, RNIC_CM_UNREACHABLE, -ETIMEDOUT, &ev);
	assert_true(util_now_ns() >= deadline_ns);
	close(fd);
	cm_active_close(&a);
}

static void destroying_aborts_a_connect(void **state)
{
	struct cm_active *a = *state;
	uint32_t cnt;
	int fd;

	fd = cm_active_request(a, 24);
	assert_int_equal(rnic_cm_destroy(a->side.chan, a->side.id, &cnt), 0);
	assert_int_equal(cnt, 2); /* ADDR_RESOLVED, ROUTE_RESOLVED */
	assert_int_equal(cm_read_to_end(fd, a->frame, sizeof(a->frame)), 0);
	assert_false(cm_is_readable(a->side.chan, 0));
	assert_int_equal(rnic_qp_state(a->q.qp), RNIC_QPS_IDLE);
	close(fd);
}

static void disconnect_aborts_a_connect(void **state)
{
	struct rnic_cm_event ev;
	struct cm_active *a = *state;
	int fd;

	fd = cm_active_request(a, 24);
	assert_int_equal(rnic_cm_disconnect(a->side.chan, a->side.id), 0);
	cm_expect(a->side.chan, RNIC_CM_REJECTED, -ECONNRESET, &ev);
	close(fd);
}

static void connect_checks_the_qp(void **state)
{
	struct rnic_cm_conn_param param;
	struct cm_side active;
	struct cm_qp q;
	uint16_t port;
	int listener = cm_rawpeer_listen(&port);
	struct pollfd pfd = { .fd = listener, .events = POLLIN };

	cm_qp_open(&q);
	cm_resolve(&active, AF_INET, port);
	cm_param(&param, &q, "");
	param.qp_num = 0;
	assert_int_equal(rnic_cm_connect(active.chan, active.id, &param),
			 -EINVAL);
	assert_int_equal(rnic_qp_modify(q.qp, RNIC_QPS_ERROR), 0);
	cm_param(&param, &q, "");
	assert_int_equal(rnic_cm_connect(active.chan, active.id, &param),
			 -EINVAL);
	cm_qp_close(&q);
	cm_qp_open_type(&q, RNIC_QPT_UC);
	cm_param(&param, &q, "");
	assert_int_equal(rnic_cm_connect(active.chan, active.id, &param),
			 -EINVAL);
	assert_int_equal(poll(&pfd, 1, 50), 0);
	cm_side_close(&active);
	cm_qp_close(&q);
	close(listener);
}

/* The application moves the QP itself, and confirms it. */
static void response_pair_open(struct cm_pair *p)
{
	struct rnic_cm_event ev;

	cm_pair_ask(p, AF_INET, true);
	cm_pair_answer(p);
	cm_expect(p->listener.chan, RNIC_CM_ESTABLISHED, 0, &ev);
	cm_pair_expect_answer(p, RNIC_CM_CONNECT_RESPONSE, &ev);
	assert_int_equal(ev.qp_num, 0);
}

static void response_is_waited_for_when_wanted(void **state)
{
	struct rnic_cm_event ev;
	struct cm_pair p;

	response_pair_open(&p);
	assert_int_equal(rnic_qp_state(p.active_qp.qp), RNIC_QPS_IDLE);
	assert_int_equal(rnic_cm_establish(p.active.chan, p.active.id), 0);
	assert_int_equal(rnic_qp_state(p.active_qp.qp), RNIC_QPS_RTS);
	assert_int_equal(rnic_cm_establish(p.active.chan, p.active.id),
			 -EINVAL);
	assert_int_equal(rnic_cm_disconnect(p.active.chan, p.active.id), 0);
	cm_expect(p.listener.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	cm_expect(p.active.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	cm_pair_close(&p);
}

static void peer_that_leaves_after_its_response(void **state)
{
	struct rnic_cm_event ev;
	struct cm_pair p;

	response_pair_open(&p);
	assert_int_equal(rnic_cm_disconnect(p.listener.chan, p.child), 0);
	cm_expect(p.listener.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	assert_int_equal(rnic_cm_establish(p.active.chan, p.active.id), 0);
	cm_expect(p.active.chan, RNIC_CM_DISCONNECTED, 0, &ev);
	cm_pair_close(&p);
}

/* A program that moves its QP itself gets the event of its own disconnect. */
static void disconnect_instead_of_establish(void **state)
{
	struct rnic_cm_event ev;
	struct cm_pair p;

	response_pair_open(&p);
	assert_int_equal(rnic_cm_disconnect(p.active.chan, p.active.id), 0);
	cm_expect(p.active.chan, RNIC_CM_REJECTED, -ECONNRESET, &ev);
	assert_int_equal(rnic_cm_establish(p.active.chan, p.active.id),
			 -ECONNRESET);
	assert_int_equal(rnic_qp_state(p.active_qp.qp), RNIC_QPS_IDLE);
	cm_pair_close(&p);
}

#define ACTIVE(name)                                                           \
	cmocka_unit_test_setup_teardown(name, cm_active_setup,                 \
					cm_active_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closed_port_is_refused),
		cmocka_unit_test(listener_that_comes_soon_is_found),
		cmocka_unit_test(destroying_ends_the_wait_for_a_listener),
		ACTIVE(no_reply_to_revision_2_means_one_try_with_1),
		cmocka_unit_test(only_silence_is_tried_again),
		cmocka_unit_test(an_unreachable_peer_is_reported_at_once),
		ACTIVE(peer_of_revision_1_is_found_by_the_retry),
		cmocka_unit_test(depths_of_the_reply_are_passed_up),
		ACTIVE(too_large_an_ord_is_terminated),
		cmocka_unit_test(garbage_for_a_reply_is_an_error),
		ACTIVE(silent_peer_is_unreachable_in_time),
		cmocka_unit_test(a_reply_has_six_times_as_long_as_a_connection),
		ACTIVE(destroying_aborts_a_connect),
		ACTIVE(disconnect_aborts_a_connect),
		cmocka_unit_test(connect_checks_the_qp),
		cmocka_unit_test(response_is_waited_for_when_wanted),
		cmocka_unit_test(peer_that_leaves_after_its_response),
		cmocka_unit_test(disconnect_instead_of_establish),
	};
	const struct CMUnitTest rev_1_tests[] = {
		cmocka_unit_test(only_silence_is_tried_again),
		cmocka_unit_test(an_unreachable_peer_is_reported_at_once),
	};

	/* Before the settings are read for the first time. */
	setenv("USIW_START_MS", "400", 1);
	setenv("USIW_DRAIN_MS", "300", 1);
	if (util_settings()->mpa_rev == 1)
		return cmocka_run_group_tests(rev_1_tests, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

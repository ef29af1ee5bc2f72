/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Address resolution, with and without success. */
#include "fixture.h"

CASE(unknown_network_gives_addr_error)
{
	struct sockaddr_in6 nowhere = { .sin6_family = AF_INET6 };
	struct rnic_cm_event ev;
	struct cm_side s;

	/* A link-local address without scope cannot be reached over any
	 * interface. */
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

CASE(foreign_source_address_is_refused_at_once)
{
	struct sockaddr_storage dst = cm_loopback(AF_INET, 9);
	struct sockaddr_in src = { .sin_family = AF_INET };
	struct cm_side s;

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

/* The port of a connection in the making, whose socket would share it. */
CASE(a_source_port_in_use_is_refused)
{
	struct sockaddr_storage src = cm_loopback(AF_INET, 0), dst;
	struct rnic_cm_conn_param param;
	struct cm_side first, second;
	struct rnic_cm_event ev;
	struct rnic_cm_info info;
	struct cm_qp qp;
	uint16_t port;
	int fd = cm_rawpeer_listen(&port);

	dst = cm_loopback(AF_INET, port);
	cm_qp_open(&qp);
	cm_side_open(&first, 1);
	assert_int_equal(
		rnic_cm_bind(first.chan, first.id, (struct sockaddr *)&src), 0);
	assert_int_equal(rnic_cm_query(first.chan, first.id, &info), 0);
	assert_int_equal(rnic_cm_resolve_addr(first.chan, first.id, NULL,
					      (struct sockaddr *)&dst, 1),
			 0);
	cm_expect(first.chan, RNIC_CM_ADDR_RESOLVED, 0, &ev);
	assert_int_equal(rnic_cm_resolve_route(first.chan, first.id, 1), 0);
	cm_expect(first.chan, RNIC_CM_ROUTE_RESOLVED, 0, &ev);
	cm_param(&param, &qp, "");
	assert_int_equal(rnic_cm_connect(first.chan, first.id, &param), 0);
	src = cm_loopback(AF_INET, cm_port(&info.local));
	cm_side_open(&second, 2);
	assert_int_equal(rnic_cm_resolve_addr(second.chan, second.id,
					      (struct sockaddr *)&src,
					      (struct sockaddr *)&dst, 1),
			 -EADDRINUSE);
	cm_side_close(&second);
	cm_side_close(&first);
	cm_qp_close(&qp);
	close(fd);
}

CASE(any_destination_means_this_machine)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct rnic_cm_event ev;
	struct rnic_cm_info info;
	struct cm_side s;

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

BEFORE_CASES()
{
	/* Before the settings are read for the first time. */
	setenv("USIW_START_MS", "1000", 1);
	setenv("USIW_DRAIN_MS", "300", 1);
}

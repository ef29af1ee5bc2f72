/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Identities: binding follows bind(2). */
#include "fixture.h"

#include "lists.h"

CASE(two_live_listeners_never_share_a_port)
{
	struct sockaddr_storage ss;
	struct cm_side s, t;
	uint16_t port;

	port = cm_listen(&s, AF_INET, 0);
	ss = cm_loopback(AF_INET, port);
	cm_side_open(&t, 1);
	assert_int_equal(rnic_cm_bind(t.chan, t.id, (struct sockaddr *)&ss),
			 -EADDRINUSE);
	cm_side_close(&t);
	cm_side_close(&s);

	/* The port is in use as soon as it is bound, without listening. */
	ss = cm_loopback(AF_INET, 0);
	cm_side_open(&s, 1);
	assert_int_equal(rnic_cm_bind(s.chan, s.id, (struct sockaddr *)&ss), 0);
	{
		struct rnic_cm_info info;

		assert_int_equal(rnic_cm_query(s.chan, s.id, &info), 0);
		ss = info.local;
	}
	cm_side_open(&t, 1);
	assert_int_equal(rnic_cm_bind(t.chan, t.id, (struct sockaddr *)&ss),
			 -EADDRINUSE);
	assert_int_equal(rnic_cm_listen(s.chan, s.id, 0), 0);
	assert_int_equal(rnic_cm_listen(s.chan, s.id, 0), -EINVAL);
	cm_side_close(&t);
	cm_side_close(&s);
}

/* Connections that this side closed first are in TIME_WAIT on the port. */
CASE(port_in_time_wait_may_be_bound_again)
{
	struct sockaddr_storage ss;
	struct rnic_cm_event ev;
	uint8_t buf[64];
	struct cm_side s;
	uint16_t port;
	int fd;

	port = cm_listen(&s, AF_INET, 0);
	fd = cm_rawpeer(port);
	cm_say(fd, cm_mpa_request, sizeof(cm_mpa_request));
	cm_expect(s.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	assert_int_equal(rnic_cm_reject(s.chan, ev.id, NULL, 0), 0);
	assert_int_equal(cm_read_to_end(fd, buf, sizeof(buf)), 20);
	close(fd);
	cm_wait_none_unowned();
	cm_side_close(&s);
	ss = cm_loopback(AF_INET, port);
	cm_side_open(&s, 1);
	assert_int_equal(rnic_cm_bind(s.chan, s.id, (struct sockaddr *)&ss), 0);
	assert_int_equal(rnic_cm_listen(s.chan, s.id, 0), 0);
	close(cm_rawpeer(port));
	cm_side_close(&s);
}

BEFORE_CASES()
{
	/* Before the settings are read for the first time. */
	setenv("USIW_START_MS", "1000", 1);
	setenv("USIW_DRAIN_MS", "300", 1);
}

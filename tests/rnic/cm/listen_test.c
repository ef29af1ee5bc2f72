/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Listeners: limits on unexpected peers, address families. */
#include "fixture.h"

#include "lists.h"

#define HALF_OPEN_MAX 8

static uint16_t listen_any6(struct cm_side *s, bool is_afonly)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6 };
	struct rnic_cm_info info;

	cm_side_open(s, 1);
	assert_int_equal(rnic_cm_bind(s->chan, s->id, (struct sockaddr *)&any),
			 0);
	if (is_afonly)
		assert_int_equal(rnic_cm_set_option(s->chan, s->id,
						    RNIC_CM_OPT_AFONLY, 1),
				 0);
	assert_int_equal(rnic_cm_listen(s->chan, s->id, 0), 0);
	assert_int_equal(rnic_cm_query(s->chan, s->id, &info), 0);
	assert_null(info.dev);
	return cm_port(&info.local);
}

CASE(half_open_connections_are_bounded)
{
	enum { CROWD = 200 };
	int fd[CROWD];
	struct cm_side s;
	uint8_t buf[8];
	uint16_t port;
	int closed = 0;

	port = cm_listen(&s, AF_INET, 0);
	for (int i = 0; i < CROWD; i++) {
		fd[i] = cm_rawpeer(port);
		assert_true(cm_half_open_cnt(&s) <= HALF_OPEN_MAX);
	}
	for (int i = 0; i < CROWD; i++) {
		assert_int_equal(cm_read_to_end(fd[i], buf, sizeof(buf)), 0);
		closed++;
		close(fd[i]);
	}
	assert_int_equal(closed, CROWD);
	assert_int_equal(cm_half_open_cnt(&s), 0);
	cm_side_close(&s);
}

/* Many connections that send nothing, and then a peer that sends a Request. */
CASE(silent_connections_keep_no_peer_away)
{
	enum { CROWD = 5 * HALF_OPEN_MAX };
	struct rnic_cm_event ev;
	struct cm_side s;
	int fd[CROWD], peer;
	uint16_t port;

	port = cm_listen(&s, AF_INET, 0);
	for (int i = 0; i < CROWD; i++)
		fd[i] = cm_rawpeer(port);
	peer = cm_rawpeer(port);
	cm_say(peer, cm_mpa_request, sizeof(cm_mpa_request));
	cm_expect(s.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	close(peer);
	for (int i = 0; i < CROWD; i++)
		close(fd[i]);
	cm_side_close(&s);
}

CASE(backlog_bounds_unfetched_requests)
{
	struct rnic_cm_event ev;
	uint8_t reply[64];
	struct cm_side s;
	uint16_t port;
	int first, second, third;

	port = cm_listen(&s, AF_INET, 1);
	first = cm_rawpeer(port);
	cm_say(first, cm_mpa_request, sizeof(cm_mpa_request));
	assert_true(cm_is_readable(s.chan, CM_LIMIT_MS));
	second = cm_rawpeer(port);
	cm_say(second, cm_mpa_request, sizeof(cm_mpa_request));
	/* A Reply with R=1, then FIN. */
	assert_int_equal(cm_read_to_end(second, reply, sizeof(reply)), 20);
	assert_memory_equal(reply, "MPA ID Rep Frame", 16);
	assert_true(reply[16] & 0x20);
	cm_expect(s.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	/* The event was fetched, so there is space again. */
	third = cm_rawpeer(port);
	cm_say(third, cm_mpa_request, sizeof(cm_mpa_request));
	cm_expect(s.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	close(first);
	close(second);
	close(third);
	cm_side_close(&s);
}

CASE(any6_takes_ipv4_unless_told_otherwise)
{
	struct sockaddr_storage ss;
	struct rnic_cm_event ev;
	struct rnic_cm_info info;
	struct cm_side s;
	uint16_t port;
	int fd;

	port = listen_any6(&s, false);
	fd = cm_rawpeer(port);
	cm_say(fd, cm_mpa_request, sizeof(cm_mpa_request));
	cm_expect(s.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	assert_int_equal(rnic_cm_query(s.chan, ev.id, &info), 0);
	assert_int_equal(info.local.ss_family, AF_INET);
	assert_non_null(info.dev);
	close(fd);
	cm_side_close(&s);

	port = listen_any6(&s, true);
	ss = cm_loopback(AF_INET, port);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(
		connect(fd, (struct sockaddr *)&ss, sizeof(struct sockaddr_in)),
		-1);
	assert_int_equal(errno, ECONNREFUSED);
	close(fd);
	cm_side_close(&s);
}

BEFORE_CASES()
{
	/* Before the settings are read for the first time. */
	setenv("USIW_START_MS", "1000", 1);
	setenv("USIW_DRAIN_MS", "300", 1);
	setenv("USIW_HALF_OPEN_MAX", "8", 1);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rejected connections are closed in order, within a time limit. */
#include "fixture.h"

#include "lists.h"
#include "loop/loop.h"

#include <sys/wait.h>

/* Closing with unread input sends RST, and the Reply might be lost. */
CASE(reply_survives_unread_input)
{
	static const uint8_t early[4096];
	uint8_t reply[64];
	struct cm_side s;
	uint32_t child;
	int fd;

	fd = cm_rawpeer_ask(&s, cm_mpa_request, &child);
	cm_say(fd, early, sizeof(early));
	assert_int_equal(rnic_cm_reject(s.chan, child, "why", 3), 0);
	/* Closed while the Reply and the unread data are in transit. */
	cm_wait_none_unowned();
	assert_int_equal(cm_read_to_end(fd, reply, sizeof(reply)), 23);
	assert_memory_equal(reply + 20, "why", 3);
	close(fd);
	cm_side_close(&s);
}

/* For a peer that was rejected after @begin_ns. A peer that closes first is
 * @is_polite; otherwise it gets time to close. */
static void expect_reply_then_fin(int fd, bool is_polite, uint64_t begin_ns)
{
	uint8_t reply[64];

	assert_int_equal(recv(fd, reply, 23, MSG_WAITALL), 23);
	assert_memory_equal(reply + 20, "why", 3);
	if (is_polite)
		assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_int_equal(cm_read_to_end(fd, reply, sizeof(reply)), 0);
	if (!is_polite)
		assert_true(util_now_ns() - begin_ns >= 150000000);
}

/* The FIN follows the peer's, or is sent after a time, but not directly after
 * the Reply. */
CASE(fin_waits_for_the_peer)
{
	for (int is_polite = 0; is_polite < 2; is_polite++) {
		struct cm_side s;
		uint64_t begin_ns;
		uint32_t child;
		int fd;

		fd = cm_rawpeer_ask(&s, cm_mpa_request, &child);
		begin_ns = util_now_ns();
		assert_int_equal(rnic_cm_reject(s.chan, child, "why", 3), 0);
		expect_reply_then_fin(fd, is_polite, begin_ns);
		if (is_polite)
			cm_wait_none_unowned();
		close(fd);
		cm_side_close(&s);
	}
}

CASE(peer_that_never_closes_is_dropped_in_time)
{
	uint8_t reply[64];
	struct cm_side s;
	uint32_t child;
	int fd;

	fd = cm_rawpeer_ask(&s, cm_mpa_request, &child);
	assert_int_equal(rnic_cm_reject(s.chan, child, NULL, 0), 0);
	assert_int_equal(cm_read_to_end(fd, reply, sizeof(reply)), 20);
	assert_int_equal(cm_unowned_cnt(), 1);
	cm_wait_none_unowned();
	close(fd);
	cm_side_close(&s);
}

/* A program that rejects and exits. */
static void rejecting_process(int port_fd)
{
	struct rnic_cm_event ev;
	struct cm_side s;
	uint16_t port;

	port = cm_listen(&s, AF_INET, 0);
	if (write(port_fd, &port, sizeof(port)) != sizeof(port))
		_exit(1);
	cm_expect(s.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	if (rnic_cm_reject(s.chan, ev.id, "why", 3))
		_exit(2);
	/* What the destructor does; no leak check in a child. */
	rnic_loop_stop();
	_exit(0);
}

/* At exit the Reply is sent, and the peer has time to read it. Runs first,
 * because it forks, which must happen before there are threads. */
FIRST_CASE(exit_waits_for_the_peer)
{
	for (int is_polite = 0; is_polite < 2; is_polite++) {
		uint64_t begin_ns;
		int status, fd, port_fd[2];
		uint16_t port;
		pid_t child;

		assert_int_equal(pipe(port_fd), 0);
		child = fork();
		assert_true(child >= 0);
		if (child == 0)
			rejecting_process(port_fd[1]);
		assert_int_equal(read(port_fd[0], &port, sizeof(port)),
				 sizeof(port));
		fd = cm_rawpeer(port);
		begin_ns = util_now_ns();
		cm_say(fd, cm_mpa_request, sizeof(cm_mpa_request));
		expect_reply_then_fin(fd, is_polite, begin_ns);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		close(fd);
		close(port_fd[0]);
		close(port_fd[1]);
	}
}

BEFORE_CASES()
{
	/* Before the settings are read for the first time. */
	setenv("USIW_START_MS", "1000", 1);
	setenv("USIW_DRAIN_MS", "300", 1);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Unexpected peers beside a port: a listener there that does not identify
 * itself as the port's listener must not prevent a connection to the port.
 */
#include "fixture.h"

#include "cm/port.h"

/* A listener of plain TCP beside @port. */
static int beside_listen(uint16_t port)
{
	struct sockaddr_storage ss =
		cm_loopback(AF_INET, ntohs(cm_port_beside_be(htons(port))));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	assert_int_equal(
		bind(fd, (struct sockaddr *)&ss, sizeof(struct sockaddr_in)),
		0);
	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

/* Another program listens beside the port: for another port, with MPA, or
 * without an answer. */
CASE(unexpected_peer_beside_the_port_is_passed_by)
{
	static const char *const words[] = {
		"usiw rdma_cm at\n\xff\xff\0\0\0\0\0\0", "220 mail\r\n"
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct cm_side listener, active;
		struct rnic_cm_event ev;
		struct cm_qp q;
		uint16_t port = cm_listen(&listener, AF_INET, 0);
		int beside = beside_listen(port), fd;

		cm_qp_open(&q);
		cm_dial(&active, &q, port, "");
		fd = accept(beside, NULL, NULL);
		assert_true(fd >= 0);
		cm_say(fd, words[i], i ? strlen(words[i]) : CM_PORT_SIGN_SIZE);
		cm_expect(listener.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
		close(fd);
		close(beside);
		cm_side_close(&active);
		cm_side_close(&listener);
		cm_qp_close(&q);
	}
}

/* It sends nothing until the time limit. */
CASE(silence_beside_the_port_ends)
{
	struct cm_side listener, active;
	struct rnic_cm_event ev;
	struct cm_qp q;
	uint16_t port = cm_listen(&listener, AF_INET, 0);
	int beside = beside_listen(port);

	cm_qp_open(&q);
	cm_dial(&active, &q, port, "");
	cm_expect(listener.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	close(beside);
	cm_side_close(&active);
	cm_side_close(&listener);
	cm_qp_close(&q);
}

/* The result for a port is stored for a while: the second connection leaves the
 * unexpected peer's queue unchanged. */
CASE(the_answer_is_remembered)
{
	struct cm_side listener, active[2];
	struct rnic_cm_event ev;
	struct cm_qp q[2], passive[2];
	uint16_t port = cm_listen(&listener, AF_INET, 0);
	struct pollfd pfd = { .events = POLLIN };

	for (int i = 0; i < 2; i++) {
		cm_qp_open(&q[i]);
		cm_qp_open(&passive[i]);
		/* Prolongs the time for which the result is stored, so the test
		 * does not depend on speed. */
		util_lock(&rnic_loop.lock);
		for (size_t k = 0; k < CM_KNOWN_CNT; k++)
			if (cm.known[k].until_ns)
				cm.known[k].until_ns += 60000 * NS_PER_MS;
		util_unlock(&rnic_loop.lock);
		if (i == 1)
			pfd.fd = beside_listen(port);
		cm_dial(&active[i], &q[i], port, "");
		cm_expect(listener.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
		cm_accept(&listener, ev.id, &passive[i], "");
		cm_expect(active[i].chan, RNIC_CM_ESTABLISHED, 0, &ev);
		cm_expect(listener.chan, RNIC_CM_ESTABLISHED, 0, &ev);
	}
	assert_int_equal(poll(&pfd, 1, 0), 0);
	close(pfd.fd);
	cm_side_close(&listener);
	for (int i = 0; i < 2; i++) {
		cm_side_close(&active[i]);
		cm_qp_close(&q[i]);
		cm_qp_close(&passive[i]);
	}
}

BEFORE_CASES()
{
	/* Before the settings are read for the first time. */
	setenv("USIW_DRAIN_MS", "300", 1);
}

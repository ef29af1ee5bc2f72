/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A program with a plain TCP socket and an identity of rdma_cm on one port, in
 * either order.
 */
#include "fixture.h"

#include "cm/port.h"

/* Neither this port nor the one beside it is bound. */
static uint16_t free_port(void)
{
	uint16_t port;

	close(cm_rawpeer_listen(&port));
	return port;
}

static int plain_socket(uint16_t port,
			int (*try)(int fd, const struct sockaddr *addr,
				   socklen_t len))
{
	struct sockaddr_storage ss = cm_loopback(AF_INET, port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	assert_int_equal(
		try(fd, (struct sockaddr *)&ss, sizeof(struct sockaddr_in)), 0);
	return fd;
}

/* Does what the preload library does for the program. */
static int bind_again(int fd, const struct sockaddr *addr, socklen_t len)
{
	assert_true(bind(fd, addr, len) < 0 && errno == EADDRINUSE);
	assert_true(rnic_cm_make_way(addr, len));
	return bind(fd, addr, len);
}

static bool is_visited(int listener)
{
	struct pollfd pfd = { .fd = listener, .events = POLLIN };

	return poll(&pfd, 1, 0) != 0;
}

static void bind_to(struct cm_side *s, uint16_t port, int want)
{
	struct sockaddr_storage ss = cm_loopback(AF_INET, port);

	cm_side_open(s, 1);
	assert_int_equal(rnic_cm_bind(s->chan, s->id, (struct sockaddr *)&ss),
			 want);
}

static void ports_are(const struct cm_side *s, uint32_t id, uint16_t local,
		      uint16_t peer)
{
	struct rnic_cm_info info;

	assert_int_equal(rnic_cm_query(s->chan, id, &info), 0);
	if (local)
		assert_int_equal(cm_port(&info.local), local);
	if (peer)
		assert_int_equal(cm_port(&info.peer), peer);
}

/* Connects to @port. Both sides must report that number. */
static void connects(struct cm_side *listener, uint16_t port)
{
	struct cm_qp active_qp, passive_qp;
	struct rnic_cm_event ev;
	struct cm_side active;

	cm_qp_open(&active_qp);
	cm_qp_open(&passive_qp);
	cm_dial(&active, &active_qp, port, "ask");
	cm_expect(listener->chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	ports_are(listener, listener->id, port, 0);
	ports_are(listener, ev.id, port, 0);
	cm_accept(listener, ev.id, &passive_qp, "answer");
	cm_expect(active.chan, RNIC_CM_ESTABLISHED, 0, &ev);
	assert_int_equal(ev.pd_len, 6);
	cm_expect(listener->chan, RNIC_CM_ESTABLISHED, 0, &ev);
	ports_are(listener, ev.id, port, 0);
	ports_are(&active, active.id, 0, port);
	cm_side_close(&active);
	cm_expect(listener->chan, RNIC_CM_DISCONNECTED, 0, &ev);
	cm_qp_close(&active_qp);
	cm_qp_close(&passive_qp);
}

static void listen_on(struct cm_side *s)
{
	assert_int_equal(rnic_cm_listen(s->chan, s->id, 0), 0);
}

CASE(plain_socket_first)
{
	struct cm_side listener, other;
	uint16_t port;
	int plain = cm_rawpeer_listen(&port);

	bind_to(&listener, port, 0);
	ports_are(&listener, listener.id, port, 0);
	listen_on(&listener);
	connects(&listener, port);
	assert_false(is_visited(plain));
	/* Two identities on one port are still refused. */
	bind_to(&other, port, -EADDRINUSE);
	cm_side_close(&other);
	cm_side_close(&listener);
	/* Not after the first one is destroyed. */
	bind_to(&other, port, 0);
	cm_side_close(&other);
	close(plain);
}

CASE(plain_socket_after_listen)
{
	struct rnic_cm_event ev;
	struct cm_side listener;
	struct sockaddr_storage ss;
	uint16_t port = cm_listen(&listener, AF_INET, 0);
	int waiting, plain;

	connects(&listener, port);
	/* Connections in progress to the old socket are accepted. */
	waiting = cm_rawpeer(port);
	plain = plain_socket(port, bind_again);
	assert_int_equal(listen(plain, 8), 0);
	cm_say(waiting, cm_mpa_request, sizeof(cm_mpa_request));
	cm_expect(listener.chan, RNIC_CM_CONNECT_REQUEST, 0, &ev);
	assert_int_equal(rnic_cm_reject(listener.chan, ev.id, "", 0), 0);
	close(waiting);
	/* An identity that has just connected remembers its port. */
	util_lock(&rnic_loop.lock);
	memset(cm.known, 0, sizeof(cm.known));
	util_unlock(&rnic_loop.lock);
	connects(&listener, port);
	assert_false(is_visited(plain));
	/* It has moved already. */
	ss = cm_loopback(AF_INET, port);
	assert_false(rnic_cm_make_way((struct sockaddr *)&ss,
				      sizeof(struct sockaddr_in)));
	cm_side_close(&listener);
	close(plain);
}

CASE(plain_socket_between_bind_and_listen)
{
	struct cm_side listener;
	uint16_t port = free_port();
	int plain;

	bind_to(&listener, port, 0);
	plain = plain_socket(port, bind_again);
	listen_on(&listener);
	assert_int_equal(listen(plain, 8), 0);
	connects(&listener, port);
	assert_false(is_visited(plain));
	cm_side_close(&listener);
	close(plain);
}

/* Both are bound before either listens: SO_REUSEADDR of one allows that, and
 * SO_REUSEADDR of both allows it to listen. */
CASE(plain_socket_listens_first)
{
	for (int is_shared = 0; is_shared < 2; is_shared++) {
		struct cm_side listener;
		uint16_t port = free_port();
		int plain = plain_socket(port, bind);
		struct sockaddr_storage ss = cm_loopback(AF_INET, port);

		bind_to(&listener, port, 0);
		if (is_shared)
			assert_int_equal(
				rnic_cm_set_option(listener.chan, listener.id,
						   RNIC_CM_OPT_REUSEADDR, 1),
				0);
		else
			assert_true(
				listen(plain, 8) < 0 &&
				rnic_cm_make_way((struct sockaddr *)&ss,
						 sizeof(struct sockaddr_in)));
		assert_int_equal(listen(plain, 8), 0);
		listen_on(&listener);
		connects(&listener, port);
		assert_false(is_visited(plain));
		cm_side_close(&listener);
		close(plain);
	}
}

/* Not a plain socket of this program: the port is in use. */
CASE(port_of_another_identity_is_in_use)
{
	struct cm_side listener, other;
	uint16_t port = cm_listen(&listener, AF_INET, 0);

	bind_to(&other, port, -EADDRINUSE);
	cm_side_close(&other);
	cm_side_close(&listener);
}

CASE(there_is_a_port_beside_each_port)
{
	for (uint32_t port = 1; port < 65536; port++) {
		uint16_t beside =
			ntohs(cm_port_beside_be(htons((uint16_t)port)));

		assert_true(beside >= 61000 && beside != port);
	}
}

BEFORE_CASES()
{
	/* Before the settings are read for the first time. */
	setenv("USIW_DRAIN_MS", "300", 1);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* tcp.c: what a stream's socket says, and which events it is waited for. */
#define _GNU_SOURCE
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/tcp.h"
#include "rnicpair.h"
#include "stream/object.h"
#include "stream/start.h"
#include "stream/tcp.h"

struct ends {
	struct rnic_stream *stream;
	int peer; /* the other end of its socket */
};

static void ends_open(struct ends *e)
{
	struct smpa_options opt = SMPA_OPTIONS_INIT;
	int fd[2];

	opt.role = SMPA_INITIATOR;
	rnicpair_sockets(0, fd);
	assert_int_equal(rnic_stream_new(fd[0], &opt, &e->stream), 0);
	assert_ptr_equal(e->stream->carrier, &rnic_tcp_carrier);
	e->peer = fd[1];
}

static void ends_close(struct ends *e)
{
	rnic_stream_free(e->stream);
	rnic_fd_close(e->peer);
}

static void wait_for(int fd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };

	assert_int_equal(poll(&pfd, 1, RNICPAIR_LIMIT_MS), 1);
}

CASE(returns_tcp_info)
{
	struct tcp_info info;
	struct ends e;

	ends_open(&e);
	assert_true(rnic_stream_tcp_info(e.stream, &info));
	assert_true(info.tcpi_snd_mss > 0);
	ends_close(&e);
}

/* Its socket is of IPv6, and so are those that accept both. */
CASE(names_ipv4_addresses_as_such)
{
	struct sockaddr_in6 addr = { .sin6_family = AF_INET6 };
	int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct rnic_stream stream = { 0 };
	char wanted[128];
	socklen_t len = sizeof(addr);

	assert_int_equal(
		inet_pton(AF_INET6, "::ffff:127.0.0.1", &addr.sin6_addr), 1);
	assert_int_equal(bind(listener, (void *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (void *)&addr, &len), 0);
	stream.source.fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(stream.source.fd, (void *)&addr, len), 0);
	snprintf(wanted, sizeof(wanted), " to 127.0.0.1 port %u",
		 ntohs(addr.sin6_port));
	assert_non_null(strstr(RNIC_STREAM_NAME(&stream),
			       "stream from 127.0.0.1 port "));
	assert_non_null(strstr(RNIC_STREAM_NAME(&stream), wanted));
	close(stream.source.fd);
	close(listener);
}

CASE(peeks_at_octets_before_the_end)
{
	char got[8];
	struct iovec iov = { got, sizeof(got) };
	struct ends e;

	ends_open(&e);
	assert_int_equal(rnic_stream_tcp_peek(e.stream), -EAGAIN);
	assert_int_equal(send(e.peer, "abc", 3, 0), 3);
	assert_int_equal(shutdown(e.peer, SHUT_WR), 0);
	wait_for(e.stream->source.fd, POLLRDHUP);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rnic_stream_tcp_peek(e.stream), 1);
	assert_int_equal(rnic_stream_recv(e.stream, &iov, 1), 3);
	assert_int_equal(rnic_stream_tcp_peek(e.stream), 0);
	ends_close(&e);
}

CASE(fin_follows_the_octets)
{
	char text[] = "octets", got[16];
	struct iovec iov = { text, sizeof(text) };
	struct ends e;

	ends_open(&e);
	assert_int_equal(rnic_stream_send(e.stream, &iov, 1, 0), sizeof(text));
	e.stream->carrier->fin(e.stream);
	wait_for(e.peer, POLLRDHUP);
	assert_int_equal(recv(e.peer, got, sizeof(got), 0), sizeof(text));
	assert_int_equal(recv(e.peer, got, sizeof(got), 0), 0);
	ends_close(&e);
}

static const struct {
	bool wants_in, is_tx_blocked;
	uint32_t events;
} watches[] = {
	{ false, false, 0 },
	{ true, false, EPOLLIN },
	{ false, true, EPOLLOUT },
	{ true, true, EPOLLIN | EPOLLOUT },
};

CASE(waits_for_what_can_be_acted_on)
{
	struct rnic_stream stream = { .carrier = &rnic_tcp_carrier };

	for (size_t i = 0; i < ARRAY_LEN(watches); i++) {
		stream.is_tx_blocked = watches[i].is_tx_blocked;
		assert_int_equal(
			stream.carrier->watch(&stream, watches[i].wants_in),
			watches[i].events);
	}
}

/* ---- an error that no call has told -------------------------------------- */

static int so_error; /* < 0: the call fails */

static int fake_getsockopt(int fd, int level, int name, void *val,
			   socklen_t *len)
{
	assert_int_equal(fd, 7);
	assert_int_equal(level, SOL_SOCKET);
	assert_int_equal(name, SO_ERROR);
	assert_int_equal(*len, sizeof(int));
	if (so_error < 0)
		return -1;
	memcpy(val, &so_error, sizeof(int));
	return 0;
}

static const struct {
	const char *name;
	int so_error, error;
} errors[] = {
	{ "its error", ETIMEDOUT, -ETIMEDOUT },
	{ "taken before", 0, -ECONNRESET },
	{ "not known", -1, -ECONNRESET },
};

CASE(tells_its_error)
{
	static const struct rnic_tcp_ops fake = {
		.getsockopt = fake_getsockopt,
	};
	const struct rnic_stream stream = { .source.fd = 7 };

	rnic_tcp_replace(&fake);
	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		so_error = errors[i].so_error;
		assert_row(errors[i].name,
			   rnic_stream_tcp_error(&stream) == errors[i].error);
	}
	rnic_tcp_replace(NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* socket.c: octets leave and enter a stream, or are discarded. */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <linux/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/fd.h"
#include "rnicpair.h"
#include "stream/object.h"
#include "stream/socket.h"

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
	e->peer = fd[1];
}

static void ends_close(struct ends *e)
{
	rnic_stream_free(e->stream);
	if (e->peer >= 0)
		rnic_fd_close(e->peer);
}

static void wait_for(int fd, short events)
{
	struct pollfd pfd = { .fd = fd, .events = events };

	assert_int_equal(poll(&pfd, 1, RNICPAIR_LIMIT_MS), 1);
}

static void counts_what_tcp_takes(void **state)
{
	char text[] = "octets", got[sizeof(text)] = "";
	struct iovec iov = { .iov_base = text, .iov_len = sizeof(text) };
	struct ends e;

	(void)state;
	ends_open(&e);
	assert_int_equal(rnic_stream_send(e.stream, &iov, 1, 0), sizeof(text));
	assert_int_equal(e.stream->tx_octets, sizeof(text));
	wait_for(e.peer, POLLIN);
	assert_int_equal(recv(e.peer, got, sizeof(got), 0), sizeof(got));
	assert_string_equal(got, text);
	ends_close(&e);
}

static void reads_available_octets(void **state)
{
	char got[8] = "";
	struct iovec iov = { .iov_base = got, .iov_len = sizeof(got) };
	struct ends e;

	(void)state;
	ends_open(&e);
	assert_int_equal(rnic_stream_recv(e.stream, &iov, 1), -EAGAIN);
	assert_int_equal(send(e.peer, "abc", 3, 0), 3);
	wait_for(rnic_stream_fd(e.stream), POLLIN);
	assert_int_equal(rnic_stream_recv(e.stream, &iov, 1), 3);
	assert_string_equal(got, "abc");
	ends_close(&e);
}

/* What the peer does, and the result of rnic_stream_discard() then. */
enum peer_act { PEER_SILENT, PEER_SENDS, PEER_CLOSES, PEER_RESETS };

static const struct {
	const char *name;
	enum peer_act act;
	short events; /* awaited before the call */
	int ret;
} discards[] = {
	{ "nothing is there", PEER_SILENT, POLLOUT, 0 },
	{ "octets are there", PEER_SENDS, POLLIN, 0 },
	{ "octets and FIN are there", PEER_CLOSES, POLLRDHUP, 1 },
	{ "the connection is reset", PEER_RESETS, 0, -ECONNRESET },
};

static void peer_acts(struct ends *e, enum peer_act act)
{
	const struct linger at_once = { .l_onoff = 1 };
	char octets[4096] = "";

	if (act == PEER_SILENT)
		return;
	assert_int_equal(send(e->peer, octets, sizeof(octets), 0),
			 sizeof(octets));
	if (act == PEER_CLOSES)
		assert_int_equal(shutdown(e->peer, SHUT_WR), 0);
	if (act == PEER_RESETS) {
		assert_int_equal(setsockopt(e->peer, SOL_SOCKET, SO_LINGER,
					    &at_once, sizeof(at_once)),
				 0);
		rnic_fd_close(e->peer);
		e->peer = -1;
	}
}

static void discards_by_the_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(discards); i++) {
		char octet;
		struct ends e;

		ends_open(&e);
		peer_acts(&e, discards[i].act);
		wait_for(rnic_stream_fd(e.stream), discards[i].events);
		assert_row(discards[i].name,
			   rnic_stream_discard(e.stream) == discards[i].ret);
		assert_row(discards[i].name,
			   e.stream->has_peer_fin == (discards[i].ret == 1));
		assert_row(discards[i].name,
			   recv(rnic_stream_fd(e.stream), &octet, 1,
				MSG_DONTWAIT) <= 0);
		ends_close(&e);
	}
}

static void returns_tcp_info(void **state)
{
	struct tcp_info info;
	struct ends e;

	(void)state;
	ends_open(&e);
	assert_true(rnic_stream_tcp_info(e.stream, &info));
	assert_true(info.tcpi_snd_mss > 0);
	ends_close(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_what_tcp_takes),
		cmocka_unit_test(reads_available_octets),
		cmocka_unit_test(discards_by_the_table),
		cmocka_unit_test(returns_tcp_info),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

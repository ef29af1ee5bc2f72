/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * start.c: the MPA start as the connection manager steps it, over a TCP that
 * returns little, and with peers that refuse, vanish or send garbage.
 */
#define _GNU_SOURCE
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "child.h"
#include "os/addr.h"
#include "os/fd.h"
#include "rnicpair.h"
#include "qp/object.h"
#include "os/tcp.h"
#include "stream/start.h"
#include "tcpfake.h"

static struct rnic_stream *stream_new(int fd, enum smpa_role role)
{
	struct smpa_options opt = SMPA_OPTIONS_INIT;
	struct rnic_stream *stream;

	opt.role = role;
	opt.ird = opt.ord = 4;
	opt.rtr = SMPA_RTR_WRITE | SMPA_RTR_READ;
	assert_int_equal(rnic_stream_new(fd, &opt, &stream), 0);
	assert_int_equal(stream->source.fd, fd);
	return stream;
}

/* Steps until an event or an error; waits for what the stream needs. */
static int step(struct rnic_stream *stream, struct smpa_event *ev)
{
	uint64_t end_ms = until_ms() + RNICPAIR_LIMIT_MS;
	int rc;

	while ((rc = rnic_stream_start_step(stream, ev)) == 0) {
		uint32_t wants = rnic_stream_start_wants(stream);
		struct pollfd pfd = { .fd = stream->source.fd };

		pfd.events = (short)((wants & EPOLLIN ? POLLIN : 0) |
				     (wants & EPOLLOUT ? POLLOUT : 0));
		poll(&pfd, 1, 20);
		assert_true(until_ms() < end_ms);
	}
	return rc;
}

CASE(takes_the_socket_over)
{
	struct rnic_stream *stream;
	socklen_t len = sizeof(int);
	int fd[2], on = 0;

	rnicpair_sockets(0, fd);
	stream = stream_new(fd[0], SMPA_INITIATOR);
	/* MPA-75 */
	assert_int_equal(getsockopt(fd[0], IPPROTO_TCP, TCP_NODELAY, &on, &len),
			 0);
	assert_int_equal(on, 1);
	rnic_stream_free(stream);
	assert_int_equal(fcntl(fd[0], F_GETFD), -1);
	rnic_stream_free(NULL);
	rnic_fd_close(fd[1]);
}

CASE(leaves_the_socket_when_it_fails)
{
	struct smpa_options opt = SMPA_OPTIONS_INIT;
	struct rnic_stream *stream = NULL;
	int fd[2];

	rnicpair_sockets(0, fd);
	opt.rev = 3;
	assert_int_equal(rnic_stream_new(fd[0], &opt, &stream), -EINVAL);
	assert_null(stream);
	assert_true(fcntl(fd[0], F_GETFD) >= 0);
	rnic_fd_close(fd[0]);
	rnic_fd_close(fd[1]);
}

/* ---- what the settings say ---- */

static const struct option_row {
	const char *name, *value; /* of the setting; NULL: the defaults */
	const char *peer;
	struct smpa_options opt;
} option_rows[] = {
#define RTR_BOTH (SMPA_RTR_WRITE | SMPA_RTR_READ)
	{ NULL, NULL, "127.0.0.1", { .ird_max = 128, .rtr = RTR_BOTH } },
	{ "USIW_CRC", "on", "127.0.0.1", { .ird_max = 128, .rtr = RTR_BOTH } },
	{ "USIW_CRC",
	  "off",
	  "192.0.2.1",
	  { .no_crc = true, .ird_max = 128, .rtr = RTR_BOTH } },
	{ "USIW_CRC",
	  "auto",
	  "127.0.0.1",
	  { .no_crc = true, .ird_max = 128, .rtr = RTR_BOTH } },
	{ "USIW_CRC",
	  "auto",
	  "192.0.2.1",
	  { .ird_max = 128, .rtr = RTR_BOTH } },
	{ "USIW_MARKERS",
	  "on",
	  "127.0.0.1",
	  { .want_markers = true, .ird_max = 128, .rtr = RTR_BOTH } },
	{ "USIW_MPA_REV0",
	  "permissive",
	  "127.0.0.1",
	  { .rev0 = SMPA_REV0_PERMISSIVE, .ird_max = 128, .rtr = RTR_BOTH } },
	{ "USIW_MPA_REV0",
	  "refuse",
	  "127.0.0.1",
	  { .ird_max = 128, .rtr = RTR_BOTH } },
	{ "USIW_IRD", "7", "127.0.0.1", { .ird_max = 7, .rtr = RTR_BOTH } },
	{ "USIW_IRD", "1", "127.0.0.1", { .ird_max = 1, .rtr = RTR_BOTH } },
	/* The RTR may be a READ. */
	{ "USIW_IRD", "0", "127.0.0.1", { .ird_max = 1, .rtr = RTR_BOTH } },
	{ "USIW_RTR", "off", "127.0.0.1", { .ird_max = 128, .rtr = 0 } },
#undef RTR_BOTH
};

static const struct option_row *option_row;

/* In a child: a process reads the settings once. */
static int options_follow_the_row(void)
{
	const struct smpa_options *want = &option_row->opt;
	struct smpa_options opt = SMPA_OPTIONS_INIT;
	struct sockaddr_storage peer = { 0 };
	struct sockaddr_in *sin = (struct sockaddr_in *)&peer;

	sin->sin_family = AF_INET;
	CHECK(inet_pton(AF_INET, option_row->peer, &sin->sin_addr) == 1);
	if (option_row->name)
		CHECK(!setenv(option_row->name, option_row->value, 1));
	rnic_stream_start_options(&peer, &opt);
	CHECK(opt.no_crc == want->no_crc);
	CHECK(opt.want_markers == want->want_markers);
	CHECK(opt.rev0 == want->rev0);
	CHECK(opt.ird_max == want->ird_max);
	CHECK(opt.rtr == want->rtr);
	return 0;
}

/* First: this process has not read the settings. */
FIRST_CASE(options_follow_the_settings)
{
	for (size_t i = 0; i < ARRAY_LEN(option_rows); i++) {
		option_row = &option_rows[i];
		print_message("%s=%s, peer %s\n", option_row->name,
			      option_row->value, option_row->peer);
		assert_int_equal(in_child(options_follow_the_row), 0);
	}
}

/* ---- memory ---- */

/* Neither of a stream that was made, nor of one that could not be. */
CASE(leaves_no_memory_behind)
{
	static const uint8_t revs[] = { 2, 3 };

	for (size_t i = 0; i < ARRAY_LEN(revs); i++) {
		struct smpa_options opt = SMPA_OPTIONS_INIT;
		size_t before = 0;

		opt.rev = revs[i];
		/* libc keeps a few pieces, and takes them from the first
		 * ones. */
		for (int k = -16; k < 64; k++) {
			struct rnic_stream *stream = NULL;
			int fd[2];

			if (k == 0)
				before = mallinfo2().uordblks;
			rnicpair_sockets(0, fd);
			if (rnic_stream_new(fd[0], &opt, &stream) < 0)
				rnic_fd_close(fd[0]);
			rnic_stream_free(stream);
			rnic_fd_close(fd[1]);
		}
		assert_true(mallinfo2().uordblks <
			    before + 32 * SMPA_START_STAGING_MIN);
	}
}

/* ---- the exchange ---- */

/* Private Data of every length, in pieces of every size. */
CASE(exchanges_private_data)
{
	static const size_t lens[] = { 0, 1, 3, 4, 100, 256, 508 };
	static const size_t cuts[] = { 0, 1, 7, 19, 20, 21 };
	uint8_t pd[512];

	rnicpair_fill(pd, sizeof(pd), 5);
	for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
		struct tcpfake_plan plan = { .fd = -1,
					     .recv_max = cuts[i % 6],
					     .send_max = cuts[(i + 1) % 6],
					     .eagain_every = i % 2 ? 3 : 0 };
		struct rnic_stream *a, *b;
		struct smpa_event ev;
		int fd[2];

		rnicpair_sockets(0, fd);
		tcpfake_install(&plan);
		a = stream_new(fd[0], SMPA_INITIATOR);
		b = stream_new(fd[1], SMPA_RESPONDER);
		assert_int_equal(smpa_conn_start(a->conn, pd, lens[i]), 0);
		assert_int_equal(smpa_conn_start(b->conn, NULL, 0), 0);
		do { /* small pieces need steps of both */
			assert_true(rnic_stream_start_step(a, &ev) >= 0);
		} while (rnic_stream_start_step(b, &ev) == 0);
		assert_int_equal(ev.type, SMPA_EV_REQUEST);
		assert_int_equal(ev.start.pd_len, lens[i]);
		assert_memory_equal(lens[i] ? ev.start.pd : pd, pd, lens[i]);
		assert_int_equal(ev.start.ird, 4);
		/* Asked again without an answer: no event. */
		assert_int_equal(rnic_stream_start_step(b, &ev), 0);
		assert_int_equal(
			smpa_conn_accept(b->conn, pd + 1, lens[i], 2, 3), 0);
		assert_int_equal(step(b, &ev), 1);
		assert_int_equal(ev.type, SMPA_EV_ESTABLISHED);
		do {
			(void)rnic_stream_start_step(b, &ev);
		} while (rnic_stream_start_step(a, &ev) == 0);
		assert_int_equal(ev.type, SMPA_EV_ESTABLISHED);
		assert_int_equal(ev.start.pd_len, lens[i]);
		assert_memory_equal(lens[i] ? ev.start.pd : pd + 1, pd + 1,
				    lens[i]);
		assert_true(ev.start.has_crc);
		tcpfake_remove();
		rnic_stream_free(a);
		rnic_stream_free(b);
	}
}

CASE(tells_a_refusal_with_its_data)
{
	struct rnic_stream *a, *b;
	struct smpa_event ev;
	int fd[2];

	rnicpair_sockets(0, fd);
	a = stream_new(fd[0], SMPA_INITIATOR);
	b = stream_new(fd[1], SMPA_RESPONDER);
	assert_int_equal(smpa_conn_start(a->conn, NULL, 0), 0);
	assert_int_equal(smpa_conn_start(b->conn, NULL, 0), 0);
	assert_int_equal(rnic_stream_start_step(a, &ev), 0);
	assert_int_equal(step(b, &ev), 1);
	assert_int_equal(smpa_conn_reject(b->conn, "no", 2), 0);
	assert_int_equal(rnic_stream_start_step(b, &ev), 0);
	assert_false(rnic_stream_start_wants(b) & EPOLLOUT);
	assert_int_equal(step(a, &ev), 1);
	assert_int_equal(ev.type, SMPA_EV_REJECTED);
	assert_int_equal(ev.start.pd_len, 2);
	assert_memory_equal(ev.start.pd, "no", 2);
	rnic_stream_free(a);
	rnic_stream_free(b);
}

struct peer_row {
	const char *name;
	const char *says;
	size_t len;
	bool is_reset;
	int rc; /* 1: an event, else -errno */
	enum smpa_event_type type;
};

static const struct peer_row peer_rows[] = {
	{ "closes at once", "", 0, false, 1, SMPA_EV_FAULT },
	{ "closes amid the frame", "MPA ID R", 8, false, 1, SMPA_EV_FAULT },
	{ "speaks HTTP", "GET / HTTP/1.1\r\n\r\n12", 20, false, 1,
	  SMPA_EV_FAULT },
	{ "resets", "", 0, true, -ECONNRESET, SMPA_EV_NONE },
};

CASE(survives_unexpected_peers)
{
	for (size_t i = 0; i < ARRAY_LEN(peer_rows); i++)
		for (int role = 0; role < 2; role++) {
			const struct peer_row *s = &peer_rows[i];
			struct linger linger = { .l_onoff = s->is_reset };
			struct rnic_stream *stream;
			struct smpa_event ev;
			int fd[2];

			rnicpair_sockets(0, fd);
			stream = stream_new(fd[0], role ? SMPA_RESPONDER
							: SMPA_INITIATOR);
			assert_int_equal(smpa_conn_start(stream->conn, NULL, 0),
					 0);
			assert_int_equal(rnic_stream_start_step(stream, &ev),
					 0);
			if (s->len)
				assert_int_equal(write(fd[1], s->says, s->len),
						 s->len);
			assert_int_equal(setsockopt(fd[1], SOL_SOCKET,
						    SO_LINGER, &linger,
						    sizeof(linger)),
					 0);
			/* A FIN, also if input was left unread. */
			if (!s->is_reset)
				assert_int_equal(shutdown(fd[1], SHUT_WR), 0);
			else
				rnic_fd_close(fd[1]);
			assert_int_equal(step(stream, &ev), s->rc);
			if (s->rc == 1)
				assert_int_equal(ev.type, s->type);
			rnic_stream_free(stream);
			if (!s->is_reset)
				rnic_fd_close(fd[1]);
		}
}

/* Nothing after the Request is read: it belongs to RDMA mode. */
CASE(reads_nothing_beyond_the_frame)
{
	struct rnic_stream *a, *b;
	struct smpa_event ev;
	char octets[8];
	int fd[2];

	rnicpair_sockets(0, fd);
	a = stream_new(fd[0], SMPA_INITIATOR);
	b = stream_new(fd[1], SMPA_RESPONDER);
	assert_int_equal(smpa_conn_start(a->conn, "abc", 3), 0);
	assert_int_equal(smpa_conn_start(b->conn, NULL, 0), 0);
	assert_int_equal(rnic_stream_start_step(a, &ev), 0);
	assert_int_equal(write(fd[0], "behind", 6), 6);
	assert_int_equal(step(b, &ev), 1);
	assert_int_equal(ev.type, SMPA_EV_REQUEST);
	/* Its header, IRD and ORD, and the Private Data. */
	assert_int_equal(b->start_taken, 20 + 4 + 3);
	assert_int_equal(a->start_taken, 0);
	assert_int_equal(recv(fd[1], octets, sizeof(octets), MSG_DONTWAIT), 6);
	assert_memory_equal(octets, "behind", 6);
	rnic_stream_free(a);
	rnic_stream_free(b);
}

/* ---- what follows the frame ---- */

static ssize_t recv_one(int fd, void *mem, size_t len, int flags)
{
	must(len == 1); /* there is room for no more */
	return recv(fd, mem, len, flags);
}

static const struct heard_row {
	const char *name;
	const char *says;
	bool is_closed, is_reset;
	int rc;
} heard_rows[] = {
	{ "nothing", "", false, false, 0 },
	{ "an octet", "x", false, false, 1 },
	{ "several", "xyz", false, false, 1 },
	{ "an octet, then FIN", "x", true, false, 1 },
	{ "FIN", "", true, false, -ECONNRESET },
	{ "RST", "", true, true, -ECONNRESET },
};

/* The octets stay there, for RDMA mode. */
CASE(hears_what_follows_the_frame)
{
	struct rnic_tcp_ops ops = *rnic_tcp();

	ops.recv = recv_one;
	for (size_t i = 0; i < ARRAY_LEN(heard_rows); i++) {
		const struct heard_row *row = &heard_rows[i];
		struct linger linger = { .l_onoff = row->is_reset };
		size_t len = strlen(row->says);
		struct rnic_stream *stream;
		struct pollfd pfd;
		char octets[8];
		int fd[2];

		rnicpair_sockets(0, fd);
		stream = stream_new(fd[0], SMPA_RESPONDER);
		assert_int_equal(write(fd[1], row->says, len), len);
		assert_int_equal(setsockopt(fd[1], SOL_SOCKET, SO_LINGER,
					    &linger, sizeof(linger)),
				 0);
		if (row->is_closed)
			rnic_fd_close(fd[1]);
		pfd = (struct pollfd){ .fd = fd[0], .events = POLLIN };
		if (len || row->is_closed)
			assert_int_equal(poll(&pfd, 1, RNICPAIR_LIMIT_MS), 1);
		rnic_tcp_replace(&ops);
		for (int k = 0; k < 2; k++)
			assert_row(row->name, rnic_stream_start_is_heard(
						      stream) == row->rc);
		rnic_tcp_replace(NULL);
		if (len)
			assert_int_equal(recv(fd[0], octets, sizeof(octets),
					      MSG_DONTWAIT),
					 len);
		rnic_stream_free(stream);
		if (!row->is_closed)
			rnic_fd_close(fd[1]);
	}
}

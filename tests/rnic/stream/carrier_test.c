/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* carrier.c: octets leave and enter a stream, or are discarded. */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "local/local.h"
#include "local/meet.h"
#include "os/fd.h"
#include "os/tcp.h"
#include "rnicpair.h"
#include "stream/carrier.h"
#include "stream/object.h"
#include "stream/ring.h"

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

CASE(counts_what_tcp_takes)
{
	char text[] = "octets", got[sizeof(text)] = "";
	struct iovec iov = { .iov_base = text, .iov_len = sizeof(text) };
	struct ends e;

	ends_open(&e);
	assert_int_equal(rnic_stream_send(e.stream, &iov, 1, 0), sizeof(text));
	assert_int_equal(e.stream->tx_octets, sizeof(text));
	wait_for(e.peer, POLLIN);
	assert_int_equal(recv(e.peer, got, sizeof(got), 0), sizeof(got));
	assert_string_equal(got, text);
	ends_close(&e);
}

CASE(reads_available_octets)
{
	char got[8] = "";
	struct iovec iov = { .iov_base = got, .iov_len = sizeof(got) };
	struct ends e;

	ends_open(&e);
	assert_int_equal(rnic_stream_recv(e.stream, &iov, 1), -EAGAIN);
	assert_int_equal(send(e.peer, "abc", 3, 0), 3);
	wait_for(e.stream->source.fd, POLLIN);
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

static void peer_ends(struct ends *e, bool is_reset)
{
	const struct linger at_once = { .l_onoff = 1 };

	if (!is_reset) {
		assert_int_equal(shutdown(e->peer, SHUT_WR), 0);
		return;
	}
	assert_int_equal(setsockopt(e->peer, SOL_SOCKET, SO_LINGER, &at_once,
				    sizeof(at_once)),
			 0);
	rnic_fd_close(e->peer);
	e->peer = -1;
}

static void peer_acts(struct ends *e, enum peer_act act)
{
	char octets[4096] = "";

	if (act == PEER_SILENT)
		return;
	assert_int_equal(send(e->peer, octets, sizeof(octets), 0),
			 sizeof(octets));
	if (act == PEER_CLOSES || act == PEER_RESETS)
		peer_ends(e, act == PEER_RESETS);
}

CASE(discards_by_the_table)
{
	for (size_t i = 0; i < ARRAY_LEN(discards); i++) {
		char octet;
		struct ends e;

		ends_open(&e);
		peer_acts(&e, discards[i].act);
		wait_for(e.stream->source.fd, discards[i].events);
		assert_row(discards[i].name,
			   rnic_stream_discard(e.stream) == discards[i].ret);
		assert_row(discards[i].name,
			   e.stream->has_peer_fin == (discards[i].ret == 1));
		assert_row(discards[i].name, recv(e.stream->source.fd, &octet,
						  1, MSG_DONTWAIT) <= 0);
		ends_close(&e);
	}
}

static uint32_t endless_cnt;

static ssize_t endless_recv(int fd, void *mem, size_t len, int flags)
{
	(void)fd;
	(void)mem;
	must(flags & MSG_TRUNC);
	endless_cnt++;
	return (ssize_t)len;
}

/* The next stream has its turn, however much the peer has sent. */
CASE(discards_so_much_in_a_row)
{
	const struct rnic_tcp_ops *real = rnic_tcp();
	struct rnic_tcp_ops ops = *real;
	struct ends e;

	ops.recv = endless_recv;
	endless_cnt = 0;
	ends_open(&e);
	rnic_tcp_replace(&ops);
	assert_int_equal(rnic_stream_discard(e.stream), 0);
	rnic_tcp_replace(real);
	assert_int_equal(endless_cnt, 16);
	assert_int_equal(e.stream->rx_octets, 16u << 20);
	assert_false(e.stream->has_peer_fin);
	ends_close(&e);
}

/* ---- from TCP to the ring ---- */

/* The stream has offered the ring, and the peer has taken it. */
static struct rnic_local *offer(struct ends *e)
{
	int listener = rnic_meet_listen(e->peer);
	struct rnic_local *peer;

	assert_true(listener >= 0);
	assert_int_equal(
		rnic_meet_offer(e->stream->source.fd, &e->stream->local), 0);
	e->stream->carrier = &rnic_ring_carrier;
	assert_int_equal(rnic_meet_take(listener, &peer), 0);
	rnic_fd_close(listener);
	return peer;
}

static void offer_end(struct ends *e, struct rnic_local *peer)
{
	rnic_local_free(peer);
	rnic_local_free(e->stream->local);
	e->stream->local = NULL;
	ends_close(e);
}

static ssize_t ring_put(struct rnic_local *local, const char *text)
{
	struct iovec iov = { (void *)(uintptr_t)text, strlen(text) };

	return rnic_local_send(local, &iov, 1);
}

static void assert_reads(struct ends *e, const char *text)
{
	char got[32] = "";
	/* With room for one octet that would be too many. */
	struct iovec iov = { got, strlen(text) + 1 };

	assert_int_equal(rnic_stream_recv(e->stream, &iov, 1), strlen(text));
	assert_string_equal(got, text);
}

static const struct {
	const char *name;
	bool is_begun; /* before anything is read */
	bool is_discarded;
} changes[] = {
	{ "the ring begins before a look", true, false },
	{ "the ring begins behind a look", false, false },
	{ "thrown away", true, true },
};

/* What came by TCP is first, and what comes there later is no part of it. */
CASE(reads_the_rest_of_tcp_before_the_ring)
{
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		char got[32];
		struct iovec iov = { got, sizeof(got) };
		struct rnic_local *peer;
		struct ends e;

		ends_open(&e);
		peer = offer(&e);
		assert_int_equal(send(e.peer, "by TCP", 6, 0), 6);
		wait_for(e.stream->source.fd, POLLIN);
		if (!changes[i].is_begun)
			assert_reads(&e, "by TCP");
		assert_int_equal(rnic_local_tx_begin(peer, 6), 0);
		assert_int_equal(ring_put(peer, "by the ring"), 11);
		assert_int_equal(send(e.peer, "later", 5, 0), 5);
		if (changes[i].is_discarded) {
			assert_int_equal(rnic_stream_recv(e.stream, NULL, 0),
					 6);
			assert_int_equal(rnic_stream_recv(e.stream, NULL, 0),
					 11);
		} else {
			if (changes[i].is_begun)
				assert_reads(&e, "by TCP");
			assert_reads(&e, "by the ring");
		}
		e.stream->is_socket_due = true;
		assert_row(changes[i].name,
			   rnic_stream_recv(e.stream, &iov, 1) == -EPROTO);
		offer_end(&e, peer);
	}
}

/* The ring began where the stream has read further: the peer is hostile. */
CASE(refuses_a_ring_that_begins_too_early)
{
	char got[32];
	struct iovec iov = { got, sizeof(got) };
	struct rnic_local *peer;
	struct ends e;

	ends_open(&e);
	peer = offer(&e);
	assert_int_equal(send(e.peer, "by TCP", 6, 0), 6);
	wait_for(e.stream->source.fd, POLLIN);
	assert_reads(&e, "by TCP");
	assert_int_equal(rnic_local_tx_begin(peer, 5), 0);
	assert_int_equal(rnic_stream_recv(e.stream, &iov, 1), -EPROTO);
	offer_end(&e, peer);
}

static const struct {
	const char *name;
	const char *rest; /* by TCP, before the ring */
	const char *ring;
} leaves[] = {
	{ "at once", "", "" },
	{ "behind octets of TCP", "by TCP", "" },
	{ "behind octets of the ring", "", "by the ring" },
	{ "behind both", "by TCP", "by the ring" },
};

/* The peer has begun and has gone back to TCP before the first look. */
CASE(follows_a_peer_that_has_left_already)
{
	for (size_t i = 0; i < ARRAY_LEN(leaves); i++) {
		size_t rest = strlen(leaves[i].rest);
		struct rnic_local *peer;
		struct ends e;

		ends_open(&e);
		peer = offer(&e);
		assert_int_equal(send(e.peer, leaves[i].rest, rest, 0), rest);
		assert_int_equal(rnic_local_tx_begin(peer, rest), 0);
		if (leaves[i].ring[0])
			(void)ring_put(peer, leaves[i].ring);
		rnic_local_leave_tx(peer);
		assert_int_equal(send(e.peer, "later", 5, 0), 5);
		wait_for(e.stream->source.fd, POLLIN);
		if (rest)
			assert_reads(&e, leaves[i].rest);
		if (leaves[i].ring[0])
			assert_reads(&e, leaves[i].ring);
		assert_reads(&e, "later");
		offer_end(&e, peer);
	}
}

static const struct rnic_tcp_ops *real_tcp;
static struct rnic_local *beginner;

static ssize_t begin_recv(int fd, void *buf, size_t len, int flags)
{
	if (beginner)
		assert_int_equal(rnic_local_tx_begin(beginner, 6), 0);
	beginner = NULL;
	return real_tcp->recv(fd, buf, len, flags);
}

/* ... not even if the ring begins at that moment. */
CASE(an_unwritable_sink_is_no_error_of_the_socket)
{
	struct iovec bad = { NULL, 8 };
	char got[32];
	struct iovec iov = { got, sizeof(got) };
	struct rnic_tcp_ops ops = *rnic_tcp();
	struct rnic_local *peer;
	struct ends e;

	real_tcp = rnic_tcp();
	ops.recv = begin_recv;
	ends_open(&e);
	peer = offer(&e);
	beginner = peer;
	assert_int_equal(send(e.peer, "by TCP", 6, 0), 6);
	wait_for(e.stream->source.fd, POLLIN);
	rnic_tcp_replace(&ops);
	assert_int_equal(rnic_stream_recv(e.stream, &bad, 1), -EFAULT);
	rnic_tcp_replace(real_tcp);
	assert_null(beginner);
	assert_reads(&e, "by TCP");
	for (int i = 0; i < 2; i++)
		assert_int_equal(rnic_stream_recv(e.stream, &iov, 1), -EAGAIN);
	offer_end(&e, peer);
}

static const struct end_row {
	const char *name;
	bool is_begun; /* before anything is read */
	bool is_left;  /* before the end */
	bool is_reset; /* else FIN */
	ssize_t end;   /* what the stream reads last */
} end_rows[] = {
	{ "the ring begins, FIN", false, false, false, 0 },
	{ "the ring begins, reset", false, false, true, -ECONNRESET },
	{ "the ring begins and is left, FIN", false, true, false, 0 },
	{ "the ring begins and is left, reset", false, true, true,
	  -ECONNRESET },
	{ "octets in the ring, FIN", true, false, false, 0 },
	{ "octets in the ring, reset", true, false, true, -ECONNRESET },
	{ "octets in the ring, it is left, FIN", true, true, false, 0 },
	{ "octets in the ring, it is left, reset", true, true, true,
	  -ECONNRESET },
};

static struct {
	const struct end_row *row;
	struct ends *e;
	struct rnic_local *peer;
	const struct rnic_tcp_ops *real;
} late;

/* The peer writes to the ring and ends, between two looks of the reader. */
static ssize_t late_recv(int fd, void *buf, size_t len, int flags)
{
	if (late.peer) {
		if (!late.row->is_begun)
			assert_int_equal(rnic_local_tx_begin(late.peer, 0), 0);
		assert_int_equal(ring_put(late.peer, "by the ring"), 11);
		if (late.row->is_left)
			rnic_local_leave_tx(late.peer);
		peer_ends(late.e, late.row->is_reset);
		wait_for(fd, POLLRDHUP);
		late.peer = NULL;
	}
	return late.real->recv(fd, buf, len, flags);
}

CASE(reads_the_ring_before_the_end)
{
	struct rnic_tcp_ops ops = *rnic_tcp();

	ops.recv = late_recv;
	late.real = rnic_tcp();
	for (size_t i = 0; i < ARRAY_LEN(end_rows); i++) {
		char got[32];
		struct iovec iov = { got, sizeof(got) };
		struct rnic_local *peer;
		struct ends e;

		ends_open(&e);
		peer = offer(&e);
		if (end_rows[i].is_begun) {
			assert_int_equal(rnic_local_tx_begin(peer, 0), 0);
			assert_int_equal(ring_put(peer, "first"), 5);
			assert_reads(&e, "first");
		}
		late.row = &end_rows[i];
		late.e = &e;
		late.peer = peer;
		rnic_tcp_replace(&ops);
		assert_reads(&e, "by the ring");
		for (int k = 0; k < 2; k++)
			assert_row(end_rows[i].name,
				   rnic_stream_recv(e.stream, &iov, 1) ==
					   end_rows[i].end);
		rnic_tcp_replace(late.real);
		offer_end(&e, peer);
	}
}

static int told_errno; /* by the next recv(); 0: there is nothing */

static ssize_t told_recv(int fd, void *buf, size_t len, int flags)
{
	(void)fd;
	(void)buf;
	(void)len;
	(void)flags;
	errno = told_errno ? told_errno : EAGAIN;
	told_errno = 0;
	return -1;
}

/* recv() tells an error once, and the socket may seem to be well then. */
CASE(an_error_behind_the_ring_stays)
{
	const struct rnic_tcp_ops *real = rnic_tcp();
	struct rnic_tcp_ops ops = *real;
	char got[32];
	struct iovec iov = { got, sizeof(got) };
	struct rnic_local *peer;
	struct ends e;

	ops.recv = told_recv;
	ends_open(&e);
	peer = offer(&e);
	assert_int_equal(rnic_local_tx_begin(peer, 0), 0);
	assert_int_equal(ring_put(peer, "first"), 5);
	assert_reads(&e, "first");
	told_errno = ETIMEDOUT;
	rnic_tcp_replace(&ops);
	for (int i = 0; i < 4; i++)
		assert_int_equal(rnic_stream_recv(e.stream, &iov, 1),
				 -ETIMEDOUT);
	assert_false(e.stream->is_socket_due);
	rnic_tcp_replace(real);
	offer_end(&e, peer);
}

BEFORE_CASES()
{
	setenv("USIW_LOCAL", "auto", 1);
}

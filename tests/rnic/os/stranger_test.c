/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* stranger.c: no call waits for descriptors that the other end has passed. */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/un.h>

#include "descriptors.h"
#include "lingering.h"
#include "os/fd.h"
#include "os/stranger.h"
#include "until.h"

/* ---- a pair of sockets, and what the other end passes ---- */

struct pair {
	int own; /* in the fd table */
	int other;
	int peer; /* of what lingers; -1 */
};

static void pair_open_type(struct pair *p, int type)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, fds), 0);
	p->own = rnic_fd_own(fds[0]);
	p->other = fds[1];
	p->peer = -1;
}

static void pair_open(struct pair *p)
{
	pair_open_type(p, SOCK_STREAM);
}

static void pair_close(struct pair *p)
{
	assert_at_once(rnic_stranger_close(p->own));
	close(p->other);
	if (p->peer >= 0)
		close(p->peer);
}

static void pass_lingering(struct pair *p, const char *octets)
{
	int fd = lingering_new(&p->peer);

	pass_descriptors(p->other, octets, strlen(octets), &fd, 1);
}

static int is_memfd(int fd)
{
	return fcntl(fd, F_GET_SEALS) >= 0 ? 0 : -EPROTO;
}

static int memfd_new(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	return fd;
}

/* ---- cases ---- */

CASE(octets_come_as_they_are)
{
	struct pair p;
	char text[8];

	pair_open(&p);
	assert_int_equal(rnic_stranger_recv(p.own, text, 8, NULL), -EAGAIN);
	assert_int_equal(send(p.other, "abc", 3, 0), 3);
	assert_int_equal(send(p.other, "de", 2, 0), 2);
	assert_int_equal(rnic_stranger_recv(p.own, text, 4, NULL), 4);
	assert_memory_equal(text, "abcd", 4);
	assert_int_equal(rnic_stranger_recv(p.own, text, 8, NULL), 1);
	assert_int_equal(shutdown(p.other, SHUT_WR), 0);
	assert_int_equal(rnic_stranger_recv(p.own, text, 8, NULL), 0);
	pair_close(&p);
}

CASE(descriptors_stay_in_the_queue)
{
	struct pair p;
	char text[8];

	pair_open(&p);
	pass_lingering(&p, "x");
	for (int i = 0; i < 2; i++)
		assert_at_once(assert_int_equal(
			rnic_stranger_recv(p.own, text, 8, NULL), -EPROTO));
	pair_close(&p);
}

/* Linux before 6.16 says that it cannot. */
CASE(descriptors_are_refused)
{
	struct pair p;
	char text[8];
	int fd;

	pair_open(&p);
	if (!rnic_stranger_refuse_fds(p.own)) {
		pair_close(&p);
		skip();
	}
	fd = memfd_new();
	assert_int_equal(pass_descriptors_try(p.other, "x", 1, &fd, 1), -1);
	close(fd);
	assert_int_equal(rnic_stranger_recv_octets(p.own, text, 8), -EAGAIN);
	assert_int_equal(send(p.other, "abc", 3, 0), 3);
	assert_int_equal(rnic_stranger_recv_octets(p.own, text, 8), 3);
	assert_int_equal(shutdown(p.other, SHUT_WR), 0);
	assert_int_equal(rnic_stranger_recv_octets(p.own, text, 8), 0);
	pair_close(&p);
}

CASE(descriptors_that_are_there_already)
{
	struct pair p;

	pair_open(&p);
	assert_int_equal(send(p.other, "abc", 3, 0), 3);
	pass_lingering(&p, "x");
	assert_false(rnic_stranger_refuse_fds(p.own));
	pair_close(&p);
}

CASE(a_datagram_without_octets_is_taken)
{
	struct pair p;
	char text[8];

	pair_open_type(&p, SOCK_DGRAM);
	assert_int_equal(send(p.other, "", 0, 0), 0);
	assert_int_equal(send(p.other, "abc", 3, 0), 3);
	assert_int_equal(rnic_stranger_recv(p.own, text, 8, NULL), 0);
	assert_int_equal(rnic_stranger_recv(p.own, text, 8, NULL), 3);
	assert_int_equal(rnic_stranger_recv(p.own, text, 8, NULL), -EAGAIN);
	assert_int_equal(send(p.other, "", 0, 0), 0);
	pass_lingering(&p, "x");
	pair_close(&p);
}

static void pass_creds(int fd)
{
	const int on = 1;

	assert_int_equal(
		setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
}

CASE(what_is_behind_descriptors_comes)
{
	struct rnic_stranger from;
	struct pair p;
	char text[8];

	pair_open_type(&p, SOCK_DGRAM);
	pass_creds(p.own);
	pass_lingering(&p, "x");
	assert_int_equal(send(p.other, "abc", 3, 0), 3);
	assert_at_once(rnic_stranger_drop(p.own));
	wait_until(rnic_stranger_recv(p.own, text, 8, &from) == 3);
	assert_memory_equal(text, "abc", 3);
	/* Nothing is dropped that has none. */
	assert_int_equal(send(p.other, "de", 2, 0), 2);
	rnic_stranger_drop(p.own);
	assert_int_equal(rnic_stranger_recv(p.own, text, 8, &from), 2);
	pair_close(&p);
}

/* Whoever asks for a drop too often loses nothing else. */
CASE(one_message_is_dropped_at_a_time)
{
	enum { ROUNDS = 200, ASKS = 8 };

	for (int round = 0; round < ROUNDS; round++) {
		struct rnic_stranger from;
		struct pair p;
		ssize_t got = -EPROTO;
		char text[8];
		int on = 1, fd = memfd_new();

		pair_open_type(&p, SOCK_DGRAM);
		assert_int_equal(setsockopt(p.own, SOL_SOCKET, SO_PASSCRED, &on,
					    sizeof(on)),
				 0);
		pass_descriptors(p.other, "x", 1, &fd, 1);
		assert_int_equal(send(p.other, "good", 4, 0), 4);
		for (int i = 0; i < ASKS; i++)
			rnic_stranger_drop(p.own);
		wait_until((got = rnic_stranger_recv(p.own, text, 8, &from)) !=
			   -EPROTO);
		assert_int_equal(got, 4);
		pair_close(&p);
	}
}

/* Which others go on with. */
CASE(a_shared_socket_is_closed_at_once)
{
	struct rnic_stranger from;
	struct pair p;
	int shared;
	char text[8];

	pair_open_type(&p, SOCK_DGRAM);
	pass_creds(p.own);
	shared = rnic_fd_own(dup(p.own));
	assert_at_once(rnic_stranger_close_shared(shared));
	assert_true(fcntl(shared, F_GETFD) < 0);
	assert_int_equal(send(p.other, "abc", 3, 0), 3);
	assert_int_equal(rnic_stranger_recv(p.own, text, 8, &from), 3);
	pass_lingering(&p, "x");
	assert_at_once(rnic_stranger_close_shared(p.own));
	close(p.other);
	close(p.peer);
}

CASE(a_close_does_not_wait_for_them)
{
	static uint8_t octets[20000];
	struct pair p;

	/* At any place of the queue. */
	for (size_t before = 0; before <= sizeof(octets); before += 10000) {
		pair_open(&p);
		for (size_t i = 0; i < before; i += 1000)
			assert_int_equal(send(p.other, octets, 1000, 0), 1000);
		pass_lingering(&p, "x");
		pair_close(&p);
	}
}

CASE(the_wanted_descriptor_comes)
{
	struct pair p;
	char text[2];
	int fd, got;

	pair_open(&p);
	assert_int_equal(rnic_stranger_recv_fd(p.own, text, 2, is_memfd, NULL),
			 -EAGAIN);
	fd = memfd_new();
	assert_int_equal(ftruncate(fd, 4711), 0);
	pass_descriptors(p.other, "ab", 2, &fd, 1);
	assert_int_equal(send(p.other, "c", 1, 0), 1);
	got = rnic_stranger_recv_fd(p.own, text, 2, is_memfd, NULL);
	assert_true(got >= 0);
	assert_int_equal(lseek(got, 0, SEEK_END), 4711);
	close(got);
	assert_memory_equal(text, "ab", 2);
	assert_int_equal(rnic_stranger_recv(p.own, text, 2, NULL), 1);
	pair_close(&p);
}

CASE(nothing_else_is_taken_for_it)
{
	static const struct {
		const char *name, *octets;
		bool has_memfd, has_lingering;
	} rows[] = {
		{ "none", "ab", false, false },
		{ "a socket", "ab", false, true },
		{ "one more", "ab", true, true },
		{ "fewer octets", "a", true, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int fds[2], cnt = 0, rc = 0;
		struct pair p;
		char text[2];

		pair_open(&p);
		if (rows[i].has_memfd)
			fds[cnt++] = memfd_new();
		if (rows[i].has_lingering)
			fds[cnt++] = lingering_new(&p.peer);
		if (cnt)
			pass_descriptors(p.other, rows[i].octets,
					 strlen(rows[i].octets), fds,
					 (size_t)cnt);
		else
			assert_int_equal(send(p.other, "ab", 2, 0), 2);
		assert_at_once(rc = rnic_stranger_recv_fd(p.own, text, 2,
							  is_memfd, NULL));
		assert_row(rows[i].name, rc == -EPROTO);
		pair_close(&p);
	}
}

/* A listener with a connection that has passed descriptors, and one that has
 * not. */
CASE(a_listener_closes_what_waits)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(sa_family_t); /* a free abstract name */
	int other[2], lingering, peer;

	assert_int_equal(bind(fd, (struct sockaddr *)&name, len), 0);
	len = sizeof(name);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &len), 0);
	assert_int_equal(listen(fd, 8), 0);
	for (int i = 0; i < 2; i++) {
		other[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		assert_int_equal(
			connect(other[i], (struct sockaddr *)&name, len), 0);
	}
	lingering = lingering_new(&peer);
	pass_descriptors(other[0], "x", 1, &lingering, 1);
	assert_at_once(rnic_stranger_close_listener(rnic_fd_own(fd)));
	close(peer);
	for (int i = 0; i < 2; i++)
		close(other[i]);
}

/* More than there may be threads: what they cannot close stays open, and no
 * call waits. */
CASE(many_of_them_do_no_harm)
{
	enum { CNT = 40 };
	struct pair p[CNT];

	for (int i = 0; i < CNT; i++) {
		pair_open(&p[i]);
		pass_lingering(&p[i], "x");
		assert_at_once(rnic_stranger_close(p[i].own));
	}
	for (int i = 0; i < CNT; i++) {
		close(p[i].peer);
		close(p[i].other);
	}
}

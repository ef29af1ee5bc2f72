/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* tcp.c: the result of each call, and that the table can be replaced. */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "rnicpair.h"
#include "os/tcp.h"

CASE(recv_gathers_and_tells_the_end)
{
	char a[3] = "", b[8] = "";
	struct iovec iov[2] = { { a, 3 }, { b, 8 } };
	struct iovec out[2] = { { (char[]){ "abc" }, 3 },
				{ (char[]){ "defg" }, 4 } };
	int fd[2];

	rnicpair_sockets(0, fd);
	assert_int_equal(rnic_tcp_recv(fd[0], iov, 1), -EAGAIN);
	assert_int_equal(rnic_tcp_recv(fd[0], iov, 2), -EAGAIN);
	assert_int_equal(rnic_tcp_send(fd[1], out, 2, 0), 7);
	assert_int_equal(rnic_tcp_recv(fd[0], iov, 2), 7);
	assert_memory_equal(a, "abc", 3);
	assert_memory_equal(b, "defg", 4);
	assert_int_equal(rnic_tcp()->shutdown(fd[1], SHUT_WR), 0);
	assert_int_equal(rnic_tcp_recv(fd[0], iov, 1), 0);
	close(fd[0]);
	close(fd[1]);
}

/* SIGPIPE would end this program. */
CASE(send_to_a_closed_peer_raises_no_signal)
{
	struct iovec out = { (char[]){ "x" }, 1 };
	ssize_t rc = 1;
	int fd[2];

	assert_ptr_not_equal(signal(SIGPIPE, SIG_DFL), SIG_ERR);
	rnicpair_sockets(0, fd);
	close(fd[1]);
	for (int i = 0; i < 1000 && rc == 1; i++)
		rc = rnic_tcp_send(fd[0], &out, 1, 0);
	assert_true(rc == -EPIPE || rc == -ECONNRESET);
	close(fd[0]);
}

CASE(send_says_when_there_is_no_room)
{
	static char octets[65536];
	struct iovec out = { octets, sizeof(octets) };
	ssize_t rc = 1, sent = 0, got = 0;
	int fd[2];

	rnicpair_sockets(16384, fd);
	while ((rc = rnic_tcp_send(fd[0], &out, 1, 0)) > 0)
		sent += rc;
	assert_int_equal(rc, -EAGAIN);
	/* Discarded to the last octet, without a buffer. */
	while (got < sent) {
		rc = rnic_tcp_discard(fd[1], 1000);
		assert_true(rc > 0 || rc == -EAGAIN);
		assert_true(rc <= 1000);
		got += rc > 0 ? rc : 0;
	}
	assert_int_equal(rnic_tcp_discard(fd[1], 1000), -EAGAIN);
	close(fd[0]);
	assert_int_equal(rnic_tcp_discard(fd[1], 1000), 0);
	close(fd[1]);
}

CASE(memory_that_is_not_there_is_an_error)
{
	struct iovec bad = { (void *)8, 16 };
	struct iovec out = { (char[]){ "0123456789" }, 10 };
	int fd[2];

	rnicpair_sockets(0, fd);
	assert_int_equal(rnic_tcp_send(fd[0], &bad, 1, 0), -EFAULT);
	assert_int_equal(rnic_tcp_send(fd[0], &out, 1, 0), 10);
	assert_int_equal(rnic_tcp_recv(fd[1], &bad, 1), -EFAULT);
	assert_int_equal(rnic_tcp_recv(-1, &out, 1), -EBADF);
	close(fd[0]);
	close(fd[1]);
}

CASE(emss_is_the_sockets_or_a_careful_guess)
{
	int fd[2];

	rnicpair_sockets(0, fd);
	assert_true(rnic_tcp_emss(fd[0]) >= 536);
	close(fd[0]);
	close(fd[1]);
	assert_int_equal(rnic_tcp_emss(-1), 1460);
}

static int errno_to_say;

static ssize_t sendmsg_that_fails(int fd, const struct msghdr *msg, int flags)
{
	(void)fd;
	(void)msg;
	assert_int_equal(flags, MSG_DONTWAIT | MSG_NOSIGNAL);
	errno = errno_to_say;
	return -1;
}

CASE(maps_errors)
{
	static const struct {
		int from, to;
	} maps[] = { { EAGAIN, EAGAIN },
		     { EWOULDBLOCK, EAGAIN },
		     { EINTR, EAGAIN },
		     { ECONNRESET, ECONNRESET },
		     { EFAULT, EFAULT } };
	struct iovec out = { (char[]){ "x" }, 1 };
	struct rnic_tcp_ops ops = *rnic_tcp();

	ops.sendmsg = sendmsg_that_fails;
	rnic_tcp_replace(&ops);
	assert_ptr_equal(rnic_tcp(), &ops);
	for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
		errno_to_say = maps[i].from;
		assert_int_equal(rnic_tcp_send(0, &out, 1, 0), -maps[i].to);
	}
	rnic_tcp_replace(NULL);
	assert_ptr_not_equal(rnic_tcp(), &ops);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * TCP sockets on 127.0.0.1, and checks of received octets.
 */
#ifndef TEST_LOOPBACK_H
#define TEST_LOOPBACK_H

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test.h"

static inline int test_tcp_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	return fd;
}

/* Binds to 127.0.0.1 and a free port, and returns the name. */
static inline void test_tcp_bind(int fd, struct sockaddr_in *ret_name)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(any);

	assert_int_equal(bind(fd, (struct sockaddr *)&any, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)ret_name, &len), 0);
}

/* Makes both ends of a new connection to @listener, which is bound. */
static inline void test_tcp_join(int listener, const struct sockaddr_in *name,
				 int ret_fds[2])
{
	assert_int_equal(listen(listener, 1), 0);
	ret_fds[0] = test_tcp_socket();
	assert_int_equal(connect(ret_fds[0], (const struct sockaddr *)name,
				 sizeof(*name)),
			 0);
	ret_fds[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(ret_fds[1] >= 0);
}

/* Makes a connection: the connecting end, then the accepted end. */
static inline void test_tcp_pair(int ret_fds[2])
{
	struct sockaddr_in name;
	int listener = test_tcp_socket();

	test_tcp_bind(listener, &name);
	test_tcp_join(listener, &name, ret_fds);
	close(listener);
}

/* Checks that the next octets are @text. Works for any stream socket. */
static inline void assert_octets(int from, const char *text)
{
	size_t len = strlen(text);
	char got[64] = "";

	assert_int_equal(recv(from, got, len, MSG_WAITALL), len);
	assert_string_equal(got, text);
}

static inline void assert_eof(int from)
{
	char octet;

	assert_int_equal(recv(from, &octet, 1, 0), 0);
}

#endif

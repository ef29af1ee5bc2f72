/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The mark of a connection: which sockets have it, and how it is passed on. */
#include "loopback.h"
#include "test.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock/base/mark.h"

static void mark_put(int fd, bool is_accepting, uint16_t port)
{
	sdp_mark_put(fd, &(struct sdp_mark){ .port = port,
					     .is_accepting = is_accepting,
					     .is_request = !is_accepting &&
							   port % 2 });
}

static void assert_mark(int fd, bool is_accepting, uint16_t port)
{
	struct sdp_mark found = { .is_accepting = !is_accepting };

	assert_true(sdp_mark_get(fd, &found));
	assert_int_equal(found.is_accepting, is_accepting);
	assert_int_equal(found.is_request, !is_accepting && port % 2);
	assert_int_equal(found.port, port);
}

static bool has_mark(int fd)
{
	struct sdp_mark mark;

	return sdp_mark_get(fd, &mark);
}

CASE(has_role_carrier_and_port)
{
	static const uint16_t ports[] = { 0, 1, 80, 0x7fff, 0x8000, 0xffff };
	int fd = test_tcp_socket();

	for (size_t i = 0; i < ARRAY_LEN(ports); i++) {
		mark_put(fd, false, ports[i]);
		assert_mark(fd, false, ports[i]);
		mark_put(fd, true, ports[i]);
		assert_mark(fd, true, ports[i]);
	}
	close(fd);
}

CASE(is_taken_away)
{
	uint32_t value = 1;
	socklen_t len = sizeof(value);
	int fd = test_tcp_socket();

	mark_put(fd, true, 80);
	sdp_mark_remove(fd);
	assert_false(has_mark(fd));
	/* The kernel's value if none was set. */
	assert_int_equal(
		getsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &value, &len),
		0);
	assert_int_equal(value, 0);
	close(fd);
}

/* Values that programs set, and those nearest to a mark. */
CASE(is_no_value_of_a_program)
{
	static const uint32_t values[] = { 0,	       1,	   16384,
					   131072,     0x10000000, 0x7d4fffff,
					   0x7d540000, 0x7fffffff, UINT32_MAX };
	int fd = test_tcp_socket();

	assert_false(has_mark(fd));
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT,
					    &values[i], sizeof(values[i])),
				 0);
		if (has_mark(fd))
			fail_msg("%#x is a mark", values[i]);
	}
	close(fd);
}

CASE(is_on_no_other_descriptor)
{
	int ends[2], udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(pipe(ends), 0);
	mark_put(ends[0], true, 80);
	mark_put(udp, true, 80);
	assert_false(has_mark(ends[0]));
	assert_false(has_mark(udp));
	assert_false(has_mark(-1));
	close(ends[0]);
	close(ends[1]);
	close(udp);
}

/* A connection has it from its listener, a duplicate from the original. */
CASE(goes_with_the_connection)
{
	int listener = test_tcp_socket(), fds[2], other;
	struct sockaddr_in name;

	mark_put(listener, true, 4711);
	test_tcp_bind(listener, &name);
	test_tcp_join(listener, &name, fds);
	other = dup(fds[1]);
	assert_mark(fds[1], true, 4711);
	assert_mark(other, true, 4711);
	assert_false(has_mark(fds[0]));
	sdp_mark_remove(fds[1]);
	assert_false(has_mark(other));
	assert_mark(listener, true, 4711);
	close(listener);
	close(fds[0]);
	close(fds[1]);
	close(other);
}

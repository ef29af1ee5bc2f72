/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which inherited descriptors become sockets of the library. */
#include "loopback.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sock/share/adopt.h"
#include "sock/share/end.h"
#include "sock/base/mark.h"
#include "sock/share/relay-name.h"

#include "sock-fixture.h"

void sdp_sock_end(struct sdp_sock *sock)
{
	sdp_sock_become(sock, SDP_SOCK_TCP);
}

/* ---- connections ---- */

static int listen_new(void)
{
	struct sockaddr_in name;
	int fd = test_tcp_socket();

	test_tcp_bind(fd, &name);
	assert_int_equal(listen(fd, 2), 0);
	return fd;
}

static int dial(int listener)
{
	struct sockaddr_in to;
	socklen_t len = sizeof(to);
	int fd = test_tcp_socket();

	assert_int_equal(getsockname(listener, (void *)&to, &len), 0);
	assert_int_equal(connect(fd, (void *)&to, len), 0);
	return fd;
}

/* ---- tests ---- */

CASE(takes_what_is_marked)
{
	int listener = listen_new(), fd = dial(listener);
	struct sdp_sock *sock;

	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	sdp_mark_put(fd,
		     &(struct sdp_mark){ .is_accepting = false, .port = 4711 });
	errno = ENOTTY;
	sdp_adopt_fd(fd);
	assert_int_equal(errno, ENOTTY);
	sock = sdp_sock_get(fd);
	assert_non_null(sock);
	assert_int_equal(sdp_sock_state(sock), SDP_SOCK_PENDING);
	assert_true(sock->is_nonblock);
	assert_false(sock->is_accepting);
	/* The port that the program connected to. */
	assert_int_equal(ntohs(sock->peer.in.sin_port), 4711);
	assert_int_equal(sdp_pending_cnt, 1);
	/* Only once. */
	sdp_adopt_fd(fd);
	assert_int_equal(sdp_pending_cnt, 1);
	sdp_sock_put(sock);
	program_close(fd);
	assert_int_equal(sdp_pending_cnt, 0);
	close(listener);
}

CASE(leaves_the_others)
{
	int listener = listen_new(), fd = dial(listener), pair[2];
	int file = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	for (int *other = (int[]){ listener, fd, pair[0], file, 999, -1, -2 };
	     *other != -2; other++) {
		sdp_adopt_fd(*other);
		assert_int_equal(sdp_fd_kind(*other), SDP_FD_NONE);
	}
	close(pair[0]);
	close(pair[1]);
	close(file);
	close(fd);
	close(listener);
}

/* inetd's two numbers are one connection. Similar ones are not. */
CASE(takes_duplicates_for_one)
{
	int listener = listen_new(), fd = dial(listener), other;
	int duplicate = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct sdp_sock *sock, *same;

	other = dial(listener);
	sdp_mark_put(fd,
		     &(struct sdp_mark){ .is_accepting = false, .port = 80 });
	sdp_mark_put(other,
		     &(struct sdp_mark){ .is_accepting = false, .port = 80 });
	sdp_adopt_fd(fd);
	sdp_adopt_fd(duplicate);
	sdp_adopt_fd(other);
	sock = sdp_sock_get(fd);
	same = sdp_sock_get(duplicate);
	assert_non_null(sock);
	assert_ptr_equal(sock, same);
	assert_int_equal(sdp_pending_cnt, 2);
	sdp_sock_put(sock);
	sdp_sock_put(same);
	program_close(fd);
	assert_int_equal(sdp_pending_cnt, 2);
	program_close(duplicate);
	program_close(other);
	assert_int_equal(sdp_pending_cnt, 0);
	close(listener);
}

CASE(takes_a_relay_by_its_name)
{
	union sdp_addr local = { .in = { .sin_family = AF_INET,
					 .sin_port = htons(80) } };
	union sdp_addr peer = { .in = { .sin_family = AF_INET,
					.sin_port = htons(4711) } };
	struct sdp_sock *sock;
	int pair[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	sdp_relay_name_put(pair[1], &local, &peer);
	sdp_adopt_fd(pair[0]);
	sock = sdp_sock_get(pair[0]);
	assert_non_null(sock);
	assert_int_equal(sdp_sock_state(sock), SDP_SOCK_RELAY);
	assert_true(sock->relay.is_on);
	assert_int_equal(sock->local.in.sin_port, htons(80));
	assert_int_equal(sock->peer.in.sin_port, htons(4711));
	sdp_sock_put(sock);
	program_close(pair[0]);
	close(pair[1]);
}

/* Descriptors in a message. One that was lost, because the process had no
 * number left, is not among them. */
CASE(takes_what_a_message_brings)
{
	int listener = listen_new(), fds[2];
	union {
		char octets[CMSG_SPACE(sizeof(fds))];
		struct cmsghdr part;
	} control = { 0 };
	struct msghdr msg = { .msg_control = &control,
			      .msg_controllen = sizeof(control) };

	fds[0] = dial(listener);
	fds[1] = dial(listener);
	sdp_mark_put(fds[1],
		     &(struct sdp_mark){ .is_accepting = false, .port = 80 });
	control.part.cmsg_level = SOL_SOCKET;
	control.part.cmsg_type = SCM_RIGHTS;
	control.part.cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(&control.part), fds, sizeof(fds));
	control.part.cmsg_len = CMSG_LEN(sizeof(fds[0]));
	sdp_adopt_message(&msg);
	assert_int_equal(sdp_pending_cnt, 0);
	control.part.cmsg_len = CMSG_LEN(sizeof(fds));
	sdp_adopt_message(&msg);
	assert_int_equal(sdp_fd_kind(fds[0]), SDP_FD_NONE);
	assert_int_equal(sdp_fd_kind(fds[1]), SDP_FD_SOCK);
	close(fds[0]);
	program_close(fds[1]);
	close(listener);
}

ALL_CASES_WITH(table_start, NULL);

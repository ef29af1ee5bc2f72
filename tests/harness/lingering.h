/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A descriptor whose close() takes long: a TCP socket with SO_LINGER whose peer
 * does not read.
 */
#ifndef TEST_LINGERING_H
#define TEST_LINGERING_H

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loopback.h"
#include "until.h"

#define LINGERING_S 20

/* @ret_peer: the other end; close it, and close() of the descriptor returns. */
static inline int lingering_new(int *ret_peer)
{
	static const uint8_t octets[65536];
	const struct linger linger = { 1, LINGERING_S };
	int fds[2];

	test_tcp_pair(fds);
	assert_int_equal(setsockopt(fds[0], SOL_SOCKET, SO_LINGER, &linger,
				    sizeof(linger)),
			 0);
	while (send(fds[0], octets, sizeof(octets), MSG_DONTWAIT) > 0)
		continue;
	*ret_peer = fds[1];
	return fds[0];
}

/* Passes descriptors in one message, and closes them here. Return: as
 * sendmsg(); negative: they are still open. */
static inline ssize_t pass_descriptors_try(int to, const void *octets,
					   size_t len, const int *fds,
					   size_t cnt)
{
	union {
		struct cmsghdr hdr;
		uint8_t room[CMSG_SPACE(4 * sizeof(int))];
	} control = { .room = { 0 } };
	struct iovec iov = { (void *)(uintptr_t)octets, len };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = CMSG_SPACE(cnt * sizeof(int)) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	ssize_t sent;

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(cnt * sizeof(int));
	memcpy(CMSG_DATA(cmsg), fds, cnt * sizeof(int));
	sent = sendmsg(to, &msg, 0);
	for (size_t i = 0; i < cnt && sent >= 0; i++)
		close(fds[i]);
	return sent;
}

static inline void pass_descriptors(int to, const void *octets, size_t len,
				    const int *fds, size_t cnt)
{
	assert_int_equal(pass_descriptors_try(to, octets, len, fds, cnt), len);
}

/* Does @expr return without waiting for such a close()? */
#define assert_at_once(expr)                                                   \
	do {                                                                   \
		uint64_t begin_ms_ = until_ms();                               \
		expr;                                                          \
		assert_true(until_ms() - begin_ms_ < LINGERING_S * 1000 / 4);  \
	} while (0)

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Descriptors in control data, also in invalid control data. */
#include "descriptors.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock/base/rights.h"

static int found[16];
static size_t found_cnt;
static _Alignas(struct cmsghdr) char control[256];
static struct msghdr message;

static void note(int fd)
{
	assert_true(found_cnt < 16);
	found[found_cnt++] = fd;
}

static int begin(void **state)
{
	memset(control, 0, sizeof(control));
	message = (struct msghdr){ .msg_control = control };
	found_cnt = 0;
	return 0;
}

/* Adds one more part after the existing ones. */
static struct cmsghdr *part_add(int level, int type, const int *fds, size_t cnt)
{
	struct cmsghdr *part =
		(struct cmsghdr *)(void *)(control + message.msg_controllen);

	part->cmsg_level = level;
	part->cmsg_type = type;
	part->cmsg_len = CMSG_LEN(cnt * sizeof(int));
	memcpy(CMSG_DATA(part), fds, cnt * sizeof(int));
	message.msg_controllen += CMSG_SPACE(cnt * sizeof(int));
	return part;
}

CASE_WITH(finds_all_of_all_parts, begin, NULL)
{
	part_add(SOL_SOCKET, SCM_RIGHTS, (int[]){ 4, 5, 6 }, 3);
	part_add(SOL_SOCKET, SCM_CREDENTIALS, (int[]){ 1, 2, 3 }, 3);
	part_add(SOL_SOCKET + 1, SCM_RIGHTS, (int[]){ 8 }, 1);
	part_add(SOL_SOCKET, SCM_RIGHTS, (int[]){ 7 }, 1);
	sdp_rights_each(&message, note);
	assert_int_equal(found_cnt, 4);
	assert_memory_equal(found, ((int[]){ 4, 5, 6, 7 }), 4 * sizeof(int));
}

CASE_WITH(finds_none_without_control_data, begin, NULL)
{
	message.msg_control = NULL;
	sdp_rights_each(&message, note);
	assert_int_equal(found_cnt, 0);
}

CASE_WITH(bad_lengths_end_the_walk, begin, NULL)
{
	static const size_t lengths[] = { 0, 1, CMSG_LEN(0) - 1, 1000,
					  SIZE_MAX };
	struct cmsghdr *part;

	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		begin(state);
		part_add(SOL_SOCKET, SCM_RIGHTS, (int[]){ 4 }, 1);
		part = part_add(SOL_SOCKET, SCM_RIGHTS, (int[]){ 5 }, 1);
		part->cmsg_len = lengths[i];
		sdp_rights_each(&message, note);
		assert_int_equal(found_cnt, 1);
		assert_int_equal(found[0], 4);
	}
}

CASE_WITH(half_a_descriptor_is_none, begin, NULL)
{
	struct cmsghdr *part;

	part = part_add(SOL_SOCKET, SCM_RIGHTS, (int[]){ 4, 5 }, 2);
	part->cmsg_len -= 2;
	sdp_rights_each(&message, note);
	assert_int_equal(found_cnt, 1);
}

/* ---- messages of one descriptor ---- */

static int ways[2], pipes[2];

static int ways_open(void **state)
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ways), 0);
	assert_int_equal(pipe(pipes), 0);
	return begin(state);
}

static int ways_close(void **state)
{
	for (int i = 0; i < 2; i++) {
		close(ways[i]);
		close(pipes[i]);
	}
	return 0;
}

#define WAYS_CASE(name) CASE_WITH(name, ways_open, ways_close)

WAYS_CASE(one_descriptor_goes_and_comes)
{
	uint64_t sent = 0x123456789abcdefull, got = 0;
	int fd;

	assert_true(sdp_rights_send(ways[0], &sent, sizeof(sent), pipes[1]));
	fd = sdp_rights_receive(ways[1], &got, sizeof(got));
	assert_true(fd >= 0);
	assert_true(test_fd_is_same(fd, pipes[1]));
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(got, sent);
	close(fd);
}

WAYS_CASE(says_that_it_did_not_go)
{
	assert_false(sdp_rights_send(ways[0], "x", 1, -1));
	close(ways[1]);
	assert_false(sdp_rights_send(ways[0], "x", 1, pipes[0]));
	ways[1] = -1;
}

static void other_send(size_t fd_cnt, size_t len)
{
	struct iovec iov = { "0123456789", len };

	message.msg_iov = &iov;
	message.msg_iovlen = 1;
	if (fd_cnt)
		part_add(SOL_SOCKET, SCM_RIGHTS,
			 (int[]){ pipes[1], pipes[1], pipes[1] }, fd_cnt);
	else
		message.msg_control = NULL;
	assert_int_equal(sendmsg(ways[0], &message, 0), len);
}

/* Descriptors of a refused message are closed, so no process holds the end of
 * the pipe that it passed. */
WAYS_CASE(refuses_other_messages)
{
	static const struct {
		size_t fd_cnt, len;
	} others[] = {
		{ 0, 4 }, { 2, 4 }, { 3, 4 }, { 1, 3 }, { 1, 5 }, { 0, 0 },
	};
	char octets[4];

	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		begin(state);
		other_send(others[i].fd_cnt, others[i].len);
		assert_int_equal(sdp_rights_receive(ways[1], octets, 4),
				 -EPROTO);
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], octets, 1), 0);
	pipes[1] = -1;
}

/* The next message may get a number. */
WAYS_CASE(tells_when_there_is_no_number)
{
	struct rlimit old;
	char octet = 0;
	int fd;

	old = test_fd_leave(0);
	assert_true(sdp_rights_send(ways[0], "a", 1, pipes[1]));
	assert_true(sdp_rights_send(ways[0], "b", 1, pipes[1]));
	assert_int_equal(sdp_rights_receive(ways[1], &octet, 1), -EMFILE);
	test_fd_restore(old);
	fd = sdp_rights_receive(ways[1], &octet, 1);
	assert_true(fd >= 0);
	assert_int_equal(octet, 'b');
	close(fd);
}

WAYS_CASE(the_end_is_no_message)
{
	char octet;

	close(ways[0]);
	assert_int_equal(sdp_rights_receive(ways[1], &octet, 1), -EPROTO);
	assert_int_equal(sdp_rights_receive(-1, &octet, 1), -EBADF);
	ways[0] = -1;
}

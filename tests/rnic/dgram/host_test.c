/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sockets of this host's datagrams, and strangers that send to them. */
#include "test.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "dgram/host.h"
#include "os/fd.h"

/* No QP has a number like this. */
#define NUM 0x000007u

static struct rnic_stranger from;
static struct rnic_host_head head = { .magic = RNIC_HOST_MAGIC,
				      .dest_num = NUM,
				      .src_num = 9 };

static bool has_news(int fd)
{
	uint32_t magic;

	return rnic_host_peek(fd, &magic) == 0;
}

static int host_open(void)
{
	struct rnic_host_name name = rnic_host_name_qp(NUM);

	return rnic_host_open(&name);
}

static int send_len(int fd, size_t len)
{
	struct rnic_host_name name = rnic_host_name_qp(NUM);
	static uint8_t payload[SIB_PAYLOAD_MAX + 1];
	struct iovec iov[] = { { &head, sizeof(head) }, { payload, len } };

	return rnic_host_send(fd, &name, iov, 2);
}

CASE(a_number_has_one_socket)
{
	int fd = host_open();

	assert_true(fd >= 0);
	assert_int_equal(host_open(), -EADDRINUSE);
	rnic_fd_close(fd);
	fd = host_open();
	assert_true(fd >= 0);
	rnic_fd_close(fd);
}

CASE(what_is_sent_is_received)
{
	static uint8_t buf[RNIC_HOST_MAX];
	int to = host_open(), sender = rnic_host_open_sender();

	assert_false(has_news(to));
	assert_int_equal(rnic_host_recv(to, buf, &from), -EAGAIN);
	for (size_t len = 0; len <= SIB_PAYLOAD_MAX; len += 1024) {
		assert_int_equal(send_len(sender, len), 0);
		assert_true(has_news(to));
		assert_int_equal(rnic_host_recv(to, buf, &from),
				 sizeof(head) + len);
		assert_memory_equal(buf, &head, sizeof(head));
	}
	rnic_fd_close(to);
	assert_int_equal(send_len(sender, 1), -ECONNREFUSED);
	rnic_fd_close(sender);
}

CASE(a_full_receiver_says_so)
{
	int to = host_open(), sender = rnic_host_open_sender();
	static uint8_t buf[RNIC_HOST_MAX];
	int sent = 0, got = 0;

	while (send_len(sender, 1000) == 0)
		sent++;
	assert_int_equal(send_len(sender, 1000), -EAGAIN);
	while (rnic_host_recv(to, buf, &from) > 0)
		got++;
	assert_int_equal(got, sent);
	assert_int_equal(send_len(sender, 1000), 0);
	rnic_fd_close(to);
	rnic_fd_close(sender);
}

static void raw_send(int fd, const void *octets, size_t len, int passed)
{
	union {
		struct cmsghdr hdr;
		uint8_t room[CMSG_SPACE(sizeof(int))];
	} control = { .hdr = { .cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS,
			       .cmsg_len = CMSG_LEN(sizeof(int)) } };
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int name_len = sprintf(sun.sun_path + 1, "usiw-ud/%06x", NUM);
	struct iovec iov = { (void *)(uintptr_t)octets, len };
	struct msghdr msg = {
		.msg_name = &sun,
		.msg_namelen =
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				    (size_t)name_len),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = passed < 0 ? NULL : &control,
		.msg_controllen = passed < 0 ? 0 : sizeof(control),
	};

	if (passed >= 0)
		memcpy(CMSG_DATA(&control.hdr), &passed, sizeof(int));
	assert_int_equal(sendmsg(fd, &msg, 0), len);
}

CASE(what_a_stranger_sends_is_refused)
{
	static const struct {
		const char *name;
		size_t len;
		bool has_magic, has_fd;
		ssize_t ret;
	} rows[] = {
		{ "nothing", 0, false, false, -EBADMSG },
		{ "short", sizeof(head) - 1, true, false, -EBADMSG },
		{ "magic", sizeof(head), false, false, -EBADMSG },
		{ "descriptor", sizeof(head), true, true, -EPROTO },
	};
	static uint8_t buf[RNIC_HOST_MAX];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int to = host_open();
		int raw = socket(AF_UNIX, SOCK_DGRAM, 0);
		struct rnic_host_head octets = head;

		if (!rows[i].has_magic)
			octets.magic++;
		raw_send(raw, &octets, rows[i].len, rows[i].has_fd ? raw : -1);
		assert_row(rows[i].name,
			   rnic_host_recv(to, buf, &from) == rows[i].ret);
		if (!rows[i].has_fd)
			assert_row(rows[i].name,
				   rnic_host_recv(to, buf, &from) == -EAGAIN);
		close(raw);
		rnic_fd_close(to);
	}
}

/* Who is of another user does not get the memory, nor do others by a name. */
CASE(an_inbox_is_given_to_the_own_user)
{
	int to = host_open(), other = rnic_host_open_sender();
	static uint8_t buf[RNIC_HOST_MAX];
	struct rnic_host_name name = rnic_host_name_qp(NUM);
	struct rnic_host_name asker_name = rnic_host_name_qp(NUM + 1);
	int asker = rnic_host_open(&asker_name);

	assert_int_equal(rnic_host_tell(other, &name, RNIC_HOST_ASK, 5), 0);
	assert_int_equal(rnic_host_recv(to, buf, &from), sizeof(head));
	assert_int_equal(from.uid, getuid());
	assert_int_equal(rnic_host_give(to, &from, NUM, to), -EPERM);

	assert_int_equal(rnic_host_tell(asker, &name, RNIC_HOST_ASK, 5), 0);
	assert_int_equal(rnic_host_recv(to, buf, &from), sizeof(head));
	from.uid++;
	assert_int_equal(rnic_host_give(to, &from, NUM, to), -EPERM);
	from.uid--;
	assert_int_equal(rnic_host_give(to, &from, NUM, to), 0);
	assert_int_equal(rnic_host_recv(asker, buf, &from), -EPROTO);
	rnic_fd_close(to);
	rnic_fd_close(other);
	rnic_stranger_close(asker);
}

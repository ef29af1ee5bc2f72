/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sockets of NETLINK_RDMA behave like the kernel's in every respect that a
 * program can see. */
#define _GNU_SOURCE
#include "preloaded.h"

#include <dlfcn.h>
#include <linux/netlink.h>
#include <poll.h>
#include <rdma/rdma_netlink.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define GET RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET)

static const struct nlmsghdr list_request = {
	.nlmsg_len = sizeof(struct nlmsghdr),
	.nlmsg_type = GET,
	.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
	.nlmsg_seq = 3,
};

static union {
	struct nlmsghdr hdr;
	struct nlmsghdr align;
	uint8_t octets[8192];
} buf;

static int netlink_open(int flags)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | flags,
			NETLINK_RDMA);

	assert_true(fd >= 0);
	return fd;
}

static uint32_t port_of(int fd)
{
	struct sockaddr_nl name;
	socklen_t len = sizeof(name);

	assert_int_equal(getsockname(fd, (void *)&name, &len), 0);
	assert_int_equal(len, sizeof(name));
	assert_int_equal(name.nl_family, AF_NETLINK);
	return name.nl_pid;
}

static int bind_to(int fd, uint32_t port)
{
	struct sockaddr_nl name = { .nl_family = AF_NETLINK, .nl_pid = port };

	return bind(fd, (void *)&name, sizeof(name)) < 0 ? -errno : 0;
}

/* Return: number of devices in the list in @buf. */
static int list_cnt(ssize_t len)
{
	const struct nlmsghdr *hdr = &buf.hdr;
	int left = (int)len, cnt = 0;

	for (; NLMSG_OK(hdr, (unsigned int)left); hdr = NLMSG_NEXT(hdr, left)) {
		assert_int_equal(hdr->nlmsg_seq, 3);
		if (hdr->nlmsg_type == NLMSG_DONE)
			return cnt;
		assert_int_equal(hdr->nlmsg_type, GET);
		cnt++;
	}
	fail_msg("no end of the list in %zd octets", len);
	return -1;
}

static bool answers(int fd)
{
	ssize_t len;

	if (send(fd, &list_request, sizeof(list_request), 0) !=
	    sizeof(list_request))
		return false;
	len = recv(fd, &buf, sizeof(buf), MSG_DONTWAIT);
	return len > 0 && list_cnt(len) == 2;
}

/* ---- tests ---- */

CASE(every_kind_of_send_is_answered)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct nlmsghdr request = list_request;
	struct iovec iov[2] = { { &request, 7 },
				{ (char *)&request + 7, sizeof(request) - 7 } };
	struct msghdr msg = { .msg_name = &kernel,
			      .msg_namelen = sizeof(kernel),
			      .msg_iov = iov,
			      .msg_iovlen = 2 };
	struct mmsghdr many[2] = { { .msg_hdr = msg }, { .msg_hdr = msg } };
	const size_t len = sizeof(request);
	int fd = netlink_open(0);

	assert_true(answers(fd)); /* send() */
	for (int i = 0; i < 6; i++) {
		ssize_t ret = i == 0   ? write(fd, &request, len)
			      : i == 1 ? writev(fd, iov, 2)
			      : i == 2 ? sendmsg(fd, &msg, 0)
			      : i == 3 ? sendto(fd, &request, len, 0,
						(void *)&kernel, sizeof(kernel))
			      : i == 4 ? sendto(fd, &request, len, 0, NULL, 0)
				       : sendmmsg(fd, many, 1, 0);

		assert_int_equal(ret, i == 5 ? 1 : (ssize_t)len);
		ret = recv(fd, &buf, sizeof(buf), MSG_DONTWAIT);
		assert_int_equal(list_cnt(ret), 2);
	}
	assert_int_equal(many[0].msg_len, len);
	assert_int_equal(sendmmsg(fd, many, 2, 0), 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(list_cnt(read(fd, &buf, sizeof(buf))), 2);
	close(fd);
}

/* libmnl and libnl refuse messages that do not come from the kernel's
 * address. */
CASE(every_kind_of_receive_names_the_kernel)
{
	ssize_t (*recvfrom_chk)(int, void *, size_t, size_t, int, void *,
				socklen_t *) =
		dlsym(RTLD_DEFAULT, "__recvfrom_chk");
	int fd = netlink_open(0);

	assert_non_null(recvfrom_chk);
	for (int i = 0; i < 4; i++) {
		struct sockaddr_nl from = { .nl_pid = 5, .nl_groups = 5 };
		socklen_t size = sizeof(from);
		struct iovec iov = { &buf, sizeof(buf) };
		struct msghdr msg = { .msg_name = &from,
				      .msg_namelen = sizeof(from),
				      .msg_iov = &iov,
				      .msg_iovlen = 1 };
		struct mmsghdr many[2] = { { .msg_hdr = msg },
					   { .msg_hdr = msg } };
		ssize_t len;

		assert_int_equal(
			send(fd, &list_request, sizeof(list_request), 0),
			sizeof(list_request));
		if (i == 0) {
			len = recvmsg(fd, &msg, 0);
			size = msg.msg_namelen;
			assert_int_equal(msg.msg_flags, 0);
		} else if (i == 1) {
			len = recvfrom(fd, &buf, sizeof(buf), 0, (void *)&from,
				       &size);
		} else if (i == 2) {
			len = recvfrom_chk(fd, &buf, sizeof(buf), sizeof(buf),
					   0, &from, &size);
		} else {
			assert_int_equal(
				recvmmsg(fd, many, 2, MSG_WAITFORONE, NULL), 1);
			len = many[0].msg_len;
			size = many[0].msg_hdr.msg_namelen;
		}
		assert_int_equal(list_cnt(len), 2);
		assert_int_equal(buf.hdr.nlmsg_pid, port_of(fd));
		assert_int_equal(size, sizeof(from));
		assert_int_equal(from.nl_family, AF_NETLINK);
		assert_int_equal(from.nl_pid, 0);
		assert_int_equal(from.nl_groups, 0);
	}
	close(fd);
}

CASE(readiness_is_the_kernels_own)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct pollfd pfd = { .events = POLLIN };
	struct iovec iov = { &buf, 8 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	int fd = netlink_open(SOCK_NONBLOCK);
	ssize_t len;

	pfd.fd = fd;
	assert_int_equal(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev), 0);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	assert_int_equal(recv(fd, &buf, sizeof(buf), 0), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(send(fd, &list_request, sizeof(list_request), 0),
			 sizeof(list_request));
	assert_int_equal(poll(&pfd, 1, 0), 1);
	assert_int_equal(epoll_wait(epoll_fd, &ev, 1, 0), 1);
	/* ask for the length */
	len = recvmsg(fd, &msg, MSG_PEEK | MSG_TRUNC);
	assert_true(len > 8);
	assert_true(msg.msg_flags & MSG_TRUNC);
	assert_int_equal(recv(fd, &buf, sizeof(buf), 0), len);
	assert_int_equal(list_cnt(len), 2);
	assert_int_equal(epoll_wait(epoll_fd, &ev, 1, 0), 0);
	close(epoll_fd);
	close(fd);
}

CASE(ports_are_given_once)
{
	int first = netlink_open(0), second = netlink_open(0);
	struct sockaddr_nl peer = { .nl_pid = 9 };
	socklen_t len = sizeof(peer);

	assert_int_equal(port_of(first), 0);
	assert_int_equal(bind_to(first, 0), 0);
	assert_int_equal(port_of(first), (uint32_t)getpid());
	assert_int_equal(bind_to(first, 0), 0);
	assert_int_equal(bind_to(first, (uint32_t)getpid() + 1), -EINVAL);
	assert_int_equal(bind_to(second, (uint32_t)getpid()), -EADDRINUSE);
	assert_true(answers(second)); /* receives its own reply */
	assert_int_not_equal(port_of(second), 0);
	assert_int_not_equal(port_of(second), port_of(first));
	assert_int_equal(getpeername(first, (void *)&peer, &len), 0);
	assert_int_equal(peer.nl_pid, 0);
	assert_int_equal(connect(first, (void *)&peer, sizeof(peer)), 0);
	close(second);
	second = netlink_open(0);
	assert_int_equal(bind_to(second, 0x40000001), 0);
	assert_int_equal(port_of(second), 0x40000001);
	close(first);
	close(second);
}

CASE(options_are_kept)
{
	static const int options[] = { NETLINK_CAP_ACK, NETLINK_EXT_ACK,
				       NETLINK_GET_STRICT_CHK };
	static const struct {
		int name, value;
	} says[] = { { SO_DOMAIN, AF_NETLINK },
		     { SO_PROTOCOL, NETLINK_RDMA },
		     { SO_TYPE, SOCK_RAW } };
	int fd = netlink_open(0), value, one = 1, size = 4096;
	socklen_t len;

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		for (int on = 1; on >= 0; on--) {
			len = sizeof(value);
			assert_int_equal(setsockopt(fd, SOL_NETLINK, options[i],
						    &on, sizeof(on)),
					 0);
			assert_int_equal(getsockopt(fd, SOL_NETLINK, options[i],
						    &value, &len),
					 0);
			assert_int_equal(value, on);
		}
	for (size_t i = 0; i < ARRAY_LEN(says); i++) {
		len = sizeof(value);
		assert_int_equal(
			getsockopt(fd, SOL_SOCKET, says[i].name, &value, &len),
			0);
		assert_int_equal(value, says[i].value);
	}
	assert_int_equal(setsockopt(fd, SOL_NETLINK, 99, &one, sizeof(one)),
			 -1);
	assert_int_equal(errno, ENOPROTOOPT);
	/* libnl sets both; this must not reduce the space for replies */
	assert_int_equal(
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
	assert_int_equal(
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
	assert_true(answers(fd));
	close(fd);
}

/* An error contains the request, unless the program asks for short errors. */
CASE(bad_requests_are_refused_in_a_reply)
{
	struct nlmsghdr request = list_request;
	struct nlmsgerr error;
	int fd = netlink_open(0), one = 1;

	for (int i = 0; i < 2; i++) {
		request.nlmsg_len = i ? sizeof(request) : 4000;
		request.nlmsg_type = i ? 4095 : GET;
		assert_int_equal(send(fd, &request, sizeof(request), 0),
				 sizeof(request));
		assert_true(recv(fd, &buf, sizeof(buf), MSG_DONTWAIT) >=
			    (ssize_t)(sizeof(request) + sizeof(error)));
		assert_int_equal(buf.hdr.nlmsg_type, NLMSG_ERROR);
		memcpy(&error, NLMSG_DATA(&buf.hdr), sizeof(error));
		assert_int_equal(error.error, -EINVAL);
		assert_memory_equal(&error.msg, &request, sizeof(request));
		assert_int_equal(setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK,
					    &one, sizeof(one)),
				 0);
	}
	assert_true(buf.hdr.nlmsg_flags & NLM_F_CAPPED);
	assert_true(answers(fd));
	close(fd);
}

CASE(the_kernels_refusals_are_passed_on)
{
	struct sockaddr_nl other = { .nl_family = AF_NETLINK, .nl_pid = 7 };
	struct sockaddr_nl inet = { .nl_family = AF_INET };
	void *bad = (void *)(uintptr_t)64;
	struct iovec iov = { bad, 32 };
	socklen_t len = sizeof(other);
	static char huge[70000];
	int fd = netlink_open(0);

	assert_int_equal(socket(AF_NETLINK, SOCK_STREAM, NETLINK_RDMA), -1);
	assert_int_equal(errno, ESOCKTNOSUPPORT);
	assert_int_equal(sendto(fd, &list_request, sizeof(list_request), 0,
				(void *)&other, sizeof(other)),
			 -1);
	assert_int_equal(errno, ECONNREFUSED);
	assert_int_equal(sendto(fd, &list_request, sizeof(list_request), 0,
				(void *)&inet, sizeof(inet)),
			 -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(bind(fd, (void *)&inet, sizeof(inet)), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(bind(fd, (void *)&other, 4), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(send(fd, huge, sizeof(huge), 0), -1);
	assert_int_equal(errno, EMSGSIZE);
	assert_int_equal(writev(fd, &iov, 1), -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(sendmsg(fd, bad, 0), -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(getsockname(fd, bad, &len), -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(recv(fd, &buf, sizeof(buf), MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	close(fd);
}

/* A full queue is reported, and the socket works again afterwards. */
CASE(a_full_queue_is_reported_and_drained)
{
	int fd = netlink_open(0), sent = 0, got = 0;

	while (send(fd, &list_request, sizeof(list_request), 0) > 0)
		assert_in_range(++sent, 1, 100000);
	assert_int_equal(errno, ENOBUFS);
	assert_true(sent > 100);
	while (recv(fd, &buf, sizeof(buf), MSG_DONTWAIT) > 0)
		got++;
	assert_int_equal(got, sent);
	assert_true(answers(fd));
	close(fd);
}

CASE(duplicates_are_the_same_socket)
{
	int fd = netlink_open(0), other, third;

	assert_int_equal(bind_to(fd, 4242), 0);
	other = dup(fd);
	third = fcntl(fd, F_DUPFD_CLOEXEC, 100);
	assert_true(third >= 100);
	assert_int_equal(dup2(fd, 90), 90);
	assert_int_equal(close(fd), 0);
	assert_int_equal(close_range(100, 200, 0), 0);
	assert_int_equal(port_of(other), 4242);
	assert_true(answers(90));
	close(90);
	assert_int_equal(send(other, &list_request, sizeof(list_request), 0),
			 sizeof(list_request));
	close(other);
	/* the last socket was closed, and its port is free again */
	fd = netlink_open(0);
	assert_int_equal(bind_to(fd, 4242), 0);
	assert_int_equal(recv(fd, &buf, sizeof(buf), MSG_DONTWAIT), -1);
	close(fd);
}

static int inherited = -1;

static int child_asks(void)
{
	int fresh;

	if (!answers(inherited) || port_of(inherited) != 4243)
		return 1;
	fresh = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
	if (fresh < 0 || !answers(fresh))
		return 2;
	return close(inherited) < 0 ? 3 : 0;
}

CASE(a_child_continues_with_it)
{
	inherited = netlink_open(0);
	assert_int_equal(bind_to(inherited, 4243), 0);
	assert_int_equal(in_child(child_asks), 0);
	assert_true(answers(inherited));
	close(inherited);
}

/* libc closed the number without the preload library, so another file may get
 * it. */
CASE(a_number_closed_inside_libc_is_foreign)
{
	struct sockaddr_storage name;
	int fd = netlink_open(0), pair[2];
	socklen_t len = sizeof(name);

	assert_int_equal(bind_to(fd, 4244), 0);
	assert_int_equal(syscall(SYS_close, fd), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
	assert_true(pair[0] == fd || pair[1] == fd);
	assert_int_equal(send(pair[0], "abc", 3, 0), 3);
	assert_int_equal(recv(pair[1], &buf, sizeof(buf), 0), 3);
	assert_int_equal(getsockname(fd, (void *)&name, &len), 0);
	assert_int_equal(name.ss_family, AF_UNIX);
	close(pair[0]);
	close(pair[1]);
	fd = netlink_open(0);
	assert_int_equal(bind_to(fd, 4244), 0);
	close(fd);
}

CASE(other_families_pass)
{
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), value = 0;
	socklen_t len = sizeof(value);

	assert_true(fd >= 0);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &value, &len),
			 0);
	assert_int_equal(value, NETLINK_ROUTE);
	close(fd);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(fd >= 0);
	close(fd);
}

BEFORE_CASES()
{
	run_under_preload(argv);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Datagrams between the processes of one host. */
#include "host.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "local/inbox.h"
#include "os/addr.h"
#include "os/fd.h"
#include "os/stranger.h"
#include "os/tcp.h"

/* Wake-ups that one pass takes: other sources have their turn. */
#define WAKES_MAX 64

struct rnic_host_name rnic_host_name_qp(uint32_t num)
{
	struct rnic_host_name name;

	snprintf(name.text, sizeof(name.text), "usiw-ud/%06x", num);
	return name;
}

struct rnic_host_name rnic_host_name_waker(uint32_t num)
{
	struct rnic_host_name name;

	snprintf(name.text, sizeof(name.text), "usiw-ud/%06x/w", num);
	return name;
}

struct rnic_host_name rnic_host_name_service(uint16_t port_space, uint16_t port)
{
	struct rnic_host_name name;

	snprintf(name.text, sizeof(name.text), "usiw-sidr/%04x-%u", port_space,
		 port);
	return name;
}

struct rnic_host_name rnic_host_name_asker(uint32_t tid_high)
{
	struct rnic_host_name name;

	snprintf(name.text, sizeof(name.text), "usiw-mad/%08x", tid_high);
	return name;
}

/* An abstract name: it begins with a zero, and has none at the end. */
static socklen_t host_address(struct sockaddr_un *sun,
			      const struct rnic_host_name *name)
{
	size_t len = strnlen(name->text, sizeof(name->text));

	memset(sun, 0, sizeof(*sun));
	sun->sun_family = AF_UNIX;
	memcpy(sun->sun_path + 1, name->text, len);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

int rnic_host_open_sender(void)
{
	return rnic_sock_open(AF_UNIX, SOCK_DGRAM);
}

int rnic_host_open(const struct rnic_host_name *name)
{
	struct sockaddr_un sun;
	socklen_t len = host_address(&sun, name);
	int fd = rnic_host_open_sender();
	const int on = 1;
	int rc;

	/* Before the name: each message tells of which user it is. */
	if (fd < 0 || (rnic_tcp()->setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on,
					      sizeof(on)) == 0 &&
		       rnic_tcp()->bind(fd, (struct sockaddr *)&sun, len) == 0))
		return fd;
	rc = -errno;
	rnic_fd_close(fd);
	return rc;
}

int rnic_host_send(int fd, const struct rnic_host_name *name, struct iovec *iov,
		   int cnt)
{
	struct sockaddr_un sun;
	struct msghdr msg = {
		.msg_name = &sun,
		.msg_namelen = host_address(&sun, name),
		.msg_iov = iov,
		.msg_iovlen = (size_t)cnt,
	};

	if (rnic_tcp()->sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	return errno == EINTR || errno == ENOBUFS ? -EAGAIN : -errno;
}

static int tell(int fd, struct sockaddr_un *sun, socklen_t len,
		enum rnic_host_magic magic, uint32_t src_num, int passed)
{
	struct rnic_host_head head = { .magic = magic, .src_num = src_num };

	return rnic_stranger_send_fd(fd, sun, len, &head, sizeof(head), passed);
}

int rnic_host_tell(int fd, const struct rnic_host_name *name,
		   enum rnic_host_magic magic, uint32_t src_num)
{
	struct sockaddr_un sun;
	socklen_t len = host_address(&sun, name);

	return tell(fd, &sun, len, magic, src_num, -1);
}

int rnic_host_give(int fd, struct rnic_stranger *to, uint32_t src_num,
		   int passed)
{
	/* Others could write into the memory, and give it to third ones. */
	if (!rnic_stranger_is_own(to) || to->name_len <= sizeof(sa_family_t))
		return -EPERM;
	return tell(fd, &to->name, to->name_len, RNIC_HOST_GIVE, src_num,
		    passed);
}

int rnic_host_recv_given(int fd, uint32_t *ret_src_num)
{
	struct rnic_host_head head;
	struct rnic_stranger from;
	int passed = rnic_stranger_recv_fd(fd, &head, sizeof(head),
					   rnic_inbox_check, &from);

	if (passed < 0)
		return passed;
	*ret_src_num = head.magic == RNIC_HOST_GIVE &&
				       rnic_stranger_is_own(&from)
			       ? head.src_num
			       : 0;
	return passed;
}

int rnic_host_recv_wakes(int fd)
{
	uint8_t octets[sizeof(struct rnic_host_head)];
	struct rnic_stranger from;
	ssize_t got = 0;

	for (int i = 0; i < WAKES_MAX && got >= 0; i++)
		got = rnic_stranger_recv(fd, octets, sizeof(octets), &from);
	return got == -EPROTO ? -EPROTO : 0;
}

int rnic_host_peek(int fd, uint32_t *ret_magic)
{
	*ret_magic = 0;
	return rnic_tcp()->recv(fd, ret_magic, sizeof(*ret_magic),
				MSG_PEEK | MSG_DONTWAIT) >= 0
		       ? 0
		       : -EAGAIN;
}

ssize_t rnic_host_recv(int fd, void *buf, struct rnic_stranger *ret_from)
{
	ssize_t len = rnic_stranger_recv(fd, buf, RNIC_HOST_MAX, ret_from);
	const struct rnic_host_head *head = buf;

	if (len < 0)
		return len == -EINTR ? -EAGAIN : len;
	if ((size_t)len < sizeof(*head) ||
	    (head->magic != RNIC_HOST_MAGIC && head->magic != RNIC_HOST_ASK))
		return -EBADMSG;
	return len;
}

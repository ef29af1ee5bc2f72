/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Datagrams between the processes of one host. */
#include "host.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "os/addr.h"
#include "os/fd.h"
#include "os/stranger.h"
#include "os/tcp.h"

struct rnic_host_name rnic_host_name_qp(uint32_t num)
{
	struct rnic_host_name name;

	snprintf(name.text, sizeof(name.text), "usiw-ud/%06x", num);
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
	int rc;

	if (fd < 0 || rnic_tcp()->bind(fd, (struct sockaddr *)&sun, len) == 0)
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

bool rnic_host_has_news(int fd)
{
	uint8_t octet;

	return rnic_tcp()->recv(fd, &octet, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

ssize_t rnic_host_recv(int fd, void *buf)
{
	ssize_t len = rnic_stranger_recv(fd, buf, RNIC_HOST_MAX);
	const struct rnic_host_head *head = buf;

	if (len < 0)
		return len == -EINTR ? -EAGAIN : len;
	if ((size_t)len < sizeof(*head) || head->magic != RNIC_HOST_MAGIC)
		return -EBADMSG;
	return len;
}

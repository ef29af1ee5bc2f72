/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A kernel with RDMA hardware, for tests of usiw beside it. It is preloaded
 * behind the preload library and answers NETLINK_RDMA with two devices. One of
 * them has the name of a usiw device.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernel-abi/netlink/nldev.h"
#include "rnic/rnic.h"

#define FD_MAX 1024

static const struct rnic_device_attr attrs[] = {
	{ .name = "mlx5_0",
	  .ifname = "lo",
	  .ifindex = 1,
	  .uverbs_num = 0,
	  .is_up = true,
	  .persona = RNIC_PERSONA_CA },
	{ .name = "usiw_lo", .ifname = "lo", .ifindex = 1, .uverbs_num = 1 },
};
static const struct kabi_nldev_device devices[] = {
	{ .attr = &attrs[0], .index = 0 },
	{ .attr = &attrs[1], .index = 1 },
};
static const struct kabi_nldev nldev = {
	.devices = devices,
	.device_cnt = 2,
	.fw_ver = "16.35",
	.portid = 1,
};

/* The other end of a socket of this library; 0: none. For one thread, without
 * duplicates. */
static int other_end[FD_MAX];

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

RNIC_EXPORT int socket(int domain, int type, int protocol)
{
	int (*real)(int, int, int) = next("socket");
	int pair[2];

	if (domain != AF_NETLINK || protocol != NETLINK_RDMA)
		return real(domain, type, protocol);
	if (socketpair(AF_UNIX, SOCK_DGRAM | (type & SOCK_CLOEXEC), 0, pair) <
	    0)
		return -1;
	if (pair[0] >= FD_MAX) {
		errno = EMFILE;
		return -1;
	}
	other_end[pair[0]] = pair[1];
	return pair[0];
}

RNIC_EXPORT int close(int fd)
{
	int (*real)(int) = next("close");

	if (fd >= 0 && fd < FD_MAX && other_end[fd]) {
		real(other_end[fd]);
		other_end[fd] = 0;
	}
	return real(fd);
}

RNIC_EXPORT int setsockopt(int fd, int level, int name, const void *value,
			   socklen_t len)
{
	int (*real)(int, int, int, const void *, socklen_t) =
		next("setsockopt");

	if (fd >= 0 && fd < FD_MAX && other_end[fd] && level == SOL_NETLINK)
		return 0;
	return real(fd, level, name, value, len);
}

RNIC_EXPORT ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	ssize_t (*real)(int, const struct msghdr *, int) = next("sendmsg");
	struct kabi_nldev_reply reply = { 0 };
	struct kabi_nldev_request req;
	uint8_t octets[4096];
	size_t len = 0, at = 0, step;

	if (fd < 0 || fd >= FD_MAX || !other_end[fd])
		return real(fd, msg, flags);
	for (size_t i = 0; i < msg->msg_iovlen; i++) {
		memcpy(octets + len, msg->msg_iov[i].iov_base,
		       msg->msg_iov[i].iov_len);
		len += msg->msg_iov[i].iov_len;
	}
	kabi_nldev_decode(octets, len, &req);
	kabi_nldev_answer(&nldev, &req, &reply);
	while ((step = kabi_nldev_datagram(&reply, at))) {
		if (write(other_end[fd], reply.octets + at, step) < 0)
			return -1;
		at += step;
	}
	kabi_nldev_reply_free(&reply);
	return (ssize_t)len;
}

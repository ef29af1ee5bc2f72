/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See rights.h. */
#include "rights.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cancel.h"

/* Length of @part inside the message's control data; 0: invalid. */
static size_t part_len(const struct msghdr *msg, const struct cmsghdr *part)
{
	size_t at =
		(size_t)((const char *)part - (const char *)msg->msg_control);

	if (part->cmsg_len < CMSG_LEN(0) ||
	    part->cmsg_len > msg->msg_controllen - at)
		return 0;
	return part->cmsg_len - CMSG_LEN(0);
}

void sdp_rights_each(const struct msghdr *msg, void (*fn)(int fd))
{
	struct msghdr *parts = (struct msghdr *)(uintptr_t)msg;
	struct cmsghdr *part = CMSG_FIRSTHDR(parts);
	size_t len;
	int fd;

	for (; part; part = CMSG_NXTHDR(parts, part)) {
		len = part_len(msg, part);
		if (len == 0)
			return;
		if (part->cmsg_level != SOL_SOCKET ||
		    part->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; len - at >= sizeof(fd); at += sizeof(fd)) {
			memcpy(&fd, CMSG_DATA(part) + at, sizeof(fd));
			fn(fd);
		}
	}
}

/* ---- messages of the library's own ---- */

union one {
	char octets[CMSG_SPACE(sizeof(int))];
	struct cmsghdr part;
};

bool sdp_rights_send(int way, const void *octets, size_t len, int fd)
{
	union one one = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)octets,
			     .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &one,
			      .msg_controllen = sizeof(one) };

	one.part.cmsg_level = SOL_SOCKET;
	one.part.cmsg_type = SCM_RIGHTS;
	one.part.cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(&one.part), &fd, sizeof(fd));
	return syscall(SYS_sendmsg, way, &msg, MSG_NOSIGNAL) == (long)len;
}

static bool is_one(const struct msghdr *msg, const union one *one)
{
	return msg->msg_controllen >= CMSG_LEN(sizeof(int)) &&
	       one->part.cmsg_level == SOL_SOCKET &&
	       one->part.cmsg_type == SCM_RIGHTS &&
	       one->part.cmsg_len == CMSG_LEN(sizeof(int));
}

static void fd_close(int fd)
{
	util_sys_close(fd);
}

int sdp_rights_receive(int way, void *octets, size_t len)
{
	union one one = { 0 };
	struct iovec iov = { .iov_base = octets, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &one,
			      .msg_controllen = sizeof(one) };
	long ret = syscall(SYS_recvmsg, way, &msg, MSG_CMSG_CLOEXEC);
	int fd;

	if (ret < 0)
		return -errno;
	/* The kernel has omitted it. */
	if (ret == (long)len && msg.msg_controllen == 0 &&
	    (msg.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) == MSG_CTRUNC)
		return -EMFILE;
	if (ret != (long)len || (msg.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) ||
	    !is_one(&msg, &one)) {
		sdp_rights_each(&msg, fd_close);
		return -EPROTO;
	}
	memcpy(&fd, CMSG_DATA(&one.part), sizeof(fd));
	return fd;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See rights.h. */
#include "rights.h"

#include <stdint.h>
#include <string.h>

/* Octets of @part that are in the message's control data; 0: not in order. */
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

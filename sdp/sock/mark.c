/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See mark.h. */
#include "mark.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* More than any socket buffers. */
#define MARK 0x7d500000u
#define MARK_MASK 0x7ffe0000u
#define MARK_ACCEPTING 0x00010000u

void sdp_mark_put(int fd, bool is_accepting, uint16_t port)
{
	uint32_t value = MARK | (is_accepting ? MARK_ACCEPTING : 0) | port;

	syscall(SYS_setsockopt, fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &value,
		sizeof(value));
}

void sdp_mark_remove(int fd)
{
	uint32_t value = 0;

	syscall(SYS_setsockopt, fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &value,
		sizeof(value));
}

bool sdp_mark_get(int fd, bool *ret_is_accepting, uint16_t *ret_port)
{
	uint32_t mark = 0;
	socklen_t len = sizeof(mark);

	if (syscall(SYS_getsockopt, fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &mark,
		    &len) < 0 ||
	    (mark & MARK_MASK) != (MARK & MARK_MASK))
		return false;
	*ret_is_accepting = mark & MARK_ACCEPTING;
	*ret_port = (uint16_t)mark;
	return true;
}

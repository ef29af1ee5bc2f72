/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* AF_UNIX stream sockets whose other end is not trusted. */
#define _GNU_SOURCE /* MSG_CMSG_CLOEXEC, accept4 */
#include "stranger.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/log.h"
#include "util/thread.h"
#include "fd.h"
#include "tcp.h"

/* Threads that close at once.  What is more than they can do stays open. */
#define CLOSERS_MAX 16u
/* Octets of a queue that are looked at together. */
#define STRANGER_PIECE 4096u

static _Atomic uint32_t closer_cnt;

static void *close_thread(void *arg)
{
	rnic_fd_close((int)(intptr_t)arg);
	atomic_fetch_sub_explicit(&closer_cnt, 1, memory_order_relaxed);
	return NULL;
}

/* Nothing is known about the file. */
static void close_apart(int fd)
{
	/* relaxed: only the number counts */
	if (atomic_fetch_add_explicit(&closer_cnt, 1, memory_order_relaxed) <
		    CLOSERS_MAX &&
	    util_thread_run(close_thread, (void *)(intptr_t)fd,
			    UTIL_THREAD_STACK) == 0)
		return;
	atomic_fetch_sub_explicit(&closer_cnt, 1, memory_order_relaxed);
	util_warn("rnic",
		  "a process of this host passes descriptors that cannot be "
		  "closed; one of them stays open");
}

/*
 * Looks at what is next.  @ret_fd: NULL, or for a descriptor, which is the
 * caller's; -1: none.
 * Return: octets; -EPROTO: more descriptors than that; other -errno.
 */
static ssize_t stranger_peek(int fd, void *mem, size_t len, int *ret_fd)
{
	union {
		struct cmsghdr hdr;
		uint8_t room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { mem, len };
	/* Room for one, to the octet: the kernel makes no more. */
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = ret_fd ? &control : NULL,
		.msg_controllen = ret_fd ? CMSG_LEN(sizeof(int)) : 0,
	};
	const struct cmsghdr *cmsg;
	ssize_t got = rnic_tcp()->recvmsg(
		fd, &msg, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (got < 0)
		return -errno;
	cmsg = ret_fd ? CMSG_FIRSTHDR(&msg) : NULL;
	if (cmsg && cmsg->cmsg_level == SOL_SOCKET &&
	    cmsg->cmsg_type == SCM_RIGHTS &&
	    cmsg->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(cmsg), sizeof(int));
	return msg.msg_flags & MSG_CTRUNC ? -EPROTO : got;
}

/* Takes what has been looked at: nobody else takes from this queue. */
static ssize_t stranger_take(int fd, void *mem, size_t len)
{
	ssize_t got =
		syscall(SYS_recvfrom, fd, mem, len, MSG_DONTWAIT, NULL, NULL);

	return got < 0 ? -errno : got;
}

ssize_t rnic_stranger_recv(int fd, void *mem, size_t len)
{
	ssize_t got = stranger_peek(fd, mem, len, NULL);

	return got <= 0 ? got : stranger_take(fd, mem, (size_t)got);
}

int rnic_stranger_recv_fd(int fd, void *mem, size_t len, int (*check)(int fd))
{
	int passed = -1;
	ssize_t got = stranger_peek(fd, mem, len, &passed);
	bool is_known = passed >= 0 && check(passed) == 0;

	if (got == (ssize_t)len && is_known &&
	    stranger_take(fd, mem, len) == (ssize_t)len)
		return passed;
	if (is_known)
		util_sys_close(passed);
	else if (passed >= 0)
		close_apart(passed);
	return got < 0 ? (int)got : -EPROTO;
}

/* Return: whether descriptors are left in the queue. */
static bool queue_has_descriptors(int fd)
{
	uint8_t octets[STRANGER_PIECE];
	ssize_t got;

	/* Nothing joins the queue behind this. */
	rnic_tcp()->shutdown(fd, SHUT_RD);
	do
		got = rnic_stranger_recv(fd, octets, sizeof(octets));
	while (got > 0);
	return got == -EPROTO;
}

void rnic_stranger_close(int fd)
{
	if (fd < 0)
		return;
	if (queue_has_descriptors(fd))
		close_apart(fd);
	else
		rnic_fd_close(fd);
}

static int connection_take(int listen_fd)
{
	return rnic_tcp()->accept4(listen_fd, NULL, NULL,
				   SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int rnic_stranger_accept(int listen_fd)
{
	int fd = rnic_fd_own(connection_take(listen_fd));

	if (fd < 0 || rnic_fd_is_spare(fd))
		return fd;
	rnic_stranger_close(fd);
	return -EMFILE;
}

void rnic_stranger_close_listener(int fd)
{
	int waiting;

	if (fd < 0)
		return;
	/* Nobody connects behind this. */
	rnic_tcp()->shutdown(fd, SHUT_RD);
	while ((waiting = connection_take(fd)) >= 0)
		rnic_stranger_close(waiting);
	if (rnic_tcp_is_short(errno))
		close_apart(fd); /* some may be left */
	else
		rnic_fd_close(fd);
}

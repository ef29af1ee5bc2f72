/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Socket calls that report their order to ThreadSanitizer. */
#include "tcporder.h"

#include "os/tcp.h"

#ifdef __SANITIZE_THREAD__

#include <sanitizer/tsan_interface.h>
#include <stdatomic.h>

#define ORDER_FD_MAX 4096

static const struct rnic_tcp_ops *real;
static struct rnic_tcp_ops ops;
static _Atomic int peer_of[ORDER_FD_MAX];
/* Its address represents all octets in transit to that fd. */
static char inbox[ORDER_FD_MAX];

static void order_send(int fd)
{
	if (fd < ORDER_FD_MAX)
		__tsan_release(&inbox[atomic_load(&peer_of[fd])]);
}

static void order_received(int fd)
{
	if (fd < ORDER_FD_MAX)
		__tsan_acquire(&inbox[fd]);
}

static ssize_t order_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	order_send(fd);
	return real->sendmsg(fd, msg, flags);
}

static ssize_t order_recv(int fd, void *buf, size_t len, int flags)
{
	ssize_t ret = real->recv(fd, buf, len, flags);

	order_received(fd);
	return ret;
}

static ssize_t order_recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t ret = real->recvmsg(fd, msg, flags);

	order_received(fd);
	return ret;
}

void tcporder_join(int fd_a, int fd_b)
{
	if (fd_a < ORDER_FD_MAX)
		atomic_store(&peer_of[fd_a], fd_b % ORDER_FD_MAX);
	if (fd_b < ORDER_FD_MAX)
		atomic_store(&peer_of[fd_b], fd_a % ORDER_FD_MAX);
	if (real)
		return;
	real = rnic_tcp();
	ops = *real;
	ops.sendmsg = order_sendmsg;
	ops.recv = order_recv;
	ops.recvmsg = order_recvmsg;
	rnic_tcp_replace(&ops);
}

#else

void tcporder_join(int fd_a, int fd_b)
{
	(void)fd_a;
	(void)fd_b;
}

#endif

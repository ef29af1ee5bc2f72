/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Socket calls: the kernel's, or from libc directly. */
#define _GNU_SOURCE
#include "tcp.h"

#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TCP_EMSS_DEFAULT 1460u

/* libc's calls that wait are cancellation points, and locks are held here. */

static int sys_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	return (int)syscall(SYS_accept4, fd, addr, len, flags);
}

static int sys_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	return (int)syscall(SYS_connect, fd, addr, len);
}

static ssize_t sys_recv(int fd, void *buf, size_t len, int flags)
{
	return syscall(SYS_recvfrom, fd, buf, len, flags, NULL, NULL);
}

static ssize_t sys_recvmsg(int fd, struct msghdr *msg, int flags)
{
	return syscall(SYS_recvmsg, fd, msg, flags);
}

static ssize_t sys_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	/* The kernel need not copy and check the header and the array. */
	if (msg->msg_iovlen == 1 && !msg->msg_controllen && !msg->msg_namelen)
		return syscall(SYS_sendto, fd, msg->msg_iov->iov_base,
			       msg->msg_iov->iov_len, flags, NULL, 0);
	return syscall(SYS_sendmsg, fd, msg, flags);
}

static struct rnic_tcp_ops real_ops = {
	.accept4 = sys_accept4,
	.connect = sys_connect,
	.recv = sys_recv,
	.recvmsg = sys_recvmsg,
	.sendmsg = sys_sendmsg,
};
static _Atomic(const struct rnic_tcp_ops *) current_ops;
static pthread_once_t real_once = PTHREAD_ONCE_INIT;

static void real_ops_find(void)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

	/* Prototypes are libc's own; a missing libc (musl) leaves ours. */
#define REAL(name)                                                             \
	do {                                                                   \
		void *sym = libc ? dlsym(libc, #name) : NULL;                  \
		real_ops.name = sym ? (__typeof__(real_ops.name))sym : name;   \
	} while (0)
	REAL(socket);
	REAL(bind);
	REAL(listen);
	REAL(shutdown);
	REAL(getsockopt);
	REAL(setsockopt);
	REAL(getsockname);
	REAL(getpeername);
#undef REAL
}

const struct rnic_tcp_ops *rnic_tcp(void)
{
	const struct rnic_tcp_ops *ops =
		atomic_load_explicit(&current_ops, memory_order_acquire);

	if (ops)
		return ops;
	pthread_once(&real_once, real_ops_find);
	/* release: pairs with the acquire above */
	atomic_store_explicit(&current_ops, &real_ops, memory_order_release);
	return &real_ops;
}

void rnic_tcp_replace(const struct rnic_tcp_ops *ops)
{
	atomic_store_explicit(&current_ops, ops, memory_order_release);
}

static ssize_t tcp_result(ssize_t rc)
{
	if (rc >= 0)
		return rc;
	if (errno == EWOULDBLOCK || errno == EINTR)
		return -EAGAIN;
	return -errno;
}

ssize_t rnic_tcp_recv(int fd, const struct iovec *iov, int iovcnt)
{
	struct msghdr msg = { .msg_iovlen = (size_t)iovcnt };

	if (iovcnt == 1)
		return tcp_result(rnic_tcp()->recv(fd, iov->iov_base,
						   iov->iov_len, MSG_DONTWAIT));
	/* recvmsg does not write to the array. */
	msg.msg_iov = (struct iovec *)(uintptr_t)iov;
	return tcp_result(rnic_tcp()->recvmsg(fd, &msg, MSG_DONTWAIT));
}

ssize_t rnic_tcp_send(int fd, const struct iovec *iov, int iovcnt, int flags)
{
	struct msghdr msg = { .msg_iovlen = (size_t)iovcnt };

	msg.msg_iov = (struct iovec *)(uintptr_t)iov;
	return tcp_result(rnic_tcp()->sendmsg(
		fd, &msg, flags | MSG_DONTWAIT | MSG_NOSIGNAL));
}

ssize_t rnic_tcp_discard(int fd, size_t max)
{
	/* TCP drops MSG_TRUNC input without copying it anywhere. */
	return tcp_result(
		rnic_tcp()->recv(fd, NULL, max, MSG_DONTWAIT | MSG_TRUNC));
}

uint32_t rnic_tcp_emss(int fd)
{
	int mss = 0;
	socklen_t len = sizeof(mss);

	if (rnic_tcp()->getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, &len) <
		    0 ||
	    mss <= 0)
		return TCP_EMSS_DEFAULT;
	return (uint32_t)mss;
}

bool rnic_tcp_is_short(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOBUFS ||
	       err == ENOMEM;
}

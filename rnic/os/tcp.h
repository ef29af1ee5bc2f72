/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The table of the RNIC's socket calls. They are the functions of libc itself,
 * not of other preload libraries (a library that maps sockets to RDMA would
 * recurse). Tests can replace them. None of them is a cancellation point.
 */
#ifndef RNIC_TCP_H
#define RNIC_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

struct rnic_tcp_ops {
	int (*socket)(int family, int type, int protocol);
	int (*bind)(int fd, const struct sockaddr *addr, socklen_t len);
	int (*listen)(int fd, int backlog);
	int (*accept4)(int fd, struct sockaddr *addr, socklen_t *len,
		       int flags);
	int (*connect)(int fd, const struct sockaddr *addr, socklen_t len);
	ssize_t (*recv)(int fd, void *buf, size_t len, int flags);
	ssize_t (*recvmsg)(int fd, struct msghdr *msg, int flags);
	ssize_t (*sendmsg)(int fd, const struct msghdr *msg, int flags);
	int (*shutdown)(int fd, int how);
	int (*getsockopt)(int fd, int level, int name, void *val,
			  socklen_t *len);
	int (*setsockopt)(int fd, int level, int name, const void *val,
			  socklen_t len);
	int (*getsockname)(int fd, struct sockaddr *addr, socklen_t *len);
	int (*getpeername)(int fd, struct sockaddr *addr, socklen_t *len);
};

/* Filled at the first call. Thread-safe. Never NULL. */
const struct rnic_tcp_ops *rnic_tcp(void);

/* For tests: rnic_tcp() returns @ops from now on; NULL: the real ones. */
void rnic_tcp_replace(const struct rnic_tcp_ops *ops);

/*
 * Non-blocking; never raises a signal.
 * Return: octets; 0 from recv: the peer's FIN; -EAGAIN: no data or no space at
 *   present (EINTR counts as such); other -errno.
 */
ssize_t rnic_tcp_recv(int fd, const struct iovec *iov, int iovcnt);
/* @flags: 0, or MSG_EOR: the end of the octets also ends a segment. */
ssize_t rnic_tcp_send(int fd, const struct iovec *iov, int iovcnt, int flags);

/* accept4() had no descriptor or memory: the connection stays in the queue. Any
 * other error belongs to one connection, and the next call may succeed. */
bool rnic_tcp_is_short(int err);

/* Discards up to @max octets of input. Return: as rnic_tcp_recv(). */
ssize_t rnic_tcp_discard(int fd, size_t max);

/* Effective maximum segment size of TCP at present, octets. */
uint32_t rnic_tcp_emss(int fd);

#endif

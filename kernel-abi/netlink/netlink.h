/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sockets of NETLINK_RDMA.  Such an fd is an AF_UNIX datagram socket that is
 * connected to itself.  The call that sends a request also answers it, and puts
 * the replies into the socket's own queue.  So poll, epoll, O_NONBLOCK,
 * MSG_PEEK, MSG_TRUNC, dup and fork work as the kernel implements them.
 * Addresses of AF_UNIX are replaced by those of AF_NETLINK.
 */
#ifndef KABI_NETLINK_H
#define KABI_NETLINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "util/fdtab.h"

/* NULL until the first such socket is made. */
extern _Atomic(struct util_fdtab *) kabi_netlink_fds;

/* True if @fd may be such a socket.  In a process that never makes one it costs
 * one load. */
static inline bool kabi_netlink_is_near(int fd)
{
	/* acquire: pairs with the release in netlink_start() */
	struct util_fdtab *fds =
		atomic_load_explicit(&kabi_netlink_fds, memory_order_acquire);

	return fds && util_fdtab_lookup(fds, fd, NULL) != UTIL_FD_NONE;
}

/* Several descriptors may share one, as duplicates do. */
struct kabi_netlink {
	struct kabi_netlink *next; /* these three under kabi_lock */
	uint32_t ref_cnt;
	_Atomic uint32_t portid; /* 0: not bound yet */
	ino_t ino; /* of the socket, since a number may be closed unseen */
	int type;  /* SOCK_RAW or SOCK_DGRAM */
	/* Options of SOL_NETLINK that are on, one bit each. */
	_Atomic uint32_t options;
};

/* Binds a socket without a port before it first sends, like the kernel. */
void kabi_netlink_autobind(struct kabi_netlink *nl);

bool kabi_netlink_option(const struct kabi_netlink *nl, int name);

/* Gets a reference to the socket behind @fd; NULL: it is none.  Keeps errno. */
struct kabi_netlink *kabi_netlink_get(int fd);
void kabi_netlink_put(struct kabi_netlink *nl);

/* socket(2).  Return: an fd; -errno. */
int kabi_netlink_socket(int type);

/*
 * The calls of these names.  They drop the caller's reference.
 * Return: as the calls; -errno.
 */
ssize_t kabi_netlink_sendmsg(struct kabi_netlink *nl, int fd,
			     const struct msghdr *msg);
ssize_t kabi_netlink_send(struct kabi_netlink *nl, int fd, const void *buf,
			  size_t len, const struct sockaddr *addr,
			  socklen_t addr_len);
ssize_t kabi_netlink_writev(struct kabi_netlink *nl, int fd,
			    const struct iovec *iov, int iov_cnt);
int kabi_netlink_sendmmsg(struct kabi_netlink *nl, int fd, struct mmsghdr *msgs,
			  unsigned int cnt);
ssize_t kabi_netlink_recvmsg(struct kabi_netlink *nl, int fd,
			     struct msghdr *msg, int flags);
int kabi_netlink_recvmmsg(struct kabi_netlink *nl, int fd, struct mmsghdr *msgs,
			  unsigned int cnt, int flags, struct timespec *limit);
ssize_t kabi_netlink_recvfrom(struct kabi_netlink *nl, int fd, void *buf,
			      size_t len, int flags, struct sockaddr *addr,
			      socklen_t *addr_len);
int kabi_netlink_bind(struct kabi_netlink *nl, const struct sockaddr *addr,
		      socklen_t len);
int kabi_netlink_connect(struct kabi_netlink *nl, const struct sockaddr *addr,
			 socklen_t len);
int kabi_netlink_getsockname(struct kabi_netlink *nl, struct sockaddr *addr,
			     socklen_t *len);
int kabi_netlink_getpeername(struct kabi_netlink *nl, struct sockaddr *addr,
			     socklen_t *len);
int kabi_netlink_setsockopt(struct kabi_netlink *nl, int fd, int level,
			    int name, const void *value, socklen_t len);
int kabi_netlink_getsockopt(struct kabi_netlink *nl, int fd, int level,
			    int name, void *value, socklen_t *len);

/* @new_fd is a duplicate of @fd; @fd is being closed.  For any descriptor. */
void kabi_netlink_fd_dup(int fd, int new_fd);
void kabi_netlink_fd_close(int fd);

#endif

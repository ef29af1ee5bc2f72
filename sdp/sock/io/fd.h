/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Descriptor numbers: creation, duplication, close, and flags. */
#ifndef SDP_SOCK_FD_H
#define SDP_SOCK_FD_H

#include <stdbool.h>

#include "sock/base/table.h"

/* socket(2) has returned @fd to @caller. */
void sdp_fd_socket(int fd, int domain, int type, const void *caller);

/* A socket of AF_INET_SDP accepts addresses of both families. Before bind() and
 * connect() it becomes a socket of the family of @addr. */
void sdp_fd_suit(int fd, const struct sockaddr *addr, socklen_t len);

/* As accept4(2).  Return: descriptor; -errno. */
int sdp_fd_accept(struct sdp_sock *sock, int fd, struct sockaddr *addr,
		  socklen_t *len, int flags);

/* For any descriptor. Return: descriptor or 0; -errno. */
int sdp_fd_close(int fd);
int sdp_fd_close_range(unsigned int first, unsigned int last, int flags);
void sdp_fd_close_from(unsigned int first);
int sdp_fd_dup(int fd, int lowest, bool is_cloexec);
int sdp_fd_dup3(int fd, int new_fd, int flags);

/* libc is about to close @fd, which may be any descriptor. */
void sdp_fd_forget(int fd);

void sdp_fd_fork_child(void);

/* The program has set or cleared O_NONBLOCK or O_ASYNC, by the number @fd. */
void sdp_fd_nonblock(struct sdp_sock *sock, bool is_nonblock);
void sdp_fd_async(struct sdp_sock *sock, int fd, bool is_async);

/* fcntl() with @cmd has set the process that receives the signals of @sock. */
void sdp_fd_own(struct sdp_sock *sock, int cmd, const void *arg);

#endif

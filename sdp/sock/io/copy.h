/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sendfile() and splice(), implemented by copying. */
#ifndef SDP_SOCK_COPY_H
#define SDP_SOCK_COPY_H

#include <sys/types.h>

#include "sock/base/table.h"

/* As sendfile(2).  Return: octets; -errno. */
ssize_t sdp_copy_file(struct sdp_sock *sock, int fd, int in_fd, off_t *offset,
		      size_t len);

/*
 * The errors that splice(2) reports before it looks at the socket: flags,
 * offsets, a
 * @pipe_fd that is not a pipe. Return: 1: continue; else the result of the
 *   call.
 */
int sdp_copy_check(int pipe_fd, const off64_t *sock_off,
		   const off64_t *pipe_off, size_t len, unsigned int flags);

/* As splice(2). SPLICE_F_NONBLOCK concerns the pipe, not the socket. */
ssize_t sdp_copy_to_pipe(struct sdp_sock *sock, int fd, int pipe_fd, size_t len,
			 unsigned int flags);
ssize_t sdp_copy_from_pipe(struct sdp_sock *sock, int fd, int pipe_fd,
			   size_t len, unsigned int flags);

#endif

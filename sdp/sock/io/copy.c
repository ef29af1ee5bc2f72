/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See copy.h. */
#include "copy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/defer.h"
#include "util/unwind.h"
#include "util/user.h"
#include "sock/base/real.h"
#include "sock/base/signals.h"
#include "stream.h"

#define COPY_SIZE (256u * 1024)
/* A pipe that is ready accepts or returns at least this many octets. */
#define PIPE_SIZE 4096u

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static ssize_t send_some(struct sdp_sock *sock, int fd, char *buf, size_t len,
			 int flags)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };

	return sdp_stream_send(sock, fd, &iov, 1, flags);
}

/* The file's own offset counts the octets sent, not the octets read. */
static ssize_t file_read(int in_fd, char *buf, size_t len, off_t at)
{
	ssize_t ret = pread(in_fd, buf, len, at);

	return ret < 0 ? -errno : ret;
}

ssize_t sdp_copy_file(struct sdp_sock *sock, int fd, int in_fd, off_t *offset,
		      size_t len)
{
	size_t sent = 0, size = smaller(len, COPY_SIZE);
	struct util_unwind unwind;
	ssize_t got, ret = 0;
	char *buf;
	off_t at;

	if (!offset)
		at = lseek(in_fd, 0, SEEK_CUR);
	else if (util_user_get(&at, offset, sizeof(at)) < 0)
		return -EFAULT;
	if (at < 0)
		return !offset && errno == EBADF ? -EBADF : -EINVAL;
	if (len == 0)
		return 0;
	buf = malloc(size);
	if (!buf)
		return -ENOMEM;
	util_unwind_push(&unwind, free, buf);
	while (sent < len) {
		got = file_read(in_fd, buf, smaller(len - sent, size), at);
		ret = got > 0 ? send_some(sock, fd, buf, (size_t)got, 0) : got;
		if (ret <= 0)
			break;
		sent += (size_t)ret;
		at += ret;
		if (ret < got)
			break;
	}
	util_unwind_pop(&unwind);
	free(buf);
	if (offset && util_user_put(offset, &at, sizeof(at)) < 0)
		return -EFAULT;
	if (!offset && sent > 0)
		(void)lseek(in_fd, at, SEEK_SET);
	return sent > 0 ? (ssize_t)sent : ret;
}

int sdp_copy_check(int pipe_fd, const off64_t *sock_off,
		   const off64_t *pipe_off, size_t len, unsigned int flags)
{
	if (len == 0)
		return 0;
	if (flags & ~(unsigned int)(SPLICE_F_MOVE | SPLICE_F_NONBLOCK |
				    SPLICE_F_MORE | SPLICE_F_GIFT))
		return -EINVAL;
	if (sdp_real()->fcntl(pipe_fd, F_GETFD) < 0)
		return -EBADF;
	if (sdp_real()->fcntl(pipe_fd, F_GETPIPE_SZ) < 0)
		return -EINVAL;
	if (pipe_off)
		return -ESPIPE;
	return sock_off ? -EINVAL : 1;
}

static int pipe_wait(int pipe_fd, short events, unsigned int flags)
{
	struct pollfd pfd = { .fd = pipe_fd, .events = events };
	int ret;

	ret = UTIL_DEFER_SLEEP(
		sdp_real()->poll(&pfd, 1, flags & SPLICE_F_NONBLOCK ? 0 : -1),
		flags & SPLICE_F_NONBLOCK);
	if (ret < 0)
		return -errno;
	/* Checked before anything is taken from the socket. */
	if (events == POLLOUT && (pfd.revents & POLLERR)) {
		sdp_signals_pipe();
		return -EPIPE;
	}
	return ret == 0 ? -EAGAIN : 0;
}

/* Free octets of a pipe that poll() reports as writable. */
static size_t pipe_space(int pipe_fd)
{
	int size = sdp_real()->fcntl(pipe_fd, F_GETPIPE_SZ), used = 0;

	/* Pages may be partly filled, so the size holds only for an empty
	 * pipe. */
	if (size > 0 && sdp_real()->ioctl(pipe_fd, FIONREAD, &used) == 0 &&
	    used == 0)
		return (size_t)size;
	return PIPE_SIZE;
}

ssize_t sdp_copy_to_pipe(struct sdp_sock *sock, int fd, int pipe_fd, size_t len,
			 unsigned int flags)
{
	struct util_unwind unwind;
	struct iovec iov;
	ssize_t ret;
	char *buf;

	ret = pipe_wait(pipe_fd, POLLOUT, flags);
	if (ret < 0)
		return ret;
	iov.iov_len = smaller(len, smaller(pipe_space(pipe_fd), COPY_SIZE));
	buf = malloc(iov.iov_len);
	if (!buf)
		return -ENOMEM;
	util_unwind_push(&unwind, free, buf);
	iov.iov_base = buf;
	ret = sdp_stream_recv(sock, fd, &iov, 1, 0);
	if (ret > 0) {
		ret = sdp_real()->write(pipe_fd, buf, (size_t)ret);
		ret = ret < 0 ? -errno : ret;
	}
	util_unwind_pop(&unwind);
	free(buf);
	return ret;
}

/* Octets stay in the pipe until the socket has accepted them. If the socket
 * does not block or a signal ends the call, the rest is not lost. */
struct peek {
	char *buf;
	int fds[2];
};

static void peek_fini(void *arg)
{
	struct peek *peek = arg;

	free(peek->buf);
	util_sys_close(peek->fds[0]);
	util_sys_close(peek->fds[1]);
}

static int peek_init(struct peek *peek, size_t size)
{
	peek->buf = malloc(size);
	if (!peek->buf)
		return -ENOMEM;
	if (syscall(SYS_pipe2, peek->fds, O_CLOEXEC | O_NONBLOCK) < 0) {
		free(peek->buf);
		return -ENOMEM; /* splice() does not return EMFILE */
	}
	return 0;
}

/* Return: octets; 0: the end of the stream; -errno. */
static ssize_t peek_pipe(struct peek *peek, int pipe_fd, size_t size,
			 unsigned int flags)
{
	ssize_t ret = (ssize_t)syscall(SYS_tee, pipe_fd, peek->fds[1], size,
				       flags & SPLICE_F_NONBLOCK);

	if (ret > 0)
		ret = sdp_real()->read(peek->fds[0], peek->buf, (size_t)ret);
	return ret < 0 ? -errno : ret;
}

/* Sends all or a part of the peeked octets. */
static ssize_t send_peeked(struct sdp_sock *sock, int fd, char *buf, size_t len)
{
	ssize_t ret;

	for (;;) {
		ret = send_some(sock, fd, buf, len, 0);
		if (ret != -EAGAIN ||
		    atomic_load_explicit(&sock->is_nonblock,
					 memory_order_relaxed))
			return ret;
		ret = sdp_stream_wait_out(sock);
		if (ret < 0)
			return ret;
	}
}

ssize_t sdp_copy_from_pipe(struct sdp_sock *sock, int fd, int pipe_fd,
			   size_t len, unsigned int flags)
{
	size_t done = 0, size = smaller(len, COPY_SIZE);
	struct util_unwind unwind;
	struct peek peek;
	ssize_t got, ret;

	ret = pipe_wait(pipe_fd, POLLIN, flags);
	if (ret < 0)
		return ret;
	ret = peek_init(&peek, size);
	if (ret < 0)
		return ret;
	util_unwind_push(&unwind, peek_fini, &peek);
	got = ret = peek_pipe(&peek, pipe_fd, size, flags);
	while (got > 0 && done < (size_t)got) {
		char *at = peek.buf + done;

		ret = send_peeked(sock, fd, at, (size_t)got - done);
		if (ret <= 0)
			break;
		/* Removes the same octets from the pipe. */
		(void)!sdp_real()->read(pipe_fd, at, (size_t)ret);
		done += (size_t)ret;
	}
	util_unwind_pop(&unwind);
	peek_fini(&peek);
	return done > 0 ? (ssize_t)done : ret;
}

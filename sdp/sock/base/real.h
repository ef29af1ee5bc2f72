/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * libc's functions, behind the stubs of preload/.
 *
 * If libusiw-kabi.so is preloaded too, it comes after this library, and these
 * are its stubs. They handle its own descriptors.
 */
#ifndef SDP_SOCK_REAL_H
#define SDP_SOCK_REAL_H

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "util/interpose.h"

/* libc has them, but declares them only for fortified programs or in newer
 * headers. */
ssize_t __read_chk(int fd, void *buf, size_t len, size_t size);
ssize_t __recv_chk(int fd, void *buf, size_t len, size_t size, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t size, int flags,
		       struct sockaddr *addr, socklen_t *addr_len);
int __poll_chk(struct pollfd *pfd, nfds_t cnt, int timeout, size_t size);
int __ppoll_chk(struct pollfd *pfd, nfds_t cnt, const struct timespec *timeout,
		const sigset_t *mask, size_t size);
int __vdprintf_chk(int fd, int flag, const char *format, va_list ap);
int __dprintf_chk(int fd, int flag, const char *format, ...);
void (*bsd_signal(int sig, void (*handler)(int)))(int);
void (*__sysv_signal(int sig, void (*handler)(int)))(int);

/* One group of functions per line. */
/* clang-format off */
#define SDP_REALS(X)                                                       \
	X(socket) X(bind) X(listen) X(accept) X(accept4) X(connect)        \
	X(shutdown) X(getsockname) X(getpeername)                          \
	X(getsockopt) X(setsockopt) X(ioctl) X(fcntl) X(fcntl64)           \
	X(close) X(close_range) X(closefrom) X(dup) X(dup2) X(dup3)        \
	X(read) X(__read_chk) X(readv) X(preadv2)                          \
	X(recv) X(__recv_chk) X(recvfrom) X(__recvfrom_chk)                \
	X(recvmsg) X(recvmmsg)                                             \
	X(write) X(writev) X(pwritev2)                                     \
	X(send) X(sendto) X(sendmsg) X(sendmmsg)                           \
	X(sendfile) X(sendfile64) X(splice)                                \
	X(poll) X(__poll_chk) X(ppoll) X(__ppoll_chk) X(select) X(pselect) \
	X(epoll_create) X(epoll_create1) X(epoll_ctl)                      \
	X(epoll_wait) X(epoll_pwait) X(epoll_pwait2)                                       \
	X(vdprintf) X(__vdprintf_chk) X(fdopen) X(fclose) X(popen) X(system)                                            \
	X(execve) X(execv) X(execvp) X(execvpe) X(fexecve) X(execveat)     \
	X(posix_spawn) X(posix_spawnp)                                     \
	X(sigaction) X(signal) X(bsd_signal) X(ssignal)                    \
	X(sysv_signal) X(__sysv_signal)                                    \
	X(_exit) X(syscall) X(pthread_cancel)
/* clang-format on */

struct sdp_reals {
	SDP_REALS(UTIL_REAL_FIELD)
};

extern struct util_reals sdp_real_table;

static inline const struct sdp_reals *sdp_real(void)
{
	return util_reals_get(&sdp_real_table);
}

#endif

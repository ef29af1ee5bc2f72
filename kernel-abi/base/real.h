/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* libc's functions behind the stubs of preload.c. */
#ifndef KABI_REAL_H
#define KABI_REAL_H

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "util/interpose.h"

/* In libc, but declared in no header, or only for fortified programs. */
int __xstat(int ver, const char *path, struct stat *buf);
int __xstat64(int ver, const char *path, struct stat64 *buf);
int __lxstat(int ver, const char *path, struct stat *buf);
int __lxstat64(int ver, const char *path, struct stat64 *buf);
int __fxstat(int ver, int fd, struct stat *buf);
int __fxstat64(int ver, int fd, struct stat64 *buf);
int __fxstatat(int ver, int at, const char *path, struct stat *buf, int flags);
int __fxstatat64(int ver, int at, const char *path, struct stat64 *buf,
		 int flags);
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int at, const char *path, int flags);
int __openat64_2(int at, const char *path, int flags);
ssize_t __read_chk(int fd, void *buf, size_t len, size_t size);
ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t size, int flags,
		       struct sockaddr *addr, socklen_t *addr_len);
ssize_t __readlink_chk(const char *path, char *buf, size_t len, size_t size);
ssize_t __readlinkat_chk(int at, const char *path, char *buf, size_t len,
			 size_t size);
void (*bsd_signal(int sig, void (*handler)(int)))(int);
void (*__sysv_signal(int sig, void (*handler)(int)))(int);
char *__getcwd_chk(char *buf, size_t size, size_t buf_size);
char *__getwd_chk(char *buf, size_t buf_size);
char *__realpath_chk(const char *path, char *resolved, size_t size);

/* One family per line. */
/* clang-format off */
#define KABI_REALS(X)                                                      \
	X(open) X(open64) X(openat) X(openat64)                            \
	X(__open_2) X(__open64_2) X(__openat_2) X(__openat64_2)            \
	X(fopen) X(fopen64) X(freopen) X(freopen64)                        \
	X(stat) X(stat64) X(lstat) X(lstat64) X(fstat) X(fstat64)          \
	X(fstatat) X(fstatat64) X(statx)                                   \
	X(__xstat) X(__xstat64) X(__lxstat) X(__lxstat64)                  \
	X(__fxstat) X(__fxstat64) X(__fxstatat) X(__fxstatat64)            \
	X(access) X(faccessat) X(euidaccess) X(eaccess)                    \
	X(readlink) X(readlinkat) X(__readlink_chk) X(__readlinkat_chk)    \
	X(realpath) X(__realpath_chk) X(canonicalize_file_name)            \
	X(getxattr) X(lgetxattr) X(listxattr) X(llistxattr)                \
	X(opendir) X(fdopendir) X(readdir) X(readdir64)                    \
	X(readdir_r) X(readdir64_r) X(closedir) X(rewinddir)               \
	X(telldir) X(seekdir) X(dirfd)                                     \
	X(scandir) X(scandir64) X(scandirat) X(scandirat64)                \
	X(glob) X(glob64)                                                  \
	X(chdir) X(fchdir) X(getcwd) X(__getcwd_chk)                       \
	X(getwd) X(__getwd_chk) X(get_current_dir_name)                    \
	X(read) X(__read_chk) X(write) X(ioctl)                            \
	X(close) X(close_range) X(closefrom)                               \
	X(dup) X(dup2) X(dup3) X(fcntl) X(fcntl64)                         \
	X(socket) X(bind) X(listen) X(connect)                             \
	X(getsockname) X(getpeername) X(setsockopt) X(getsockopt)          \
	X(send) X(sendto) X(sendmsg) X(sendmmsg) X(writev)                 \
	X(recvfrom) X(__recvfrom_chk) X(recvmsg) X(recvmmsg)               \
	X(sigaction) X(signal) X(bsd_signal) X(ssignal)                    \
	X(sysv_signal) X(__sysv_signal)                                    \
	X(sigset) X(sigignore) X(sighold) X(siginterrupt)                  \
	X(pthread_sigmask) X(sigprocmask) X(sigblock) X(sigsetmask)
/* clang-format on */

/* readdir_r and others are deprecated for callers, but need stubs. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
struct kabi_reals {
	KABI_REALS(UTIL_REAL_FIELD)
};
#pragma GCC diagnostic pop

extern struct util_reals kabi_real_table;

static inline const struct kabi_reals *kabi_real(void)
{
	return util_reals_get(&kabi_real_table);
}

#endif

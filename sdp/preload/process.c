/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Stubs of calls that concern the whole process: its exit, the end of its
 * threads, programs that it starts, and libc's stdio.
 */
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/defer.h"
#include "sock/io/fd.h"
#include "sock/share/exit.h"
#include "sock/base/real.h"
#include "sock/share/share.h"
#include "sock/base/table.h"
#include "stubs.h"
#include "verbs/sdp-link.h"

EXPORT __attribute__((noreturn)) void _exit(int code)
{
	sdp_exit_run(false);
	sdp_real()->_exit(code);
	__builtin_unreachable();
}

EXPORT __attribute__((noreturn)) void _Exit(int code)
{
	_exit(code);
}

/* The library must wake a thread that sleeps in one of its calls. */
EXPORT int pthread_cancel(pthread_t thread)
{
	int ret = sdp_real()->pthread_cancel(thread);

	util_defer_begin();
	if (ret == 0)
		sdp_point_cancel(thread);
	util_defer_end();
	return ret;
}

EXPORT FILE *fdopen(int fd, const char *mode)
{
	util_defer_begin();
	sdp_share_stdio(fd);
	util_defer_end();
	return sdp_real()->fdopen(fd, mode);
}

/* libc's function sends what the stream has, and closes the number without this
 * library. */
EXPORT int fclose(FILE *stream)
{
	int err = errno;

	util_defer_begin();
	sdp_fd_forget(fileno(stream));
	util_defer_end();
	errno = err;
	return sdp_real()->fclose(stream);
}

/* vasprintf() of a fortified program. @flag: 0: it is not fortified. */
__attribute__((format(printf, 3, 0))) int
__vasprintf_chk(char **ret_text, int flag, const char *format, va_list ap);

/* libc's function would write to the descriptor without this library. */
__attribute__((format(printf, 3, 0))) static int
print(int fd, int flag, const char *format, va_list ap)
{
	int len, sent = 0;
	char *text;
	ssize_t ret;

	len = __vasprintf_chk(&text, flag, format, ap);
	while (sent < len) {
		ret = write(fd, text + sent, (size_t)(len - sent));
		if (ret < 0)
			break;
		sent += (int)ret;
	}
	if (len >= 0)
		free(text);
	return sent < len ? -1 : len;
}

EXPORT __attribute__((format(printf, 2, 0))) int
vdprintf(int fd, const char *format, va_list ap)
{
	if (sdp_fd_kind(fd) != SDP_FD_SOCK)
		return sdp_real()->vdprintf(fd, format, ap);
	return print(fd, 0, format, ap);
}

EXPORT __attribute__((format(printf, 2, 3))) int
dprintf(int fd, const char *format, ...)
{
	va_list ap;
	int ret;

	va_start(ap, format);
	ret = vdprintf(fd, format, ap);
	va_end(ap);
	return ret;
}

/* For fortified programs. @flag: libc allows %n only in read-only memory. */
EXPORT __attribute__((format(printf, 3, 0))) int
__vdprintf_chk(int fd, int flag, const char *format, va_list ap)
{
	if (sdp_fd_kind(fd) != SDP_FD_SOCK)
		return sdp_real()->__vdprintf_chk(fd, flag, format, ap);
	return print(fd, flag, format, ap);
}

EXPORT __attribute__((format(printf, 3, 4))) int
__dprintf_chk(int fd, int flag, const char *format, ...)
{
	va_list ap;
	int ret;

	va_start(ap, format);
	ret = __vdprintf_chk(fd, flag, format, ap);
	va_end(ap);
	return ret;
}

static void share_spawn(void)
{
	UTIL_DEFER();

	sdp_share_spawn();
}

EXPORT int system(const char *command)
{
	share_spawn();
	return sdp_real()->system(command);
}

EXPORT FILE *popen(const char *command, const char *mode)
{
	share_spawn();
	return sdp_real()->popen(command, mode);
}

#define STUB_SPAWN(name)                                                       \
	EXPORT int name(pid_t *pid, const char *path,                          \
			const posix_spawn_file_actions_t *actions,             \
			const posix_spawnattr_t *attr, char *const argv[],     \
			char *const envp[])                                    \
	{                                                                      \
		share_spawn();                                                 \
		return sdp_real()->name(pid, path, actions, attr, argv, envp); \
	}

STUB_SPAWN(posix_spawn)
STUB_SPAWN(posix_spawnp)

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Calls that replace the program. Sockets that the new program inherits become
 * ordinary streams of the kernel first. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "util/defer.h"
#include "sock/base/real.h"
#include "sock/share/exit.h"
#include "sock/share/share.h"
#include "stubs.h"

void sdp_stub_exec(void)
{
	UTIL_DEFER();

	sdp_share_exec();
	sdp_exit_exec();
}

#define STUB_EXEC(name, params, args)                                          \
	EXPORT int name params                                                 \
	{                                                                      \
		sdp_stub_exec();                                               \
		return sdp_real()->name args;                                  \
	}

STUB_EXEC(execve, (const char *path, char *const argv[], char *const envp[]),
	  (path, argv, envp))
STUB_EXEC(execv, (const char *path, char *const argv[]), (path, argv))
STUB_EXEC(execvp, (const char *file, char *const argv[]), (file, argv))
STUB_EXEC(execvpe, (const char *file, char *const argv[], char *const envp[]),
	  (file, argv, envp))
STUB_EXEC(fexecve, (int fd, char *const argv[], char *const envp[]),
	  (fd, argv, envp))
STUB_EXEC(execveat,
	  (int dir_fd, const char *path, char *const argv[], char *const envp[],
	   int flags),
	  (dir_fd, path, argv, envp, flags))

/* ---- with the arguments in the call ---- */

/* Counts the arguments after the first one, which is not NULL. */
static size_t args_count(va_list ap)
{
	size_t cnt = 1;

	while (va_arg(ap, char *))
		cnt++;
	return cnt;
}

static void args_take(char **argv, size_t cnt, const char *first, va_list ap)
{
	argv[0] = (char *)(uintptr_t)first;
	for (size_t i = 1; i <= cnt; i++)
		argv[i] = va_arg(ap, char *);
}

/* The arguments are on the stack, because the child of a vfork() comes here
 * too. */
#define STUB_EXECL(name, run, has_env)                                         \
	EXPORT int name(const char *path, const char *arg, ...)                \
	{                                                                      \
		char **argv, *const *envp = environ;                           \
		va_list ap;                                                    \
		size_t cnt;                                                    \
		va_start(ap, arg);                                             \
		cnt = args_count(ap);                                          \
		va_end(ap);                                                    \
		argv = __builtin_alloca((cnt + 1) * sizeof(*argv));            \
		va_start(ap, arg);                                             \
		args_take(argv, cnt, arg, ap);                                 \
		if (has_env)                                                   \
			envp = va_arg(ap, char *const *);                      \
		va_end(ap);                                                    \
		return run(path, argv, envp);                                  \
	}

STUB_EXECL(execl, execve, false)
STUB_EXECL(execle, execve, true)
STUB_EXECL(execlp, execvpe, false)

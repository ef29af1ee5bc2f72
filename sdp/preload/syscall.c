/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * syscall() of the program: a call on a socket of the library goes to the stub
 * of the same name.
 *
 * Everything else goes to the kernel unchanged. The RNIC and its libraries use
 * syscall() to bypass all stubs, and their descriptors are not in the table.
 * The library's own calls do not come here: the linker gives them
 * __wrap_syscall() (sdp/CMakeLists.txt).
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "util/user.h"
#include "sock/share/exit.h"
#include "sock/base/real.h"
#include "sock/base/table.h"
#include "sock/io/wait.h"
#include "stubs.h"

#define FD(n) ((int)a[n])
#define PTR(n) ((void *)(uintptr_t)a[n])
#define LEN(n) ((size_t)a[n])
#define NUM(n) ((int)a[n])
#define UINT(n) ((unsigned int)a[n])

/* Passes the call on to the stub of its name, and returns: a case of a switch
 * on the number; a statement. */
#define CALL(name, ...)                                                        \
	case SYS_##name:                                                       \
		*ret = name(__VA_ARGS__);                                      \
		return true
#define CALL_IF(name, is_taken, ...)                                           \
	do {                                                                   \
		if (number != SYS_##name || !(is_taken))                       \
			break;                                                 \
		*ret = name(__VA_ARGS__);                                      \
		return true;                                                   \
	} while (0)

static bool is_ours(long fd)
{
	enum sdp_fd_kind kind = sdp_fd_kind((int)fd);

	return kind == SDP_FD_SOCK || kind == SDP_FD_EPOLL;
}

/* ---- one descriptor ----
 *
 * Each function sets *ret to the result of the stub. It returns false if the
 * call is not one of its own. */

static bool singles(long number, const long *a, long *ret)
{
	switch (number) {
		CALL(read, FD(0), PTR(1), LEN(2));
		CALL(write, FD(0), PTR(1), LEN(2));
		CALL(readv, FD(0), PTR(1), NUM(2));
		CALL(writev, FD(0), PTR(1), NUM(2));
		CALL(preadv2, FD(0), PTR(1), NUM(2), a[3], NUM(5));
		CALL(pwritev2, FD(0), PTR(1), NUM(2), a[3], NUM(5));
		CALL(recvfrom, FD(0), PTR(1), LEN(2), NUM(3), PTR(4), PTR(5));
		CALL(sendto, FD(0), PTR(1), LEN(2), NUM(3), PTR(4), UINT(5));
		CALL(recvmsg, FD(0), PTR(1), NUM(2));
		CALL(sendmsg, FD(0), PTR(1), NUM(2));
		CALL(recvmmsg, FD(0), PTR(1), UINT(2), NUM(3), PTR(4));
		CALL(sendmmsg, FD(0), PTR(1), UINT(2), NUM(3));
		CALL(sendfile, FD(0), FD(1), PTR(2), LEN(3));
		CALL(bind, FD(0), PTR(1), UINT(2));
		CALL(listen, FD(0), NUM(1));
#ifdef SYS_accept
		CALL(accept, FD(0), PTR(1), PTR(2));
#endif
		CALL(accept4, FD(0), PTR(1), PTR(2), NUM(3));
		CALL(connect, FD(0), PTR(1), UINT(2));
		CALL(shutdown, FD(0), NUM(1));
		CALL(getsockname, FD(0), PTR(1), PTR(2));
		CALL(getpeername, FD(0), PTR(1), PTR(2));
		CALL(getsockopt, FD(0), NUM(1), NUM(2), PTR(3), PTR(4));
		CALL(setsockopt, FD(0), NUM(1), NUM(2), PTR(3), UINT(4));
		CALL(ioctl, FD(0), (unsigned long)a[1], a[2]);
		CALL(fcntl, FD(0), NUM(1), a[2]);
		CALL(close, FD(0));
		CALL(dup, FD(0));
	default:
		return false;
	}
}

/* ---- more than one descriptor ---- */

/* The kernel's signal set is shorter than libc's. NULL: none. */
static const sigset_t *mask_of(const void *mask, size_t size, sigset_t *buf)
{
	memset(buf, 0, sizeof(*buf));
	if (!mask || size > sizeof(*buf) || util_user_get(buf, mask, size) < 0)
		return NULL;
	return buf;
}

static bool pairs(long number, const long *a, long *ret)
{
	CALL_IF(splice, is_ours(a[0]) || is_ours(a[2]), FD(0), PTR(1), FD(2),
		PTR(3), LEN(4), UINT(5));
	CALL_IF(epoll_ctl, is_ours(a[2]), FD(0), NUM(1), FD(2), PTR(3));
	return false;
}

static bool polls(long number, const long *a, long *ret)
{
	sigset_t buf;

#ifdef SYS_poll
	CALL_IF(poll, sdp_poll_is_near(PTR(0), (nfds_t)a[1]), PTR(0),
		(nfds_t)a[1], NUM(2));
#endif
	CALL_IF(ppoll, sdp_poll_is_near(PTR(0), (nfds_t)a[1]), PTR(0),
		(nfds_t)a[1], PTR(2), mask_of(PTR(3), LEN(4), &buf));
#ifdef SYS_select
	CALL_IF(select, sdp_select_is_near(NUM(0), PTR(1), PTR(2), PTR(3)),
		NUM(0), PTR(1), PTR(2), PTR(3), PTR(4));
#endif
	return false;
}

/* The last argument of pselect6() points to this. */
struct mask_arg {
	const void *mask;
	size_t size;
};

static bool pselects(long number, const long *a, long *ret)
{
	struct mask_arg arg = { NULL, 0 };
	sigset_t buf;

	if (number != SYS_pselect6 ||
	    !sdp_select_is_near(NUM(0), PTR(1), PTR(2), PTR(3)))
		return false;
	if (a[5])
		(void)util_user_get(&arg, PTR(5), sizeof(arg));
	*ret = pselect(NUM(0), PTR(1), PTR(2), PTR(3), PTR(4),
		       mask_of(arg.mask, arg.size, &buf));
	return true;
}

static bool sets(long number, const long *a, long *ret)
{
	sigset_t buf;

	switch (number) {
#ifdef SYS_epoll_wait
		CALL(epoll_wait, FD(0), PTR(1), NUM(2), NUM(3));
#endif
		CALL(epoll_pwait, FD(0), PTR(1), NUM(2), NUM(3),
		     mask_of(PTR(4), LEN(5), &buf));
		CALL(epoll_pwait2, FD(0), PTR(1), NUM(2), PTR(3),
		     mask_of(PTR(4), LEN(5), &buf));
	default:
		return false;
	}
}

/* ---- calls that make or end something ---- */

/* The number may be one of a library's own, which each stub keeps. */
static bool enders(long number, const long *a, const void *caller, long *ret)
{
	CALL_IF(close, !sdp_caller_is_rnic(caller), FD(0));
	CALL_IF(close_range, !sdp_caller_is_rnic(caller), UINT(0), UINT(1),
		NUM(2));
	CALL_IF(dup3, !sdp_caller_is_rnic(caller), FD(0), FD(1), NUM(2));
#ifdef SYS_dup2
	CALL_IF(dup2, !sdp_caller_is_rnic(caller), FD(0), FD(1));
#endif
	return false;
}

static bool makers(long number, const long *a, const void *caller, long *ret)
{
	if (number == SYS_socket)
		*ret = sdp_stub_socket(NUM(0), NUM(1), NUM(2), caller);
	else if (number == SYS_epoll_create1)
		*ret = sdp_stub_epoll(NUM(0), caller);
	else if (number == SYS_io_uring_setup)
		/* A ring would move data without this library. A program that
		 * gets ENOSYS uses the other calls. */
		*ret = UTIL_RESULT(-ENOSYS);
	else
		return false;
	return true;
}

static bool taken(long number, const long *a, const void *caller, long *ret)
{
	if (is_ours(a[0]) && (singles(number, a, ret) || sets(number, a, ret)))
		return true;
	if (number == SYS_exit_group)
		sdp_exit_run(false);
	if (number == SYS_execve || number == SYS_execveat)
		sdp_stub_exec();
	return pairs(number, a, ret) || polls(number, a, ret) ||
	       pselects(number, a, ret) || makers(number, a, caller, ret) ||
	       enders(number, a, caller, ret);
}

/* Passes six arguments on, like libc's, however many there are. ASan would
 * report the missing ones as reads past the end. */
__attribute__((no_sanitize("address"))) EXPORT long syscall(long number, ...)
{
	long a[6], ret;
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (sdp_table() && !sdp_inside() &&
	    taken(number, a, __builtin_return_address(0), &ret))
		return ret;
	return sdp_real()->syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* In another file it would be a symbol of that file. The linker uses it
 * wherever this library calls syscall(). */
long __wrap_syscall(long number, ...);

__attribute__((no_sanitize("address"))) long __wrap_syscall(long number, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	return sdp_real()->syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

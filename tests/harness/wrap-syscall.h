/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * For a test that makes some system calls fail: linked with --wrap=syscall.
 * Include it in one source file.
 */
#ifndef TEST_WRAP_SYSCALL_H
#define TEST_WRAP_SYSCALL_H

#include <errno.h>
#include <stdarg.h>

/* Defined by the test. Return: 0: make the call; else its errno. */
static int syscall_error(long nr, long first_arg);

long __real_syscall(long nr, ...);
long __wrap_syscall(long nr, ...);

/* Takes six arguments however many there are, like libc's function. */
__attribute__((no_sanitize("address"))) long __wrap_syscall(long nr, ...)
{
	long arg[6];
	va_list ap;
	int err;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	err = syscall_error(nr, arg[0]);
	if (err) {
		errno = err;
		return -1;
	}
	return __real_syscall(nr, arg[0], arg[1], arg[2], arg[3], arg[4],
			      arg[5]);
}

#endif

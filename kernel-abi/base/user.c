/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Copies of memory at addresses from the application.  The kernel makes them
 * and detects bad addresses. */
#include "base/user.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/rnic-dl.h"

/* All copies are much smaller than a pipe's buffer. */
#define USER_LEN_MAX 4096

/* With raw system calls, because read() and write() are stubs. */
static int pipe_copy(void *dst, const void *src, size_t len)
{
	int fd[2], ret = 0;

	if (syscall(SYS_pipe2, fd, O_CLOEXEC) < 0)
		return -errno;
	if (syscall(SYS_write, fd[1], src, len) != (long)len ||
	    syscall(SYS_read, fd[0], dst, len) != (long)len)
		ret = -EFAULT;
	syscall(SYS_close, fd[0]);
	syscall(SYS_close, fd[1]);
	return ret;
}

static int user_copy_kernel(long nr, void *dst, const void *src, size_t len)
{
	bool is_get = nr == SYS_process_vm_readv;
	struct iovec to = { .iov_base = dst, .iov_len = len };
	struct iovec from = { .iov_base = (void *)(uintptr_t)src,
			      .iov_len = len };
	long ret;

	ret = syscall(nr, syscall(SYS_getpid), is_get ? &to : &from, 1ul,
		      is_get ? &from : &to, 1ul, 0ul);
	if (ret == (long)len)
		return 0;
	/* Some sandboxes forbid the call, even for the own process. */
	if (ret < 0 && (errno == EPERM || errno == ENOSYS))
		return pipe_copy(dst, src, len);
	return -EFAULT;
}

/* Makes no system call after the RNIC has begun to catch faults, which is the
 * case in every program that has registered memory. */
static int user_copy(long nr, void *dst, const void *src, size_t len)
{
	int ret;

	if (len == 0)
		return 0;
	if (len > USER_LEN_MAX)
		return -EINVAL;
	ret = kabi_rnic()->guard_copy(dst, src, len);
	if (ret == -ENOSYS)
		ret = user_copy_kernel(nr, dst, src, len);
	return ret;
}

int kabi_user_get(void *dst, uint64_t src, size_t len)
{
	return user_copy(SYS_process_vm_readv, dst,
			 (const void *)(uintptr_t)src, len);
}

int kabi_user_put(uint64_t dst, const void *src, size_t len)
{
	return user_copy(SYS_process_vm_writev, (void *)(uintptr_t)dst, src,
			 len);
}

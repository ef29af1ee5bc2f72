/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Makes a system call fail, as a sandbox does. */
#ifndef TEST_DENY_H
#define TEST_DENY_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* The lower half of it. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define DENY_FIRST_ARGUMENT offsetof(struct seccomp_data, args)
#else
#define DENY_FIRST_ARGUMENT (offsetof(struct seccomp_data, args) + 4)
#endif

/*
 * The call @number, if its first argument is @arg, ends by @action, one of
 * SECCOMP_RET_*.  NULL: with any argument.
 * Takes effect for this process, and what it executes. Return: whether filters
 * can be set.
 */
static inline bool deny_call_with(unsigned number, const unsigned *arg,
				  unsigned action)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DENY_FIRST_ARGUMENT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arg ? *arg : 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(*filter),
				      .filter = filter };

	if (!arg)
		filter[1].jt = 2; /* over the argument */
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static inline bool deny_call(unsigned number, unsigned err)
{
	return deny_call_with(number, NULL, SECCOMP_RET_ERRNO | err);
}

#endif

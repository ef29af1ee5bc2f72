/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * deny_exec CALL ERRNO PROGRAM [ARGUMENTS]: runs a program for which a system
 * call fails, as in a sandbox; with ERRNO 0 the call ends the process.  Exits
 * with 77 if the kernel has no filters.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "deny.h"

static const struct call {
	const char *name;
	unsigned number;
	unsigned arg;
	bool has_arg;
} calls[] = {
	{ "netlink", SYS_socket, AF_NETLINK, true },
	{ "inet6", SYS_socket, AF_INET6, true },
	{ "eventfd", SYS_eventfd2, 0, false },
	{ "memfd_create", SYS_memfd_create, 0, false },
	{ "none", SYS_socket, 99999, true },
	{ "epoll_create1", SYS_epoll_create1, 0, false },
};

static const struct call *call_find(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(name, calls[i].name) == 0)
			return &calls[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct call *call = argc > 3 ? call_find(argv[1]) : NULL;
	unsigned err = call ? (unsigned)atoi(argv[2]) : 0;

	if (!call)
		return 2;
	if (!deny_call_with(call->number, call->has_arg ? &call->arg : NULL,
			    err ? SECCOMP_RET_ERRNO | err
				: SECCOMP_RET_KILL_PROCESS)) {
		puts("the kernel has no filters of system calls");
		return 77;
	}
	execvp(argv[3], argv + 3);
	return 1;
}

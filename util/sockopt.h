/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Socket options whose value is an int, by the kernel's own calls. */
#ifndef UTIL_SOCKOPT_H
#define UTIL_SOCKOPT_H

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Return: the value; 0: @fd does not have the option. */
static inline int util_sockopt_get(int fd, int level, int name)
{
	int value = 0;
	socklen_t len = sizeof(value);

	syscall(SYS_getsockopt, fd, level, name, &value, &len);
	return value;
}

/* A kernel that refuses the option leaves the socket as it is. */
static inline void util_sockopt_set(int fd, int level, int name, int value)
{
	syscall(SYS_setsockopt, fd, level, name, &value, sizeof(value));
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * High numbers for a library's own descriptors. Programs rely on low numbers,
 * and may dup2() over any of them.
 */
#ifndef UTIL_FD_HIGH_H
#define UTIL_FD_HIGH_H

/* Where the high numbers begin. */
#define UTIL_FD_HIGH 512
/* If none of them is free, or the limit is below. */
#define UTIL_FD_HIGH_SMALL 16

/* As fcntl(2) with F_DUPFD_CLOEXEC. */
typedef int util_fd_dup_fn(int fd, int lowest);

/*
 * Duplicates @fd, with CLOEXEC, to the first of the high numbers that is free,
 * else to a low one.
 * @dup: NULL: the system call, which no preload library sees.
 * Return: the number; -errno.
 */
int util_fd_high_dup(int fd, util_fd_dup_fn *dup);

/*
 * Moves @fd there, if it is not there already.
 * @dup, @close: both NULL: system calls.
 * Return: its number, @fd if it has not changed. @fd < 0 has none.
 */
int util_fd_high_move(int fd, util_fd_dup_fn *dup, int (*close)(int fd));

#endif

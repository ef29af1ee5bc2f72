/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Access to the application's memory with the kernel's errors: a bad address is
 * EFAULT and does not end the process.
 *
 * Each thread remembers the pages that it found accessible.  Only a page that
 * it does not remember costs a system call, so a program that sends and
 * receives in the same memory makes none.  A thread forgets all pages after
 * SEEN_CALLS calls.  Memory that is unmapped before that still ends the
 * process.
 *
 * The functions use no signal handler.  They keep errno, and may be called in a
 * signal handler and under locks.
 */
#ifndef UTIL_USER_H
#define UTIL_USER_H

#include <stdbool.h>
#include <stddef.h>

bool util_user_is_readable(const void *at, size_t len);

/* Copies from the application, and to it.  Return: 0; -EFAULT: a part of @to
 * may have changed. */
int util_user_get(void *to, const void *from, size_t len);
int util_user_put(void *to, const void *from, size_t len);

#endif

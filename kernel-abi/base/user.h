/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Copies of memory at addresses from the application, which may be bad. */
#ifndef KABI_USER_H
#define KABI_USER_H

#include <stddef.h>
#include <stdint.h>

/*
 * Copies between usiw's memory and an address from the application.  A bad
 * address gives an errno, never a signal.
 * Return: 0; -EFAULT.
 */
int kabi_user_get(void *dst, uint64_t src, size_t len)
	__attribute__((warn_unused_result));
int kabi_user_put(uint64_t dst, const void *src, size_t len)
	__attribute__((warn_unused_result));

#endif

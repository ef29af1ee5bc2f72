/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The current directory, when it is in the tree.  The kernel's is then
 * /sys/class, so that a relative path in a call that has no stub finds nothing
 * and changes nothing.  A program that is started there begins in the tree
 * when PWD in its environment says so.
 */
#ifndef KABI_CWD_H
#define KABI_CWD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct kabi_node;

/* Not NULL: the current directory is, or may be, in the tree. */
extern _Atomic(const struct kabi_node *) kabi_cwd_now;

static inline bool kabi_cwd_is_near(void)
{
	/* acquire: pairs with the release in kabi_cwd_set() */
	return atomic_load_explicit(&kabi_cwd_now, memory_order_acquire);
}

/* Stands for what PWD says, until somebody wants to know. */
extern const struct kabi_node kabi_cwd_unknown;

void kabi_cwd_set(const struct kabi_node *node);

/* Whether the kernel believes us to be where kabi_cwd_enter() leads it. */
bool kabi_cwd_is_outside(void);

/* It is @node from now on.  Return: 0; -errno. */
int kabi_cwd_enter(const struct kabi_node *node);

/* The kernel has changed it to somewhere else.  Return: 0. */
int kabi_cwd_left(void);

/* getcwd(3) in the tree.  NULL and errno on failure. */
char *kabi_cwd_get(const struct kabi_node *node, char *buf, size_t size);

#endif

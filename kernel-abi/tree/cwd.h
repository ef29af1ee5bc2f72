/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The current directory, when it is in the tree.  The kernel's current
 * directory is then /sys/class, so that a call without a stub finds nothing by
 * a relative path and changes nothing.  A program that is started there begins
 * in the tree if PWD in its environment names a directory of the tree.
 */
#ifndef KABI_CWD_H
#define KABI_CWD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct kabi_node;

/* Not NULL if the current directory is, or may be, in the tree. */
extern _Atomic(const struct kabi_node *) kabi_cwd_now;

static inline bool kabi_cwd_is_near(void)
{
	/* acquire: pairs with the release in kabi_cwd_set() */
	return atomic_load_explicit(&kabi_cwd_now, memory_order_acquire);
}

/* Stands for the directory that PWD names, until that is looked up. */
extern const struct kabi_node kabi_cwd_unknown;

void kabi_cwd_set(const struct kabi_node *node);

/* True if the kernel's current directory is the one that kabi_cwd_enter()
 * sets. */
bool kabi_cwd_is_outside(void);

/* Makes @node the current directory.  Return: 0; -errno. */
int kabi_cwd_enter(const struct kabi_node *node);

/* Records that the kernel has changed to a directory outside the tree.
 * Return: 0. */
int kabi_cwd_left(void);

/* getcwd(3) in the tree.  NULL and errno on failure. */
char *kabi_cwd_get(const struct kabi_node *node, char *buf, size_t size);

#endif

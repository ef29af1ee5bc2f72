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
	/* acquire: pairs with the release in cwd_set() */
	return atomic_load_explicit(&kabi_cwd_now, memory_order_acquire);
}

/* When the program starts: no system call. */
void kabi_cwd_start(void);

/* NULL: it is not in the tree.  Keeps errno. */
const struct kabi_node *kabi_cwd(void);

/* chdir(2), fchdir(2).  @node: what @fd is; NULL: foreign.
 * Return: 0; -errno. */
int kabi_cwd_change(const char *path);
int kabi_cwd_change_fd(int fd, const struct kabi_node *node);

/* getcwd(3) in the tree.  NULL and errno on failure. */
char *kabi_cwd_get(const struct kabi_node *node, char *buf, size_t size);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Where a path leads: into our tree, past it, or through it and out again. */
#ifndef KABI_PATH_H
#define KABI_PATH_H

#include <limits.h>
#include <stdbool.h>

struct kabi_node;

/*
 * Cheap: could (@at, @path) be ours?  False for nearly every path there is.
 * Safe with a NULL path; keeps errno.
 */
bool kabi_path_is_near(int at, const char *path);

struct kabi_spot {
	const struct kabi_node *node; /* ours, NULL when err */
	int err;		      /* 0; -ENOENT, -ENOTDIR, ... */
	char buf[PATH_MAX];
};

/*
 * Look a near path up.  Return: true: ours, @ret_spot says what.  False:
 * foreign; *path is what to hand to the real call, which may be a way that
 * leaves our tree rewritten into @ret_spot.  @follow: a link at the end.
 */
bool kabi_path_find(int at, const char **path, bool follow,
		    struct kabi_spot *ret_spot);

/* The current directory; NULL: it is not in the tree.  Keeps errno. */
const struct kabi_node *kabi_path_cwd(void);

#endif

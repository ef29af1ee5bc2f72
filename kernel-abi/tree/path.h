/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Resolution of paths: into the tree, elsewhere, or through it and out
 * again. */
#ifndef KABI_PATH_H
#define KABI_PATH_H

#include <limits.h>
#include <stdbool.h>

struct kabi_node;

/*
 * A cheap test: false if (@at, @path) is certainly not in the tree, which holds
 * for nearly all paths.  @path may be NULL.  Keeps errno.
 */
bool kabi_path_is_near(int at, const char *path);

struct kabi_spot {
	const struct kabi_node *node; /* of the tree; NULL if err */
	int err;		      /* 0; -ENOENT, -ENOTDIR, ... */
	char buf[PATH_MAX];
};

/*
 * Looks up a path for which kabi_path_is_near() is true.  @follow: follow a
 * link at the end. Return: true: the path is in the tree, see @ret_spot; false:
 * it is not, and *path is the path for the real call.  If the given path leads
 * through the tree and out again, *path is rewritten, in @ret_spot.
 */
bool kabi_path_find(int at, const char **path, bool follow,
		    struct kabi_spot *ret_spot);

/* The current directory; NULL: it is not in the tree.  Keeps errno. */
const struct kabi_node *kabi_path_cwd(void);

#endif
